"""Networks that are evaluated in training mode: loops over data that train nothing, and files that only predict."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import libcst as cst

from gradlint.detect.detector import Detector
from gradlint.detect.modes import has_two_modes, is_own, parts_switched
from gradlint.domain import announcement
from gradlint.domain.assumption import Assumption
from gradlint.domain.fault.training_loop import EvalModeMissing
from gradlint.domain.graph import Node, fresh_number
from gradlint.domain.state import PathFact, State
from gradlint.domain.value import Function, Instance, Ref, Value
from gradlint.domain.walk import inputs, reachable
from gradlint.interpreter.python.classes import find_in_class
from gradlint.interpreter.reachable import all_attributes, contents
from gradlint.interpreter.torch.parameters import is_module, modules_of, parameters_of, running_method_of
from gradlint.interpreter.world import guesses
from gradlint.source.lower.syntax import called_name, nodes_of


class SentToTraining(PathFact):
    """The key of the number at which a module was sent to training mode."""


class InTraining(PathFact):
    """The key of whether the program has sent a module to training mode, and nothing unknown got it since."""


@dataclass
class Run:
    """A network in training mode that is called in a loop, or where no gradients are recorded.

    What it computes has numbers from `first` to `last`, and a graph if it is `recorded`. `loop`: the innermost one
    around the call. `loaded`: its values come from elsewhere. `used`: a backward has what it computes among what its
    root was computed from.
    """

    fault: EvalModeMissing
    leaves: frozenset[int]
    loop: int | None
    loaded: bool
    recorded: bool
    first: int
    last: int | None = None
    used: bool = False


@dataclass
class Evaluations:
    """The runs; the loops that train; the leaves that are stepped, or were loaded.

    `training` has the loops that load parameters, too. `loops` are those of iterations, `heads` their nodes.
    `over_data` are loops that have come to a second iteration, and that the program does not bound.
    """

    runs: list[Run] = field(default_factory=list)
    training: set[int] = field(default_factory=set)
    loops: dict[int, int] = field(default_factory=dict)
    heads: dict[int, cst.CSTNode] = field(default_factory=dict)
    over_data: set[int] = field(default_factory=set)
    stepped: set[int] = field(default_factory=set)
    loaded: set[int] = field(default_factory=set)


class EvaluationModeDetector(Detector[Evaluations]):
    """Looks at the mode of a network in a loop over data that runs no backward, and makes no step."""

    # What a run is.

    def on_module_entered(self, state: State, it: announcement.ModuleEntered) -> None:
        """Note a network in training mode that drops values, or normalises by the batch."""
        loop = self._loop()
        if self.machine.expected or loop in self.facts.training or not (loop or state.grad is False):
            return
        owner, record = running_method_of(state), state.heap.get(it.module.id)
        if not isinstance(record, Instance) or (owner is not None and is_module(state, owner)):
            return
        sent = state.facts.get(SentToTraining(it.module.id))
        wanted = isinstance(sent, int) and sent > state.trained
        if wanted or not is_module(state, it.module) or _switches(state, record):
            return
        known = _trains(state, it.module)
        leaves = frozenset(one.id for _, one in parameters_of(state, it.module)[0])
        if leaves and (known or _is_sent_to_training(state, it.module)):
            loaded, recorded = leaves <= self.facts.loaded, state.grad is not False
            name = called_name(it.node) or "the network"
            assumed = () if known else (*self.machine.assumed, Assumption("use", name, _HAS_MODES, it.node))
            fault = EvalModeMissing(it.node, None if loop is None else self.facts.heads[loop], assumptions=assumed)
            self.facts.runs.append(Run(fault, leaves, loop, loaded, recorded, fresh_number()))

    def on_mode_switched(self, state: State, it: announcement.ModeSwitched) -> None:
        """Note that the program wants a module in training mode from here on."""
        if it.training is not False:
            for part, _ in modules_of(state, it.module):
                state.decide(SentToTraining(part.id), fresh_number())
                state.decide(InTraining(part.id), it.training or None)

    def on_escaped(self, state: State, it: announcement.Escaped) -> None:
        """Forget that a network is in training mode which something unknown gets: it may switch the mode."""
        marks = [key for key in state.facts if isinstance(key, InTraining)]
        given = contents(state, it.values if marks else (), all_attributes, calls=True)
        addresses = {one.id for one in given if isinstance(one, Ref)}
        for key in marks:
            if key.address in addresses:
                state.decide(key, None)

    def on_state_dict_loaded(self, state: State, it: announcement.StateDictLoaded) -> None:
        """Note parameters whose values come from elsewhere, such as a file; a loop that loads tries out weights."""
        loop = self._loop()
        if loop is not None:
            self.facts.training.add(loop)
        if isinstance(it.owner, Ref) and is_module(state, it.owner):
            self.facts.loaded.update(one.id for _, one in parameters_of(state, it.owner)[0])

    # What shows that a loop trains.

    def on_iteration_began(self, state: State, it: announcement.IterationBegan) -> None:
        """Note which loop it belongs to."""
        self.facts.loops[it.since] = it.loop
        self.facts.heads[it.loop] = it.node

    def on_iteration_ended(self, state: State, it: announcement.IterationEnded) -> None:
        """Close the runs of the iteration."""
        for run in self.facts.runs:
            if run.loop == it.loop and run.last is None:
                run.last = fresh_number()

    def on_loop_ended(self, state: State, it: announcement.LoopEnded) -> None:
        """Note a loop over data; with graphs, one that counts may gather a loss for a backward that is not seen."""
        again = list(self.facts.loops.values()).count(it.loop) > 1
        if again and isinstance(it.node, cst.For) and not it.bounded:
            self.facts.over_data.add(it.loop)
            if called_name(it.node.iter) == "range":
                for run in self.facts.runs:
                    run.used |= run.loop == it.loop and run.recorded

    def on_backpropagated(self, state: State, it: announcement.Backpropagated) -> None:
        """Note what a backward uses, with its graph or without."""
        self._train(it.roots)

    def on_differentiated(self, state: State, it: announcement.Differentiated) -> None:
        """Take it for a backward."""
        self._train(it.possible.values())

    def on_graphs_shared(self, state: State, it: announcement.GraphsShared) -> None:
        """Take something unknown that is given a loss to backpropagate it, if its name says so."""
        if guesses.may_backpropagate(called_name(it.node)):
            self._train(it.graphs)

    def on_gradients_invalidated(self, state: State, it: announcement.GradientsInvalidated) -> None:
        """Take it for a backward."""
        self._train(())

    def on_stepped(self, state: State, it: announcement.Stepped) -> None:
        """Note what is trained, and that the loops here train."""
        self.facts.stepped.update(one.id for one in it.parameters)
        self._train(())

    def _train(self, roots: Iterable[Node]) -> None:
        self.facts.training.update(self.facts.loops[one] for one in self.machine.iterations if one in self.facts.loops)
        waiting = [run for run in self.facts.runs if not run.used]
        if waiting:
            age = min(run.first for run in waiting)
            for node in reachable(roots, lambda node: inputs(node) if node.id > age else ()):
                for run in waiting:
                    run.used |= node.id > run.first and (run.last is None or node.id < run.last)

    def _loop(self) -> int | None:
        return self.facts.loops.get(self.machine.iterations[-1]) if self.machine.iterations else None

    # The end.

    def on_run_ended(self, state: State, it: announcement.RunEnded) -> None:
        """Report what an optimizer trains elsewhere, and what was loaded into a program that trains nothing.

        A call is for training if it is so on one path.
        """
        used = {run.fault.node for run in self.facts.runs if run.used}
        for run in self.facts.runs:
            trained = run.loop in self.facts.over_data and run.leaves <= self.facts.stepped
            predicts = run.loaded and not self.machine.backwards and "backward" not in self.machine.program.source.words
            if (trained or predicts) and run.fault.node not in used and run.loop not in self.facts.training:
                self.report(run.fault)


def _switches(state: State, record: Instance) -> bool:
    """Return whether a network's `forward` sees to the mode itself, as by an argument."""
    forward = find_in_class(state, record.cls, "forward")
    if not isinstance(forward, Function):
        return False
    within = list(nodes_of(forward.code.node))
    if any(is_own(one, "eval") for one in within):
        return True
    # As `def forward(self, x, is_training=False)`: `if is_training: x = self.dropout(x)`.
    names = {param.name for param in forward.code.params}
    chosen = [one for one in within if isinstance(one, cst.If) and _asked(one.test) in names]
    parts = [name for name, part in record.attrs.items() if _has_modes(state, part)]
    return any(is_own(one, name) for test in chosen for one in nodes_of(test) for name in parts)


def _asked(test: cst.BaseExpression) -> str:
    """Return the name of which a test asks whether it is true, or not."""
    named = test.expression if isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not) else test
    return named.value if isinstance(named, cst.Name) else ""


def _has_modes(state: State, part: Value) -> bool:
    held = state.heap.get(part.id) if isinstance(part, Ref) else None
    return isinstance(held, Instance) and is_module(state, part) and has_two_modes(state, held)


_HAS_MODES = "a network that behaves in another way in training: the program sends it there"


def _is_sent_to_training(state: State, module: Ref) -> bool:
    """Return whether the program itself has sent a network to training whose layers are not known, as all of them."""
    parts = parts_switched(state, module)
    unseen = [part for part in parts if part.module.foreign or part.module.torn is not None]
    sent = state.facts.get(InTraining(module.id)) is True
    return sent and bool(unseen) and all(part.module.training is True for part in parts)


def _trains(state: State, module: Ref) -> bool:
    """Return whether a module is known to behave as in training, in all its parts: else the program has chosen."""
    modes = {part.module.training for part in parts_switched(state, module) if has_two_modes(state, part)}
    return True in modes and False not in modes
