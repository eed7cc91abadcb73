"""Writes through `.data`: whose leaf is written, and what for."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from gradlint.domain.event import DataUse, DataWrite
from gradlint.domain.graph import Edge, Node
from gradlint.domain.state import State
from gradlint.domain.value import Ref, Tensor
from gradlint.semantics.machine import Machine
from gradlint.semantics.torch.tensor import tensor_at

_ALIASES = frozenset({"data", "detach", "select", "view"})
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
    machine.emit(DataWrite(node, _use(leaf, op, sources), op, leaf.syntax, leaf.parameter))


def _use(leaf: Tensor, op: str, sources: Sequence[Edge]) -> DataUse:
    """What a write in place is for. One that only scales or bounds the old value clips it."""
    found = behind(sources, leaf.node)
    if "gradient" in found:
        return "update"
    if op.startswith("clamp"):
        return "clip"
    if op in ("mul_", "div_") and not found:
        return "initialise"
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
