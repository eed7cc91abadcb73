"""A row of the table for people: what autograd does with the operation, and where each fact comes from."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from gradlint.facts import derivatives
from gradlint.facts.row import NO_CONSTANT, Cond, MustMay, Param, Row, Signature, Sum, Value
from gradlint.facts.table import Entry, Table
from gradlint.facts.wording import (
    always,
    any_of,
    branches,
    if_any,
    labels,
    per_input,
    per_yes,
    rules,
    saved_lines,
    sentences,
)

_SOURCES = {
    "op_db": "torch's own test samples (op_db)",
    "module_db": "torch's own test samples (module_db) and calls of our own",
    "recipe": "calls of our own",
}
_OUT = {
    "raises": "raises at the call if an input requires grad",
    "late": "accepts inputs that require grad, but backward raises",
    "cuts": "accepts inputs that require grad, but the result has no graph",
    "works": "works with inputs that require grad",
}
_FILLED = {"inf": "infinite", "nan": "NaN", "naninf": "NaN or infinite", "infnan": "infinite or NaN"}


def text(table: Table, entry: Entry) -> str:
    """Return the page about the entry."""
    row = entry.row
    lines = [f"torch.{entry.name}", *(f"    {line}" for line in signatures(entry.name, entry.sig)), ""]
    for title, found in _sections(table, entry):
        for i, line in enumerate(found):
            lines.append(f"  {title if not i else '':<16}{line}")
    if row.points:
        lines += ["", "  at special points"]
        lines += [f"    {p.expression}: value {p.value}, gradient {p.gradient}" for p in row.points]
    lines += ["", f"  measured on torch {table.torch}, CPU: {row.samples} calls, {_SOURCES[row.origin]}"]
    return "\n".join(lines)


def _sections(table: Table, entry: Entry) -> list[tuple[str, list[str]]]:
    row, found = entry.row, derivatives.of(entry.name)
    real = " for real numbers" if found.complex else ""
    sections = [
        ("differentiable", differentiable(row, real, found.flows)),
        ("node", derivatives.node_lines(entry)),
        ("derivative", derivatives.formula_lines(entry)),
        ("recorded as", derivatives.recorded_lines(entry)),
        ("broadcasting", derivatives.broadcasting_lines(entry)),
        ("zero gradient", per_yes(_without(row.zero, found.flows), f"exactly zero{real}")),
        ("no gradient", per_yes(row.no_gradient, "none reaches it")),
        ("not finite", nonfinite(row)),
        ("saves", saved_lines(row.saved, row.freed, found.own_words) if _records(row) else []),
        ("keeps a copy", per_input({name: value for name, value in row.copies.items() if any_of(value)})),
        ("second backward", second_backward(row)),
        ("aliases", if_any(row.views, "a new tensor")),
        ("writes", if_any(row.writes)),
        ("writes unseen", if_any(row.hidden_writes)),
        ("unseen reads", if_any(row.silent_wrong)),
        ("out=", [_OUT[word] for word in row.out_with_grad.split() if entry.sig.param("out") is not None]),
        ("in place", in_place(table, entry)),
        ("parameters", if_any(row.parameters) if row.is_module else []),
        ("buffers", if_any(row.buffers) if row.is_module else []),
        ("result", if_any(row.result)),
        ("size", rules(row.size)),
        ("dtype", rules(row.dtype)),
    ]
    return [(title, lines) for title, lines in sections if lines]


def _records(row: Row) -> bool:
    """Say whether the operation is recorded for backward at all."""
    return bool(row.saved) and any_of(row.requires_grad)


def _without(values: Mapping[str, Value], names: frozenset[str]) -> dict[str, Value]:
    return {name: value for name, value in values.items() if name not in names}


def differentiable(row: Row, real: str = "", flows: frozenset[str] = frozenset()) -> list[str]:
    """Say with respect to what a gradient flows through, and when; if none does, why."""
    underivable = _requiring(row.no_derivative)
    lines = []
    if not row.samples:
        lines.append("not measured")
    elif not row.saved and underivable:
        lines.append("in name only: the result requires grad, but torch has no derivative")
    elif not row.saved and any_of(row.raises_if_requires_grad):
        lines.append("no")
    elif not row.saved:
        lines.append("no: it takes no tensor that can require grad")
    elif not any_of(row.requires_grad):
        lines.append("no: the result never requires grad, the path to the inputs is cut here")
    elif isinstance(row.requires_grad, MustMay) and row.requires_grad.certain:
        lines.append(_with_respect_to(row, real, flows))
    else:
        lines += [f"{line} requires grad" for line in sentences(row.requires_grad, "no result")]
    lines += [f"the call raises if {line}" for line in _requiring(row.raises_if_requires_grad)]
    return lines + [f"backward raises, for torch has no derivative, if {line}" for line in underivable]


def _requiring(value: Value) -> list[str]:
    together: dict[str, set[str]] = {}
    for condition, holds in branches(value):
        if holds.may:
            often = "" if holds.must else " (in some calls)"
            end = f" requires grad{often}" + (f" and {condition}" if condition else "")
            together.setdefault(end, set()).update(holds.may)
    return [labels(names).replace(", ", " or ") + end for end, names in together.items()]


def _with_respect_to(row: Row, real: str, flows: frozenset[str]) -> str:
    names = [name for name in row.saved if not _never(row, name)]
    flat = [name for name in names if always(_without(row.zero, flows).get(name)) or always(row.no_gradient.get(name))]
    flowing = [name for name in names if name not in flat]
    if not flowing:
        also = "; complex numbers get one" if real else ""
        return f"in name only: the result requires grad, but no gradient other than zero flows back{real}{also}"
    return "yes, with respect to " + labels(flowing)


def _never(row: Row, name: str) -> bool:
    """Say whether torch has no derivative for the input, whatever the other arguments are."""
    return all(name in holds.must for _, holds in branches(row.no_derivative))


def nonfinite(row: Row) -> list[str]:
    """Say at which numbers the gradient is infinite or NaN."""
    lines = []
    for name, numbers in row.nonfinite.items():
        for number, found in numbers.items():
            kind = _FILLED[found.rstrip("*?")]
            also = ", and so is the result" if "*" in found else ", though the result is finite"
            often = " in some calls" if "?" in found else ""
            lines.append(f"gradient for {name} = {number} is {kind}{often}{also}")
    return lines


def second_backward(row: Row) -> list[str]:
    """Say whether a second backward through the operation raises."""
    if not _records(row):
        return []
    lines = per_yes(row.freed, "raises without retain_graph=True")
    return lines or ["allowed: nothing is saved that the first one frees"]


def in_place(table: Table, entry: Entry) -> list[str]:
    """Name the in-place forms of the operation."""
    plain = entry.name.rpartition(".")[2]
    stem = plain.strip("_")
    twins = [f"Tensor.{plain}_", f"{entry.name}_", f"Tensor.__i{stem}__", f"nn.functional.{plain}_"]
    found = list(dict.fromkeys(name for name in twins if name in table))
    if entry.sig.param("inplace") is not None:
        found.append("inplace=True")
    written = plain.endswith("_") and not plain.endswith("__")
    return [", ".join(found)] if found and not written else []


def signatures(name: str, signature: Signature) -> list[str]:
    """Write the overloads as a reader of documentation expects them."""
    short = name.rpartition(".")[2]
    return [f"{short}({', '.join(_parameters(overload))})" for overload in signature.overloads]


def _parameters(overload: tuple[Param, ...]) -> list[str]:
    found: list[str] = []
    for i, param in enumerate(overload):
        if param.keyword_only and (not i or not overload[i - 1].keyword_only):
            found.append("*")
        constant = "..." if param.constant is NO_CONSTANT else repr(param.constant)
        default = f"={constant}" if param.default else ""
        found.append(f"{'*' if param.variadic else ''}{param.name}{default}")
    return found


def as_json(table: Table, entry: Entry) -> dict[str, Any]:
    """Return everything the table knows of the entry in plain JSON types."""
    row = {name: plain(value) for name, value in vars(entry.row).items() if name != "forward"}
    return {
        "name": entry.name,
        "torch": table.torch,
        "signatures": signatures(entry.name, entry.sig),
        "forward": signatures("forward", entry.row.forward),
        "in_place": in_place(table, entry),
        **derivatives.as_json(entry),
        **row,
    }


def plain(value: object) -> object:
    """Return a field of a row in plain JSON types."""
    if isinstance(value, MustMay):
        if value.certain:
            return sorted(value.must)
        return {"must": sorted(value.must), "may": sorted(value.may)}
    if isinstance(value, Sum):
        return {"sum": [plain(part) for part in value.parts]}
    if isinstance(value, Cond):
        cases = {key: plain(case) for key, case in value.cases.items()}
        return {"argument": value.flag, "cases": cases, "otherwise": plain(value.default)}
    if isinstance(value, MappingProxyType):
        return {name: plain(item) for name, item in value.items()}
    if isinstance(value, tuple):
        return [item._asdict() if hasattr(item, "_asdict") else plain(item) for item in value]
    return value
