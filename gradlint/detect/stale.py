"""What goes stale while a loop trains: the modes of modules, the order of the data, and state dicts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import libcst as cst

from gradlint.detect.detector import Detector
from gradlint.detect.modes import has_two_modes, is_alternative, parts_switched
from gradlint.domain import announcement
from gradlint.domain.fault.training_loop import EpochNotSet, ParameterMinusItself, StateDictAlias, TrainModeMissing
from gradlint.domain.graph import fresh_number
from gradlint.domain.state import LastingFact, OneSided, PathFact, State
from gradlint.domain.value import Instance, Ref, Tensor, Unknown, Value
from gradlint.interpreter.torch.parameters import members_of, modules_of, parameters_of


class Switch(NamedTuple):
    """Where and when a module was sent to evaluation, in which iterations, and how often it has run since.

    `chosen`: the iteration did so on one side of a test. `trained`: where it was sent to training last.
    """

    node: cst.CSTNode
    number: int
    iterations: tuple[int, ...]
    chosen: bool
    trained: cst.CSTNode | None
    runs: int = 0


class InEvaluation(LastingFact):
    """The key of the `Switch` of a module that is in evaluation mode on this path."""


class SentToTrainingAt(PathFact):
    """The key of the `Sent` of a module: when and where it was sent to training mode last."""


class Sent(NamedTuple):
    """The call of `train()`, its number, and whether the module has run since."""

    node: cst.CSTNode
    number: int
    ran: bool = False


class TrainedInEvaluation(LastingFact):
    """The key of the fault of a module through which a backward has run in evaluation mode, and no step yet."""


class TrainingModeDetector(Detector[None]):
    """Looks at the modes in which what an optimizer trains has run."""

    def on_mode_switched(self, state: State, it: announcement.ModeSwitched) -> None:
        """Note where a module is sent to evaluation; of its parts, one that is sent back takes the note away."""
        if it.training is False:
            within = tuple(self.machine.iterations)
            chosen = bool(within) and state.undecided_since(within[-1])
            sent = state.facts.get(SentToTrainingAt(it.module.id))
            if isinstance(sent, Sent) and not sent.ran and state.undecided_since(sent.number):
                return  # An option wants the training to run in evaluation mode.
            former = sent.node if isinstance(sent, Sent) else None
            state.decide(InEvaluation(it.module.id), Switch(it.node, fresh_number(), within, chosen, former))
            return
        if it.training:
            state.decide(SentToTrainingAt(it.module.id), Sent(it.node, fresh_number()))
        noted = [key for kind in (InEvaluation, TrainedInEvaluation) for key in _keys(state, kind) if state.facts[key]]
        back = _leaves(state, it.module) if noted else set()
        for key in noted:
            held = {part.id for part, _ in modules_of(state, Ref(key.address))}
            if it.module.id in held or not back.isdisjoint(_leaves(state, Ref(key.address))):
                state.decide(key, None)

    def on_module_entered(self, state: State, it: announcement.ModuleEntered) -> None:
        """Count the run of a module in evaluation mode, and note that of one that was sent to training."""
        sent = state.facts.get(SentToTrainingAt(it.module.id))
        if isinstance(sent, Sent) and not sent.ran:
            state.decide(SentToTrainingAt(it.module.id), sent._replace(ran=True))
        key = InEvaluation(it.module.id)
        found, switch = state.facts.get(key), state.lasting(key)
        if isinstance(switch, Switch):
            counted = switch._replace(runs=switch.runs + 1)
            state.decide(key, found._replace(fact=counted) if isinstance(found, OneSided) else counted)

    def on_gradients_cleared(self, state: State, it: announcement.GradientsCleared) -> None:
        """Forget the backwards so far: no step uses their gradients."""
        for key in _keys(state, TrainedInEvaluation):
            state.decide(key, None)

    def on_backpropagated(self, state: State, it: announcement.Backpropagated) -> None:
        """Note the modules through which a backward runs, whose forward pass was in evaluation mode."""
        filled = {node.leaf for node in it.certain if node.leaf is not None}
        for key in () if it.raised else _keys(state, InEvaluation):
            switch, module = state.lasting(key), Ref(key.address)
            if isinstance(switch, Switch) and self._is_meant(switch):
                state.decide(key, None)
            elif isinstance(switch, Switch) and _may_have_two_modes(state, module):
                leaves = _leaves(state, module) & filled
                ran = (node for node in it.possible.values() if node.id > switch.number)
                reached = any(edge.node.leaf in leaves for node in ran for edge in node.edges)
                fault = TrainModeMissing(switch.node, backward=it.node, trained=switch.trained) if reached else None
                state.decide(TrainedInEvaluation(module.id), fault)

    def _is_meant(self, switch: Switch) -> bool:
        """Return whether an iteration switches to evaluation mode for its own training: nothing is evaluated first."""
        same = tuple(self.machine.iterations[: len(switch.iterations)]) == switch.iterations
        return switch.chosen and switch.runs == 1 and same

    def on_gradients_used(self, state: State, it: announcement.GradientsUsed) -> None:
        """Report a module in evaluation mode that holds all that the optimizer trains: a part of it may be meant."""
        trained = {param.id for param in members_of(state, it.optimizer)}
        for key in _keys(state, TrainedInEvaluation):
            fault = state.lasting(key)
            if not isinstance(fault, TrainModeMissing) or not trained:
                continue
            whole = trained <= _leaves(state, Ref(key.address))
            if whole and not is_alternative(self.machine.program, fault.node):
                self.report(fault)


def _keys(state: State, kind: type[LastingFact]) -> list[LastingFact]:
    """Return the keys of facts about modules; one that was made on the other path of a join is not there any more."""
    return [key for key in state.facts if isinstance(key, kind) and key.address in state.heap]


def _leaves(state: State, module: Ref) -> set[int | None]:
    return {parameter.id for _, parameter in parameters_of(state, module)[0]}


def _may_have_two_modes(state: State, module: Ref) -> bool:
    """Return whether a module behaves in another way in evaluation: one that is not known most likely does."""
    return any(
        part.module.foreign or part.module.torn is not None or has_two_modes(state, part)
        for part in parts_switched(state, module)
    )


class EpochUsed(PathFact):
    """The mark of a sampler over whose data a loop went, and whose epoch has not been set since."""


@dataclass
class Epochs:
    """The last loop over data in the order of the epoch before, and how many backwards had run at its head."""

    repeated: EpochNotSet | None = None
    backwards: int = 0


class SamplerDetector(Detector[Epochs]):
    """Looks at loops over the data of a sampler that shuffles by the number of the epoch."""

    def on_epoch_set(self, state: State, it: announcement.EpochSet) -> None:
        """Note that the epoch of a sampler is set."""
        state.mark(EpochUsed(it.sampler.id), False)

    def on_loader_iterated(self, state: State, it: announcement.LoaderIterated) -> None:
        """Note a second loop over the same data, without `set_epoch` before it."""
        self._settle()
        record = None if it.sampler is None else state[it.sampler]
        if it.sampler is not None and isinstance(record, Instance) and record.config.get("shuffle") is True:
            used = EpochUsed(it.sampler.id)
            if used in state.marks:
                self.facts = Epochs(EpochNotSet(it.node, record.syntax), self.machine.backwards)
            state.mark(used, True)

    def on_run_ended(self, state: State, it: announcement.RunEnded) -> None:
        """Judge the last loop, which is over."""
        self._settle()

    def _settle(self) -> None:
        """Report what was noted at the head of a loop that trains; evaluation may see its data in any order."""
        if self.facts.repeated is not None and self.machine.backwards > self.facts.backwards:
            self.report(self.facts.repeated)
        self.facts.repeated = None


class Taken(NamedTuple):
    """A state dict: where it was taken, of what, and how often each parameter had been written by then."""

    node: cst.CSTNode
    owner: Value
    number: int
    writes: dict[int, int]


class StateDictDetector(Detector[dict[int, Taken]]):
    """Knows the state dicts that were taken, by their address."""

    def on_state_dict_taken(self, state: State, it: announcement.StateDictTaken) -> None:
        """Count the writes that each parameter has seen by now."""
        writes: dict[int, int] = {}
        for _, parameter in parameters_of(state, it.owner)[0] if isinstance(it.owner, Ref) else ():
            record = state.heap[parameter.id]
            if isinstance(record, Tensor):
                writes[record.counter] = len(state.writes(record.counter))
        self.facts[it.made.id] = Taken(it.node, it.owner, it.made.id, writes)
        self.machine.watched.add(it.made.id)

    def on_container_copied(self, state: State, it: announcement.ContainerCopied) -> None:
        """Note that a shallow copy holds the same parameters."""
        if it.original.id in self.facts:
            self.facts[it.copy.id] = self.facts[it.original.id]
            self.machine.watched.add(it.copy.id)

    def on_state_dict_loaded(self, state: State, it: announcement.StateDictLoaded) -> None:
        """Report a model that loads its own parameters, which have been trained on since they were kept."""
        taken = self.facts.get(it.given.id) if isinstance(it.given, Ref) else None
        if taken is not None and taken.owner == it.owner and _trained_since(state, taken):
            self.report(StateDictAlias(taken.node, loaded=it.node))

    def on_differenced(self, state: State, it: announcement.Differenced) -> None:
        """Report a parameter minus what was kept of it under another name, and is the parameter itself."""
        record = state.heap.get(it.left.id) if isinstance(it.left, Ref) and it.left == it.right else None
        if not isinstance(it.node, cst.BinaryOperation) or not isinstance(record, Tensor) or not record.parameter:
            return
        if record.grad is True and not it.node.left.deep_equals(it.node.right):
            self.report(ParameterMinusItself(it.node, parameter=record.syntax))


def _trained_since(state: State, taken: Taken) -> bool:
    """Return whether a step has certainly changed a parameter since; of an unknown one, whether a backward ran."""
    if isinstance(taken.owner, Unknown) or _is_placeholder(state, taken.owner):
        return state.trained > taken.number
    return any(
        what.certain and what.op == "optimizer.step"
        for counter, count in taken.writes.items()
        for what in state.writes(counter)[count:]
    )


def _is_placeholder(state: State, owner: Value) -> bool:
    """Return whether a network is the placeholder of one that is not known."""
    record = state.heap.get(owner.id) if isinstance(owner, Ref) else None
    return isinstance(record, Instance) and record.module.torn is not None
