"""Compare what calls showed with what the table says: the proof of fit, encoding, decoding and resolving."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from gradlint.facts import MustMay, Row, Sum, Value, resolve
from gradlint.facts.table import decode_row
from tools.facts.fit import ABSENT, Labels
from tools.facts.probes import Record
from tools.facts.table import PER_INPUT, SIMPLE, SUMS, as_lists, row_of, with_list_outputs

_FIELDS = {
    "views": "views",
    "writes": "writes",
    "hidden": "hidden_writes",
    "requires_grad": "requires_grad",
    "requires_grad_anyway": "requires_grad_anyway",
    "silent": "silent_wrong",
    "scalar": "scalar",
    "parameters": "parameters",
    "buffers": "buffers",
    "result": "result",
}
_RULES = {"size": "size", "dtype": "dtype"}
_PER_INPUT = {"saved": "saved", "copies": "copies", "freed": "freed"}
_PER_LABEL = {"raises": "raises_if_requires_grad", "no_derivative": "no_derivative"}


class Verdict(NamedTuple):
    """Of one fact of one call: `right`, `open` (not decided), or wrong, in what `must` or what `may` hold."""

    fact: str
    kind: str
    said: MustMay
    seen: Labels


def verdicts(row: Row, record: Record) -> Iterator[Verdict]:
    """Judge the row by one call."""
    flags = flags_of(record)
    for fact, seen in record.facts.items():
        name, _, label = fact.partition(":")
        value = _value(row, name, label)
        if value is None:
            continue
        said = resolve(value, flags)
        if name in _PER_LABEL:
            said = MustMay(said.must & {label}, said.may & {label})
        yield Verdict(fact, _judged(said, seen, name in _RULES), said, seen)


def _value(row: Row, name: str, label: str) -> Value | None:
    if name in _PER_INPUT:
        values: Mapping[str, Value] = getattr(row, _PER_INPUT[name])
        return values.get(label, MustMay(frozenset(), frozenset()))
    field = _FIELDS.get(name) or _RULES.get(name) or _PER_LABEL.get(name)
    found: Value | None = getattr(row, field) if field else None
    return found


def _judged(said: MustMay, seen: Labels, rule: bool) -> str:
    if not said.must <= seen:
        return "must"
    if rule:
        return "right" if said.must else "open"
    if not seen <= said.may:
        return "may"
    return "right" if said.certain else "open"


def flags_of(record: Record) -> dict[str, object]:
    """Return the call's flags as the linter would give them."""
    return {flag: _constant(key) for flag, key in record.flags.items() if key != ABSENT}


def _constant(key: str) -> object:
    if key in ("inf", "-inf", "nan"):
        return float(key)
    try:
        return ast.literal_eval(key)
    except (ValueError, SyntaxError):  # Kinds, dtypes and words such as `yes` stand for themselves.
        return key


def tally(rows: Mapping[str, Row], records: Mapping[str, Sequence[Record]]) -> Counter[tuple[str, str]]:
    """Count the verdicts of all calls by fact and kind."""
    found: Counter[tuple[str, str]] = Counter()
    for name, row in rows.items():
        for record in comparable(records.get(name, ()), row):
            found.update((v.fact.partition(":")[0], v.kind) for v in verdicts(row, record))
    return found


def comparable(records: Sequence[Record], row: Row | None = None) -> list[Record]:
    """Return the records that torch accepted, speaking of outputs as the row does, or as a row of them would."""
    good = [record for record in records if not record.failure]
    if row is None:
        return with_list_outputs(good)
    return as_lists(good) if any("(*)" in label for label in possible(row.result)) else good


def possible(value: Value) -> Labels:
    """Return every label that may hold in any call."""
    if isinstance(value, MustMay):
        return value.may
    parts = value.parts if isinstance(value, Sum) else (*value.cases.values(), value.default)
    return frozenset().union(*(possible(part) for part in parts))


def held_out(records: Mapping[str, Sequence[Record]]) -> dict[str, Counter[tuple[str, str]]]:
    """Fit on every second call and judge by the others: how far each row can be believed on new calls."""
    found = {}
    for name, group in records.items():
        good = comparable(group)
        if len(good) >= 4:
            row = decode_row(row_of(good[::2], "op"))
            found[name] = tally({name: row}, {name: good[1::2]})
    return found


def worst(counts: Mapping[str, Counter[tuple[str, str]]], limit: int = 15) -> Iterable[str]:
    """Name the rows that said most wrong things of new calls."""
    wrong = {
        name: sum(c for (_, kind), c in found.items() if kind in ("must", "may")) for name, found in counts.items()
    }
    for name in sorted(wrong, key=lambda n: (-wrong[n], n))[:limit]:
        facts = sorted({fact for fact, kind in counts[name] if kind in ("must", "may")})
        yield f"{name:<45}{wrong[name]:>6}  {' '.join(facts)}"


def lines(counts: Counter[tuple[str, str]]) -> Iterable[str]:
    """Write the counts as a small table."""
    kinds = ("right", "open", "must", "may")
    yield f"{'fact':<22}" + "".join(f"{kind:>9}" for kind in kinds)
    for fact in sorted({fact for fact, _ in counts}):
        yield f"{fact:<22}" + "".join(f"{counts[fact, kind]:>9}" for kind in kinds)


assert set(_FIELDS) | set(_RULES) == set(SIMPLE.values()) and set(_PER_INPUT) == set(PER_INPUT.values())
assert set(_PER_LABEL) == set(SUMS.values())
