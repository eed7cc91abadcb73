"""Writes that autograd does not see: to leaves through `.data`, and what for; to what was saved for backward."""

from __future__ import annotations

from collections.abc import Sequence

from gradlint.detect.detector import Detector
from gradlint.domain.announcement import LeafWritten, StaleSavedUsed
from gradlint.domain.fault.inplace import DataUse, DataWrite, HiddenWriteToSaved
from gradlint.domain.graph import Edge, Node
from gradlint.domain.state import State
from gradlint.domain.value import Ref, Tensor
from gradlint.domain.walk import gradient_inputs, inputs, reachable
from gradlint.facts.aliases import canonical
from gradlint.facts.traits import CLAMPS, SCALES, UPDATES
from gradlint.interpreter.machine import Machine
from gradlint.interpreter.reachable import Search

_LOOKED_AT = 4_000
"""At how many objects a look for graphs that are still held ends."""


class DataWriteDetector(Detector[None]):
    """Needs no facts but the graphs of what is written, and those that the program holds."""

    def on_leaf_written(self, state: State, it: LeafWritten) -> None:
        """Report a write through `.data`."""
        leaf = state.at(Ref(it.leaf), Tensor)
        if it.by_data:
            kept = _is_kept(self.machine, state, leaf.memory)
            use, recorded = _use(leaf, it.op, it.sources), state.grad is not False
            self.report(DataWrite(it.node, use, it.op, leaf.syntax, leaf.parameter, kept, recorded))

    def on_stale_saved_used(self, state: State, it: StaleSavedUsed) -> None:
        """Report a write that the version counter did not count: torch notices nothing, and is wrong."""
        numpy = it.write.op.startswith("numpy ")
        self.report(HiddenWriteToSaved(it.write.syntax, it.saver.syntax, it.saver.op, it.node, numpy))


def _is_kept(machine: Machine, state: State, memory: int) -> bool:
    """Return whether a graph that is still held, and that nothing has freed, has saved what is in a memory."""
    if memory not in machine.watched:
        return False
    values = [value for frame in state.frames.values() for value in frame.values()]
    held = Search(_LOOKED_AT).graphs(state, values)

    def unfreed(node: Node) -> list[Node]:
        return [] if node.id in state.freed else gradient_inputs(node)

    unspent = (node for node in reachable(held, unfreed) if node.id not in state.freed)
    return any(saved.memory == memory and not saved.hooked for node in unspent for saved in node.saved)


def _use(leaf: Tensor, op: str, sources: Sequence[Edge]) -> DataUse:
    """Return what a write is for. One that only scales or bounds the old value clips it."""
    found = _computed_from(sources, leaf.node)
    if "gradient" in found:
        return "update"
    if op == "=":
        if "self" in found:
            return "average" if "other" in found else "assign"
        return "load"
    name = canonical(op)
    if name in CLAMPS:
        return "clip"
    if name in SCALES and not found:
        return "scale"
    if "other" in found:
        return "average" if name in UPDATES or "self" in found else "load"
    return "update" if name in UPDATES else "initialise"


def _computed_from(sources: Sequence[Edge], own: Node) -> set[str]:
    """Return what a value was computed from: "gradient", "self" (the leaf that is written to), "other" leaves."""
    found: set[str] = set()
    for node in reachable([edge.node for edge in sources], inputs):
        if node.op in ("gradient", "grad"):
            found.add("gradient")
        elif node is own:
            found.add("self")
        elif node.leaf is not None:
            found.add("other")
    return found
