"""From records to the table: fit each fact of each name, share equal rows and signatures."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from tools.facts import points
from tools.facts.fit import (
    ABSENT,
    NUMBER,
    Json,
    Labels,
    Quality,
    Seen,
    fit,
    has_common,
    is_constant,
    is_number,
    leaf,
)
from tools.facts.names import attribute, spellings_of
from tools.facts.probes import Record
from tools.facts.samples import forward_overloads, module_class
from tools.facts.signature import NO_DEFAULT, UNKNOWN_DEFAULT, Overload, Parameter, overloads_of
from tools.facts.units import Measured, defaults_of

Row = dict[str, object]

# The letters of a row. `s`, `c`, `t`, `z`, `u` and `b` are kept per input that requires grad.
SIMPLE = {
    "v": "views",
    "w": "writes",
    "h": "hidden",
    "g": "requires_grad",
    "G": "requires_grad_anyway",
    "q": "silent",
    "l": "scalar",
    "k": "size",
    "d": "dtype",
    "y": "result",
    "P": "parameters",
    "B": "buffers",
}
SUMS = {"r": "raises", "x": "no_derivative"}
PER_INPUT = {"s": "saved", "c": "copies", "t": "freed"}
_OF_RULES = {"size", "dtype"}
_OF_THE_WHOLE = {"saved", "views", "scalar"}
_STRENGTH = ("same:", "0d", "bcast", "reduce", "arg:size", "numel:")
_DTYPE_STRENGTH = ("arg:dtype", "same", "promote", "float", "real")
ORIGINS = {"op": "", "module": "m", "recipe": "r"}


def row_of(records: Sequence[Record], origin: str) -> Row:
    """Fit every fact of one name."""
    good = [record for record in records if not record.failure]
    good = with_list_outputs(good)
    row: Row = {}
    for letter, fact in SIMPLE.items():
        value = _value(good, fact)
        if value is not None:
            row[letter] = _sparing(letter, value)
    for letter, fact in SUMS.items():
        parts = [_value(good, f"{fact}:{label}") for label in _labels_of(good, fact)]
        told = [part for part in parts if part]
        if told:
            row[letter] = told if len(told) > 1 else told[0]
    # A large module passes its inputs through many operations, and what these save hangs on more than flags.
    tested = not any("*" in record.facts.get("parameters", ()) for record in good)
    for letter, fact in PER_INPUT.items():
        values = {label: _value(good, f"{fact}:{label}", tested=tested) for label in _labels_of(good, fact)}
        kept = {k: v for k, v in values.items() if v is not None and (v or letter == "s")}
        if kept:
            row[letter] = kept
    _gradient_facts(good, row)
    outs = {label for r in good for label in r.facts.get("out", ())}
    if outs:
        row["O"] = " ".join(sorted(outs))
    row["n"] = sum("result" in r.facts for r in good)
    if is_module(records[0].name):
        forward = forward_overloads(module_class(records[0].name))
        row["f"] = signature_text(seen_kinds(forward, records, "forward."))
    if ORIGINS[origin]:
        row["o"] = ORIGINS[origin]
    return {letter: value for letter, value in row.items() if value is not None}


def is_module(name: str) -> bool:
    """Say whether the name is that of a module class."""
    return isinstance(attribute(name), type)


def _value(records: Sequence[Record], fact: str, tested: bool = True) -> Json | None:
    """Fit one fact; `tested` allows tests at all.

    Tests on the call as a whole (layout, ranks) are believed only of facts for which torch has a reason to look.
    """
    seen = [Seen(record.flags, record.facts[fact]) for record in records if fact in record.facts]
    if fact.partition(":")[0] not in _OF_THE_WHOLE:
        seen = [Seen({f: k for f, k in s.flags.items() if f[0] != "@"}, s.labels) for s in seen]
    if not seen:
        return None
    if not tested:
        return leaf(seen)
    quality: Quality = has_common if fact in _OF_RULES else is_constant
    return _with_absent(fit(seen, quality), records[0].name)


def _sparing(letter: str, value: Json) -> Json | None:
    """Leave out what the loader assumes of a row that says nothing."""
    assumed: dict[str, Json] = {"g": ">", "y": "Tensor"}
    if letter in "kd":
        value = _strongest(value, _STRENGTH if letter == "k" else _DTYPE_STRENGTH)
    return None if value == assumed.get(letter, "") else value


def _strongest(value: Json, order: Sequence[str]) -> Json:
    """Of several rules that always held keep the most telling one."""
    if isinstance(value, str):
        rules = sorted(value.split(), key=lambda r: next((i for i, p in enumerate(order) if r.startswith(p)), 99))
        return " ".join(rules[:1])
    assert isinstance(value, dict), "rules are not fitted label by label"
    return {key: v if key == "?" else _strongest(v, order) for key, v in value.items()}


def _labels_of(records: Iterable[Record], fact: str) -> list[str]:
    prefix = fact + ":"
    return sorted({key.removeprefix(prefix) for r in records for key in r.facts if key.startswith(prefix)})


def _gradient_facts(records: Sequence[Record], row: Row) -> None:
    for letter, fact in (("z", "zero"), ("u", "unreached")):
        always = {}
        for label in _labels_of(records, fact):
            value = _value(records, f"{fact}:{label}")
            if value:
                always[label] = value
        merged = _merged(always)
        if merged:
            row[letter] = merged
    points: dict[str, dict[str, str]] = defaultdict(dict)
    for key in sorted({k for r in records for k in r.facts if k.startswith("nonfinite:")}):
        _, label, number = key.split(":")
        seen = [r.facts[key] for r in records if key in r.facts]
        if any(seen):
            kinds = frozenset[str]().union(*seen)
            points[label][number] = "".join(sorted(kinds - {"*"}, reverse=True)) + _marks(kinds, seen)
    if points:
        row["b"] = dict(points)


def _marks(kinds: Labels, seen: Sequence[Labels]) -> str:
    return ("*" if "*" in kinds else "") + ("" if all(seen) else "?")


def _merged(values: Mapping[str, Json]) -> dict[str, Json]:
    """Keep per input; the value says `yes` where the fact holds."""
    return {label: _as_yes(value) for label, value in values.items()}


def _as_yes(value: Json) -> Json:
    if isinstance(value, str):
        return "yes" if value else ""
    assert isinstance(value, dict), "a single label is not fitted label by label"
    return {key: v if key == "?" else _as_yes(v) for key, v in value.items()}


def _with_absent(value: Json, name: str) -> Json:
    """Add the case of an absent argument: it counts as the default if that is a plain constant."""
    if isinstance(value, list):
        return [_with_absent(part, name) for part in value]
    if isinstance(value, str) or value["?"] == "":
        return value
    defaults = defaults_of(name)
    flag = str(value["?"])
    cases = {k: v if k == "?" else _with_absent(v, name) for k, v in value.items()}
    default = defaults.get(flag, ABSENT)
    key = NUMBER if default not in cases and is_number(default) else default
    if ABSENT not in cases and key in cases:
        cases[ABSENT] = cases[key]
    return cases


def with_list_outputs(records: Sequence[Record]) -> list[Record]:
    """Where the number of outputs varies they are a list, of which facts speak as `>*`."""
    counts = {_count(r) for r in records if "result" in r.facts}
    return list(records) if len(counts - {None}) < 2 else as_lists(records)


def as_lists(records: Sequence[Record]) -> list[Record]:
    """Speak of the outputs as a list."""
    return [Record(r.name, r.flags, _renamed(r.facts, _listed)) for r in records]


def _count(record: Record) -> int | None:
    result = next(iter(record.facts["result"]))
    plain = re.fullmatch(r"(tuple|list)\(((Tensor,?)+)\)", result)
    return len(plain[2].split(",")) if plain else None


def _listed(label: str) -> str:
    label = re.sub(r"^>\d+", ">*", label)
    return re.sub(r"^(tuple|list)\((Tensor,?)+\)$", r"\1(*)", label)


def _renamed(facts: Mapping[str, Labels], rename: Callable[[str], str]) -> dict[str, Labels]:
    found: dict[str, Labels] = {}
    for key, labels in facts.items():
        name = rename(key)
        found[name] = found.get(name, frozenset()) | frozenset(rename(label) for label in labels)
    return found


def seen_kinds(overloads: tuple[Overload, ...], records: Sequence[Record], prefix: str = "") -> tuple[Overload, ...]:
    """Let parameters that torch does not annotate take the kinds of value that they took in calls."""

    def kinds(parameter: Parameter) -> frozenset[str]:
        keys = {r.flags.get(prefix + parameter.name, ABSENT) for r in records if not r.failure}
        tensor = {"tensor"} if "T" in keys else set()
        return frozenset(tensor | ({"number"} if any(is_number(key) for key in keys) else set()))

    return tuple(tuple(p if p.kinds else replace(p, kinds=kinds(p)) for p in overload) for overload in overloads)


def signature_text(overloads: tuple[Overload, ...]) -> str:
    """Write overloads as the table holds them: `input~,other~#,*,alpha=1|...`."""
    return "|".join(dict.fromkeys(_overload_text(overload) for overload in overloads))


def _overload_text(overload: Overload) -> str:
    parts, keyword_only = [], False
    for parameter in overload:
        if parameter.name.startswith("_"):
            continue
        if parameter.keyword_only and not keyword_only:
            keyword_only = True
            parts.append("*")
        tensor = "~" if parameter.kinds & {"tensor", "tensors"} else ""
        number = "#" if tensor and "number" in parameter.kinds else ""
        default = parameter.default
        if "," in default or "|" in default:
            default = UNKNOWN_DEFAULT
        text = f"{'*' if parameter.variadic else ''}{parameter.name}{tensor}{number}"
        parts.append(text if default == NO_DEFAULT else f"{text}={default}")
    return ",".join(parts)


def same_facts(a: Sequence[Record], b: Sequence[Record]) -> bool:
    """Say whether a variant showed on every call what the primary name showed with the same flags."""
    return all(r.failure or any(_alike(r, other) for other in a) for r in b)


def _alike(variant: Record, other: Record) -> bool:
    """Compare flags as far as the variant has them, and the facts that both calls were asked for."""
    if any(other.flags.get(flag, ABSENT) != key for flag, key in variant.flags.items()):
        return False
    both = variant.facts.keys() & other.facts.keys()
    return ("result" in both) == ("result" in variant.facts) and all(
        variant.facts[fact] == other.facts[fact] for fact in both
    )


class Assembly:
    """The table in the making: rows and signatures are shared by the names for which they are equal."""

    def __init__(self) -> None:
        self.rows: dict[str, int] = {}
        self.row_list: list[Row] = []
        self.signatures: dict[str, int] = {}
        self.names: dict[str, list[int]] = {}

    def add(self, name: str, row: Row, signature: str) -> None:
        """Give the name its row and signature."""
        key = json.dumps(row, sort_keys=True)
        if key not in self.rows:
            self.rows[key] = len(self.row_list)
            self.row_list.append(row)
        index = self.signatures.setdefault(signature, len(self.signatures))
        self.names[name] = [self.rows[key], index]


def assemble(measured: Iterable[Measured]) -> Assembly:
    """Fit all names. Records of one name from several units are taken together."""
    records: dict[str, list[Record]] = defaultdict(list)
    primary: dict[str, str] = {}
    origins: dict[str, str] = {}
    for unit in measured:
        for name, found in unit.records.items():
            records[name] += found
            if origins.get(name) != "op":
                origins[name] = unit.origin
        primary.update(unit.primary)
    table = Assembly()
    rows: dict[str, Row] = {}
    for name in sorted(set(records) | set(primary), key=lambda n: (n in primary, n)):
        row = _shared_row(name, records, primary, rows) or _own_row(name, records, origins, primary)
        if row is not None:
            rows[name] = row
            overloads = seen_kinds(overloads_of(name, attribute(name)), records.get(name, ()))
            table.add(name, row, signature_text(overloads))
    return table


def _shared_row(
    name: str, records: Mapping[str, list[Record]], primary: Mapping[str, str], rows: Mapping[str, Row]
) -> Row | None:
    other = primary.get(name)
    if other is None or other not in rows:
        return None
    own = [r for r in records.get(name, []) if not r.failure]
    if name not in records:
        return rows[other] if name in spellings_of(attribute(other)) else None
    return rows[other] if own and _speaks_the_same(name, other) and same_facts(records[other], own) else None


def _speaks_the_same(name: str, other: str) -> bool:
    """The variant may use the row only if its parameters have the names that the row speaks of."""
    mine = {p.name for overload in overloads_of(name, attribute(name)) for p in overload}
    theirs = {p.name for overload in overloads_of(other, attribute(other)) for p in overload}
    return mine >= theirs - {"out"}


def _own_row(
    name: str, records: Mapping[str, list[Record]], origins: Mapping[str, str], primary: Mapping[str, str]
) -> Row | None:
    own = records.get(name, [])
    if all(r.failure for r in own):
        return None
    row = row_of(own, origins[name])
    written = row.get("w")
    shown = points.measured(name) or ([] if written else points.measured(primary.get(name, "")))
    return {**row, "e": shown} if shown else row
