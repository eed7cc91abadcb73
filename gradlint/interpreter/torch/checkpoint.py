"""`torch.utils.checkpoint`: a function runs now, and again in backward, so that nothing inside of it is kept.

Measured with torch 2.13: with `use_reentrant=False` gradients flow as they would without, and a second backward
raises, and so does one in which the function saves fewer tensors than before, or tensors of other shapes or types, and
one that unpacks a saved tensor twice; otherwise the function runs under `no_grad`, and where no argument requires grad
its results do not either.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

import libcst as cst

from gradlint.domain.dtype import can_require_grad
from gradlint.domain.graph import Edge, Node, Saved
from gradlint.domain.refusal.functions import CheckpointOption, CheckpointReentrant
from gradlint.domain.shape import Shape, same_shape
from gradlint.domain.state import State, fresh_address
from gradlint.domain.value import (
    Args,
    Context,
    External,
    Instance,
    Mapping,
    Partial,
    Ref,
    Sequence,
    Tensor,
    Unknown,
    Value,
)
from gradlint.domain.walk import Along, certain_inputs, gradient_inputs, reachable
from gradlint.facts.aliases import canonical
from gradlint.facts.traits import SAVES_AS_LISTED
from gradlint.interpreter.escape import origins, unknown_call
from gradlint.interpreter.machine import Machine
from gradlint.interpreter.python.contexts import enter_mode, leave_mode, refuses_block
from gradlint.interpreter.reachable import known_items
from gradlint.interpreter.torch.inplace import saved_now
from gradlint.interpreter.torch.parameters import children_of
from gradlint.interpreter.torch.tensor import is_raised, known_tensor, new_tensor, tensor_at
from gradlint.interpreter.torch.transform.levels import unsupported
from gradlint.interpreter.torch.transform.trees import changed, tensor_of

_OPTIONS = frozenset({"use_reentrant", "context_fn", "determinism_check", "debug", "early_stop", "preserve_rng_state"})


def checkpoint(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    """checkpoint(function, *args, use_reentrant=...)"""
    if any(level.kind == "reverse" for level in machine.transforms):
        unsupported(machine, node, "function", "torch.utils.checkpoint.checkpoint")
        return Unknown("raised")
    if not args.positional or args.open:
        return unknown_call(machine, state, args.values(), node)
    keywords = {name: value for name, value in args.keywords.items() if name not in _OPTIONS}
    given = Args(args.positional[1:], keywords)
    reentrant = _is_reentrant(args)
    if reentrant is None:
        return unknown_call(machine, state, args.values(), node)
    if _refuses_options(machine, args, keywords, reentrant, node):
        return Unknown("raised")
    if not reentrant and refuses_block(machine, state, Context("saved_hooks", syntax=node)):
        return Unknown("raised")
    contexts = args.keywords.get("context_fn")
    if contexts is not None and is_raised(machine.call(state, contexts, Args(()), node)):
        return Unknown("raised")
    return _through(machine, state, reentrant, args.positional[0], given, node)


def _is_reentrant(args: Args) -> bool | None:
    """Return whether a checkpoint is reentrant, which it is where nothing is said."""
    chosen = args.keywords.get("use_reentrant")
    return True if chosen is None else chosen if isinstance(chosen, bool) else None


def _refuses_options(
    machine: Machine, args: Args, keywords: dict[str, Value], reentrant: bool, node: cst.CSTNode
) -> bool:
    """Return whether torch raises on the arguments, which a reentrant checkpoint takes by position only."""
    named = [*keywords, *(name for name in ("context_fn", "debug") if args.keywords.get(name, False) is not False)]
    checked = args.keywords.get("determinism_check", "default")
    if reentrant and named:
        machine.emit(CheckpointOption(node, named[0], reentrant))
    elif not reentrant and isinstance(checked, str) and checked not in ("default", "none"):
        machine.emit(CheckpointOption(node, "determinism_check", reentrant))
    else:
        return False
    return True


def checkpoint_sequential(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    """checkpoint_sequential(functions, segments, input, use_reentrant=...): all segments but the last."""
    functions, segments = args.get(0, "functions"), args.get(1, "segments")
    record = state.heap.get(functions.id) if isinstance(functions, Ref) else None
    parts = known_items(state, functions)
    if isinstance(record, Instance) and record.cls == External("torch.nn.Sequential") and not record.open:
        parts = tuple(one for _, one in children_of(state, record))
    reentrant = _is_reentrant(args)
    if not parts or type(segments) is not int or segments < 1 or reentrant is None or args.open:
        return unknown_call(machine, state, args.values(), node)
    more = [name for name in args.keywords if name not in _OF_SEQUENTIAL]
    many = len(args.positional) + ("use_reentrant" in args.keywords) > 4
    if more or many or segments > len(parts):
        machine.emit(CheckpointOption(node, more[0] if more else "", reentrant))
        return Unknown("raised")
    size, value = len(parts) // segments, args.get(2, "input")
    for start in range(0, size * (segments - 1), size):
        run = Partial(External(CHAIN), (parts[start : start + size],), ())
        value = _through(machine, state, reentrant, run, Args((value,)), node)
    return chain(machine, state, Args((parts[size * (segments - 1) :], value)), node)


_OF_SEQUENTIAL = frozenset({"functions", "segments", "input", "use_reentrant", "preserve_rng_state"})

CHAIN = "torch.utils.checkpoint.<chain>"
"""The function of a segment."""


def chain(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    """Call functions one after another."""
    parts, value = args.positional
    assert type(parts) is tuple
    for one in parts:
        value = machine.call(state, one, Args((value,)), node)
    return value


def _through(machine: Machine, state: State, reentrant: bool, function: Value, given: Args, node: cst.CSTNode) -> Value:
    """Return what a function gives below a checkpoint.

    One that is not reentrant saves its arguments before it runs the function (`_NoopSaveInputs`), and takes them again
    if backward needs anything that the function has saved.
    """
    refs = [ref for value in given.positional if (ref := known_tensor(machine, state, value))]
    if not reentrant:
        saved = tuple(saved_now(machine, state, ref, "input") for ref in refs)
        before, former = fresh_address(), state.fork()
        machine.checkpoints.append(node)
        value = machine.call(state, function, given, node)
        machine.checkpoints.pop()
        changes = any(
            isinstance(record, _CHANGEABLE) and state.heap.get(address) is not record
            for address, record in former.heap.items()
        )
        kept = _kept(state, value, before)
        result = _hidden(state, value, before, node, saved if kept is not None and kept.tensors else ())
        made = tensor_of(state, result)
        if kept is not None and made is not None:
            machine.recomputed[made.node.id] = Recomputed(function, given, kept, state.fork(), changes)
        return result
    sources = [tensor_at(state, ref) for ref in refs]
    if state.grad is True and any(one.grad is True for one in sources):
        before = fresh_address()
        value = machine.call(state, function, given, node)
        return _run_later(machine, state, value, refs, before, node)
    if not _is_data(machine, state, given):
        return unknown_call(machine, state, (function, *given.values()), node)
    return _cut(state, machine.call(state, function, given, node), node)


def _cut(state: State, value: Value, node: cst.CSTNode) -> Value:
    """Return results without a graph."""

    def constant(leaf: Value) -> Value:
        record = tensor_of(state, leaf) if isinstance(leaf, Ref) else None
        if record is None:
            return leaf
        made = Node("checkpoint", node, [Edge(record.node, False, "checkpoint")], cut="checkpoint")
        return new_tensor(state, made, grad=False, dtype=record.dtype, shape=record.shape, tags=record.tags)

    return changed(state, value, constant)


def _run_later(machine: Machine, state: State, value: Value, refs: list[Ref], before: int, node: cst.CSTNode) -> Value:
    """Return results of which torch knows the arguments only; what the function came to shows in backward."""
    if type(value) is tuple:
        return tuple(_run_later(machine, state, one, refs, before, node) for one in value)
    record = state.heap.get(value.id) if isinstance(value, Ref) else None
    if not isinstance(record, Tensor) or can_require_grad(record.dtype) is False:
        return value
    sources = [tensor_at(state, ref) for ref in refs]
    edges = [Edge(one.node, None if one.grad is not False else False) for one in sources]
    edges += [Edge(inner, True if sure else None) for inner, sure in _sources(record.node, before)]
    saved = tuple(saved_now(machine, state, ref, "input") for ref in refs)
    made = Node("checkpoint", node, edges, tracked=True, saved=saved, maybe_saved=True, frees=True)
    machine.reentrant[made.id] = (record.grad is not False, frozenset(one.node.id for one in sources))
    return new_tensor(state, made, grad=True, dtype=record.dtype, shape=record.shape, tags=record.tags)


_CHANGEABLE = (Instance, Sequence, Mapping)


class Kept(NamedTuple):
    """The shape and type of each tensor that the operations of a function have certainly saved, as far as is known.

    `others` are the operations which may have saved more.
    """

    tensors: tuple[tuple[Shape, str | None], ...]
    others: Counter[tuple[str, object]]

    def differs(self, first: Kept) -> bool:
        """Return whether torch, which counts and compares, certainly refuses this after what was first saved."""
        if len(self.tensors) < len(first.tensors):
            return self.others <= first.others
        if len(self.tensors) > len(first.tensors) or self.others != first.others:
            return False
        pairs = zip(self.tensors, first.tensors, strict=True)
        return any(
            same_shape(one[0], other[0]) is False or (None not in (one[1], other[1]) and one[1] != other[1])
            for one, other in pairs
        )


class Recomputed(NamedTuple):
    """A function below a checkpoint that is not reentrant: what it was given and has saved, and the state after it.

    `changes`: it has changed what it may read when it runs again.
    """

    function: Value
    given: Args
    first: Kept
    after: State
    changes: bool

    def may_differ(self, state: State) -> bool:
        """Return whether anything has changed that the function may read."""
        changeable = (one for one, record in self.after.heap.items() if isinstance(record, _CHANGEABLE))
        return self.changes or any(state.heap.get(one) is not self.after.heap[one] for one in changeable)


def _kept(state: State, value: Value, before: int) -> Kept | None:
    """Return what the operations that a function ran for its result have saved; None if some are not known."""
    record = tensor_of(state, value)
    if record is None:
        return None
    nodes = [one for one in reachable([record.node], gradient_inputs) if not _came_in(one, before)]
    if any(one.tracked is None or one.op == "call" for one in nodes):
        return None
    others = (one for one in nodes if one.maybe_saved or canonical(one.op) not in SAVES_AS_LISTED)
    saved = [kept for one in sorted(nodes, key=lambda one: one.id) for kept in one.saved]
    records = [one for one in state.heap.values() if isinstance(one, Tensor)] if saved else []
    tensors = tuple(_size_of(kept, records) for kept in saved)
    return Kept(tensors, Counter(map(_way_of, others)))


def _way_of(node: Node) -> tuple[str, object]:
    """Return what tells how many tensors an operation saves: the parameters that it is given, or else its call."""
    parameters = frozenset(edge.node.leaf for edge in node.edges if edge.node.leaf is not None)
    return node.op, parameters or node.syntax


def _size_of(kept: Saved, records: Iterable[Tensor]) -> tuple[Shape, str | None]:
    """Return the shape and type of a saved tensor, by which views that share its memory may differ."""
    alike = (one for one in records if one.counter == kept.counter and kept.node in (None, one.node))
    found = {(one.shape, one.dtype) for one in alike}
    return found.pop() if len(found) == 1 else (None, None)


def _runs_differently(machine: Machine, state: State, at: Node) -> bool:
    """Return whether a function, run as backward runs it again, certainly saves other tensors than before."""
    one = machine.recomputed[at.id]
    if not isinstance(one, Recomputed) or not one.may_differ(state):
        return False
    again, before = state.fork(), fresh_address()
    machine.expected += 1  # What it does wrong has been reported of its first run.
    mode = enter_mode(machine, again, Context("enable_grad"))
    kept = _kept(again, machine.call(again, one.function, one.given, at.syntax), before)
    leave_mode(again, mode)
    machine.expected -= 1
    return kept is not None and kept.differs(one.first)


def refuses_walk(
    machine: Machine, state: State, nodes: Iterable[Node], wanted: set[int] | None, node: cst.CSTNode
) -> bool:
    """Return whether a backward raises at a checkpoint that it runs through.

    `wanted`: what lies on a way to the gradients that are asked for. Torch knows the arguments of a checkpoint only:
    for the gradient of a parameter inside, the checkpoint is not run at all.
    """
    if not machine.reentrant and not machine.recomputed:
        return False
    for one in nodes:
        if one.id in machine.recomputed and _runs_differently(machine, state, one):
            machine.emit(CheckpointReentrant(node, "different", one.syntax))
            return True
        live, sources = machine.reentrant.get(one.id, (True, frozenset[int]()))
        if wanted & sources if wanted is not None else not live:
            machine.emit(CheckpointReentrant(node, "constant" if wanted is None else "selective", one.syntax))
            return True
    return False


def _is_data(machine: Machine, state: State, args: Args) -> bool:
    """Return whether no argument can require grad; torch looks for tensors among them, not inside of them."""
    others: list[Value] = []
    for value in args.values():
        ref = known_tensor(machine, state, value)
        if isinstance(value, Unknown) and ref is None:
            return False
        if ref is None:
            others.append(value)
        elif tensor_at(state, ref).grad is not False:
            return False
    return not any(one.live for one in origins(state, others))


def _hidden(state: State, value: Value, before: int, node: cst.CSTNode, saved: tuple[Saved, ...]) -> Value:
    """Return results whose graph shows nothing of the function but what came into it."""

    def hidden(leaf: Value) -> Value:
        record = tensor_of(state, leaf) if isinstance(leaf, Ref) else None
        if record is None or record.node.id <= before:
            return leaf
        edges = [Edge(inner, True if sure else None) for inner, sure in _sources(record.node, before)]
        tracked = record.node.tracked
        made = Node("checkpoint", node, edges, tracked=tracked, saved=saved, maybe_saved=True, frees=True)
        return new_tensor(state, made, grad=record.grad, dtype=record.dtype, shape=record.shape, tags=record.tags)

    return changed(state, value, hidden)


def _sources(result: Node, before: int) -> list[tuple[Node, bool]]:
    """Return the nodes that came into the function, and whether a gradient certainly comes to them."""

    def within(along: Along) -> Along:
        return lambda node: () if _came_in(node, before) else along(node)

    sure = set(reachable([result], within(certain_inputs)))
    possible = reachable([result], within(gradient_inputs))
    return [(node, node in sure) for node in possible if _came_in(node, before)]


def _came_in(node: Node, before: int) -> bool:
    return node.id <= before or node.leaf is not None
