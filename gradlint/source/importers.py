"""The files of a project that import some of its files: what they do with these may be a fault in them."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from gradlint.domain.clock import look_at_clock
from gradlint.source.files import LONGEST
from gradlint.source.layout import INIT, Layout
from gradlint.source.read import decode, read_bytes

MOST = 30
"""So many importers are looked for, the nearest first."""


def importers_of(files: Iterable[str], others: Iterable[str], layout: Layout) -> list[str]:
    """Return which of the other files import one of some files, or a file that does."""
    texts: dict[str, bytes] = {}
    for path in others:
        look_at_clock()
        content = read_bytes(Path(path), LONGEST)
        if isinstance(content, bytes):
            texts[path] = content
    wanted = list(files)
    found: list[str] = []
    for target in wanted:
        word = re.compile(rb"\b%s\b" % re.escape(_word(target).encode()))
        near = [path for path, content in texts.items() if word.search(content)]
        for path in near:
            look_at_clock()
            if len(found) < MOST and target in _imported(path, texts[path], layout):
                del texts[path]
                wanted.append(path)
                found.append(path)
    return found


def _word(file: str) -> str:
    """Return the name of a module, without those of the packages that it is in."""
    folder, name = os.path.split(file)
    return os.path.basename(folder) if name == INIT else name.removesuffix(".py")


def _imported(path: str, content: bytes, layout: Layout) -> Iterator[str | None]:
    """Yield the files to which the imports of a file lead."""
    text = decode(content)
    try:
        tree = ast.parse(text) if isinstance(text, str) else ast.Module([], [])
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (layout.find(path, alias.name, 0) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = layout.find(path, node.module or "", node.level)
            yield module
            if module is not None:
                yield from (layout.below(module, alias.name) for alias in node.names)
