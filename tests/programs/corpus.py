"""The corpus: programs, their mutations, and the lines where a linter may rightly speak.

A program is a file `written/NAME.py`, or a folder `written/NAME/` with an `entry`. Beside it stands
`NAME.mutations.toml`, a list of mutations. Each edit of a mutation replaces a text that occurs exactly once.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any, get_args

from .defects import DEFECTS, Effect

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

WRITTEN = Path(__file__).parent / "written"
_REQUIRED = {"name", "defect", "effect"}
_OPTIONAL = {"find", "replace", "edit", "file", "also", "raises", "shows", "doubt"}


class CorpusError(Exception):
    """A mutation that does not fit its program; the text names the file and the mutation."""


@dataclass(frozen=True)
class Edit:
    """Replace `find`, which occurs exactly once, by `replace`."""

    find: str
    replace: str


@dataclass(frozen=True)
class Mutation:
    """A change of one file that introduces one defect.

    A linter may report on the lines that the edits touched and on the lines that contain a text of `also`.
    `raises` is a pattern for torch's message. `shows` is Python evaluated after the run in the program's
    global names (its last line is the value): true for the mutant, false for the original. `doubt` says why a
    static linter can hardly see the defect; such a mutant is executed and scored like any other.
    """

    name: str
    defect: str
    effect: Effect
    file: str
    edits: tuple[Edit, ...]
    also: tuple[str, ...]
    raises: str | None
    shows: str | None
    doubt: str | None


@dataclass(frozen=True)
class Program:
    """A program: the texts of its files by path below `written`, the file to run, and its mutations."""

    name: str
    files: dict[str, str]
    entry: str
    mutations: tuple[Mutation, ...]


@dataclass(frozen=True)
class Mutant:
    """A program with one mutation applied; `accepted` are the rows of the mutated file to report on."""

    program: Program
    mutation: Mutation
    files: dict[str, str]
    accepted: frozenset[int]

    @property
    def name(self) -> str:
        """The mutant's name on a command line and in reports."""
        return f"{self.program.name}:{self.mutation.name}"


def load() -> list[Program]:
    """Every program, by name."""
    sheets = {path.name.removesuffix(".mutations.toml"): path for path in WRITTEN.glob("*.mutations.toml")}
    names = {path.stem if path.is_file() else path.name for path in WRITTEN.iterdir() if _is_program(path)}
    if missing := names ^ sheets.keys():
        raise CorpusError(f"program without mutations, or mutations without program: {sorted(missing)}")
    return [_load_program(name, sheets[name]) for name in sorted(names)]


def mutate(program: Program, mutation: Mutation) -> Mutant:
    """Apply `mutation`; raises CorpusError where an edit does not match exactly once."""
    place = f"{program.name}:{mutation.name}"
    before = after = program.files[mutation.file]
    for edit in mutation.edits:
        if (count := after.count(edit.find)) != 1:
            raise CorpusError(f"{place}: occurs {count} times: {edit.find!r}")
        after = after.replace(edit.find, edit.replace)
    accepted = _touched_rows(before, after)
    for snippet in mutation.also:
        rows = {row for row, line in enumerate(after.splitlines(), 1) if snippet in line}
        if not rows:
            raise CorpusError(f"{place}: no line contains {snippet!r}")
        accepted |= rows
    if not accepted:
        raise CorpusError(f"{place}: no line to report on; a pure deletion needs `also`")
    return Mutant(program, mutation, {**program.files, mutation.file: after}, frozenset(accepted))


def mutants(programs: list[Program]) -> list[Mutant]:
    """Every mutant of the programs."""
    return [mutate(program, mutation) for program in programs for mutation in program.mutations]


def _is_program(path: Path) -> bool:
    return path.suffix == ".py" or (path.is_dir() and any(path.glob("*.py")))


def _load_program(name: str, sheet: Path) -> Program:
    table = tomllib.loads(sheet.read_text(encoding="utf-8"))
    single = WRITTEN / f"{name}.py"
    paths = [single] if single.is_file() else sorted((WRITTEN / name).rglob("*.py"))
    files = {path.relative_to(WRITTEN).as_posix(): path.read_text(encoding="utf-8") for path in paths}
    entry = table.get("entry", single.name)
    if entry not in files:
        raise CorpusError(f"{sheet.name}: no such entry: {entry}")
    mutations = tuple(_read_mutation(sheet, row, entry) for row in table["mutation"])
    if len({mutation.name for mutation in mutations}) != len(mutations):
        raise CorpusError(f"{sheet.name}: two mutations of one name")
    return Program(name, files, entry, mutations)


def _read_mutation(sheet: Path, row: dict[str, Any], entry: str) -> Mutation:
    place = f"{sheet.name}: {row.get('name')}"
    if wrong := (row.keys() - _REQUIRED - _OPTIONAL) | (_REQUIRED - row.keys()):
        raise CorpusError(f"{place}: unknown or missing keys {sorted(wrong)}")
    if row["defect"] not in DEFECTS:
        raise CorpusError(f"{place}: unknown defect {row['defect']}")
    if row["effect"] not in get_args(Effect):
        raise CorpusError(f"{place}: unknown effect {row['effect']}")
    if (row["effect"] == "raises") != ("raises" in row) or ("raises" in row) == ("shows" in row):
        raise CorpusError(f"{place}: `raises` goes with the effect raises, `shows` with every other effect")
    pairs = row.get("edit") or [row]
    return Mutation(
        name=row["name"],
        defect=row["defect"],
        effect=row["effect"],
        file=row.get("file", entry),
        edits=tuple(Edit(pair["find"], pair["replace"]) for pair in pairs),
        also=tuple(row.get("also", ())),
        raises=row.get("raises"),
        shows=row.get("shows"),
        doubt=row.get("doubt"),
    )


def _touched_rows(before: str, after: str) -> set[int]:
    """The rows of `after` that are not rows of `before`, blank ones left out."""
    old, new = before.splitlines(), after.splitlines()
    rows: set[int] = set()
    for tag, _, _, start, end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag != "equal":
            rows.update(row + 1 for row in range(start, end) if new[row].strip())
    return rows
