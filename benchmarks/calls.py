"""How many calls of functions a check makes: unlike its time, this does not depend on the machine and its load.

    python -m benchmarks.calls [--write]
    python -m benchmarks.calls FOLDER ...

The first form checks torch's `optim` and `distributions` under cProfile, and compares the number of calls with the one
in `calls.json`. Exit code 1: it is more than 2 % higher. `--write` records it. Where none is recorded for these
versions of Python and torch, the number is only printed: other versions of Python make other calls.

The second form prints in which parts of gradlint the time goes in each folder, as a row of a Markdown table. cProfile
makes calls dearer than they are, so the shares are rough.
"""

from __future__ import annotations

import argparse
import cProfile
import importlib.util
import json
import os
import pstats
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from importlib.metadata import version
from pathlib import Path

from gradlint.checker import Checker
from gradlint.running import no_collection, with_deep_stack
from gradlint.settings.config import Config

RECORD = Path(__file__).with_suffix(".json")
MOST = 1.02
PARTS = ("optim", "distributions")
PACKAGE = Path(__file__).resolve().parents[1] / "gradlint"
ROOMS = {
    "parse": ("source/parse.py", "source/read.py", "source/length.py"),
    "lower": ("source/",),
    "join": ("domain/join.py", "domain/likeness.py"),
    "interpret": ("interpreter/", "domain/", "facts/"),
    "detect": ("detect/",),
    "judge": ("rules/", "fixes/", "judgement.py"),
}
"""By the name of a part, how the paths of its files begin. What is called from elsewhere counts for its caller."""


def profiled(files: Iterable[Path]) -> pstats.Stats:
    """Check files, one after the other, and return what was called."""
    profile, checker = cProfile.Profile(), Checker()
    checker.load()  # Which is no part of a check.

    def work() -> None:
        for path in files:
            content = path.read_bytes()
            if b"torch" in content:
                profile.runcall(checker.check_content, content, str(path), Config())

    with no_collection():
        with_deep_stack(work)
    return pstats.Stats(profile)


def of_torch() -> int:
    """Return the number of calls for the files to be counted: copies, as it matters what stands beside a file."""
    found = importlib.util.find_spec("torch")
    assert found is not None and found.origin is not None, "torch is not installed"
    with tempfile.TemporaryDirectory() as folder:
        for part in PARTS:
            shutil.copytree(Path(found.origin).parent / part, Path(folder) / part)
        return int(profiled(sorted(Path(folder).rglob("*.py"))).total_calls)  # type: ignore[attr-defined]


def compare(calls: int, *, write: bool) -> int:
    """Compare a number with the recorded one; return the exit code."""
    recorded = json.loads(RECORD.read_text()) if RECORD.exists() else {}
    key = f"Python {sys.version_info.major}.{sys.version_info.minor}, torch {version('torch').partition('+')[0]}"
    before = recorded.get(key)
    if write:
        RECORD.write_text(json.dumps({**recorded, key: calls}, indent=2, sort_keys=True) + "\n")
    if write or before is None:
        print(f"{key}: {calls:,} calls, {'recorded' if write else 'none are recorded for these versions'}")
        return 0
    print(f"{key}: {calls:,} calls, {before:,} recorded, {calls / before:.3f} times; at most {MOST}")
    return int(calls > MOST * before)


def shares(stats: pstats.Stats) -> dict[str, float]:
    """Return the share of the time for each part; functions of others count for the parts that call them."""
    spent: Counter[str] = Counter()
    for (filename, *_), (_, _, own, _, callers) in stats.stats.items():  # type: ignore[attr-defined]
        room = _room(filename)
        if room is not None:
            spent[room] += own
            continue
        for (caller, *_), (_, _, part, _) in callers.items():
            spent[_room(caller) or "other"] += part
    total = sum(spent.values())
    return {room: spent[room] / total for room in (*ROOMS, "other")}


def _room(filename: str) -> str | None:
    path = Path(filename)
    if "libcst" in path.parts:
        return "parse" if "_parser" in path.parts else "lower"
    if not path.is_relative_to(PACKAGE):
        return None
    name = path.relative_to(PACKAGE).as_posix()
    return next((room for room, starts in ROOMS.items() if name.startswith(starts)), "other")


def table(folders: Iterable[Path]) -> Iterator[str]:
    """Yield a row for each folder."""
    yield "| | " + " | ".join((*ROOMS, "other")) + " |"
    yield "|---" * (len(ROOMS) + 2) + "|"
    for folder in folders:
        found = shares(profiled(sorted(folder.rglob("*.py"))))
        yield f"| {folder.name} | " + " | ".join(f"{share:.0%}" for share in found.values()) + " |"


def main() -> int:
    """Count, or print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    if os.environ.get("PYTHONHASHSEED") != "0":  # The order of sets decides how much is called.
        return subprocess.run(
            [sys.executable, "-m", "benchmarks.calls", *sys.argv[1:]], env={**os.environ, "PYTHONHASHSEED": "0"}
        ).returncode
    if given.folders:
        for row in table(given.folders):
            print(row, flush=True)
        return 0
    return compare(of_torch(), write=given.write)


if __name__ == "__main__":
    sys.exit(main())
