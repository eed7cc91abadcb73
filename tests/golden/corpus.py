"""The programs whose findings are recorded, by group."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from gradlint.rules.registry import all_rules
from tests.golden.packages import Package, extracted
from tests.harness.markdown import Block, blocks_of
from tests.other_files.programs import is_project, project_of
from tests.programs.corpus import load, mutants
from tests.rules.examples import bad_of, good_of
from tests.torch_agrees.generate import generate

ROOT = Path(__file__).resolve().parents[2]
TESTS = ROOT / "tests"
RULE_PAGES = TESTS / "rules"
ONLY_FILE = "example.py"
SEEDS = range(400)


@dataclass(frozen=True)
class Program:
    """The texts of a program by file name; `place` says where it stands today, and is not recorded."""

    place: str
    files: tuple[tuple[str, str], ...]

    @property
    def key(self) -> str:
        """The hash of the texts, and of the names where there are several."""
        named = [f"{name}\0{text}" for name, text in sorted(self.files)] if len(self.files) > 1 else [self.files[0][1]]
        return hashlib.sha256("\0".join(named).encode()).hexdigest()[:16]


Unit = Program | Package
"""What is linted at once."""


def units_of(group: str) -> list[Unit]:
    """The units of a group by key; a program that stands in several places comes once."""
    by_key: dict[str, Unit] = {}
    for unit in GROUPS[group]():
        by_key.setdefault(unit.key, unit)
    return [by_key[key] for key in sorted(by_key)]


def examples() -> Iterator[Program]:
    """The examples of all rules, and the programs on the pages that hold the long tail of each."""
    for rule in all_rules():
        for name, bad in bad_of(rule).items():
            yield single(name, bad.code)
        for name, good in good_of(rule).items():
            yield single(name, good.code)
    yield from programs_on(sorted(RULE_PAGES.rglob("*.md")))


def pages() -> Iterator[Program]:
    """The programs on all other pages of the tests."""
    return programs_on(page for page in sorted(TESTS.rglob("*.md")) if not page.is_relative_to(RULE_PAGES))


def programs() -> Iterator[Program]:
    """The whole programs, with all of their mutants."""
    written = load()
    named = [(program.name, program.files) for program in written]
    named += [(mutant.name, mutant.files) for mutant in mutants(written)]
    for name, files in named:
        yield whole(name, files) if len(files) > 1 else single(name, *files.values())


def seeds() -> Iterator[Program]:
    """Generated programs, and those after the study notes."""
    for seed in SEEDS:
        yield single(f"seed {seed}", generate(seed).source)
    for path in sorted((ROOT / "fixtures" / "seeds").glob("*.py")):
        yield single(path.name, path.read_text(encoding="utf-8"))


def programs_on(pages: Iterable[Path]) -> Iterator[Program]:
    """Each block is a program; those below one heading that name their files are one together."""
    blocks = (block for page in pages for block in blocks_of(page) if not block.is_example)
    for _, group in groupby(blocks, key=lambda block: (block.page, block.headings)):
        together = list(group)
        if is_project(together):
            yield whole(place_of(together[0]), project_of(together).files)
        else:
            yield from (single(place_of(block), block.code) for block in together)


def place_of(block: Block) -> str:
    """Page and line of a block."""
    return f"{block.page.relative_to(ROOT).as_posix()}:{block.line}"


def single(place: str, code: str) -> Program:
    """A program of one file, the name of which does not matter."""
    return Program(place, ((ONLY_FILE, code),))


def whole(place: str, files: Mapping[str, str]) -> Program:
    """A program of several files."""
    return Program(place, tuple(sorted(files.items())))


GROUPS: dict[str, Callable[[], Iterable[Unit]]] = {
    "examples": examples,
    "pages": pages,
    "programs": programs,
    "seeds": seeds,
    "packages": extracted,
}
