"""Writes through `.data`: whose leaf is written, and what for."""

from __future__ import annotations

from collections.abc import Sequence

from gradlint.detect.detector import Detector
from gradlint.domain.announcement import LeafWritten
from gradlint.domain.fault.inplace import DataUse, DataWrite
from gradlint.domain.graph import Edge, Node
from gradlint.domain.state import State
from gradlint.domain.value import Tensor
from gradlint.interpreter.machine import Machine
from gradlint.interpreter.reachable import Search

_LOOKED_AT = 4_000
"""At how many objects a look for graphs that are still held ends."""

_ARITHMETIC = frozenset({"add_", "sub_", "mul_", "div_", "addcmul_", "addcdiv_", "lerp_"})


class DataWriteDetector(Detector[None]):
    """Needs no facts but the graphs behind what is written, and those that the program holds."""

    def begin(self) -> None:
        """Begin without facts."""

    def on_leaf_written(self, state: State, it: LeafWritten) -> None:
        """Report a write through `.data`."""
        leaf = state.heap[it.leaf]
        assert isinstance(leaf, Tensor)
        if it.by_data:
            kept = _is_kept(self.machine, state, leaf.memory)
            use, recorded = _use(leaf, it.op, it.sources), state.grad is not False
            self.report(DataWrite(it.node, use, it.op, leaf.syntax, leaf.parameter, kept, recorded))


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
    """What a write is for. One that only scales or bounds the old value clips it."""
    found = _behind(sources, leaf.node)
    if "gradient" in found:
        return "update"
    if op == "=":
        if "self" in found:
            return "average" if "other" in found else "assign"
        return "load"
    if op.startswith("clamp"):
        return "clip"
    if op in ("mul_", "div_") and not found:
        return "scale"
    if "other" in found:
        return "average" if op in _ARITHMETIC or "self" in found else "load"
    return "update" if op in _ARITHMETIC else "initialise"


def _behind(sources: Sequence[Edge], own: Node) -> set[str]:
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
