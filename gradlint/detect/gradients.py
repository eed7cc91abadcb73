"""Gradients that are none: read where torch keeps none, taken from unwritten memory, or constant in a loss."""

from __future__ import annotations

from dataclasses import dataclass, field

import libcst as cst

from gradlint.detect.cuts import EXPLICIT_CUTS
from gradlint.detect.detector import Detector
from gradlint.domain import announcement
from gradlint.domain.fault.backward import GradientUninitialised, GradientWithoutGraph, NonleafGradRead
from gradlint.domain.graph import Node
from gradlint.domain.shape import same_shape
from gradlint.domain.state import State
from gradlint.domain.value import Tensor
from gradlint.domain.walk import certain_inputs, inputs, reachable
from gradlint.facts.aliases import canonical
from gradlint.facts.traits import SCALES, SUMS, UNFILLED
from gradlint.interpreter.torch.tensor import known_tensor, tensor_at


@dataclass
class Reads:
    """Where a `.grad` was read of a tensor that may have one, and where of one that is compared with None."""

    filled: set[cst.CSTNode] = field(default_factory=set)
    tested: set[cst.CSTNode] = field(default_factory=set)


class GradientReadDetector(Detector[Reads]):
    """Knows the reads of `.grad` after which the program asks whether there is one."""

    def on_gradient_read(self, state: State, it: announcement.GradientRead) -> None:
        """Report a gradient that is certainly None, unless the program knows."""
        if it.warned and it.tensor is not None:
            made = tensor_at(state, it.tensor).syntax
            self.report(NonleafGradRead(it.node, made), unless=("known", it.node))
        else:
            self.facts.filled.add(it.node)
            self._compare(it.node)

    def on_gradient_tested(self, state: State, it: announcement.GradientTested) -> None:
        """Note that the program asks whether there is one: who asks of several tensors knows that some have none."""
        if it.read is not None:
            self.facts.tested.add(it.read)
            if it.asserted:
                self.facts.filled.add(it.read)
            self._compare(it.read)

    def _compare(self, read: cst.CSTNode) -> None:
        if read in self.facts.filled and read in self.facts.tested:
            self.machine.passes(("known", read))


class SecondOrderDetector(Detector[set[int]]):
    """Knows the numbers of the gradients that were computed without a graph."""

    def on_constant_gradient(self, state: State, it: announcement.ConstantGradient) -> None:
        """Note a gradient without a graph."""
        self.facts.add(it.gradient.id)

    def on_backpropagated(self, state: State, it: announcement.Backpropagated) -> None:
        """Report a term of a loss that is a constant computed from a gradient: the term trains nothing."""
        for term in [term for root in it.roots for term in _constant_terms(root)] if self.facts else ():
            gradient = _gradient_in(term, self.facts)
            if gradient is not None:
                self.report(GradientWithoutGraph(gradient.syntax, backward=it.node, term=term.syntax))

    def explains(self, root: Node, backward: cst.CSTNode) -> bool:
        """Report that a root is made of such gradients and of nothing else that requires grad; False if it is not."""
        gradient = _gradient_in(root, self.facts) if self.facts else None
        if gradient is not None:
            self.report(GradientWithoutGraph(gradient.syntax, backward))
        return gradient is not None


def _constant_terms(root: Node) -> list[Node]:
    """Return the untracked terms of a sum."""
    sums = reachable([root], lambda node: certain_inputs(node) if _is_sum(node) else [])
    edges = (edge for node in sums if _is_sum(node) for edge in node.edges)
    constant = (edge for edge in edges if edge.flows is False and edge.cut not in EXPLICIT_CUTS)
    return [edge.node for edge in constant if edge.node.tracked is False]


def _is_sum(node: Node) -> bool:
    """Return whether a node sums up losses.

    After a reduction it may be a tensor that a gradient moves: first-order steps are no penalties.
    """
    name = canonical(node.op)
    return node.tracked is True and (name in SUMS or (name in SCALES and len(node.edges) == 1))


def _gradient_in(term: Node, gradients: set[int]) -> Node | None:
    """Return the youngest gradient without a graph that a constant is computed from, unless the program cut it itself.

    An older one may have been meant as a constant: the vector of a Hessian-vector product.
    """

    def constant_inputs(node: Node) -> list[Node]:
        ends = node.id in gradients or node.tracked is not False or node.cut in EXPLICIT_CUTS
        return [] if ends else inputs(node)

    found = (node for node in reachable([term], constant_inputs) if node.id in gradients)
    return max(found, key=lambda node: node.id, default=None)


_SCALING = SCALES | {"neg"}


class UninitialisedDetector(Detector[dict[cst.CSTNode, cst.CSTNode]]):
    """Knows the operations that scale unwritten memory, each with where that was taken."""

    def aside(self) -> dict[cst.CSTNode, cst.CSTNode]:
        """Return what was scaled before counts in a run aside as well."""
        return dict(self.facts)

    def on_operated(self, state: State, it: announcement.Operated) -> None:
        """Note `one * -1`."""
        if len(it.inputs) != 1 or canonical(it.op) not in _SCALING:
            return
        ref = it.inputs[0][1]
        record = None if ref is None else tensor_at(state, ref)
        made = None if record is None or record.node.live else self._taken(state, record)
        if made is not None:
            self.facts[it.node] = made

    def on_backward_called(self, state: State, it: announcement.BackwardCalled) -> None:
        """Report a gradient argument whose values are nobody's, unless torch refuses its shape."""
        given = known_tensor(self.machine, state, it.gradient)
        if given is None:
            return
        gradient, root = tensor_at(state, given), tensor_at(state, it.root)
        made = self._taken(state, gradient)
        if made is not None and same_shape(gradient.shape, root.shape) is not False:
            self.report(GradientUninitialised(it.node, made, scaled=made is not gradient.node.syntax))

    def _taken(self, state: State, record: Tensor) -> cst.CSTNode | None:
        """Return where the memory of a tensor was taken that holds whatever stood there, or is scaled from such a one.

        None for one whose values are somebody's, and for all that were ever written.
        """
        made = record.node.syntax if canonical(record.node.op) in UNFILLED else self.facts.get(record.node.syntax)
        return None if state.writes(record.counter) or state.writes(record.memory) else made
