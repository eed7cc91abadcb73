"""Put single mistakes into real training scripts, and count how many gradlint finds.

    python -m benchmarks.mutants SCRIPTS_DIR [--half tune|unseen] [--style S] [--missed]

SCRIPTS_DIR holds a folder OWNER+NAME for each repository of scripts.tsv, with its Python files at the commit that
stands there. A mutant is found when a code that a right finding may have is reported more often than in the original.
"""

from __future__ import annotations

import argparse
import re
import shutil
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from gradlint import Config, check_paths
from gradlint.checker import Checker

from .choose import Entry, Mutant, chosen, entries

DRIVERS = 2


class Fate(NamedTuple):
    """What became of a mutant: the new findings with accepted codes, and those with others."""

    mutant: Mutant
    hits: tuple[str, ...]
    others: tuple[str, ...]


class Tree:
    """The files of a repository in a folder of ours, with one file exchanged at a time."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._checker = Checker()
        self._paths = [path for path in root.rglob("*.py") if path.is_file()]

    def said(self, path: str, text: str | None = None) -> tuple[Counter[str], list[str]]:
        """What gradlint reports of a file, perhaps with another text, and of those that import it."""
        file, drivers = self._root / path, self._drivers(path)
        before = file.read_bytes()
        try:
            if text is not None:
                file.write_text(text, encoding="utf-8")
            # What others import is kept by a checker, so a file that is imported needs a new one.
            checker = Checker() if drivers else self._checker
            outcome = check_paths([file, *drivers], Config(), checker=checker)
        finally:
            file.write_bytes(before)
        for crash in outcome.crashes:
            print(f"crashed on {crash.filename}: {crash.summary}")
        found = [one for one in outcome.findings if one.severity != "info"]
        lines = [f"{one.code}@{Path(one.filename).name}:{one.span.start.row}" for one in found]
        return Counter(one.code for one in found), lines

    def _drivers(self, path: str) -> list[Path]:
        """Files that import this one, the nearest first."""
        word = re.compile(rf"^\s*(from|import)\b.*\b{re.escape(Path(path).stem)}\b", re.MULTILINE)
        file = self._root / path
        importing = [
            one for one in self._paths if one != file and word.search(one.read_text(encoding="utf-8", errors="replace"))
        ]
        return sorted(importing, key=lambda one: (one.parent != file.parent, len(one.parts), one.name))[:DRIVERS]


def main() -> int:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="where the repositories are unpacked")
    parser.add_argument("--half", choices=("tune", "unseen"), help="only the scripts of this half")
    parser.add_argument("--style", help="only the scripts of this style")
    parser.add_argument("--missed", action="store_true", help="list what is not found")
    options = parser.parse_args()

    # Each half is chosen by itself, so that asking for one does not change it.
    scripts = [entry for entry in entries() if options.half in (None, entry.half)]
    mutants = [one for one in chosen(options.folder, scripts) if options.style in (None, one.entry.style)]
    fates: list[Fate] = []
    for fate in _fates(options.folder, mutants):
        fates.append(fate)
        if options.missed and not fate.hits:
            word = f"elsewhere {' '.join(fate.others)}" if fate.others else "missed"
            print(f"{fate.mutant.name} [{fate.mutant.entry.style}] {word}", flush=True)
    _print("style", fates, lambda fate: fate.mutant.entry.style)
    _print("operator", fates, lambda fate: fate.mutant.operator.name)
    found, other = sum(bool(fate.hits) for fate in fates), sum(bool(not fate.hits and fate.others) for fate in fates)
    print(f"found {found}/{len(fates)} mutants; {other} only with another code")
    return 0


def _fates(folder: Path, mutants: list[Mutant]) -> Iterator[Fate]:
    def repository(mutant: Mutant) -> str:
        return mutant.entry.repository

    for _name, group in groupby(sorted(mutants, key=repository), key=repository):
        with tempfile.TemporaryDirectory() as scratch:
            yield from _fates_in(folder, Path(scratch) / "tree", list(group))


def _fates_in(folder: Path, root: Path, mutants: list[Mutant]) -> Iterator[Fate]:
    shutil.copytree(mutants[0].entry.tree(folder), root)
    tree = Tree(root)
    known: dict[Entry, Counter[str]] = {}
    for mutant in mutants:
        entry = mutant.entry
        if entry not in known:
            known[entry], _lines = tree.said(entry.path)
        codes, lines = tree.said(entry.path, mutant.text)
        new = codes - known[entry]
        others = [line for line in lines if line.split("@")[0] in new.keys() - mutant.operator.codes]
        yield Fate(mutant, tuple(sorted(new.keys() & mutant.operator.codes)), tuple(others))


def _print(title: str, fates: list[Fate], key: Callable[[Fate], str]) -> None:
    groups: dict[str, list[Fate]] = defaultdict(list)
    for fate in fates:
        groups[key(fate)].append(fate)
    print(f"\nfound by {title}:")
    for name, group in sorted(groups.items()):
        codes = " ".join(sorted({code for fate in group for code in fate.hits}))
        print(f"{name:30} {sum(bool(fate.hits) for fate in group):3}/{len(group):<3} {codes}")


if __name__ == "__main__":
    sys.exit(main())
