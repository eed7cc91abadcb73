"""A row of the table for people: what autograd does with the operation, and where each fact comes from."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from gradlint.facts.row import NO_CONSTANT, Cond, MustMay, Param, Row, Signature, Sum, Value
from gradlint.facts.table import Entry, Table
from gradlint.facts.wording import branches, labels, per_input, rules, sentences

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
    row = entry.row
    sections = [
        ("differentiable", differentiable(row)),
        ("zero gradient", per_yes(row.zero, "exactly zero")),
        ("no gradient", per_yes(row.no_gradient, "none reaches it")),
        ("not finite", nonfinite(row)),
        ("saves", per_input(row.saved) if row.saved else []),
        ("keeps a copy", per_input({name: value for name, value in row.copies.items() if _any(value)})),
        ("second backward", second_backward(row)),
        ("aliases", _if_any(row.views, "a new tensor")),
        ("writes", _if_any(row.writes)),
        ("writes unseen", _if_any(row.hidden_writes)),
        ("unseen reads", _if_any(row.silent_wrong)),
        ("out=", [_OUT[word] for word in row.out_with_grad.split() if entry.sig.param("out") is not None]),
        ("in place", in_place(table, entry)),
        ("parameters", _if_any(row.parameters) if row.is_module else []),
        ("buffers", _if_any(row.buffers) if row.is_module else []),
        ("result", _if_any(row.result)),
        ("size", rules(row.size)),
        ("dtype", rules(row.dtype)),
    ]
    return [(title, found) for title, found in sections if found]


def _any(value: Value) -> bool:
    return any(holds.may for _, holds in branches(value))


def _if_any(value: Value, nothing: str = "nothing") -> list[str]:
    return sentences(value, nothing) if _any(value) else []


def differentiable(row: Row) -> list[str]:
    """Say whether a gradient flows through, and if not, why."""
    lines = []
    if not row.saved:
        lines.append("no: it takes no tensor that can require grad")
    elif not _any(row.requires_grad):
        lines.append("no: the result never requires grad, the path to the inputs is cut here")
    elif isinstance(row.requires_grad, MustMay) and row.requires_grad.certain:
        lines.append(_with_respect_to(row))
    else:
        lines += [f"{line} requires grad" for line in sentences(row.requires_grad, "no result")]
    lines += [f"the call raises if {line}" for line in _requiring(row.raises_if_requires_grad)]
    lines += [f"backward raises, for torch has no derivative, if {line}" for line in _requiring(row.no_derivative)]
    return lines


def _requiring(value: Value) -> list[str]:
    lines = []
    for condition, holds in branches(value):
        if holds.may:
            often = "" if holds.must else " (in some calls)"
            lines.append(f"{labels(holds.may)} requires grad{often}" + (f" and {condition}" if condition else ""))
    return lines


def _with_respect_to(row: Row) -> str:
    refused = {name for _, holds in branches(row.no_derivative) for name in holds.must}
    names = [name for name in row.saved if name not in refused]
    flat = [name for name in names if _always(row.zero.get(name)) or _always(row.no_gradient.get(name))]
    flowing = [name for name in names if name not in flat]
    if not flowing:
        return "in name only: the result requires grad, but no gradient other than zero flows back"
    return "yes, with respect to " + ", ".join(flowing)


def _always(value: Value | None) -> bool:
    return value is not None and all("yes" in holds.must for _, holds in branches(value))


def per_yes(values: Mapping[str, Value], text: str) -> list[str]:
    """Return lines for a fact that either holds or not."""
    lines = []
    for name, value in values.items():
        for condition, holds in branches(value):
            extent = text if holds.must else f"{text} in some calls"
            if holds.may:
                lines.append(f"{name}: {extent}" + (f" (if {condition})" if condition else ""))
    return lines


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
    if not row.saved or not _any(row.requires_grad):
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
