"""What gradlint has found in real code, and what a reader of that code said of it.

    python -m benchmarks.judged [--figures]

`judged.tsv` beside this file holds one row for each error and warning that was read at its source: in repositories of
people and laboratories, at a commit, and in published packages, at a version. *right*: who maintains the code would
agree that it is a fault with the effect that is said; *useless*: true, and nobody would act; *wrong*: the rest;
*mended*: it was wrong, and is no longer reported, so that it counts apart. Without `--figures` the packages of
`tests/golden/packages.txt` are checked, and errors and warnings that nobody has judged are listed; the exit status is 1
if there are any.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from gradlint import Config, check_paths
from tests.golden.packages import extracted

TABLE = Path(__file__).with_suffix(".tsv")
VERDICTS = ("right", "useless", "wrong", "mended")


class Judged(NamedTuple):
    """A row of the table; `source` is `package==version` or `repository@commit`."""

    source: str
    path: str
    line: int
    code: str
    verdict: str
    reason: str


class Figure(NamedTuple):
    """How many of a rule's findings were right, of how many, and how many more were wrong and are mended."""

    right: int
    judged: int
    mended: int

    def __str__(self) -> str:
        """Return the figure in words."""
        more = f", {self.mended} more wrong and mended since" if self.mended else ""
        return f"{self.right} right of {self.judged}{more}"


@cache
def rows() -> tuple[Judged, ...]:
    """Return the rows of the table."""
    with TABLE.open(encoding="utf-8", newline="") as file:
        read = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        return tuple(
            Judged(row["source"], row["path"], int(row["line"]), row["code"], row["verdict"], row["reason"])
            for row in read
        )


def figures() -> dict[str, Figure]:
    """Return the figure of each rule of which a finding was read, by code."""
    all_, right, mended = (
        Counter(row.code for row in rows() if row.verdict in wanted) for wanted in (VERDICTS, ("right",), ("mended",))
    )
    return {code: Figure(right[code], all_[code] - mended[code], mended[code]) for code in sorted(all_)}


def unjudged() -> Iterator[str]:
    """Yield the errors and warnings in the pinned packages that the table does not have."""
    known = {(row.source, row.path, row.line, row.code) for row in rows()}
    for package in extracted():
        config = Config(root=package.folder, respect_gitignore=False)
        for finding in check_paths([package.folder], config).findings:
            path = Path(finding.filename).absolute().relative_to(package.folder).as_posix()
            line = finding.span.start.row
            if finding.severity != "info" and (package.key, path, line, finding.code) not in known:
                yield f"{package.key} {path}:{line}: {finding.code} {finding.message}"


def main(arguments: list[str] | None = None) -> int:
    """Print the figures, or what nobody has judged."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--figures", action="store_true", help="print how many findings of each rule were right")
    if parser.parse_args(arguments).figures:
        for code, figure in figures().items():
            print(f"{code} {figure}")
        return 0
    missing = list(unjudged())
    for line in missing:
        print(line)
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
