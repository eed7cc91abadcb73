"""Compare what gradlint finds with the golden files, or write them anew.

`python -m tests.golden [--write] [--only GROUP] [--sample N] [--diff-summary] [--jobs N] [--limit N]`
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from tests.golden.compare import Change, changes, lines_of, summary
from tests.golden.corpus import GROUPS, Unit, units_of
from tests.golden.packages import NotDownloadedError, Package
from tests.golden.record import Entry, entries_of

HERE = Path(__file__).resolve().parent


def main() -> int:
    """0 if nothing differs, 1 if something does, 2 if the packages are missing."""
    options = _options()
    try:
        found = [change for group in options.only or GROUPS for change in _group(group, options)]
    except NotDownloadedError as error:
        print(error, file=sys.stderr)
        return 2
    if options.diff_summary:
        print("\n".join(summary(found)))
    return 1 if found else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.golden", description=__doc__)
    parser.add_argument("--write", action="store_true", help="write the golden files anew")
    parser.add_argument("--only", action="append", choices=sorted(GROUPS), help="this group; may be repeated")
    parser.add_argument("--sample", type=int, default=1, metavar="N", help="only every Nth program")
    parser.add_argument("--diff-summary", action="store_true", help="count the differences by code, and show none")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="processes (2)")
    parser.add_argument("--limit", type=int, default=40, metavar="N", help="differences to show of a group (40)")
    options = parser.parse_args()
    if options.write and options.sample > 1:
        parser.error("a sample cannot be written")
    return options


def _group(group: str, options: argparse.Namespace) -> list[Change]:
    """Lint a group, and write it or compare it."""
    start = time.monotonic()
    units = units_of(group)
    chosen = units[:: options.sample]
    entries = lint(chosen, options.jobs)
    if options.write:
        write(group, entries)
    found = [] if options.write else _differences(group, units, chosen, entries)
    count = sum(len(entry.get("findings", ())) for entry in entries.values())
    said = "written" if options.write else f"{len(found)} differences"
    seconds = time.monotonic() - start
    print(f"{group}: {len(chosen)} of {len(units)} linted, {count} findings, {said}, {seconds:.0f} s", flush=True)
    if not options.diff_summary:
        _show(found, {unit.key: unit.place for unit in units}, options.limit)
    return found


def lint(units: list[Unit], jobs: int) -> dict[str, Entry]:
    """The entries of the units, by key; packages are few and large, and the largest come first."""
    large = [unit for unit in units if isinstance(unit, Package)]
    order = sorted(units, key=_size, reverse=True) if large else units
    with ProcessPoolExecutor(jobs) as pool:
        done = pool.map(entries_of, order, chunksize=1 if large else 20)
        entries = {entry["key"]: entry for several in done for entry in several}
    return dict(sorted(entries.items()))


def _size(unit: Unit) -> int:
    return sum(path.stat().st_size for path in unit.folder.rglob("*.py")) if isinstance(unit, Package) else 0


def read(group: str) -> dict[str, Entry]:
    """What is recorded of a group."""
    lines = _file(group).read_text(encoding="utf-8").splitlines()
    return {entry["key"]: entry for entry in map(json.loads, lines)}


def write(group: str, entries: dict[str, Entry]) -> None:
    """Record a group, a line for each entry."""
    lines = [json.dumps(entry, ensure_ascii=False, separators=(",", ":")) for entry in entries.values()]
    _file(group).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def _file(group: str) -> Path:
    return HERE / f"{group}.jsonl"


def _differences(group: str, units: list[Unit], chosen: list[Unit], entries: dict[str, Entry]) -> list[Change]:
    """What was not linted differs only where the whole program is gone."""
    skipped = {unit.key for unit in units} - {unit.key for unit in chosen}
    recorded = {key: entry for key, entry in read(group).items() if _unit_key(key) not in skipped}
    return changes(recorded, entries)


def _unit_key(key: str) -> str:
    """The key of the unit: that of a file of a package goes on behind a slash."""
    return key.partition("/")[0]


def _show(found: list[Change], places: dict[str, str], limit: int) -> None:
    for change in found[:limit]:
        print("\n".join(lines_of(change, places.get(change.key, change.key))))
    if len(found) > limit:
        print(f"... and {len(found) - limit} more; --limit shows more")


if __name__ == "__main__":
    sys.exit(main())
