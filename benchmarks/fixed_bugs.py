"""How many bugs that public code has fixed gradlint finds in the version before the fix.

    python -m benchmarks.fixed_bugs MIRRORS [--half tune|unseen] [--missed]

`fixed_bugs.tsv` beside this file names the bugs. MIRRORS is a folder with a bare clone of each repository in
`OWNER+NAME/repo`. A bug is found when a finding with an accepted code lies near the marked line of the parent's
file, or names that place as related, and is gone in the fixed version. Rules may be tuned on the half `tune`;
misses of the other half are not to be studied. Needs Python 3.11, and gradlint where `-P` finds it: installed, or
on PYTHONPATH.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

TABLE = Path(__file__).with_suffix(".tsv")
NEAR = 6
"""How many lines a finding may lie away from the mark."""
LARGEST = 3000
"""How many Python files a tree may have to be unpacked whole."""
SECONDS = 300


class Bug(NamedTuple):
    """A row of the table; `line` is in the parent's file, and `codes` are those that tell the bug."""

    repository: str
    fix: str
    parent: str
    path: str
    line: int
    kind: str
    half: str
    rule_kind: str
    codes: frozenset[str]
    text: str


class Finding(NamedTuple):
    """What a finding is compared by."""

    code: str
    message: str
    lines: tuple[int, ...]
    """Where it lies in the file, first its own line and then those that it names as related."""


class Outcome(NamedTuple):
    """What gradlint says of a bug."""

    found: bool
    remark: str


def main(arguments: list[str] | None = None) -> int:
    """Print what is found of each kind of bug."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mirrors", type=Path, metavar="MIRRORS")
    parser.add_argument("--half", choices=("tune", "unseen"), help="only this half of the bugs")
    parser.add_argument("--missed", action="store_true", help="list every bug, one line each")
    parser.add_argument("--only", default="", metavar="TEXT", help="only bugs whose repository contains this")
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()) / "fixed_bugs", metavar="FOLDER")
    options = parser.parse_args(arguments)
    bugs = [bug for bug in read(TABLE) if options.half in (None, bug.half) and options.only in bug.repository]
    outcomes = []
    for bug in bugs:
        outcome = judge(bug, options.mirrors, options.cache)
        outcomes.append((bug, outcome))
        if options.missed:
            print(line_of(bug, outcome), flush=True)
    print(report(outcomes))
    return 0


def read(table: Path) -> list[Bug]:
    """The bugs of a table."""
    with table.open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE))[1:]
    return [_bug(*row) for row in rows]


def _bug(
    repository: str,
    fix: str,
    parent: str,
    path: str,
    line: str,
    kind: str,
    half: str,
    rule_kind: str,
    codes: str,
    text: str,
) -> Bug:
    accepted = frozenset(codes.split(",")) - {"-"}
    return Bug(repository, fix, parent, path, int(line), kind, half, rule_kind, accepted, text)


def judge(bug: Bug, mirrors: Path, cache: Path) -> Outcome:
    """Lint the file of a bug before and after its fix."""
    mirror = mirror_of(bug.repository, mirrors)
    if mirror is None:
        return Outcome(False, "no mirror")
    before = lint(unpack(mirror, bug.parent, bug.path, cache), bug.path)
    near = [finding for finding in before if any(abs(line - bug.line) <= NEAR for line in finding.lines)]
    telling = [finding for finding in near if finding.code in bug.codes]
    if not telling:
        others = ", ".join(sorted({f"{finding.code}:{finding.lines[0]}" for finding in near}))
        return Outcome(False, f"nearby: {others}" if others else "")
    after = Counter((finding.code, finding.message) for finding in lint(_fixed(mirror, bug, cache), bug.path))
    count = Counter((finding.code, finding.message) for finding in before)
    gone = [finding for finding in telling if after[_key(finding)] < count[_key(finding)]]
    codes = ", ".join(sorted({finding.code for finding in gone or telling}))
    return Outcome(bool(gone), codes if gone else f"not gone after the fix: {codes}")


def _key(finding: Finding) -> tuple[str, str]:
    return finding.code, finding.message


def _fixed(mirror: Path, bug: Bug, cache: Path) -> Path:
    return unpack(mirror, bug.fix, bug.path, cache)


def mirror_of(repository: str, mirrors: Path) -> Path | None:
    """The git directory of a repository's clone."""
    folder = mirrors / repository.replace("/", "+") / "repo"
    return next((path for path in (folder / ".git", folder) if (path / "objects").is_dir()), None)


def unpack(mirror: Path, commit: str, path: str, cache: Path) -> Path:
    """The root of a commit's Python files below `cache`; of a large tree, only the top-level folder of `path`."""
    root = cache / mirror.parts[mirror.parts.index("repo") - 1] / commit
    if root.is_dir():
        return root
    listed = _git(mirror, "ls-tree", "-r", "-z", "--name-only", commit).decode("utf-8", "replace").split("\0")
    names = [name for name in listed if name.endswith(".py")]
    if len(names) > LARGEST:
        top = path.split("/", 1)[0] + "/"
        names = [name for name in names if name.startswith(top)]
    unfinished = root.with_name(f"{commit}.part")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(parents=True)
    # The names go in portions: a command line has a limit.
    for start in range(0, len(names), 500):
        archive = _git(mirror, "archive", "--format=tar", commit, "--", *_literal(names[start : start + 500]))
        with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
            tar.extractall(unfinished, members=[member for member in tar if member.isreg()], filter="data")
    unfinished.rename(root)
    return root


def _literal(names: Iterable[str]) -> Iterator[str]:
    """Paths that git does not take for patterns."""
    return (f":(literal){name}" for name in names)


def _git(mirror: Path, *arguments: str) -> bytes:
    command = ["git", "--git-dir", str(mirror), *arguments]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout


def lint(root: Path, path: str) -> list[Finding]:
    """The errors and warnings of a file, linted in its tree."""
    if not (root / path).is_file():
        return []
    # -P: Python must not import what lies in the tree.
    command = [
        sys.executable,
        "-P",
        "-m",
        "gradlint",
        "check",
        "-q",
        "--isolated",
        "--no-cache",
        "--output-format",
        "json",
        path,
    ]
    try:
        run = subprocess.run(command, cwd=root, stdout=subprocess.PIPE, text=True, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        print(f"timed out: {root / path}", file=sys.stderr)
        return []
    if run.returncode not in (0, 1):
        print(f"gradlint failed: {root / path}", file=sys.stderr)
        return []
    rows = json.loads(run.stdout)
    return [_finding(row, path) for row in rows if row["severity"] != "info" and row["filename"].endswith(path)]


def _finding(row: dict[str, object], path: str) -> Finding:
    related = row["related"]
    assert isinstance(related, list)
    places = [row, *(other for other in related if str(other["filename"]).endswith(path))]
    return Finding(str(row["code"]), str(row["message"]), tuple(int(place["location"]["row"]) for place in places))


def line_of(bug: Bug, outcome: Outcome) -> str:
    """One line about a bug."""
    place = f"{bug.repository} {bug.parent[:10]} {bug.path}:{bug.line}"
    codes = ",".join(sorted(bug.codes)) or "-"
    remark = f" ({outcome.remark})" if outcome.remark else ""
    return f"{'FOUND ' if outcome.found else 'missed'} {place} [{bug.rule_kind}; {codes}]{remark}"


def report(outcomes: Iterable[tuple[Bug, Outcome]]) -> str:
    """What was found of each kind of program and of bug."""
    total: Counter[tuple[int, str]] = Counter()
    found: Counter[tuple[int, str]] = Counter()
    for bug, outcome in outcomes:
        rule = "with a rule" if bug.codes else "without a rule"
        for key in ((0, "all"), (1, bug.kind), (2, f"half {bug.half}"), (3, rule), (4, bug.rule_kind)):
            total[key] += 1
            found[key] += outcome.found
    return "\n".join(f"{name:<48}{found[order, name]:>4}/{total[order, name]}" for order, name in sorted(total))


if __name__ == "__main__":
    sys.exit(main())
