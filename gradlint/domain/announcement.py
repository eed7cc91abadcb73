"""What a machine announces while it runs a program: the one language between machines and detectors.

The abstract machine (`gradlint check`) announces what a program does on every path it follows; a concrete machine may
announce the same of a real run. An announcement says what happens, never whether it is a fault. Its `node`
is the syntax node at which it happens, or the module where it happens at none. It names the addresses of the values
that take part; what is known of these stands in the state that is handed over with it.

A listener hears an announcement by a method named `on_` and the name of its class in snake case. The method
runs at the moment of the announcement, before the machine goes on, on the state of the path at hand.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Literal, Protocol, TypeAlias

import libcst as cst

from gradlint.domain.frozen import Frozen
from gradlint.domain.graph import Edge, Node, Saved, Tri
from gradlint.domain.state import State
from gradlint.domain.value import External, Ref, Value, Write


class Announcement(Frozen):
    """Something that happens at a syntax node."""

    node: cst.CSTNode


# Modules.


class ModeSwitched(Announcement):
    """`module.train()` or `module.eval()`; `training` is None where the mode is not known."""

    module: Ref
    training: bool | None


class ModuleEntered(Announcement):
    """An object, most likely a module, is about to be called."""

    module: Ref


class ModuleMade(Announcement):
    """A module was made whose constructor nobody calls."""

    module: Ref


class NetworkImported(Announcement):
    """A library gives a network; `leaf` stands for all of its parameters."""

    leaf: Ref


class ParametersListed(Announcement):
    """`module.parameters()` or `module.named_parameters()` gave the iterator `made`."""

    module: Ref
    made: Ref


class StateDictTaken(Announcement):
    """`owner.state_dict()` gave the dict `made`."""

    owner: Value
    made: Ref


class StateDictLoaded(Announcement):
    """`owner.load_state_dict(given)`."""

    owner: Value
    given: Value


# Values.


class ContainerCopied(Announcement):
    """A shallow copy was made of a list or dict."""

    original: Ref
    copy: Ref


class AttributeRead(Announcement):
    """`owner.name` is read or imported, where `owner` is torch or a name below it."""

    owner: External
    name: str


class NameMissing(Announcement):
    """A tensor, a module or an optimizer is asked for an attribute that it is not known to have."""

    owner: Ref
    name: str


class AttributeSet(Announcement):
    """`owner.name = value`, which for a tensor means nothing to torch."""

    owner: Value
    name: str
    value: Value


class Discarded(Announcement):
    """A statement reads `value` and does nothing with it: an attribute, or the result of a call.

    Where the statement compares an attribute, `value` is what has it.
    """

    value: Value


class Differenced(Announcement):
    """`left - right` of tensors."""

    left: Value
    right: Value


class LoopVariableRebound(Announcement):
    """An assignment gives the variable of a loop, that stood for `former`, another value, which nobody reads."""

    former: Value
    value: Value


class Assigned(Announcement):
    """A variable or an attribute is given an object."""

    value: Ref


class Zipped(Announcement):
    """`zip(*columns)`, before anything is taken from them."""

    columns: tuple[Value, ...]


class Repeated(Announcement):
    """`[*items] * times`"""

    items: tuple[Value, ...]
    times: Value


class Stored(Announcement):
    """A container is given a value."""

    container: Value
    value: Value


class Rewrapped(Announcement):
    """`torch.tensor(data)` copies values that may be tensors, or were made of some, without their graph."""

    data: Value


class RequiresGradSet(Announcement):
    """The flag `requires_grad` of a tensor is about to be set; `wanted` is None where its value is not known."""

    tensor: Ref
    wanted: bool | None


class NetworkSupposed(Announcement):
    """A network is a placeholder for one that is not shown; what else becomes of its leaves is not known."""

    leaves: tuple[Ref, ...]


class ParameterReplaced(Announcement):
    """A library puts another parameter in the place of one: a shard of it."""

    former: Ref


class Prepared(Announcement):
    """An engine, such as an `Accelerator`, wraps networks and optimizers: it has a `backward` of its own."""

    values: tuple[Value, ...]


class Escaped(Announcement):
    """Values are given to something that is not known, which may do with them whatever can be done.

    There are none where nothing is known of any, and of the object whose method is called.
    """

    values: tuple[Value, ...]


class GraphsShared(Announcement):
    """A backward may run through graphs elsewhere: in a caller, or on a path that is not followed."""

    graphs: Sequence[Node]


class GraphsEscaped(Announcement):
    """Graphs went where gradlint does not look: a backward may fill the gradients of their leaves there."""

    graphs: Sequence[Node]


class PathsJoined(Announcement):
    """Two paths became one: of each pair of nodes, made alike on both, the first has gone on for the second.

    So has of each pair of `objects`, by address: a dict from those that go on.
    """

    alike: Iterable[tuple[int, int]]
    objects: Mapping[int, int]


# Calls.


class TorchCalled(Announcement):
    """A function or a class of torch is called, or a method of a tensor, a module or another object of torch's.

    `name` is the path (`torch.optim.SGD`); of a method, of which `receiver` is the object, the name alone, below
    `super.` where a class of the program calls that of its base. `open`: there are arguments that are not known.
    """

    name: str
    receiver: Ref | None
    positional: tuple[Value, ...]
    keywords: dict[str, Value]
    open: bool


class ModuleConfigured(Announcement):
    """The constructor of torch's own module class `path` runs, for an object of it or of a class derived from it."""

    path: str
    positional: tuple[Value, ...]
    keywords: dict[str, Value]
    open: bool


class FactorsMoved(Announcement):
    """An operation is given its `factors` before its tensors, as former versions of torch took them."""

    op: str
    factors: tuple[str, ...]


class VariableMade(Announcement):
    """`Variable(data, requires_grad, volatile)`"""

    data: Ref
    requires_grad: Value
    volatile: bool


# Writes.


class Written(Announcement):
    """A tensor is written in place, past the version counter where it is an alias made by `.data`."""

    tensor: Ref


class LeafWritten(Announcement):
    """A leaf that requires grad is written past the tape, by a value computed from `sources`.

    `op` is what writes; "=" gives the leaf the memory of another tensor. `by_data`: it writes through `.data`.
    """

    leaf: int
    sources: Sequence[Edge]
    op: str
    by_data: bool


# Operations.


class Operated(Announcement):
    """An operation of torch runs: announced before it writes, and before its result is made.

    `op` is its name in the facts table (`Tensor.add_`, `nn.functional.softmax`, `nn.Softmax`). `operands` are its
    arguments by name, tensors among them as terms. `inputs` are the tensors that it is given, parameters of a module
    among them: the label in the facts table, and the tensor, or the graph of what may be one.
    """

    op: str
    operands: Mapping[str, object]
    inputs: Sequence[tuple[str, Ref | None, Node | None]]


class DefaultTypeSet(Announcement):
    """The default element type of torch is set."""


# Loops over data.


class LoaderIterated(Announcement):
    """A loop over a `DataLoader` begins; `sampler`: it was given one that shuffles by the number of the epoch."""

    sampler: Ref | None


class EpochSet(Announcement):
    """`sampler.set_epoch(number)`"""

    sampler: Ref


# Backward.

BackwardCall: TypeAlias = Literal["backward", "grad"]
"""Which call asks for gradients: one of `backward`, or `torch.autograd.grad`."""


class BackwardCalled(Announcement):
    """Gradients are asked for, from the root of this number on, given `gradient`; torch has checked nothing yet."""

    call: BackwardCall
    root: Ref
    number: int
    gradient: Value


class NumberBackpropagated(Announcement):
    """Gradients are asked of a Python number, which was computed from `origin`: it raises."""

    origin: Node


class Backpropagated(Announcement):
    """A backward ran, or `raised` on its way; gradients are as they were before it.

    `certain` are the nodes of the tape that it certainly ran through, youngest first, and `possible` all that it may
    have run through, by number. `only`: the tensors that `inputs=` restricts it to. `retain` and `create` are
    `retain_graph` and `create_graph`, None where they are not known.
    """

    roots: Sequence[Node]
    certain: Sequence[Node]
    possible: Mapping[int, Node]
    only: set[int] | None
    retain: Tri
    create: Tri
    raised: bool


class GradientsAsked(Announcement):
    """`torch.autograd.grad(outputs, inputs)`; torch has checked nothing yet."""

    inputs: Sequence[Ref]


class Differentiated(Announcement):
    """`torch.autograd.grad` runs through a graph; `possible` are the nodes on its way, by number."""

    possible: Mapping[int, Node]


class ConstantGradient(Announcement):
    """A derivative of something that depends on leaves was computed without a graph: `gradient`."""

    gradient: Node


class GradientRecorded(Announcement):
    """A backward with `create_graph` gave a leaf a gradient with a graph of its own; `certain`: on any way."""

    gradient: Node
    certain: bool


class GradientReleased(Announcement):
    """A gradient is about to be dropped from its leaf, whose `.grad` is None from then on."""

    gradient: Value


class GradientRead(Announcement):
    """`tensor.grad` is read; `warned`: the tensor is a result, so that torch warns, and gives None.

    `tensor` is None where nothing is known of what has the gradient.
    """

    tensor: Ref | None
    warned: bool


class GradientTested(Announcement):
    """The program asks whether a `.grad` is None that it read at `read`; `asserted`: it says that it is."""

    read: cst.CSTNode | None
    asserted: bool


class StaleSavedUsed(Announcement):
    """A backward uses what `saver` has saved, changed by a write that its version counter has not seen."""

    write: Write
    saver: Node
    saved: Saved


# Optimizers.


class OptimizerMade(Announcement):
    """The constructor of an optimizer is given parameters, which have not been taken yet from what they are in.

    `open`: there are arguments that are not known.
    """

    optimizer: Ref
    given: Value
    open: bool


class OptimizerSupposed(Announcement):
    """An optimizer is the placeholder of one that the program does not show; it may hold more than is known."""

    optimizer: Ref


class ParametersTaken(Announcement):
    """An optimizer takes parameters: when it is made, or as a further group.

    `given` is what they were taken from, `complete`: there were certainly no others.
    """

    optimizer: Ref
    given: Value
    parameters: Sequence[Ref]
    complete: bool


class GradientsCleared(Announcement):
    """`zero_grad()` of an optimizer or a module clears the gradients of these parameters; they are still there.

    Of something unknown no parameters are known: it may clear any.
    """

    parameters: Sequence[Ref]


class GradientDropped(Announcement):
    """`parameter.grad = None`"""

    parameter: Ref


class GradientsInvalidated(Announcement):
    """Code that is not known may have filled or cleared any gradient, stepped any optimizer, used any scaler."""


class StepCalled(Announcement):
    """`optimizer.step(...)`, before anything is done."""

    optimizer: Ref


class GradientsUsed(Announcement):
    """A step uses the gradients as they are now: at once, or after its `closure` has given `loss`.

    `walked`: a backward or `torch.autograd.grad` has run since the step was called.
    """

    optimizer: Ref
    closure: Value
    loss: Value
    walked: bool


class Stepped(Announcement):
    """An optimizer steps over these parameters; they and their gradients are as they were before."""

    optimizer: Ref
    parameters: Sequence[Ref]


class Scheduled(Announcement):
    """A learning rate scheduler of the class `path` steps; `epoch`: it is given the number of the epoch."""

    path: str
    optimizer: Value
    epoch: bool


class Clipped(Announcement):
    """Gradients are about to be clipped to `bound`: those of `parameters`, which is empty if not all are known.

    `whole`: no others are clipped. `used_up`: the parameters stand in an iterator that has given all it had.
    """

    parameters: Sequence[Ref]
    bound: Value
    whole: bool
    used_up: bool


class LossScaled(Announcement):
    """`scaler.scale(loss)` made a node of the tape."""

    made: Node


class Unscaled(Announcement):
    """A scaler divides the gradients of an optimizer by its scale: in `unscale_`, or in `step`.

    `former` is what it has done with the optimizer since it was updated last; "unknown" where that is not known.
    """

    optimizer: Ref
    by: Literal["unscale_", "step"]
    former: Literal["nothing", "unscaled", "stepped", "unknown"]


# Loops. The state that is handed over is that from before the loop, and stays as it is.


class LoopBegan(Announcement):
    """A loop begins; `loop` is the number of its run."""

    loop: int


class IterationBegan(Announcement):
    """An iteration begins: whatever is made from now on has a number larger than `since`."""

    loop: int
    since: int


class IterationEnded(Announcement):
    """An iteration has ended on these paths, which go on."""

    loop: int
    paths: Sequence[State]


class LoopEnded(Announcement):
    """The last iteration has ended on these paths.

    `bounded`: the program bounds the loop, by a number or by what it lists, rather than data. `listed`: the loop goes
    over all that the program lists.
    """

    loop: int
    paths: Sequence[State]
    bounded: bool
    listed: bool


# Calls.


class Returned(Announcement):
    """A function that nobody in sight calls has ended; `method`: it is one. Its caller may do anything with `value`."""

    method: bool
    value: Value


class FunctionApplied(Announcement):
    """`function.apply(*arguments)`: the forward of a custom function has run, and its result gets a graph next.

    `ctx` is as forward has left it; `writes` are how many writes each argument had seen before, by address.
    """

    function: Ref
    ctx: Ref
    arguments: tuple[Value, ...]
    writes: Mapping[int, int]
    result: Value


class FunctionDifferentiated(Announcement):
    """The backward of a custom function, defined at the node, was run aside for a forward that gave `result`.

    `arrived` are the gradients that it was given, `incoming` what they were before it ran, and `ends` the paths on
    which it ended, with what it returned. The results of forward had the node `output`.
    Forward was given these `arguments`, or those of the last that have defaults were left out, down to `fewest`.
    """

    arrived: Sequence[Ref]
    incoming: Sequence[Node]
    output: Node
    ends: Sequence[tuple[State, Value]]
    result: Value
    arguments: Sequence[Value]
    fewest: int


class FunctionPushed(Announcement):
    """The `jvp` of a custom function, defined at the node, was run aside on `tangents` of its `arguments`.

    Forward gave `result`; `ends` are the paths on which `jvp` ended, with what it returned.
    """

    tangents: Sequence[Value]
    arguments: Sequence[Value]
    result: Value
    ends: Sequence[tuple[State, Value]]


class GradientHooked(Announcement):
    """A backward has run a hook of a tensor or a module, and given it gradients; `certain`: on any way.

    `writes` says by their addresses how often each of them had been written before, and `incoming` what they were.
    `result` is what the hook has returned.
    """

    writes: Mapping[int, int]
    incoming: Sequence[Node]
    result: Value
    certain: bool


class DerivativesChecked(Announcement):
    """`gradcheck` or `gradgradcheck` compares derivatives of a function that gave `outputs`, and wrote nothing.

    `options` are its further arguments. The hooks that it ran have been announced, at the same node.
    """

    call: str
    inputs: tuple[Value, ...]
    outputs: tuple[Value, ...]
    options: Mapping[str, Value]


class CalledAgain(Announcement):
    """A method that nobody calls was called twice in a row, from the state that is handed over.

    `ends` are the paths after the first call, each with those after the second call that come from it.
    """

    ends: Sequence[tuple[State, Sequence[State]]]


# The end.


class PathsEnded(Announcement):
    """All paths have been followed. What is reported now is so whatever other files do."""


class RunEnded(Announcement):
    """All paths have been followed. What is reported now is what this file leaves undone; another may do it.

    `complete`: nothing that might matter was left out.
    """

    complete: bool


KINDS = tuple(Announcement.__subclasses__())
"""The types of announcements."""


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


@cache
def _heard(listeners: tuple[type, ...]) -> dict[type, tuple[tuple[int, str], ...]]:
    """Return for each type of announcement which listeners hear it, and by which method."""
    names = {kind: method_of(kind) for kind in KINDS}
    return {
        kind: tuple((index, name) for index, one in enumerate(listeners) if hasattr(one, name))
        for kind, name in names.items()
    }


def handlers(listeners: Iterable[Listener]) -> dict[type, tuple[Handler, ...]]:
    """Return the methods to call for each type of announcement, in the order of the listeners."""
    every = tuple(listeners)
    heard = _heard(tuple(map(type, every)))
    return {kind: tuple(getattr(every[index], name) for index, name in by) for kind, by in heard.items()}
