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
from typing import NamedTuple, TypeAlias

import libcst as cst

from gradlint.domain.graph import Edge, Node
from gradlint.domain.state import State
from gradlint.domain.value import External, Ref, Value

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


# Backward.


class GradientGiven(NamedTuple):
    """A backward from `root` takes a gradient argument."""

    node: cst.CSTNode
    root: Ref
    gradient: Ref


class Backpropagated(NamedTuple):
    """A backward ran; `certain` are the nodes of the tape that it certainly ran through."""

    node: cst.CSTNode
    certain: tuple[Node, ...]


Announcement: TypeAlias = (
    ModeSwitched
    | ModuleCalled
    | StateDictTaken
    | StateDictLoaded
    | ContainerCopied
    | AttributeRead
    | NameMissing
    | AttributeSet
    | Discarded
    | Differenced
    | LoopVariableRebound
    | TorchCalled
    | ModuleConfigured
    | FactorsMoved
    | VariableMade
    | LeafWritten
    | Operated
    | DefaultTypeSet
    | GradientGiven
    | Backpropagated
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

    def on_attribute_read(self, state: State, it: AttributeRead) -> None:
        """Hear that a name of torch is read."""

    def on_name_missing(self, state: State, it: NameMissing) -> None:
        """Hear that an object is asked for an attribute that it is not known to have."""

    def on_attribute_set(self, state: State, it: AttributeSet) -> None:
        """Hear that an attribute is set."""

    def on_discarded(self, state: State, it: Discarded) -> None:
        """Hear that a statement does nothing with an attribute."""

    def on_differenced(self, state: State, it: Differenced) -> None:
        """Hear of a difference of tensors."""

    def on_loop_variable_rebound(self, state: State, it: LoopVariableRebound) -> None:
        """Hear that a loop's variable got another value."""

    def on_torch_called(self, state: State, it: TorchCalled) -> None:
        """Hear that something of torch is called."""

    def on_module_configured(self, state: State, it: ModuleConfigured) -> None:
        """Hear that a constructor of a module class of torch runs."""

    def on_factors_moved(self, state: State, it: FactorsMoved) -> None:
        """Hear that factors stand before tensors."""

    def on_variable_made(self, state: State, it: VariableMade) -> None:
        """Hear that `Variable` is called."""

    def on_leaf_written(self, state: State, it: LeafWritten) -> None:
        """Hear that a leaf is written past the tape."""

    def on_operated(self, state: State, it: Operated) -> None:
        """Hear that an operation of torch runs."""

    def on_default_type_set(self, state: State, it: DefaultTypeSet) -> None:
        """Hear that the default element type is set."""

    def on_gradient_given(self, state: State, it: GradientGiven) -> None:
        """Hear that a backward takes a gradient argument."""

    def on_backpropagated(self, state: State, it: Backpropagated) -> None:
        """Hear that a backward ran."""


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
