"""What goes stale while a loop trains: the modes of modules, the order of the data, and state dicts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import libcst as cst

from gradlint.detect.detector import Detector
from gradlint.domain import announcement
from gradlint.domain.fault.training_loop import EpochNotSet, ParameterMinusItself, StateDictAlias, TrainModeMissing
from gradlint.domain.state import PathFact, State
from gradlint.domain.value import Instance, Ref, Tensor, Unknown, Value
from gradlint.interpreter.torch.parameters import modules_of, parameters_of

_TWO_FACED = ("torch.nn.Dropout", "torch.nn.AlphaDropout", "torch.nn.FeatureAlphaDropout", "torch.nn.BatchNorm")


class SwitchedOff(PathFact):
    """Where a module was sent to evaluation as a part of another, on this path."""


class Mode(NamedTuple):
    """How a module ran when it made a node: `switched` is where a module around it was sent to evaluation."""

    module: int
    training: bool
    switched: cst.CSTNode | None


@dataclass
class Modes:
    """In which mode a module made a node, by the node's number, and which modules were trained in training mode."""

    of_node: dict[int, Mode] = field(default_factory=dict)
    trained: set[tuple[int, cst.CSTNode]] = field(default_factory=set)


class TrainingModeDetector(Detector[Modes]):
    """Compares the modes in which one backward trains the same module."""

    def on_mode_switched(self, state: State, it: announcement.ModeSwitched) -> None:
        """Note what `eval()` of a model does to its parts; a part that is sent alone is meant."""
        for module, _ in list(modules_of(state, it.module)):
            key = SwitchedOff(module.id)
            switched = it.node if it.training is False and module != it.module else None
            if switched is not None or key in state.facts:
                state.decide(key, switched)

    def on_module_called(self, state: State, it: announcement.ModuleCalled) -> None:
        """Note the mode in which a module that knows two has made a tensor."""
        if not it.path.startswith(_TWO_FACED) or it.training is None or not isinstance(it.result, Ref):
            return
        made = state.heap.get(it.result.id)
        if isinstance(made, Tensor) and made.node.tracked is True:
            switched = state.facts.get(SwitchedOff(it.module.id))
            place = switched if isinstance(switched, cst.CSTNode) else None
            self.facts.of_node[made.node.id] = Mode(it.module.id, it.training, place)

    def on_backpropagated(self, state: State, it: announcement.Backpropagated) -> None:
        """Report a module that this backward trains in evaluation mode, and has trained in training mode before."""
        modes, trained = self.facts.of_node, self.facts.trained
        for node in it.certain if modes else ():
            mode = modes.get(node.id)
            if mode is None:
                continue
            if mode.training:
                trained.add((mode.module, it.node))
            elif mode.switched is not None and (mode.module, it.node) in trained:
                self.report(TrainModeMissing(mode.switched, backward=it.node))
                return


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

    def on_container_copied(self, state: State, it: announcement.ContainerCopied) -> None:
        """Note that a shallow copy holds the same parameters."""
        if it.original.id in self.facts:
            self.facts[it.copy.id] = self.facts[it.original.id]

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
