"""The differences between what is recorded and what gradlint finds today, and words for them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from tests.golden.record import Entry

_PLACE = ("file", "at", "code")


@dataclass(frozen=True)
class Change:
    """One finding, or another piece of an entry, before and after; one of them may be missing."""

    key: str
    before: Entry | None
    after: Entry | None

    @property
    def code(self) -> str:
        """The rule that it is about, or what else it is about."""
        either = self.before or self.after or {}
        return str(either.get("code") or next(iter(either)))

    @property
    def kind(self) -> str:
        """What happened."""
        if self.before is None:
            return "added"
        return "removed" if self.after is None else "changed"


def changes(before: Mapping[str, Entry], after: Mapping[str, Entry]) -> list[Change]:
    """All differences, by key; a program that only one side has is a difference by itself."""
    found: list[Change] = []
    for key in sorted(before.keys() | after.keys()):
        if key not in after:
            found.append(Change(key, {"program": "recorded"}, None))
        elif key not in before:
            found.append(Change(key, None, {"program": "not recorded"}))
        if before.get(key) != after.get(key):
            found.extend(_between(key, before.get(key, {}), after.get(key, {})))
    return found


def _between(key: str, before: Entry, after: Entry) -> Iterator[Change]:
    """Findings are paired by place and code; the crash and the counts of an entry are compared as they are."""
    for part in ("crash", "counts"):
        if before.get(part) != after.get(part):
            yield Change(key, _only(part, before), _only(part, after))
    left, right = (_by_place(entry.get("findings", ())) for entry in (before, after))
    for place in sorted(left.keys() | right.keys()):
        if left.get(place) != right.get(place):
            yield Change(key, left.get(place), right.get(place))


def _only(part: str, entry: Entry) -> Entry | None:
    return {part: entry[part]} if part in entry else None


def _by_place(findings: Iterable[Entry]) -> dict[tuple[str, ...], Entry]:
    return {tuple(finding[part] for part in _PLACE): finding for finding in findings}


def lines_of(change: Change, place: str) -> Iterator[str]:
    """A difference for people: of a changed finding, only what has changed."""
    yield f"{change.kind} {change.code} in {place} [{change.key}]"
    before, after = change.before or {}, change.after or {}
    if change.kind == "changed" and "at" in before:
        yield f"    at {before['at']} of {before['file']}"
    for name in dict.fromkeys((*before, *after)):
        if before.get(name) != after.get(name):
            yield from (
                f"  {sign} {name}: {_text(side[name])}" for sign, side in (("-", before), ("+", after)) if name in side
            )


def summary(found: Iterable[Change]) -> Iterator[str]:
    """How many were added, removed, and changed, by code."""
    counts: dict[str, Counter[str]] = {}
    for change in found:
        counts.setdefault(change.code, Counter())[change.kind] += 1
    for code, kinds in sorted(counts.items()):
        yield f"{code}: " + ", ".join(f"{kinds[kind]} {kind}" for kind in sorted(kinds))


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
