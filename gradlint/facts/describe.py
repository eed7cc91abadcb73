"""A row of the table for people: what autograd does with the operation, and where each fact comes from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

from gradlint.facts.row import NO_CONSTANT, Cond, MustMay, Param, Row, Signature, Sum, Value, alias_of
from gradlint.facts.table import Entry, Table

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


Branch = tuple[str, MustMay]

_KINDS = {"N": "is a number", "T": "is a tensor", "L": "is a list", "O": "is an object"}


def branches(value: Value) -> list[Branch]:
    """Return the value as pairs of a condition (empty: always) and what then holds."""
    if isinstance(value, MustMay):
        return [("", value)]
    if isinstance(value, Sum):
        return [branch for part in value.parts for branch in branches(part)]
    return [
        (" and ".join(filter(None, (_condition(value.flag, keys), inner))), holds)
        for case, keys in _agreeing(value.cases)
        for inner, holds in branches(case)
    ]


def _agreeing(cases: Mapping[str, Value]) -> list[tuple[Value, list[str]]]:
    distinct: list[Value] = []
    for case in cases.values():
        if case not in distinct:
            distinct.append(case)
    return [(one, [key for key, case in cases.items() if case == one]) for one in distinct]


def _condition(flag: str, keys: Iterable[str]) -> str:
    keys = list(keys)
    if flag == "@contiguous":
        return "all tensors are contiguous" if keys == ["yes"] else "a tensor is not contiguous"
    if flag == "@ranks":
        return "the ranks are " + " or ".join(key[1:].replace("x", ", ") for key in keys)
    if flag == "@ndim":
        return "the largest rank is " + " or ".join("another" if key == "N" else key for key in keys)
    flag = flag.removeprefix("forward.")
    # An absent argument that has a default shares the case of that default.
    given = [key for key in keys if key != "-"] or ["-"]
    default = " (the default)" if "-" in keys and given != ["-"] and len(given) == 1 else ""
    return " or ".join(_case(flag, key) for key in given) + default


def _case(flag: str, key: str) -> str:
    if key == "-":
        return f"{flag} is not given"
    return f"{flag} {_KINDS[key]}" if key in _KINDS else f"{flag}={key}"


_RULES = {
    "0d": "a scalar (no dimension)",
    "bcast": "the shapes of the inputs, broadcast",
    "reduce": "that of the first input, reduced over dim",
    "arg:size": "the argument size",
    "same": "that of the first tensor",
    "promote": "promoted from all tensors",
    "float": "that of the tensor; integers become float",
    "real": "that of the tensor; complex numbers become real",
    "arg:dtype": "the argument dtype",
}


def rules(value: Value) -> list[str]:
    """Return one line per case of a rule for size or dtype."""
    lines = []
    for condition, holds in branches(value):
        text = ", ".join(_rule(rule) for rule in sorted(holds.must))
        if text:
            lines.append(f"if {condition}: {text}" if condition else text)
    return list(dict.fromkeys(lines))


def _rule(rule: str) -> str:
    head, _, of = rule.partition(":")
    if head == "same" and of:
        return f"the shape of {of}"
    return f"as many elements as {of}" if head == "numel" else _RULES.get(rule, rule)


def sentences(value: Value, nothing: str = "nothing") -> list[str]:
    """Return one line per case; cases in which nothing holds appear only if others do."""
    cases = branches(value)
    if isinstance(value, Sum):
        # Each part speaks of other labels; that one of them is silent in some case says nothing of the rest.
        cases = [(condition, holds) for condition, holds in cases if holds.may] or cases[:1]
    lines = []
    for condition, holds in cases:
        text = extent(holds, nothing)
        lines.append(f"if {condition}: {text}" if condition else text)
    return list(dict.fromkeys(lines))


def extent(holds: MustMay, nothing: str = "nothing") -> str:
    """Say what holds always and what in some calls."""
    sometimes = holds.may - holds.must
    always = labels(holds.must)
    if not sometimes:
        return always or nothing
    return f"{always}; in some calls {labels(sometimes)}" if always else f"in some calls {labels(sometimes)}"


def labels(found: Iterable[str]) -> str:
    """Name inputs, outputs, parameters, and aliases."""
    return ", ".join(label(item) for item in sorted(found))


def label(text: str) -> str:
    """Name one of them."""
    if text in (">", ">*"):
        return "the result" if text == ">" else "each result"
    if text[0] == ">" and text[1:].isdigit():
        return f"result {text[1:]}"
    if text[0] == ">":
        return _alias(text)
    if text[:2] in ("p.", "b."):
        kind = "parameter" if text[0] == "p" else "buffer"
        return f"the {kind}s" if text[2:] == "*" else f"{kind} {text[2:]}"
    return text


def _alias(text: str) -> str:
    alias = alias_of(text)
    kind = {"same": "is", "view": "is a view of", "share": "shares memory, outside the graph, with"}[alias.kind]
    notes = [
        note
        for holds, note in (
            (not alias.version, "with a version counter of its own"),
            (alias.multi, "one of several views: writing to it in place raises"),
            (alias.overlap, "its memory overlaps: writing to it in place raises"),
            (alias.refused, "writing to it in place raises"),
        )
        if holds
    ]
    return f"{label(alias.output)} {kind} {alias.of}" + (f" ({'; '.join(notes)})" if notes else "")


def per_input(values: Mapping[str, Value], nothing: str = "nothing") -> list[str]:
    """Return the lines of a fact that is kept per requiring input, inputs that agree together."""
    together: dict[tuple[str, ...], list[str]] = {}
    for name, value in values.items():
        together.setdefault(tuple(sentences(value, nothing)), []).append(label(name))
    lines = []
    for texts, names in together.items():
        lines += [f"for {', '.join(names)}: {text}" for text in texts]
    return lines
