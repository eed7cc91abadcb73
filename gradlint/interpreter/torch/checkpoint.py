"""`torch.utils.checkpoint`: a function runs now, and again in backward, so that nothing inside of it is kept.

Measured with torch 2.13: with `use_reentrant=False` gradients flow as they would without, and a second backward
raises; otherwise the function runs under `no_grad`, and where no argument requires grad its results do not either.
"""

from __future__ import annotations

from collections.abc import Iterable

import libcst as cst

from gradlint.domain.dtype import can_require_grad
from gradlint.domain.graph import Edge, Node
from gradlint.domain.refusal.functions import CheckpointReentrant
from gradlint.domain.state import State, fresh_address
from gradlint.domain.value import Args, Ref, Tensor, Unknown, Value
from gradlint.domain.walk import Along, certain_inputs, gradient_inputs, reachable
from gradlint.interpreter.escape import origins, unknown_call
from gradlint.interpreter.machine import Machine
from gradlint.interpreter.torch.tensor import known_tensor, new_tensor, tensor_at
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
    reentrant = args.keywords.get("use_reentrant", True)
    if reentrant is False:
        before = fresh_address()
        return _hidden(state, machine.call(state, args.positional[0], given, node), before, node)
    if reentrant is not True or args.keywords.get("context_fn") is not None:
        return unknown_call(machine, state, args.values(), node)
    sources = [tensor_at(state, ref) for value in given.positional if (ref := known_tensor(machine, state, value))]
    if state.grad is True and any(one.grad is True for one in sources):
        before = fresh_address()
        value = machine.call(state, args.positional[0], given, node)
        return _run_later(machine, state, value, sources, before, node)
    if not _is_data(machine, state, given):
        return unknown_call(machine, state, args.values(), node)
    return _cut(state, machine.call(state, args.positional[0], given, node), node)


def _cut(state: State, value: Value, node: cst.CSTNode) -> Value:
    """Return results without a graph."""

    def constant(leaf: Value) -> Value:
        record = tensor_of(state, leaf) if isinstance(leaf, Ref) else None
        if record is None:
            return leaf
        made = Node("checkpoint", node, [Edge(record.node, False, "checkpoint")], cut="checkpoint")
        return new_tensor(state, made, grad=False, dtype=record.dtype, shape=record.shape, tags=record.tags)

    return changed(state, value, constant)


def _run_later(
    machine: Machine, state: State, value: Value, sources: list[Tensor], before: int, node: cst.CSTNode
) -> Value:
    """Return results of which torch knows the arguments only; what the function came to shows in backward."""
    if type(value) is tuple:
        return tuple(_run_later(machine, state, one, sources, before, node) for one in value)
    record = state.heap.get(value.id) if isinstance(value, Ref) else None
    if not isinstance(record, Tensor) or can_require_grad(record.dtype) is False:
        return value
    edges = [Edge(one.node, None if one.grad is not False else False) for one in sources]
    edges += [Edge(inner, True if sure else None) for inner, sure in _sources(record.node, before)]
    made = Node("checkpoint", node, edges, tracked=True, maybe_saved=True, frees=True)
    machine.reentrant[made.id] = (record.grad is not False, frozenset(one.node.id for one in sources))
    return new_tensor(state, made, grad=True, dtype=record.dtype, shape=record.shape, tags=record.tags)


def refuses_walk(machine: Machine, nodes: Iterable[Node], wanted: set[int] | None, node: cst.CSTNode) -> bool:
    """Return whether a backward raises at a reentrant checkpoint: one that asks for some gradients only, or finds none.

    `wanted`: what lies on a way to the gradients that are asked for. Torch knows the arguments of a checkpoint only:
    for the gradient of a parameter inside, the checkpoint is not run at all.
    """
    if not machine.reentrant:
        return False
    for one in nodes:
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


def _hidden(state: State, value: Value, before: int, node: cst.CSTNode) -> Value:
    """Return results whose graph shows nothing of the function but what came into it."""

    def hidden(leaf: Value) -> Value:
        record = tensor_of(state, leaf) if isinstance(leaf, Ref) else None
        if record is None or record.node.id <= before:
            return leaf
        edges = [Edge(inner, True if sure else None) for inner, sure in _sources(record.node, before)]
        made = Node("checkpoint", node, edges, tracked=record.node.tracked, maybe_saved=True, frees=True)
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
