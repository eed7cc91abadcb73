"""Programs of several files on a page: blocks below one heading, each of which begins with `# file: NAME`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from tests.harness.markdown import Block, PageError, blocks_under
from tests.harness.marks import marks_of

ENTRY = "main.py"
_FILE = re.compile(r"# file: (?P<name>[\w./]+\.py)\n")


@dataclass(frozen=True)
class Project:
    """The texts of the files by name, marks and all; `main.py` is run."""

    name: str
    files: dict[str, str]

    @property
    def findings(self) -> list[tuple[str, int, str]]:
        """The file, line and code of each finding that is marked."""
        marked = ((name, place) for name, text in self.files.items() for place in marks_of(text).findings.elements())
        return sorted((name, line, code) for name, (line, code) in marked)

    @property
    def raises(self) -> tuple[str, int, str] | None:
        """The file and line where torch raises, and what the text of it matches."""
        for name, text in self.files.items():
            if marks := marks_of(text).raises:
                return name, marks[0], marks[1] or ""
        return None

    @property
    def bootstrap(self) -> str:
        """A program that writes the files where it stands and runs the entry; what leaves it says where it began."""
        return _BOOTSTRAP.format(files=self.files, entry=ENTRY)

    def write(self, folder: Path) -> None:
        """Put the files into a folder."""
        for name, text in self.files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")


_BOOTSTRAP = """
import os, runpy, sys, traceback
for name, text in {files!r}.items():
    os.makedirs(os.path.dirname(name) or ".", exist_ok=True)
    with open(name, "w") as file:
        file.write(text)
sys.path.insert(0, os.getcwd())
try:
    runpy.run_path({entry!r}, run_name="__main__")
except Exception as error:
    frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename.removeprefix("./") == {entry!r}
              or f.filename.startswith(os.getcwd())]
    place = os.path.relpath(frames[-1].filename) + ":" + str(frames[-1].lineno)
    raise RuntimeError(place + ": " + str(error)) from None
"""


def projects_under(folder: Path) -> list[Project]:
    """The programs of all pages of a folder."""
    blocks = groupby(blocks_under(folder), key=lambda block: (block.page, block.headings))
    return [project_of(list(group)) for _, group in blocks]


def is_project(blocks: list[Block]) -> bool:
    """Whether the blocks below one heading name their files."""
    return _FILE.match(blocks[0].code) is not None


def project_of(blocks: list[Block]) -> Project:
    """The program of the blocks below one heading."""
    files: dict[str, str] = {}
    for block in blocks:
        match = _FILE.match(block.code)
        if match is None or match["name"] in files:
            raise PageError(f"{block.page}:{block.line}: a block begins with `# file: NAME`, a name of its own")
        files[match["name"]] = block.code
    if ENTRY not in files:
        raise PageError(f"{blocks[0].page}:{blocks[0].line}: one of the files is {ENTRY}")
    return Project(blocks[0].name, files)
