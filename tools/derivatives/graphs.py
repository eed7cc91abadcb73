"""What autograd records of each name: the node of its results, and those between it and the inputs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import torch
from torch.autograd.graph import Node, saved_tensors_hooks

from gradlint.facts import MustMay, Row, load
from gradlint.facts.aliases import canonical, is_module
from tools.facts import module_recipes, recipes, samples
from tools.facts.call import Call, Run, differentiable_labels, run
from tools.facts.names import attribute, is_property
from tools.facts.probe import REFUSALS

MOST = 80
"""How many calls of a name are recorded."""

FEW = 10
"""How many calls are varied, asked what they keep, and whether a gradient is zero."""

Calls = Mapping[str, list[Call]]


class Graph(NamedTuple):
    """The nodes of the results of a call, and the nodes between them and the inputs, the last first."""

    ends: tuple[str, ...]
    inner: tuple[str, ...]


def calls_by_name(calls: Calls) -> dict[str, list[Call]]:
    """Return for each name of the table its calls, or those of another name of the same operation."""
    by_operation: dict[str, list[Call]] = defaultdict(list)
    for name in sorted(calls):
        by_operation[canonical(name)] += calls[name]
    by_attribute = of_attributes()
    found = of_modules(MOST)
    for name in load():
        if is_module(name) or attribute(name) is None:
            continue
        own = calls.get(name) or by_attribute.get(name) or by_operation.get(canonical(name), [])
        again = [one if one.name == name else samples.named_call(name, one.args, one.kwargs) for one in own]
        found[name] = by_words(list(_with_numbers([one for one in again if one is not None])), MOST)
    return found


def _with_numbers(calls: list[Call]) -> Iterator[Call]:
    """Yield the calls, and some with numbers for all tensors but the first: these have nodes of their own."""
    yield from calls
    for call in samples.diverse(calls, FEW):
        for number in (0.5, 2):
            rest = [number if _is_real(one) else one for one in call.args[1:]]
            named = {name: number if _is_real(one) else one for name, one in call.kwargs.items()}
            changed = samples.named_call(call.name, (*call.args[:1], *rest), named)
            if changed is not None and changed.named.keys() == call.named.keys():
                yield changed


def _word(value: object) -> object:
    return value if isinstance(value, (str, bool)) else type(value).__name__


def _is_real(value: object) -> bool:
    return isinstance(value, torch.Tensor) and value.is_floating_point()


def by_words(calls: Iterable[Call], limit: int) -> list[Call]:
    """Choose calls, taking first those whose words and switches are new: by these, operations choose their nodes."""
    groups: dict[tuple[object, ...], list[Call]] = defaultdict(list)
    for call in calls:
        words = ((name, _word(value)) for name, value in sorted(call.named.items()))
        groups[tuple(words)].append(call)
    chosen: list[Call] = []
    each = [samples.diverse(found, limit) for found in groups.values()]
    for depth in range(limit):
        chosen += [found[depth] for found in each if len(found) > depth]
    return chosen[:limit]


def of_attributes() -> dict[str, list[Call]]:
    """Return the readings of attributes, which the calls of functions do not have."""
    found: dict[str, list[Call]] = defaultdict(list)
    for recipe in (one for lines in recipes.groups().values() for one in lines if is_property(one.name)):
        call = samples.named_call(recipe.name, recipe.args, recipe.kwargs)
        found[recipe.name] += [call] if call is not None else []
    return found


def of_modules(most: int) -> dict[str, list[Call]]:
    """Return the calls of modules by name, so many at the most, first those that torch's tests lack."""
    from torch.testing._internal.common_modules import module_db

    calls: dict[str, list[Call]] = defaultdict(list)
    for name, lines in module_recipes.modules().items():
        calls[name] += (samples.module_call(*line) for line in lines)
    for info in module_db:
        calls[f"nn.{info.module_cls.__name__}"] += samples.of_module(info)
    return {name: samples.diverse(found, most) for name, found in calls.items() if name in load()}


def ready(call: Call) -> tuple[Run, frozenset[str]] | None:
    """Return the call run with as many inputs requiring grad as it accepts; None if it has none, or refuses."""
    able = differentiable_labels(call)
    for labels in (frozenset(able), *(frozenset({one}) for one in able)):
        try:
            return run(call, labels), labels
        except REFUSALS:
            continue
    return None


def graph_of(state: Run) -> Graph | None:
    """Return what autograd recorded of a call; None if no result requires grad."""
    starts = [one.grad_fn for one in state.outputs.values() if one.grad_fn is not None]
    leaves = {id(leaf) for found in state.leaves.values() for leaf in found}
    ends = [one for one in starts if not is_input(one, leaves)]
    if not ends:
        return None
    order = below(ends, leaves)
    # A result may be computed from another one, as V of `svd` is.
    lower = {id(one) for node in order for one, _ in node.next_functions}
    top = {id(one) for one in ends} - lower
    first = tuple(dict.fromkeys(name_of(one) for one in ends))
    return Graph(first, tuple(dict.fromkeys(name_of(one) for one in order if id(one) not in top)))


def below(ends: Iterable[Node], leaves: set[int]) -> list[Node]:
    """Return the nodes from some down to those that stand for inputs, without these."""
    seen: dict[int, Node] = {}
    queue = list(ends)
    while queue:
        node = queue.pop(0)
        if id(node) in seen or is_input(node, leaves):
            continue
        seen[id(node)] = node
        queue += [one for one, _ in node.next_functions if one is not None]
    return list(seen.values())


def name_of(node: Node) -> str:
    """Return torch's name of a node, without its namespace."""
    return node.name().rpartition("::")[2]


def is_input(node: Any, leaves: set[int]) -> bool:
    """Say whether the node stands for an input: that of a leaf, or of the copy that `run` made of it."""
    if hasattr(node, "variable"):
        return True
    inputs = [one for one, _ in node.next_functions if one is not None]
    return name_of(node) == "CloneBackward0" and any(id(getattr(one, "variable", None)) in leaves for one in inputs)


def recorded(calls: Iterable[Call]) -> dict[str, str]:
    """Return the nodes of a name: `e` those of results, `i` those between, `c` how often there are any,
    and `n` the nodes that stand alone, if not all do."""
    graphs = [graph for call in calls if (state := ready(call)) and (graph := graph_of(state[0])) is not None]
    if not graphs:
        return {}
    inner = [graph for graph in graphs if graph.inner]
    found = {"e": " ".join(dict.fromkeys(end for graph in graphs for end in graph.ends))}
    if inner:
        found["i"] = " ".join(dict.fromkeys(node for graph in inner for node in graph.inner))
        found["c"] = "always" if len(inner) == len(graphs) else "sometimes"
        alone = " ".join(dict.fromkeys(end for graph in graphs if not graph.inner for end in graph.ends))
        found |= {"n": alone} if alone else {}
    return found


def own_values(calls: Iterable[Call], row: Row) -> dict[str, str]:
    """Return what is kept for backward that is neither an input nor a result, by the input that requires grad."""
    found: dict[str, set[str]] = defaultdict(set)
    for call in calls:
        for label in differentiable_labels(call):
            if label in row.saved:
                found[label] |= _kept_inside(call, label)
    return {label: " ".join(sorted(kinds)) for label, kinds in sorted(found.items()) if kinds}


def _kept_inside(call: Call, label: str) -> set[str]:
    kept: list[torch.Tensor] = []

    def pack(tensor: torch.Tensor) -> torch.Tensor:
        kept.append(tensor)
        return tensor

    try:
        with saved_tensors_hooks(pack, lambda tensor: tensor):
            state = run(call, frozenset({label}))
    except REFUSALS:
        return set()
    memory = {_storage(one) for found in state.everything().values() for one in found}
    return {_kind(one) for one in kept if _storage(one) not in memory and one.numel()}


def _storage(tensor: torch.Tensor) -> int:
    return tensor.untyped_storage().data_ptr() if tensor.layout is torch.strided else id(tensor)


def _kind(tensor: torch.Tensor) -> str:
    if tensor.dtype in (torch.bool, torch.uint8):
        return "mask"
    return "values" if tensor.is_floating_point() or tensor.is_complex() else "indices"


def flowing(calls: Iterable[Call], row: Row, numbers: torch.dtype | None = None) -> list[str]:
    """Return the inputs whose gradient is zero by the row, and is not in some call, perhaps of other numbers.

    The row was measured with the sum of the results, which says nothing of the imaginary part of complex ones.
    """
    always = [label for label, value in row.zero.items() if isinstance(value, MustMay) and "yes" in value.must]
    return [label for label in always if any(_flows(call, label, numbers) for call in calls)]


def _flows(call: Call, label: str, numbers: torch.dtype | None) -> bool:
    torch.manual_seed(0)
    if numbers is not None:
        call = call.with_tensors(lambda t: torch.randn_like(t, dtype=numbers) if t.is_floating_point() else t)
    try:
        state = run(call, frozenset({label}))
        outputs = [one for one in state.outputs.values() if one.requires_grad]
        gradients = torch.autograd.grad(
            outputs, state.leaves[label], [torch.randn_like(one) for one in outputs], allow_unused=True
        )
    except (*REFUSALS, KeyError):  # Some take no complex numbers.
        return False
    return any(bool(one.any()) for one in gradients if one is not None)
