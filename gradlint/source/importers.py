"""What the files of a project import of each other, by their text alone: what one does may be a fault in another."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from gradlint.domain.clock import look_at_clock
from gradlint.source.files import LONGEST, Files
from gradlint.source.layout import INIT, Layout
from gradlint.source.read import decode, is_about_torch, read_bytes

MOST = 30
"""So many importers are looked for, the nearest first; and so many files that a script imports."""


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
            if len(found) < MOST and target in _imported(path, _parsed(texts[path]), layout):
                del texts[path]
                wanted.append(path)
                found.append(path)
    return found


def _word(file: str) -> str:
    """Return the name of a module, without those of the packages that it is in."""
    folder, name = os.path.split(file)
    return os.path.basename(folder) if name == INIT else name.removesuffix(".py")


def may_run(content: bytes) -> bool:
    """Return whether a file may be a script: it imports something, and does more than to define."""
    return _IMPORTS.search(content) is not None and _RUNS.search(content) is not None


_IMPORTS = re.compile(rb"^[ \t]*(?:from|import)\b", re.MULTILINE)
_RUNS = re.compile(rb"^(?:(?:if|for|while|with|try)\b|[A-Za-z_][\w.]*\()", re.MULTILINE)


def runs_torch(path: str, content: bytes, files: Files) -> bool:
    """Return whether a script that does not speak of torch runs files of its project that do."""
    if not may_run(content):
        return False
    seen, waiting = {path}, [(path, _parsed(content))]
    for importer, tree in waiting:
        for found in _imported(importer, tree, files):
            if found is None or found in seen or len(seen) > MOST:
                continue
            seen.add(found)
            source = files.source(found)
            if source is not None and is_about_torch(source.text):
                return True
            if source is not None:
                waiting.append((found, _parsed(source.text.encode())))
    return False


def _parsed(content: bytes) -> ast.Module:
    """Return the syntax of a file, empty for what does not parse."""
    text = decode(content)
    try:
        return ast.parse(text) if isinstance(text, str) else ast.Module([], [])
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ast.Module([], [])


def _imported(path: str, tree: ast.Module, layout: Layout) -> Iterator[str | None]:
    """Yield the files to which the imports of a file lead."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (layout.find(path, alias.name, 0) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = layout.find(path, node.module or "", node.level)
            yield module
            if module is not None:
                yield from (layout.below(module, alias.name) for alias in node.names)
