"""What a machine announces while it runs a program: the one language between machines and detectors.

The abstract machine (`gradlint check`) announces what a program does on every path it follows; a concrete machine may
announce the same of a real run. An announcement says what happens, never whether it is a fault. It names the syntax
node at which it happens, or the module where it happens at none, and the addresses of the values that take part; what
is known of these stands in the state that is handed over with it.

A listener hears an announcement by a method named `on_` and the name of its class in snake case. The method
runs at the moment of the announcement, before the machine goes on, on the state of the path at hand.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Literal, NamedTuple, Protocol, TypeAlias

import libcst as cst

from gradlint.domain.graph import Edge, Node, Saved, Tri
from gradlint.domain.state import State
from gradlint.domain.value import External, Ref, Value, Write

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


class ModuleEntered(NamedTuple):
    """An object, most likely a module, is about to be called."""

    node: cst.CSTNode
    module: Ref


class ModuleMade(NamedTuple):
    """A module was made whose constructor nobody calls."""

    node: cst.CSTNode
    module: Ref


class NetworkImported(NamedTuple):
    """A library gives a network; `leaf` stands for all of its parameters."""

    node: cst.CSTNode
    leaf: Ref


class ParametersListed(NamedTuple):
    """`module.parameters()` or `module.named_parameters()` gave the iterator `made`."""

    node: cst.CSTNode
    module: Ref
    made: Ref


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


class AttributeRead(NamedTuple):
    """`owner.name` is read or imported, where `owner` is torch or a name below it."""

    node: cst.CSTNode
    owner: External
    name: str


class NameMissing(NamedTuple):
    """A tensor, a module or an optimizer is asked for an attribute that it is not known to have."""

    node: cst.CSTNode
    owner: Ref
    name: str


class AttributeSet(NamedTuple):
    """`owner.name = value`, which for a tensor means nothing to torch."""

    node: cst.CSTNode
    owner: Value
    name: str
    value: Value


class Discarded(NamedTuple):
    """A statement names an attribute, `value`, and does nothing with it; or it compares an attribute of `value`."""

    node: cst.CSTNode
    value: Value


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


class Assigned(NamedTuple):
    """A variable or an attribute is given an object."""

    node: cst.CSTNode
    value: Ref


class Zipped(NamedTuple):
    """`zip(*columns)`, before anything is taken from them."""

    node: cst.CSTNode
    columns: tuple[Value, ...]


class Repeated(NamedTuple):
    """`[*items] * times`"""

    node: cst.CSTNode
    items: tuple[Value, ...]
    times: Value


class Stored(NamedTuple):
    """A container is given a value."""

    node: cst.CSTNode
    container: Value
    value: Value


class Rewrapped(NamedTuple):
    """`torch.tensor(data)` copies values that may be tensors, or were made of some, without their graph."""

    node: cst.CSTNode
    data: Value


class RequiresGradSet(NamedTuple):
    """The flag `requires_grad` of a tensor is about to be set; `wanted` is None where its value is not known."""

    node: cst.CSTNode
    tensor: Ref
    wanted: bool | None


class NetworkSupposed(NamedTuple):
    """A network stands in for one that the program does not show; nobody knows what else becomes of its leaves."""

    node: cst.CSTNode
    leaves: tuple[Ref, ...]


class ParameterReplaced(NamedTuple):
    """A library puts another parameter in the place of one: a shard of it."""

    node: cst.CSTNode
    former: Ref


class Escaped(NamedTuple):
    """Values are given to something that is not known, which may do with them whatever can be done."""

    node: cst.CSTNode
    values: tuple[Value, ...]


class GraphsShared(NamedTuple):
    """Graphs may be walked elsewhere: by a caller, on a path that is not followed, by who is given what they made."""

    node: cst.CSTNode
    graphs: Sequence[Node]


class GraphsEscaped(NamedTuple):
    """Graphs went where gradlint does not look: a backward may fill the gradients of their leaves there."""

    node: cst.CSTNode
    graphs: Sequence[Node]


class PathsJoined(NamedTuple):
    """Two paths became one: of each pair of nodes, made alike on both, the first has gone on for the second."""

    node: cst.CSTNode
    alike: Iterable[tuple[int, int]]


# Calls.


class TorchCalled(NamedTuple):
    """A function or a class of torch is called, or a method of a tensor, a module or another object of torch's.

    `name` is the path (`torch.optim.SGD`); of a method, of which `receiver` is the object, the name alone, below
    `super.` where a class of the program calls that of its base. `open`: there are arguments that are not known.
    """

    node: cst.CSTNode
    name: str
    receiver: Ref | None
    positional: tuple[Value, ...]
    keywords: dict[str, Value]
    open: bool


class ModuleConfigured(NamedTuple):
    """The constructor of torch's own module class `path` runs, for an object of it or of a class derived from it."""

    node: cst.CSTNode
    path: str
    positional: tuple[Value, ...]
    keywords: dict[str, Value]
    open: bool


class FactorsMoved(NamedTuple):
    """An operation is given its `factors` before its tensors, as former versions of torch took them."""

    node: cst.CSTNode
    op: str
    factors: tuple[str, ...]


class VariableMade(NamedTuple):
    """`Variable(data, requires_grad, volatile)`"""

    node: cst.CSTNode
    data: Ref
    requires_grad: Value
    volatile: bool


# Writes.


class Written(NamedTuple):
    """A tensor is written in place, past the version counter where it is an alias made by `.data`."""

    node: cst.CSTNode
    tensor: Ref


class LeafWritten(NamedTuple):
    """A leaf that requires grad is written past the tape, by a value computed from `sources`.

    `op` is what writes; "=" gives the leaf the memory of another tensor. `by_data`: it writes through `.data`.
    """

    node: cst.CSTNode
    leaf: int
    sources: Sequence[Edge]
    op: str
    by_data: bool


# Operations.


class Operated(NamedTuple):
    """An operation of torch runs: announced before it writes, and before its result is made.

    `op` is its name in the facts table (`Tensor.add_`, `nn.functional.softmax`, `nn.Softmax`). `operands` are its
    arguments by name, tensors among them as terms. `inputs` are the tensors that it is given, parameters of a module
    among them: the label in the facts table, and the tensor, or the graph of what may be one.
    """

    node: cst.CSTNode
    op: str
    operands: Mapping[str, object]
    inputs: Sequence[tuple[str, Ref | None, Node | None]]


class DefaultTypeSet(NamedTuple):
    """The default element type of torch is set."""

    node: cst.CSTNode


# Loops over data.


class LoaderIterated(NamedTuple):
    """A loop over a `DataLoader` begins; `sampler`: it was given one that shuffles by the number of the epoch."""

    node: cst.CSTNode
    sampler: Ref | None


class EpochSet(NamedTuple):
    """`sampler.set_epoch(number)`"""

    node: cst.CSTNode
    sampler: Ref


# Backward.

BackwardCall: TypeAlias = Literal["backward", "grad"]
"""Which call asks for gradients: one of `backward`, or `torch.autograd.grad`."""


class BackwardCalled(NamedTuple):
    """Gradients are asked for, from the root of this number on, given `gradient`; torch has checked nothing yet."""

    node: cst.CSTNode
    call: BackwardCall
    root: Ref
    number: int
    gradient: Value


class NumberBackpropagated(NamedTuple):
    """Gradients are asked of a Python number, which was computed from `origin`: it raises."""

    node: cst.CSTNode
    origin: Node


class Backpropagated(NamedTuple):
    """A backward ran, or `raised` on its way; gradients are as they were before it.

    `certain` are the nodes of the tape that it certainly ran through, youngest first, and `possible` all that it may
    have run through, by number. `only`: the tensors that `inputs=` restricts it to. `retain` and `create` are
    `retain_graph` and `create_graph`, None where they are not known.
    """

    node: cst.CSTNode
    roots: Sequence[Node]
    certain: Sequence[Node]
    possible: Mapping[int, Node]
    only: set[int] | None
    retain: Tri
    create: Tri
    raised: bool


class GradientsAsked(NamedTuple):
    """`torch.autograd.grad(outputs, inputs)`; torch has checked nothing yet."""

    node: cst.CSTNode
    inputs: Sequence[Ref]


class Differentiated(NamedTuple):
    """`torch.autograd.grad` runs through a graph; `possible` are the nodes on its way, by number."""

    node: cst.CSTNode
    possible: Mapping[int, Node]


class ConstantGradient(NamedTuple):
    """A derivative of something that depends on leaves was computed without a graph: `gradient`."""

    node: cst.CSTNode
    gradient: Node


class GradientRecorded(NamedTuple):
    """A backward with `create_graph` gave a leaf a gradient with a graph of its own; `certain`: on any way."""

    node: cst.CSTNode
    gradient: Node
    certain: bool


class GradientReleased(NamedTuple):
    """A gradient is about to be dropped from its leaf, whose `.grad` is None from then on."""

    node: cst.CSTNode
    gradient: Value


class GradientRead(NamedTuple):
    """`tensor.grad` is read; `warned`: the tensor is a result, so that torch warns, and gives None."""

    node: cst.CSTNode
    tensor: Ref
    warned: bool


class GradientTested(NamedTuple):
    """The program asks whether a `.grad` is None that it read at `read`; `asserted`: it says that it is."""

    node: cst.CSTNode
    read: cst.CSTNode | None
    asserted: bool


class StaleSavedUsed(NamedTuple):
    """A backward uses what `saver` has saved, changed by a write that its version counter has not seen."""

    node: cst.CSTNode
    write: Write
    saver: Node
    saved: Saved


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


class Stepped(NamedTuple):
    """An optimizer steps over these parameters; they and their gradients are as they were before."""

    node: cst.CSTNode
    optimizer: Ref
    parameters: Sequence[Ref]


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


# Loops. The state that is handed over is that from before the loop, and stays as it is.


class LoopBegan(NamedTuple):
    """A loop begins; `loop` tells its run from all others."""

    node: cst.CSTNode
    loop: int


class IterationBegan(NamedTuple):
    """An iteration begins: whatever is made from now on has a number larger than `since`."""

    node: cst.CSTNode
    loop: int
    since: int


class IterationEnded(NamedTuple):
    """An iteration has ended on these paths, which go on."""

    node: cst.CSTNode
    loop: int
    paths: Sequence[State]


class LoopEnded(NamedTuple):
    """The last iteration has ended on these paths.

    `bounded`: the program bounds the loop, by a number or by what it lists, rather than data. `listed`: the loop goes
    over all that the program lists.
    """

    node: cst.CSTNode
    loop: int
    paths: Sequence[State]
    bounded: bool
    listed: bool


# Calls.


class Returned(NamedTuple):
    """A function that nobody in sight calls has ended; `method`: it is one. Its caller may do anything with `value`."""

    node: cst.CSTNode
    method: bool
    value: Value


class FunctionApplied(NamedTuple):
    """`function.apply(*arguments)`: the forward of a custom function has run, and its result gets a graph next.

    `ctx` is as forward has left it; `writes` are how many writes each argument had seen before, by address.
    """

    node: cst.CSTNode
    function: Ref
    ctx: Ref
    arguments: tuple[Value, ...]
    writes: Mapping[int, int]
    result: Value


class FunctionDifferentiated(NamedTuple):
    """The backward of a custom function, defined at the node, was run aside for a forward that gave `result`.

    `arrived` are the gradients that it was given, and `ends` the paths on which it ended, with what it returned.
    Forward was `given` so many arguments, or those of the last that have defaults were left out, down to `fewest`.
    """

    node: cst.CSTNode
    arrived: Sequence[Ref]
    ends: Sequence[tuple[State, Value]]
    result: Value
    given: int
    fewest: int


class CalledAgain(NamedTuple):
    """A method that nobody calls was called twice in a row, from the state that is handed over.

    `ends` are the paths after the first call, each with those after the second call that come from it.
    """

    node: cst.CSTNode
    ends: Sequence[tuple[State, Sequence[State]]]


# The end.


class PathsEnded(NamedTuple):
    """All paths have been followed. What is reported now is so whatever other files do."""

    node: cst.CSTNode


class RunEnded(NamedTuple):
    """All paths have been followed. What is reported now is what this file leaves undone; another may do it.

    `complete`: nothing that might matter was left out.
    """

    node: cst.CSTNode
    complete: bool


Announcement: TypeAlias = (
    ModeSwitched
    | ModuleCalled
    | ModuleEntered
    | ModuleMade
    | AttributeSet
    | NetworkImported
    | ParametersListed
    | StateDictTaken
    | StateDictLoaded
    | ContainerCopied
    | AttributeRead
    | NameMissing
    | Discarded
    | Differenced
    | LoopVariableRebound
    | Assigned
    | Zipped
    | Repeated
    | Stored
    | Backpropagated
    | GradientsAsked
    | Differentiated
    | LoopBegan
    | IterationBegan
    | IterationEnded
    | LoopEnded
    | Returned
    | FunctionApplied
    | FunctionDifferentiated
    | CalledAgain
    | TorchCalled
    | ModuleConfigured
    | FactorsMoved
    | VariableMade
    | LeafWritten
    | Operated
    | DefaultTypeSet
    | Rewrapped
    | RequiresGradSet
    | NetworkSupposed
    | ParameterReplaced
    | Escaped
    | GraphsShared
    | GraphsEscaped
    | PathsJoined
    | Written
    | LeafWritten
    | LoaderIterated
    | EpochSet
    | BackwardCalled
    | NumberBackpropagated
    | ConstantGradient
    | GradientRecorded
    | GradientReleased
    | GradientRead
    | GradientTested
    | StaleSavedUsed
    | OptimizerMade
    | OptimizerSupposed
    | ParametersTaken
    | GradientsCleared
    | GradientDropped
    | GradientsInvalidated
    | StepCalled
    | GradientsUsed
    | Stepped
    | Scheduled
    | Clipped
    | LossScaled
    | Unscaled
    | PathsEnded
    | RunEnded
)


class Listener(Protocol):
    """Hears announcements by its methods `on_...`, each of `(state, announcement)`."""

    def set_aside(self) -> object:
        """Go on with the facts for a run aside, of which nothing is to count later; what to hand to `resume`."""

    def resume(self, former: object) -> None:
        """Go on with the facts from before a run aside."""


Handler: TypeAlias = "Callable[[State, Announcement], None]"


def method_of(kind: type) -> str:
    """Return the method of a listener that hears announcements of a type."""
    return "on_" + re.sub(r"(?<!^)(?=[A-Z])", "_", kind.__name__).lower()


def handlers(listeners: Iterable[Listener]) -> dict[type, tuple[Handler, ...]]:
    """Return the methods to call for each type of announcement, in the order of the listeners."""
    heard = list(listeners)
    names = {kind: method_of(kind) for kind in Announcement.__args__}
    return {kind: tuple(getattr(one, name) for one in heard if hasattr(one, name)) for kind, name in names.items()}
