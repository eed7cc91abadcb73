"""What a machine announces while it runs a program: the one language between machines and detectors.

The abstract machine (`gradlint check`) announces what a program does on every path it follows; a concrete machine may
announce the same of a real run. An announcement says what happens, never whether it is a fault. It names the syntax
node at which it happens, and the addresses of the values that take part; what is known of these stands in the state
that is handed over with it.

An announcement is a class here and a method of `Listener`, `on_` and its name in snake case. A method of a listener
runs at the moment of the announcement, before the machine goes on, on the state of the path at hand.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Literal, NamedTuple, TypeAlias

import libcst as cst

from gradlint.domain.graph import Edge, Node
from gradlint.domain.state import State
from gradlint.domain.value import Ref, Value

# Modules.


class ModeSwitched(NamedTuple):
    """`module.train()` or `module.eval()`; `training` is None where the mode is not known."""

    node: cst.CSTNode
    module: Ref
    training: bool | None


class ModuleCalled(NamedTuple):
    """A module of torch's own class `path` (`torch.nn.Dropout`) gave a value; `training` is the mode it ran in."""

    node: cst.CSTNode
    module: Ref
    path: str
    training: bool | None
    result: Value


class StateDictTaken(NamedTuple):
    """`owner.state_dict()` gave the dict `made`."""

    node: cst.CSTNode
    owner: Value
    made: Ref


class StateDictLoaded(NamedTuple):
    """`owner.load_state_dict(given)`."""

    node: cst.CSTNode
    owner: Value
    given: Value


# Values.


class ContainerCopied(NamedTuple):
    """A shallow copy was made of a list or dict."""

    node: cst.CSTNode
    original: Ref
    copy: Ref


class Differenced(NamedTuple):
    """`left - right` of tensors."""

    node: cst.CSTNode
    left: Value
    right: Value


class LoopVariableRebound(NamedTuple):
    """An assignment gives the variable of a loop, that stood for `former`, another value, which nobody reads."""

    node: cst.CSTNode
    former: Value
    value: Value


class Escaped(NamedTuple):
    """Values are given to something that is not known, which may do with them whatever can be done."""

    node: cst.CSTNode
    values: tuple[Value, ...]


# Writes.


class LeafWritten(NamedTuple):
    """A leaf that requires grad is written past the tape, by a value computed from `sources`."""

    node: cst.CSTNode
    leaf: int
    sources: Sequence[Edge]


# Backward.


class Backpropagated(NamedTuple):
    """A backward ran; `certain` are the nodes of the tape that it certainly ran through."""

    node: cst.CSTNode
    certain: tuple[Node, ...]


class GradientsFilled(NamedTuple):
    """A backward from `roots` adds into the gradients of leaves; they are as they were before it.

    `certain` and `possible` are the nodes that it runs through, `only` the leaves that `inputs=` restricts it to.
    """

    node: cst.CSTNode
    roots: Sequence[Node]
    certain: Sequence[Node]
    possible: Mapping[int, Node]
    only: set[int] | None


# Optimizers.


class OptimizerMade(NamedTuple):
    """The constructor of an optimizer is given parameters, which have not been taken yet from what they are in.

    `open`: there are arguments that are not known.
    """

    node: cst.CSTNode
    optimizer: Ref
    given: Value
    open: bool


class OptimizerSupposed(NamedTuple):
    """An optimizer stands in for one that the program does not show; it may hold more than is known."""

    node: cst.CSTNode
    optimizer: Ref


class ParametersTaken(NamedTuple):
    """An optimizer takes parameters: when it is made, or as a further group.

    `given` is what they were taken from, `complete`: there were certainly no others.
    """

    node: cst.CSTNode
    optimizer: Ref
    given: Value
    parameters: Sequence[Ref]
    complete: bool


class GradientsCleared(NamedTuple):
    """`zero_grad()` of an optimizer or a module clears the gradients of these parameters; they are still there."""

    node: cst.CSTNode
    parameters: Sequence[Ref]


class GradientDropped(NamedTuple):
    """`parameter.grad = None`"""

    node: cst.CSTNode
    parameter: Ref


class GradientsInvalidated(NamedTuple):
    """Code that is not known may have filled or cleared any gradient, stepped any optimizer, used any scaler."""

    node: cst.CSTNode


class StepCalled(NamedTuple):
    """`optimizer.step(...)`, before anything is done."""

    node: cst.CSTNode
    optimizer: Ref


class GradientsUsed(NamedTuple):
    """A step uses the gradients as they are now: at once, or after its `closure` has given `loss`.

    `walked`: a backward has run since the step was called.
    """

    node: cst.CSTNode
    optimizer: Ref
    closure: Value
    loss: Value
    walked: bool


class Scheduled(NamedTuple):
    """A learning rate scheduler of the class `path` steps; `epoch`: it is told the number of the epoch."""

    node: cst.CSTNode
    path: str
    optimizer: Value
    epoch: bool


class Clipped(NamedTuple):
    """Gradients are about to be clipped to `bound`: those of `parameters`, which is empty if not all are known.

    `whole`: no others are clipped. `used_up`: the parameters stand in an iterator that has given all it had.
    """

    node: cst.CSTNode
    parameters: Sequence[Ref]
    bound: Value
    whole: bool
    used_up: bool


class LossScaled(NamedTuple):
    """`scaler.scale(loss)` made a node of the tape."""

    node: cst.CSTNode
    made: Node


class Unscaled(NamedTuple):
    """A scaler divides the gradients of an optimizer by its scale: in `unscale_`, or in `step`.

    `former` is what it has done with the optimizer since it was updated last; "unknown" where that is not known.
    """

    node: cst.CSTNode
    optimizer: Ref
    by: Literal["unscale_", "step"]
    former: Literal["nothing", "unscaled", "stepped", "unknown"]


# Data.


class LoaderIterated(NamedTuple):
    """A loop begins over the batches of a loader, which was given `sampler`."""

    node: cst.CSTNode
    sampler: Value


class EpochSet(NamedTuple):
    """`sampler.set_epoch(epoch)`"""

    node: cst.CSTNode
    sampler: Ref


# The end.


class RunEnded(NamedTuple):
    """All paths have been followed. `complete`: nothing that might matter was left out."""

    node: cst.CSTNode
    complete: bool


Announcement: TypeAlias = (
    ModeSwitched
    | ModuleCalled
    | StateDictTaken
    | StateDictLoaded
    | ContainerCopied
    | Differenced
    | LoopVariableRebound
    | Escaped
    | LeafWritten
    | Backpropagated
    | GradientsFilled
    | OptimizerMade
    | OptimizerSupposed
    | ParametersTaken
    | GradientsCleared
    | GradientDropped
    | GradientsInvalidated
    | StepCalled
    | GradientsUsed
    | Scheduled
    | Clipped
    | LossScaled
    | Unscaled
    | LoaderIterated
    | EpochSet
    | RunEnded
)


class Listener:
    """Hears every announcement, and does nothing; detectors override the methods of what they need."""

    def set_aside(self) -> object:
        """Go on with the facts for a run aside, of which nothing is to count later; what to hand to `resume`."""

    def resume(self, former: object) -> None:
        """Go on with the facts from before a run aside."""

    def on_mode_switched(self, state: State, it: ModeSwitched) -> None:
        """Hear that a module was sent to training or evaluation."""

    def on_module_called(self, state: State, it: ModuleCalled) -> None:
        """Hear that a module gave a value."""

    def on_state_dict_taken(self, state: State, it: StateDictTaken) -> None:
        """Hear that a state dict was taken."""

    def on_state_dict_loaded(self, state: State, it: StateDictLoaded) -> None:
        """Hear that a state dict was loaded."""

    def on_container_copied(self, state: State, it: ContainerCopied) -> None:
        """Hear that a list or dict was copied."""

    def on_differenced(self, state: State, it: Differenced) -> None:
        """Hear of a difference of tensors."""

    def on_loop_variable_rebound(self, state: State, it: LoopVariableRebound) -> None:
        """Hear that a loop's variable got another value."""

    def on_escaped(self, state: State, it: Escaped) -> None:
        """Hear that values were given to something that is not known."""

    def on_leaf_written(self, state: State, it: LeafWritten) -> None:
        """Hear that a leaf was written past the tape."""

    def on_backpropagated(self, state: State, it: Backpropagated) -> None:
        """Hear that a backward ran."""

    def on_gradients_filled(self, state: State, it: GradientsFilled) -> None:
        """Hear that a backward adds into gradients."""

    def on_optimizer_made(self, state: State, it: OptimizerMade) -> None:
        """Hear that an optimizer is made."""

    def on_optimizer_supposed(self, state: State, it: OptimizerSupposed) -> None:
        """Hear that there is an optimizer which the program does not show."""

    def on_parameters_taken(self, state: State, it: ParametersTaken) -> None:
        """Hear that an optimizer takes parameters."""

    def on_gradients_cleared(self, state: State, it: GradientsCleared) -> None:
        """Hear that gradients are cleared."""

    def on_gradient_dropped(self, state: State, it: GradientDropped) -> None:
        """Hear that a gradient was set to None."""

    def on_gradients_invalidated(self, state: State, it: GradientsInvalidated) -> None:
        """Hear that anything may have happened to gradients."""

    def on_step_called(self, state: State, it: StepCalled) -> None:
        """Hear that a step of an optimizer begins."""

    def on_gradients_used(self, state: State, it: GradientsUsed) -> None:
        """Hear that a step uses gradients."""

    def on_scheduled(self, state: State, it: Scheduled) -> None:
        """Hear that a scheduler steps."""

    def on_clipped(self, state: State, it: Clipped) -> None:
        """Hear that gradients are clipped."""

    def on_loss_scaled(self, state: State, it: LossScaled) -> None:
        """Hear that a loss was scaled."""

    def on_unscaled(self, state: State, it: Unscaled) -> None:
        """Hear that gradients are unscaled."""

    def on_loader_iterated(self, state: State, it: LoaderIterated) -> None:
        """Hear that a loop begins over the batches of a loader."""

    def on_epoch_set(self, state: State, it: EpochSet) -> None:
        """Hear that a sampler is told the epoch."""

    def on_run_ended(self, state: State, it: RunEnded) -> None:
        """Hear that all paths have been followed."""


Handler: TypeAlias = "Callable[[State, Announcement], None]"


def handlers(listeners: Iterable[Listener]) -> dict[type, tuple[Handler, ...]]:
    """The methods to call for each type of announcement: those that some listener overrides, in order."""
    table: dict[type, tuple[Handler, ...]] = {}
    heard = list(listeners)
    for kind in Announcement.__args__:
        name = "on_" + re.sub(r"(?<!^)(?=[A-Z])", "_", kind.__name__).lower()
        nothing = getattr(Listener, name)
        table[kind] = tuple(getattr(one, name) for one in heard if getattr(type(one), name) is not nothing)
    return table
