"""Writes through `.data`: whose leaf is written, and what for."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from gradlint.domain.announcement import LeafWritten
from gradlint.domain.event import DataUse, DataWrite
from gradlint.domain.graph import Edge, Node
from gradlint.domain.state import State
from gradlint.domain.value import Ref, Tensor
from gradlint.interpreter.machine import Machine
from gradlint.interpreter.reachable import Search
from gradlint.interpreter.torch.tensor import tensor_at

_ALIASES = frozenset({"data", "detach", "select", "view"})
_LOOKED_AT = 4_000
"""At how many objects a look for graphs that are still held ends."""

_ARITHMETIC = frozenset({"add_", "sub_", "mul_", "div_", "addcmul_", "addcdiv_", "lerp_"})


def note_data_write(
    machine: Machine, state: State, ref: Ref, op: str, sources: Sequence[Edge], node: cst.CSTNode
) -> None:
    """A write in place to an alias that `.data` made of a leaf which requires grad."""
    record = tensor_at(state, ref)
    origin = record.node
    while origin.op in _ALIASES and origin.edges:
        origin = origin.edges[0].node
    leaf = state.heap.get(origin.leaf) if origin.leaf is not None else None
    if not isinstance(leaf, Tensor) or leaf.grad is not True or leaf.memory != record.memory:
        return
    tell_data_write(machine, state, leaf, _use(leaf, op, sources), op, node)
    if origin.leaf is not None:
        machine.announce(state, LeafWritten(node, origin.leaf, sources))


def tell_data_write(machine: Machine, state: State, leaf: Tensor, use: DataUse, op: str, node: cst.CSTNode) -> None:
    """Report a write through `.data` to a leaf."""
    kept = _is_kept(machine, state, leaf.memory)
    machine.emit(DataWrite(node, use, op, leaf.syntax, leaf.parameter, kept, state.grad is not False))


def _is_kept(machine: Machine, state: State, memory: int) -> bool:
    """Whether a graph that the program still holds, and that nothing has freed, has saved what stands in a memory."""
    if memory not in machine.watched:
        return False
    values = [value for names in state.frames.values() for value in names.values()]
    stack = list(Search(_LOOKED_AT).graphs(state, values))
    seen: set[int] = set()
    while stack:
        node = stack.pop()
        if node.id in seen or node.id in state.freed:
            continue
        seen.add(node.id)
        if any(saved.memory == memory for saved in node.saved):
            return True
        stack.extend(edge.node for edge in node.edges if edge.flows is not False)
    return False


def _use(leaf: Tensor, op: str, sources: Sequence[Edge]) -> DataUse:
    """What a write in place is for. One that only scales or bounds the old value clips it."""
    found = behind(sources, leaf.node)
    if "gradient" in found:
        return "update"
    if op.startswith("clamp"):
        return "clip"
    if op in ("mul_", "div_") and not found:
        return "scale"
    if "other" in found:
        return "average" if op in _ARITHMETIC or "self" in found else "load"
    return "update" if op in _ARITHMETIC else "initialise"


def assigned_use(leaf: Tensor, source: Tensor | None) -> DataUse:
    """What `t.data = u` is for: an update where a gradient stands behind u."""
    found = set() if source is None else behind([Edge(source.node, None)], leaf.node)
    if "gradient" in found:
        return "update"
    if "other" in found:
        return "average" if "self" in found else "load"
    return "assign" if "self" in found else "load"


def behind(sources: Sequence[Edge], own: Node) -> set[str]:
    """What stands behind a value: "gradient", "self" (the leaf that is written to), "other" leaves."""
    found: set[str] = set()
    stack = [edge.node for edge in sources]
    seen: set[int] = set()
    while stack:
        node = stack.pop()
        if node.id in seen:
            continue
        seen.add(node.id)
        if node.op in ("gradient", "grad"):
            found.add("gradient")
        elif node is own:
            found.add("self")
        elif node.leaf is not None:
            found.add("other")
        stack.extend(edge.node for edge in node.edges)
    return found
