"""What should be trained and is switched off, or was never on: parameters of optimizers, the graph of a root."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import libcst as cst

from gradlint.detect.absence import LastBackward
from gradlint.detect.detector import Detector
from gradlint.detect.optimizers import MembershipDetector
from gradlint.domain.announcement import ParametersTaken, RunEnded, StepCalled
from gradlint.domain.fault.optimizers import ConstantsInOptimizer, EmptyOptimizer
from gradlint.domain.fault.training_loop import GraphSwitchedOff, LeftFrozen
from gradlint.domain.graph import Node
from gradlint.domain.state import State
from gradlint.domain.value import Instance, NoGradient, Ref, Sequence, Tensor, Value
from gradlint.domain.walk import inputs, reachable
from gradlint.interpreter.torch.parameters import members_of, optimizer_state
from gradlint.interpreter.torch.switches import is_off
from gradlint.interpreter.torch.tensor import SUMMARY, is_absent, tensor_at


class Frozen(NamedTuple):
    """An optimizer all of whose parameters are frozen: where it was made, where they were frozen, its next step."""

    made: cst.CSTNode
    switch: cst.CSTNode
    step: cst.CSTNode


class Constant(NamedTuple):
    """An optimizer, where it was made, and its first step if all steps find nothing that requires grad."""

    made: cst.CSTNode
    step: cst.CSTNode | None


class Given(NamedTuple):
    """What an optimizer was given, all of which is frozen, and where the optimizer was made."""

    made: cst.CSTNode
    parameters: tuple[int, ...]


@dataclass
class Idle:
    """The optimizers whose steps do nothing, by address.

    `empty`: by where optimizers are made, whether they are given no parameters on every path so far. `given`: what is
    frozen when it is given. `told`: the switches that a fault names.
    """

    empty: dict[cst.CSTNode, bool] = field(default_factory=dict)
    given: dict[int, Given] = field(default_factory=dict)
    told: set[cst.CSTNode] = field(default_factory=set)
    frozen: dict[int, Frozen] = field(default_factory=dict)
    constant: dict[int, Constant] = field(default_factory=dict)


_MEANT = frozenset({"detach", "data", "item", "no_grad", "numpy", "rewrap"})
"""Cuts that a program makes itself: nothing is wrong with the flags of the leaves before them."""


class SwitchedOffDetector(Detector[Idle]):
    """Looks at the parameters of each step, and for the reason why a root has no graph.

    Whether steps that do nothing are a fault shows at the end: some programs train a part of a network later.
    """

    def on_parameters_taken(self, state: State, it: ParametersTaken) -> None:
        """Note whether an optimizer is given no parameters; that is certain if it is so on every path."""
        empty = not it.parameters and it.complete and _is_empty(state, it.given)
        self.facts.empty[it.node] = (
            self.facts.empty.get(it.node, not (self.machine.expected or self.machine.caught)) and empty
        )
        frozen, params = self.machine.frozen, tuple(one.id for one in it.parameters)
        sources = self.other(MembershipDetector).sources_in(state, it.given) if frozen else ()
        whole = it.complete or (bool(sources) and all(module.id in frozen for module in sources))
        if params and whole and not self.machine.expected and all(self._is_frozen(state, one) for one in params):
            self.facts.given[it.optimizer.id] = Given(it.node, params)
        else:
            self.facts.given.pop(it.optimizer.id, None)

    def _is_frozen(self, state: State, leaf: int) -> bool:
        return leaf in self.machine.frozen and is_off(state, leaf)

    def on_step_called(self, state: State, it: StepCalled) -> None:
        """Note whether all parameters of an optimizer that is known to hold no others are off."""
        made, params = state[it.optimizer], members_of(state, it.optimizer)
        if not isinstance(made, Instance) or made.syntax is None or not params or self.machine.expected:
            return
        if optimizer_state(made).open is not False and not all(SUMMARY in tensor_at(state, one).tags for one in params):
            return
        frozen, number = self.machine.frozen, it.optimizer.id
        if frozen and all(self._is_frozen(state, param.id) for param in params):
            self.facts.frozen.setdefault(number, Frozen(made.syntax, frozen[params[0].id], it.node))
            return
        self.facts.frozen.pop(number, None)
        if LastBackward() in state.facts:
            former = self.facts.constant.get(number, Constant(made.syntax, it.node))
            constant = all(self._is_constant(state, param) for param in params)
            self.facts.constant[number] = former if constant else former._replace(step=None)

    def _is_constant(self, state: State, param: Ref) -> bool:
        record = state.heap.get(param.id)
        if not isinstance(record, Tensor) or record.grad is not False or param.id in self.machine.frozen:
            return False
        # A graph that went elsewhere fills no gradient of what is in none, unless the tensor went there itself.
        empty = record.accumulated is None or isinstance(record.accumulated, NoGradient)
        kept = empty and not record.parameter and param.id not in self.machine.escaped
        return kept or is_absent(state, param, record.accumulated)

    def explains(self, state: State, root: Node, backward: cst.CSTNode, is_wanted: Callable[[Node], bool]) -> bool:
        """Report the switch because of which a root has no graph; False if there is none.

        `is_wanted` says whether the program trains a leaf.
        """
        switch: cst.CSTNode | None = None
        if state.off is not None and state.grad is False and root.id > state.off[0]:
            switch = state.off[1]
        elif self.machine.frozen:
            switch = self._frozen_leaf(state, root, is_wanted)
        if switch is None:
            return False
        self.facts.told.add(switch)
        self.report(GraphSwitchedOff(switch, backward))
        return True

    def _frozen_leaf(self, state: State, root: Node, is_wanted: Callable[[Node], bool]) -> cst.CSTNode | None:
        """Return where a leaf was frozen that the root is computed from; None if the program does not train it."""
        for node in reachable(filter(_counts, [root]), lambda node: filter(_counts, inputs(node))):
            if node.leaf in self.machine.frozen and node.leaf is not None and is_off(state, node.leaf):
                return self.machine.frozen[node.leaf] if is_wanted(node) else None
        return None

    def on_run_ended(self, state: State, it: RunEnded) -> None:
        """Report what has no other explanation, such as that an optimizer holds the wrong parameters."""
        for made, empty in self.facts.empty.items():
            if empty:
                self.report(EmptyOptimizer(made))
        explained = {fault.node for fault in self.other(MembershipDetector).verdicts()}
        for made, switch, step in self.facts.frozen.values():
            self.facts.told.add(switch)
            if made not in explained:
                self.report(LeftFrozen(switch, step))
        for made, params in self.facts.given.values():
            switches = {self.machine.frozen.get(one) for one in params}
            if None not in switches and switches.isdisjoint(self.facts.told):
                self.report(ConstantsInOptimizer(made, None, next(iter(switches))))
        for constant in self.facts.constant.values():
            if constant.step is not None and it.complete:
                self.report(ConstantsInOptimizer(constant.made, constant.step))


def _is_empty(state: State, value: Value) -> bool:
    """Return whether a list is empty itself; torch accepts a group without parameters."""
    if isinstance(value, Ref):
        record = state[value]
        return isinstance(record, Sequence) and (not record.items or record.kind in ("iterator", "generator"))
    return value == ()


def _counts(node: Node) -> bool:
    """Return whether a node may have been computed from a leaf, and is no cut that a program makes itself."""
    return node.live and node.cut not in _MEANT
