"""What a backward should reach and does not: the leaves a loss was computed from before a cut.

Whether that is a fault is known only when the program has been read: see `gradlint.detect.absence`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

import libcst as cst

from gradlint.detect.absence import Gradients, LastBackward, LostOne, never_reached, reached_leaves, verdicts
from gradlint.detect.cuts import (
    ACCIDENTS,
    Lost,
    cutting_samples,
    dead_terms,
    last_cut,
    lost_leaves,
    receiving_leaves,
)
from gradlint.detect.detector import Detector
from gradlint.detect.gradients import SecondOrderDetector
from gradlint.detect.optimizers import MembershipDetector
from gradlint.detect.switched_off import SwitchedOffDetector
from gradlint.domain import announcement
from gradlint.domain.fault.backward import RootWithoutGraph
from gradlint.domain.fault.lost_gradient import Given, LostLeaf, ParameterNeverReached
from gradlint.domain.graph import DATA, Node, leaf_key
from gradlint.domain.state import State
from gradlint.domain.value import Ref, Sequence, Tensor, Unknown, Value
from gradlint.interpreter.torch.tensor import is_absent, known_tensor, tensor_at


class LostGradientDetector(Detector[Gradients]):
    """Notes what each backward reaches and does not, and judges it when all paths are known."""

    # What becomes of leaves and graphs.

    def on_rewrapped(self, state: State, it: announcement.Rewrapped) -> None:
        """Note what a copy is made of, for the repair of it."""
        record = state.heap.get(it.data.id) if isinstance(it.data, Ref) else None
        items = record.items if isinstance(record, Sequence) else it.data if type(it.data) is tuple else ()
        self._note_numbers((it.data, *items[:1]), it.node)
        given = _given(state, record or it.data, [known_tensor(self.machine, state, item) for item in items])
        if given is not None:
            self.facts.given[it.node] = given

    def _note_numbers(self, values: Iterable[Value], node: cst.CSTNode) -> None:
        """Note the calls of `item` that stand inside of a copy: `torch.tensor(loss.item())`."""
        if not isinstance(node, cst.Call) or len(node.args) != 1:
            return
        given = node.args[0].value
        inside = given.elt if isinstance(given, cst.ListComp) else given
        for value in values:
            if isinstance(value, Unknown) and value.origin is not None and value.origin.syntax is inside:
                self.facts.copied[inside] = node

    def on_requires_grad_set(self, state: State, it: announcement.RequiresGradSet) -> None:
        """Spare a leaf that is switched off at some time."""
        if it.wanted is not True:
            self._spare(state, it.tensor)

    def on_network_supposed(self, state: State, it: announcement.NetworkSupposed) -> None:
        """Spare the leaves of a network that is not shown."""
        for leaf in it.leaves:
            self._spare(state, leaf)

    def on_parameter_replaced(self, state: State, it: announcement.ParameterReplaced) -> None:
        """Spare the former parameter: that it is trained no more is reported where it is still held."""
        self._spare(state, it.former)

    def on_parameters_taken(self, state: State, it: announcement.ParametersTaken) -> None:
        """Note the optimizer of each leaf."""
        for parameter in it.parameters:
            record = tensor_at(state, parameter)
            if record.node.leaf is not None:
                self.facts.optimized.setdefault(leaf_key(record.node), set()).add(it.node)
                if record.grad is False:
                    self._spare(state, parameter)

    def _spare(self, state: State, tensor: Ref) -> None:
        self.facts.spared.add(leaf_key(tensor_at(state, tensor).node))

    def on_stepped(self, state: State, it: announcement.Stepped) -> None:
        """Note the leaves in which a step finds no gradient, and the backward before it."""
        last = state.facts.get(LastBackward())
        for parameter in it.parameters:
            record = state.heap.get(parameter.id)
            if not isinstance(record, Tensor) or record.grad is False:
                continue
            key, filled = leaf_key(record.node), isinstance(record.accumulated, Ref)
            absent = not filled and is_absent(state, parameter, record.accumulated)
            self.facts.bare[key] = absent and self.facts.bare.get(key, True)
            if not filled and isinstance(last, cst.CSTNode):
                self.facts.starved.setdefault(key, set()).add(last)

    def on_gradient_read(self, state: State, it: announcement.GradientRead) -> None:
        """Note the leaves whose gradients the program reads."""
        if it.tensor is not None and not it.warned:
            self.facts.read.add(leaf_key(tensor_at(state, it.tensor).node))

    def on_graphs_escaped(self, state: State, it: announcement.GraphsEscaped) -> None:
        """Note where a backward may begin that gradlint does not see."""
        self.facts.escaped.update((node.id, node) for node in it.graphs if node.live)

    # What a backward starts from.

    def on_backward_called(self, state: State, it: announcement.BackwardCalled) -> None:
        """Report a root without a graph, unless the reason is another fault, which is reported in its place."""
        record = tensor_at(state, it.root)
        if record.grad is not False or _is_given(record.node):
            return
        if self.other(SwitchedOffDetector).explains(state, record.node, it.node, self.is_wanted):
            return
        if self.other(SecondOrderDetector).explains(record.node, it.node):
            return
        blamed = self._blame_for_raising(state, record.node, it.node)
        if blamed is not None:
            found = [(blamed.kind, blamed.node), *((one.cut.kind, one.cut.syntax) for one in _lost(record.node))]
            self.report(RootWithoutGraph(it.node, it.call, tuple(dict.fromkeys(found))))
        elif record.node.edges or not self.machine.give_ups["paths dropped"]:
            # A result that stands in for an empty one is no fault, if the same call has a graph on other paths; that
            # may be one which is not followed.
            self.report(RootWithoutGraph(it.node, it.call, ()), unless=(it.node, state.site, it.number))

    def on_number_backpropagated(self, state: State, it: announcement.NumberBackpropagated) -> None:
        """Report where the tensor became a number: what it was computed from shows what was meant."""
        item = it.origin
        if self._blame_for_raising(state, item, it.node) is None and item.op == "item":
            self.report(LostLeaf(item.syntax, "item", "item", None, it.node, raises=True, parameter=False))

    def is_wanted(self, leaf: Node) -> bool:
        """Return whether the program trains a leaf: a backward has reached it, or an optimizer has it."""
        return leaf.syntax in self.facts.trained or leaf_key(leaf) in self.facts.optimized

    def _blame_for_raising(self, state: State, root: Node, backward: cst.CSTNode) -> LostLeaf | None:
        """Report the cut to blame that a backward has no graph and raises."""
        lost = [one for one in _lost(root) if _requires_grad(state, one.leaf)]
        if not lost:
            return None
        blamed = min(lost, key=self._rank)
        last = last_cut(root)
        if last is not None and blamed.cut.kind in ("no_grad", "grad-off"):
            # A part of the loss has no graph, as targets have none; the whole had one.
            blamed = blamed._replace(cut=last)
        if blamed.cut.kind == "no_grad" and leaf_key(blamed.leaf) in self.facts.read:
            # The new value of a parameter was computed there, from its gradient: another rule names that.
            blamed = blamed._replace(cut=blamed.cut._replace(kind="update"))
        fault = self._fault(state, blamed, backward, raises=True)
        self.report(fault)
        return fault

    def _rank(self, one: Lost) -> tuple[bool, bool, int]:
        """Return the rank of a cut, the lowest of which is to blame."""
        rank = _ORDER.index(one.cut.kind) + 1 if one.cut.kind in _ORDER else 0
        return leaf_key(one.leaf) not in self.facts.optimized, one.picked, rank

    def _fault(self, state: State, one: Lost, backward: cst.CSTNode, *, raises: bool = False) -> LostLeaf:
        leaf, cut = one.leaf, one.cut
        assert leaf.leaf is not None
        parameter = tensor_at(state, Ref(leaf.leaf)).parameter
        given, copied = self.facts.given.get(cut.syntax), self.facts.copied.get(cut.syntax)
        return LostLeaf(
            *(cut.syntax, cut.kind, cut.op, leaf.syntax, backward, raises, parameter), given=given, copied=copied
        )

    # What a backward reaches.

    def on_backpropagated(self, state: State, it: announcement.Backpropagated) -> None:
        """Note the leaves that a backward should reach and does not, and those that it reaches."""
        state.decide(LastBackward(), it.node)
        receiving = receiving_leaves(it.possible)
        if not self.machine.expected:
            self._note_lost(state, it, receiving)
        self._note_unknown_root(it.possible)
        for node in it.possible.values():
            record = state.heap.get(node.leaf) if node.leaf is not None else None
            if not isinstance(record, Tensor) or record.grad is not True:
                continue
            if it.only is None or node.leaf in it.only:
                self.facts.trained.add(node.syntax)
                if node.leaf in receiving:
                    self.facts.reached.add(leaf_key(node))

    def _note_lost(self, state: State, it: announcement.Backpropagated, receiving: set[int]) -> None:
        # A leaf may have been made of a value that has a history.
        reached = (node for node in it.possible.values() if node.leaf is not None)
        alone = all(any(edge.cut == "leaf" for edge in node.edges) for node in reached)
        for root in it.roots:
            for one in lost_leaves(root, receiving):
                if _requires_grad(state, one.leaf):
                    assert one.leaf.leaf is not None
                    self.other(MembershipDetector).facts.cut_off.add(one.leaf.leaf)
                    fault = self._fault(state, one, it.node)
                    started = one.releafed is root
                    self.facts.lost.append(
                        LostOne(leaf_key(one.leaf), fault, one.intended, one.releafed, alone, one.dropped, started)
                    )
            self._report_terms(state, dead_terms(root), it.node)
        for sample in cutting_samples(it.possible, receiving):
            self._report_terms(state, (one for one in _lost(sample) if one.cut.kind == "sample"), it.node)

    def _report_terms(self, state: State, lost: Iterable[Lost], backward: cst.CSTNode) -> None:
        """Report terms of a loss that are constants, though it may train their leaves in other ways."""
        for one in lost:
            if _requires_grad(state, one.leaf):
                self.report(replace(self._fault(state, one, backward), term=True))

    def on_differentiated(self, state: State, it: announcement.Differentiated) -> None:
        """Note the leaves on the way as asked for: the program may do what it likes with their gradients."""
        self._note_unknown_root(it.possible)
        self.facts.asked.update(leaf_key(node) for node in it.possible.values() if node.leaf is not None)

    def _note_unknown_root(self, nodes: Mapping[int, Node]) -> None:
        """Note a backward that may go anywhere: no leaf is known, or something that a caller passed in."""
        passed = any(
            isinstance(node.syntax, cst.Param) and (node.op == "input" or node.leaf) for node in nodes.values()
        )
        if passed or not any(node.leaf is not None for node in nodes.values()):
            self.facts.unknown_root = True

    # What is left undone.

    def on_paths_ended(self, state: State, it: announcement.PathsEnded) -> None:
        """Report the leaves that are lost by accident: no use elsewhere makes that right."""
        facts, reached = self.facts, reached_leaves(self.facts)
        closed = not facts.unknown_root and not any(self.machine.give_ups[what] for what in _GIVEN_UP)
        for fault in verdicts(facts, reached, closed=closed):
            if fault.kind in ACCIDENTS:
                self.report(fault)
            else:
                facts.undone.append(fault)
        if closed and self.machine.backwards:
            facts.unreached.extend(never_reached(facts, reached))

    def on_run_ended(self, state: State, it: announcement.RunEnded) -> None:
        """Report the other leaves that no backward of the file reaches."""
        for fault in self.facts.undone:
            self.report(fault)
        if not self.other(MembershipDetector).misses:
            for making in self.facts.unreached:
                self.report(ParameterNeverReached(making))


_ORDER = ("no_grad", "grad-off", "data", "detach")
"""Cuts that are often wanted are to blame after all others, in this order."""


def _is_given(root: Node) -> bool:
    """Return whether a root is data itself, for all that its name says: nobody backpropagates data, so it is none."""
    return root.op == DATA and not root.edges


_GIVEN_UP = ("out of steps", "paths dropped", "calls too deep")


def _given(state: State, listed: object, items: list[Ref | None]) -> Given | None:
    """Return what a copy is made of: a tensor itself, or tensors that each have one element."""
    if items and all(one is not None and tensor_at(state, one).shape == () for one in items):
        return "scalars"
    return "tensor" if isinstance(listed, Tensor) else None


def _lost(root: Node) -> list[Lost]:
    """Return all leaves that a root was computed from and no gradient reaches."""
    return lost_leaves(root, set())


def _requires_grad(state: State, leaf: Node) -> bool:
    record = state.heap.get(leaf.leaf) if leaf.leaf is not None else None
    return isinstance(record, Tensor) and record.grad is True
