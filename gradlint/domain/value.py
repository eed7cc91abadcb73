"""Values of the abstract machine.

Python constants stand for themselves: None, bool, int, float, complex, str, bytes, Ellipsis, and tuples and slices
of values. Things that can change have a `Ref` into the heap of the state. Everything else is a class of this file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from collections.abc import Mapping as Mapped
from dataclasses import dataclass
from types import EllipsisType
from typing import NamedTuple, NoReturn, TypeAlias

import libcst as cst

from gradlint.domain.assumption import Assumption
from gradlint.domain.graph import Node, Tri
from gradlint.domain.shape import Shape, Sym
from gradlint.source.core import Code, Constant


class Ref:
    """The address of something that can change; two of them are the same object if the ids agree."""

    __slots__ = ("id",)

    def __init__(self, id: int) -> None:
        self.id = id

    def __eq__(self, other: object) -> bool:
        return type(other) is Ref and other.id == self.id

    def __hash__(self) -> int:
        return hash(self.id)

    def __repr__(self) -> str:
        return f"@{self.id}"


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class Unknown:
    """A value that is not known: a symbol, equal only to itself.

    `kind` says what it certainly is ("number", "int", "bool", "str", "array", "tensor", ...) or is None; `origin` is
    its graph where it was computed from tensors; `key` is what it was made of, so that the same
    expression over unchanged unknowns is the same symbol (the same test goes the same way twice).
    """

    kind: str | None = None
    origin: Node | None = None
    key: tuple[object, ...] | None = None
    syntax: cst.CSTNode | None = None

    def __repr__(self) -> str:
        return f"?{self.kind or ''}"

    @property
    def negated(self) -> Ref | Unknown | None:
        """What it is the negation of: its truth is the opposite one."""
        operand = self.key[1] if self.key is not None and self.key[0] == "not" else None
        return operand if isinstance(operand, (Ref, Unknown)) else None


class External(NamedTuple):
    """Something imported: a dotted path such as `torch.nn.Linear` or `numpy.mean`, resolved through aliases."""

    path: str


class Imported(NamedTuple):
    """A name that another file of the program binds; whoever reads it gets the value itself.

    Of an installed package, `file` is empty and `name` has all its dots.
    """

    file: str
    name: str


class File(NamedTuple):
    """A module of the program: the path of its file, or of the folder of a package that has none."""

    path: str


@dataclass(frozen=True, slots=True)
class Function:
    """A function of the program: its code, the frame it closes over, and the values of its defaults.

    `modes` are the grad modes that decorators put around each call, `wrapper` a decorator gradlint does not know.
    """

    code: Code
    frame: int
    defaults: tuple[tuple[str, Value], ...]
    module: str
    modes: tuple[Context, ...] = ()
    owner: Value = None


class Bound(NamedTuple):
    """A method with its receiver: `function` is a `Function`, or the name of a method of a torch object."""

    receiver: Value
    function: Value


class Partial(NamedTuple):
    """functools.partial"""

    function: Value
    args: tuple[Value, ...]
    keywords: tuple[tuple[str, Value], ...]


class Super(NamedTuple):
    """super(): attribute look-up starts after `owner` in the order of the receiver's class."""

    owner: Value
    receiver: Value


@dataclass(frozen=True, slots=True)
class NoGradient:
    """The None that `.grad` is where no backward has filled it: like None, and it knows whose it is.

    `since` is the age of the None, or -1 for that of a non-leaf, which another event has reported, at `read`.
    Of a leaf, `read` is where it was read on one of two ways. `asked` is the call of `autograd.grad` that gave it, or
    the backward in which the result of a custom function gets none, which was `applied` there.
    """

    syntax: cst.CSTNode | None
    since: int
    read: cst.CSTNode | None = None
    asked: cst.CSTNode | None = None
    applied: cst.CSTNode | None = None


@dataclass(frozen=True, slots=True)
class Context:
    """A context manager that changes the grad mode or is otherwise known: `mode` such as "no_grad"."""

    mode: str
    argument: Value = None
    former: Value = None
    syntax: cst.CSTNode | None = None


class Args(NamedTuple):
    """The arguments of one call. `open`: there may be more, from a star over something unknown; `hidden` is
    what it was over, and what was given by position after it.
    """

    positional: tuple[Value, ...] = ()
    keywords: dict[str, Value] = {}  # noqa: RUF012 -- never changed
    open: bool = False
    hidden: tuple[Value, ...] = ()

    def get(self, position: int, name: str, default: Value = None) -> Value:
        """Return the argument that stands at a position or has a name."""
        if name in self.keywords:
            return self.keywords[name]
        return self.positional[position] if position < len(self.positional) else default

    def has(self, position: int, name: str) -> bool:
        """Return whether the argument was given."""
        return name in self.keywords or position < len(self.positional)

    def prepend(self, value: Value) -> Args:
        """Return the arguments of the function that a method binds."""
        return Args((value, *self.positional), self.keywords, self.open, self.hidden)

    @property
    def rest(self) -> Args:
        """All but the first positional one."""
        return self._replace(positional=self.positional[1:])

    def values(self) -> Iterable[Value]:
        """Yield all of them."""
        yield from self.positional
        yield from self.keywords.values()
        yield from self.hidden


@dataclass(frozen=True)
class Suspended:
    """A generator that has not begun: its function, the arguments of its call, and where that stands.

    `start` is where `enumerate` begins to count what it yields.
    """

    function: Function
    args: Args
    node: cst.CSTNode
    start: Value = None


Value: TypeAlias = (
    "Ref | Unknown | Sym | External | Imported | File | Function | Bound | Partial | Super | NoGradient | Context"
    " | Suspended | tuple[Value, ...] | slice | Constant"
)
"""All that a variable can hold. `Join.value` and `truth` name each case, and mypy asks them to: whoever adds a class
here says what becomes of it in a join and in a test. A new class is a dataclass: mypy takes a `NamedTuple` for a case
of tuples.
"""


VALUES = (
    Ref, Unknown, Sym, External, Imported, File, Function, Bound, Partial, Super, NoGradient, Context, Suspended,
    tuple, slice, bool, int, float, complex, str, bytes, EllipsisType, type(None),
)  # fmt: skip
"""The classes of values."""


def assert_never(value: NoReturn) -> NoReturn:
    """Stand after the last of all cases: mypy refuses it while there is another class in the union."""
    raise AssertionError(f"no case for {value!r}")


class View(NamedTuple):
    """How a tensor is a view: of which base, made how.

    `kind` is "plain", "multi" (an output of split, chunk, unbind or iteration), "no_grad" (made while grad mode was
    off), "inference", "custom", or "maybe" (a view or a copy). `expanded` says of each dimension whether its
    elements share one memory cell, or is None. `version`: how many writes the counter had seen when it was made.
    """

    base: int
    kind: str
    expanded: tuple[bool, ...] | None = ()
    version: int = 0

    @property
    def overlaps(self) -> bool:
        """Whether several elements certainly share one memory cell."""
        return self.expanded is not None and any(self.expanded)


class Write(NamedTuple):
    """An in-place write that a version counter saw: where, by what, and whether it is certain.

    `built` is the constructor of the module that wrote, if one did.
    """

    syntax: cst.CSTNode
    op: str
    certain: bool = True
    built: cst.CSTNode | None = None


Tags: TypeAlias = frozenset[str | Assumption]
"""Further facts of a tensor by name, and what is assumed of its size."""


class Tensor(NamedTuple):
    """What autograd looks at in a tensor, without its numbers.

    `counter` is its version counter and `memory` its storage, both addresses of tuples of `Write`s: views share both,
    `detach()` shares both, `.data` shares the memory only. `accumulated` is the value of `.grad`.
    """

    counter: int
    memory: int
    node: Node
    grad: Tri = False
    dtype: str | None = None
    shape: Shape = None
    view: View | None = None
    accumulated: Value = None
    parameter: bool = False
    inference: Tri = False
    retains: Tri = False
    syntax: cst.CSTNode | None = None
    tags: Tags = frozenset()

    @property
    def leaf(self) -> Tri:
        """torch's `is_leaf`: whether no recorded operation made it."""
        tracked = self.node.tracked
        return None if tracked is None else not tracked


class Sequence(NamedTuple):
    """A list, set, deque, iterator or generator. `open`: it may hold more items like those shown; `most`: a
    maximum, which is 0 for an iterator that is used up.
    """

    items: tuple[Value, ...]
    kind: str = "list"
    open: bool = False
    most: int | None = None


USED_UP = frozenset({"iterator", "generator", "stream"})
"""Kinds of sequences whose items are taken once; a stream is what an object gives for `iter`: it may do more."""


@dataclass(frozen=True)
class Pending:
    """How a block was left whose context manager is yet to finish: the kind of the exit, and its value."""

    kind: str
    value: Value = None


class Mapping(NamedTuple):
    """A dict, with constant keys; `open`: it may hold other keys.

    `rest` stands for the values of all other keys; `factory` is called to make the value of a key that is missing.
    """

    items: dict[Value, Value]
    open: bool = False
    rest: Value = None
    factory: Value = None


class Class(NamedTuple):
    """A class of the program; `order` is its bases, and theirs, in the order of look-up."""

    name: str
    bases: tuple[Value, ...]
    attrs: dict[str, Value]
    code: Code
    module: str
    order: tuple[Value, ...]


class Hook(NamedTuple):
    """A function registered with a module: `kind` is "pre", "forward", "backward", "backward pre" or "old backward".

    `keywords`: it is given them.
    """

    kind: str
    function: Value
    number: int
    keywords: Value = False


class ModuleState(NamedTuple):
    """What a torch module is besides its attributes: its mode, and its hooks in the order in which they run.

    `torn` belongs to the placeholder of a network that is not known: the calls whose result is taken apart, and which
    of the parts are tensors. `loose`: what is registered may change unseen. `uninitialised`: `nn.Module.__init__` is
    yet to run. `foreign`: one unnamed leaf stands for all parameters of a network of another library.
    """

    training: Value = True
    hooks: tuple[Hook, ...] = ()
    torn: Mapped[cst.CSTNode, tuple[bool, ...]] | None = None
    loose: bool = False
    uninitialised: bool = False
    foreign: bool = False


class OptimizerState(NamedTuple):
    """The parameters that an optimizer is known to hold, whether it may hold others, and the number of its groups."""

    params: Value = None
    open: Value = True
    groups: Value = None


class CtxState(NamedTuple):
    """What the methods of a `ctx` were given; what paths disagree in is not known.

    `materializes`: a result without a gradient gets zeros.
    """

    saved: Value = None
    dirty: Value = None
    unmarked: Value = None
    materializes: Value = True
    forward: Value = None


class HookHandle(NamedTuple):
    """A hook: the module that it is registered with, or the number of a tensor's node, and its own number."""

    owner: Value
    number: Value


class Kept(NamedTuple):
    """What an object of a library keeps: a distribution its arguments, a dataclass field its factory."""

    value: Value


Inner: TypeAlias = "OptimizerState | CtxState | HookHandle | Kept | None"


def with_values(inner: Inner, values: Iterable[Value]) -> Inner:
    """Return the same with other values."""
    match inner:
        case OptimizerState():
            return OptimizerState(*values)
        case CtxState():
            return CtxState(*values)
        case HookHandle():
            return HookHandle(*values)
        case Kept():
            return Kept(*values)
        case None:
            return None


class Instance(NamedTuple):
    """An object: its class (a Ref to a `Class`, or the `External` path of a library's class) and attributes.

    For a torch module `attrs` holds its parameters and submodules, `config` its constructor's arguments, and `module`
    what else changes its calls; `inner` is what an object of another library class holds besides attributes. `open`:
    it may have attributes that are not known. `marks`: where a `ctx` was given which attribute.
    """

    cls: Value
    attrs: dict[str, Value]
    config: dict[str, Value]
    open: bool = False
    syntax: cst.CSTNode | None = None
    module: ModuleState = ModuleState()
    inner: Inner = None
    marks: tuple[tuple[str, cst.CSTNode], ...] = ()

    def values(self) -> tuple[Value, ...]:
        """Return what stands in its attributes and in its inner fields."""
        return (*self.attrs.values(), *(self.inner or ()))

    def mapped(self, change: Callable[[Value], Value]) -> Instance:
        """Return an object with all its values changed in one way."""
        inner = with_values(self.inner, map(change, self.inner or ()))
        return self._replace(attrs={name: change(value) for name, value in self.attrs.items()}, inner=inner)

    def with_unnamed(self, value: Value) -> Instance:
        """Return an object with one more attribute, under a name that no program can write: its own is not known."""
        return self._replace(attrs={**self.attrs, f"<{len(self.attrs)}>": value}, open=True)


Record: TypeAlias = (
    "Tensor | Sequence | Mapping | Instance | Class | Suspended | Pending | tuple[Write, ...] | tuple[int, ...]"
)
"""All that can stand at an address: things that change, the writes to a counter or memory, and the views of a tensor at
its negated address.
"""


def is_unnamed(name: str) -> bool:
    """Return whether an attribute stands under a name that `with_unnamed` has made."""
    return name.startswith("<")
