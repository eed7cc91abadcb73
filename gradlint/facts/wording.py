"""Values of the facts table as sentences: one for each case, with its condition."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from gradlint.facts.row import MustMay, Sum, Value, alias_of, joined

Branch = tuple[str, MustMay]

MOST_RANKS = 3

_KINDS = {"N": "is a number", "T": "is a tensor", "L": "is a list", "O": "is an object"}


def branches(value: Value) -> list[Branch]:
    """Return the value as pairs of a condition (empty: always) and what then holds.

    What depends on the layout in memory, or on more ranks than a reader will compare, holds "in some calls".
    """
    if isinstance(value, MustMay):
        return [("", value)]
    if isinstance(value, Sum):
        return [branch for part in value.parts for branch in branches(part)]
    if value.flag in ("@contiguous", "@first") or (value.flag == "@ranks" and len(value.cases) > MOST_RANKS):
        return [("", joined(holds for case in value.cases.values() for _, holds in branches(case)))]
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
    if flag == "@ranks":
        return "the tensors have " + " or ".join(key[1:].replace("x", " and ") for key in keys) + " dimensions"
    if flag == "@ndim":
        return "the largest tensor has " + " or ".join("more" if key == "N" else key for key in keys) + " dimensions"
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
    if text == "*":
        return "all of the module's"
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


def any_of(value: Value) -> bool:
    """Say whether anything holds in any case."""
    return any(holds.may for _, holds in branches(value))


def if_any(value: Value, nothing: str = "nothing") -> list[str]:
    """Return the sentences of a value that is not empty."""
    return sentences(value, nothing) if any_of(value) else []


def always(value: Value | None) -> bool:
    """Say whether a fact that either holds or not holds in every case."""
    return value is not None and all("yes" in holds.must for _, holds in branches(value))


def per_yes(values: Mapping[str, Value], text: str) -> list[str]:
    """Return lines for a fact that either holds or not, inputs that agree together."""
    together: dict[str, list[str]] = {}
    for name, value in values.items():
        for condition, holds in branches(value):
            extent = text if holds.must else f"{text} in some calls"
            if holds.may:
                end = f": {extent}" + (f" (if {condition})" if condition else "")
                together.setdefault(end, []).append(label(name))
    return [", ".join(names) + end for end, names in together.items()]


def saved_lines(saved: Mapping[str, Value], freed: Mapping[str, Value], own: Mapping[str, str]) -> list[str]:
    """Return what is saved per input: where that is none of the call's tensors, what torch keeps of its own."""
    lines = per_input({name: value for name, value in saved.items() if any_of(value)})
    inside: dict[tuple[str, ...], list[str]] = {}
    for name in (name for name, value in saved.items() if not any_of(value)):
        inside.setdefault(tuple(_kept_inside(freed.get(name), own.get(name, "values of its own"))), []).append(name)
    return lines + [f"for {labels(names)}: {text}" for texts, names in inside.items() for text in texts]


def _kept_inside(freed: Value | None, words: str) -> list[str]:
    if freed is None or not any_of(freed):
        return ["nothing"]
    cases = [
        (condition, words if holds.must else f"in some calls {words}")
        for condition, holds in branches(freed)
        if holds.may
    ]
    return [f"if {condition}: {text}" if condition else text for condition, text in cases]


def per_input(values: Mapping[str, Value], nothing: str = "nothing") -> list[str]:
    """Return the lines of a fact that is kept per requiring input, inputs that agree together."""
    together: dict[tuple[str, ...], list[str]] = {}
    for name, value in values.items():
        together.setdefault(tuple(sentences(value, nothing)), []).append(label(name))
    lines = []
    for texts, names in together.items():
        lines += [f"for {', '.join(names)}: {text}" for text in texts]
    return lines
