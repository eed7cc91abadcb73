"""What autograd records of an operation: its node, the node's derivative, and whether it is one node or several.

`python -m tools.measure_derivatives` writes `derivatives.json`: each node was seen, and each formula executed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import field
from functools import cache
from importlib import resources
from typing import Any, Literal

from gradlint.domain.frozen import Frozen
from gradlint.facts.aliases import canonical, is_inplace
from gradlint.facts.table import Entry
from gradlint.facts.traits import BROADCASTS, BROADCASTS_FLOATING, RANDOM_IN_TRAINING
from gradlint.facts.wording import branches

MOST_NAMED = 6
"""How many nodes of a composite operation are named."""

_IN_C = "computed by torch's"


class Recorded(Frozen):
    """What calls of one name leave behind: the nodes of the results, and those between them and the inputs.

    `alone` are the nodes that are all that a call leaves behind; `several` says in how many calls there are others.
    `own_words` names, per input that requires grad, what torch keeps for backward besides inputs and results. `complex`
    says that a gradient that is zero for real numbers is not for complex ones; `flows` are inputs whose gradient is
    zero for real results only.
    """

    ends: tuple[str, ...] = ()
    inner: tuple[str, ...] = ()
    alone: tuple[str, ...] = ()
    several: Literal["never", "sometimes", "always"] = "never"
    own_words: Mapping[str, str] = field(default_factory=dict)
    complex: bool = False
    flows: frozenset[str] = frozenset()


@cache
def _data() -> Mapping[str, Any]:
    text = resources.files(__package__).joinpath("derivatives.json").read_text(encoding="utf-8")
    return json.loads(text)  # type: ignore[no-any-return]


@cache
def of(name: str) -> Recorded:
    """Return what is recorded of a name of the table."""
    raw = _data()["operations"].get(name, {})
    own = {label: _own_words(name, kinds.split()) for label, kinds in raw.get("own", {}).items()}
    return Recorded(
        tuple(raw.get("e", "").split()),
        tuple(raw.get("i", "").split()),
        tuple(raw.get("n" if "c" in raw else "e", "").split()),
        raw.get("c", "never"),
        own_words=own,
        complex=raw.get("complex", False),
        flows=frozenset(raw.get("flows", "").split()),
    )


def _own_words(name: str, kinds: list[str]) -> str:
    if canonical(name) in RANDOM_IN_TRAINING:
        return "the mask that it draws"
    return f"{'a ' if kinds == ['mask'] else ''}{' and '.join(kinds)} of its own"


def node_of(name: str) -> str | None:
    """Return the operation of torch's own that a node belongs to: `addmm` for `AddmmBackward0`."""
    found: str | None = _data()["nodes"].get(name, {}).get("of")
    return found


def formulas_of(node: str) -> dict[str, str]:
    """Return the derivatives of a node by argument."""
    return {name: text for name, text in _data()["nodes"].get(node, {}).items() if name != "of"}


def node_lines(entry: Entry) -> list[str]:
    """Name the nodes of the results: their `grad_fn`."""
    found = of(entry.name)
    if not found.ends:
        return []
    line = " or ".join(map(_shown, found.ends[:MOST_NAMED]))
    more = len(found.ends) - MOST_NAMED
    return [line + (f", or one of {more} others" if more > 0 else "") + _of_views(entry)]


def _of_views(entry: Entry) -> str:
    return "; written through a view, the base has CopySlices" if is_inplace(entry.name) else ""


def _shown(node: str) -> str:
    return "NotImplemented (backward raises)" if node == "NotImplemented" else node


def formula_lines(entry: Entry) -> list[str]:
    """Give the derivative by argument, `grad` being the gradient of the result."""
    by_hand = _data()["composites"].get(_composite(entry.name))
    if by_hand is not None:
        return [f"for {_label(entry, name)}: {_formula(text)}" for name, text in by_hand.items()]
    real = " for real numbers" if of(entry.name).complex else ""
    lines: dict[str, list[str]] = {}
    for node in of(entry.name).alone:
        if any(_label(entry, argument) is None for argument in formulas_of(node)):
            continue  # The node of another operation, whose arguments the page does not have.
        for argument, formula in sorted(formulas_of(node).items(), key=lambda item: _place(entry, item[0])):
            spelled = _label(entry, argument)
            if spelled is not None:
                text = _formula(formula) if argument != "input" else re.sub(r"\binput\b", spelled, _formula(formula))
                lines.setdefault(f"for {spelled}: {text}{real}", []).append(node)
    several = len({node for nodes in lines.values() for node in nodes}) > 1
    shown = [line + (f"  [{', '.join(nodes)}]" if several else "") for line, nodes in lines.items()]
    if len(shown) <= MOST_NAMED:
        return shown
    written = [line for line in shown if _IN_C not in line]
    return [*written, f"{'otherwise ' if written else ''}computed in C++, by a function for each node"]


@cache
def _by_operation() -> dict[str, str]:
    return {canonical(name): name for name in _data()["composites"]}


def _composite(name: str) -> str | None:
    return _by_operation().get(canonical(name))


def _formula(text: str) -> str:
    if text == "!":
        return "none: backward raises"
    return f"{_IN_C} {text[1:]}" if text.startswith("=") else text


def _names(entry: Entry) -> list[str]:
    signature = entry.row.forward if entry.row.is_module else entry.sig
    return [parameter.name for overload in signature.overloads for parameter in overload]


def _place(entry: Entry, argument: str) -> int:
    names = _names(entry)
    return names.index(argument) if argument in names else len(names)


def _label(entry: Entry, argument: str) -> str | None:
    """Return how a page calls an argument of a node; None for one that it does not have."""
    if argument in _names(entry):
        return argument
    first = next((one for overload in entry.sig.overloads for one in overload), None)
    if argument == "input" and first is not None and first.tensor and first.name in entry.row.saved:
        return first.name
    held = {label for _, holds in branches(entry.row.parameters) for label in holds.may}
    return f"parameter {argument}" if argument in held or f"p.{argument}" in held else None


def recorded_lines(entry: Entry) -> list[str]:
    """Say whether the operation is native, with a derivative of its own, or composed of others."""
    found = of(entry.name)
    if not found.ends or found.ends == ("NotImplemented",):
        return []
    if found.several == "never":
        has_none = {text for node in found.ends for text in formulas_of(node).values()} == {"!"}
        return ["native: one node" + ("" if has_none else ", with a derivative of its own")]
    nodes = list(dict.fromkeys([*found.ends, *found.inner]))
    more = len(nodes) - MOST_NAMED
    named = ", ".join(nodes[:MOST_NAMED]) + (f", and {more} more" if more > 0 else "")
    if found.several == "always":
        return [f"composite: of {named}"]
    return [f"native in some calls, one node; composite in others: of {named}"]


def broadcasts(entry: Entry) -> bool:
    """Say whether backward has to undo broadcasting."""
    sizes = {rule for _, holds in branches(entry.row.size) for rule in holds.may}
    flowing = len(entry.row.saved) > 1
    return flowing and ("bcast" in sizes or canonical(entry.name) in BROADCASTS | BROADCASTS_FLOATING)


def broadcasting_lines(entry: Entry) -> list[str]:
    """Say what backward does where an argument was broadcast."""
    if not broadcasts(entry) or not of(entry.name).ends:
        return []
    return ["backward sums the gradient over the dimensions that were expanded, to the size of the argument"]


def as_json(entry: Entry) -> dict[str, object]:
    """Return what a page says in plain JSON types."""
    found = of(entry.name)
    return {
        "nodes": list(found.ends),
        "inner_nodes": list(found.inner),
        "composite": found.several,
        "derivatives": {node: formulas_of(node) for node in found.ends if formulas_of(node)},
        "derivative": formula_lines(entry),
        "sums_over_expanded": bool(broadcasting_lines(entry)),
        "keeps_of_its_own": dict(found.own_words),
    }
