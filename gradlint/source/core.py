"""The core language: register code that a Python function is lowered to before it is interpreted.

An instruction reads operands and writes its result to `dest`. An operand is a variable (a `str`), a temporary
(an `int`), or a `Const`. Each instruction keeps the syntax node it came from, for places and fixes. Control flow
stays structured, so that the abstract machine can split states at an `If` and join them after it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from types import EllipsisType
from typing import ClassVar, TypeAlias

import libcst as cst

Constant: TypeAlias = "bool | int | float | complex | str | bytes | EllipsisType | None"


@dataclass(eq=False, repr=False, slots=True)
class Const:
    """A constant operand."""

    value: Constant


Operand: TypeAlias = "str | int | Const"
Dest: TypeAlias = "str | int"
Block: TypeAlias = "list[Instr]"


@dataclass(eq=False, repr=False, slots=True)
class Instr:
    """One step of the abstract machine."""

    node: cst.CSTNode


@dataclass(eq=False, repr=False, slots=True)
class Making(Instr):
    """A step that has a result."""

    dest: Dest


@dataclass(eq=False, repr=False, slots=True)
class Copy(Making):
    """dest = src"""

    src: Operand


@dataclass(eq=False, repr=False, slots=True)
class Rebind(Instr):
    """A loop's variable, which still has the item, gets a value that nobody reads: the assignment comes next."""

    name: Operand
    value: Operand


@dataclass(eq=False, repr=False, slots=True)
class Attr(Making):
    """dest = obj.name"""

    obj: Operand
    name: str


@dataclass(eq=False, repr=False, slots=True)
class Item(Making):
    """dest = obj[index]"""

    obj: Operand
    index: Operand


@dataclass(eq=False, repr=False, slots=True)
class Binary(Making):
    """dest = left op right; `inplace` for an augmented assignment, whose result the next instruction stores."""

    op: str
    left: Operand
    right: Operand
    inplace: bool = False


@dataclass(eq=False, repr=False, slots=True)
class Unary(Making):
    """dest = op operand, with op one of `-`, `+`, `~`, `not`"""

    op: str
    operand: Operand


@dataclass(eq=False, repr=False, slots=True)
class Compare(Making):
    """dest = left op right for one comparison; chains are lowered to `and`"""

    op: str
    left: Operand
    right: Operand


@dataclass(eq=False, repr=False, slots=True)
class Make(Making):
    """dest = a list, tuple or set of items; an item is (starred, operand)"""

    kind: str
    items: list[tuple[bool, Operand]]


@dataclass(eq=False, repr=False, slots=True)
class MakeDict(Making):
    """dest = a dict of pairs; a pair with the key None is `**operand`"""

    pairs: list[tuple[Operand | None, Operand]]


@dataclass(eq=False, repr=False, slots=True)
class MakeSlice(Making):
    """dest = slice(start, stop, step)"""

    parts: tuple[Operand, Operand, Operand]


@dataclass(eq=False, repr=False, slots=True)
class Format(Making):
    """dest = a string made of parts"""

    parts: list[Operand]


@dataclass(eq=False, repr=False, slots=True)
class Arg:
    """An argument of a call: `star` is "", "*" or "**"."""

    operand: Operand
    keyword: str | None = None
    star: str = ""


@dataclass(eq=False, repr=False, slots=True)
class Call(Making):
    """dest = func(args)"""

    func: Operand
    args: list[Arg]


@dataclass(eq=False, repr=False, slots=True)
class Append(Instr):
    """Add an item to the accumulator of a comprehension; `key` for a dict."""

    target: Operand
    value: Operand
    key: Operand | None = None


@dataclass(eq=False, repr=False, slots=True)
class SetAttr(Instr):
    """obj.name = value"""

    obj: Operand
    name: str
    value: Operand


@dataclass(eq=False, repr=False, slots=True)
class SetItem(Instr):
    """obj[index] = value"""

    obj: Operand
    index: Operand
    value: Operand


@dataclass(eq=False, repr=False, slots=True)
class Delete(Instr):
    """del name, obj.name or obj[index]"""

    obj: Operand | None
    name: str | None = None
    index: Operand | None = None


@dataclass(eq=False, repr=False, slots=True)
class Unpack(Instr):
    """dests = src, one item each; `star` is the index of the starred dest, or -1"""

    dests: list[Dest]
    star: int
    src: Operand


@dataclass(eq=False, repr=False, slots=True)
class StoreOuter(Instr):
    """A variable declared `global` or `nonlocal` is assigned."""

    name: str
    src: Operand
    to_global: bool


@dataclass(eq=False, repr=False, slots=True)
class Import(Instr):
    """`import path as dest` (`bind` is the path bound) or `from path import name as dest`, `*` for all names."""

    dest: str
    path: str
    name: str | None
    level: int = 0


@dataclass(eq=False, repr=False, slots=True)
class Param:
    """A parameter of a function: `kind` is "", "*" or "**"; `keyword_only` after a star."""

    name: str
    kind: str
    keyword_only: bool
    has_default: bool
    annotation: cst.BaseExpression | None
    node: cst.CSTNode


@dataclass(eq=False, repr=False, slots=True)
class Code:
    """A function body, lowered on first use. `is_abstract`: it is left to subclasses; `is_empty`: it does nothing.

    `assigned` and `attributes` are names that its syntax holds, once `source.lower.syntax` has looked for them: kept
    here they go with the syntax, which a cache of a function would keep alive.
    """

    lower: ClassVar[Callable[[Code], Block]]
    """Lowers a body: `gradlint.source.lower` sets it, since this file knows nothing of syntax."""

    name: str
    node: cst.FunctionDef | cst.Lambda | cst.GeneratorExp | cst.Module | cst.ClassDef
    params: list[Param]
    renames: dict[str, str] = field(default_factory=dict)
    is_generator: bool = False
    is_async: bool = False
    is_abstract: bool = False
    is_empty: bool = False
    assigned: frozenset[str] | None = None
    attributes: frozenset[str] | None = None
    _body: Block | None = None

    @property
    def body(self) -> Block:
        """The instructions."""
        if self._body is None:
            self._body = Code.lower(self)
        return self._body


@dataclass(eq=False, repr=False, slots=True)
class MakeFunction(Making):
    """dest = a function; `defaults` are aligned with the last parameters that have one, in order"""

    code: Code
    defaults: dict[str, Operand]


@dataclass(eq=False, repr=False, slots=True)
class MakeClass(Making):
    """dest = a class with these bases, whose body is run in a scope of its own"""

    code: Code
    bases: list[Operand]


@dataclass(eq=False, repr=False, slots=True)
class If(Instr):
    """Take `then` where test is true and `orelse` where it is false. `out` is the temporary both ways set."""

    test: Operand
    then: Block
    orelse: Block
    out: Dest | None = None


@dataclass(eq=False, repr=False, slots=True)
class For(Instr):
    """`item` is the temporary that the item of each iteration is stored in before the body starts.

    `counters`: what the body adds to, variables by their names and attributes of anything by `.name`.
    """

    iterable: Operand
    item: Dest
    body: Block
    orelse: Block
    counters: frozenset[str] = frozenset()


@dataclass(eq=False, repr=False, slots=True)
class While(Instr):
    """`head` computes `test` before each iteration. `counters` as for `For`."""

    head: Block
    test: Operand
    body: Block
    orelse: Block
    counters: frozenset[str]


@dataclass(eq=False, repr=False, slots=True)
class With(Instr):
    """Enter `context`, store what it yields in `dest`, run the body, leave."""

    context: Operand
    dest: Dest
    body: Block


@dataclass(eq=False, repr=False, slots=True)
class Handler:
    """An `except` clause: `types` is evaluated by `head`; None catches all."""

    head: Block
    types: Operand | None
    name: str | None
    body: Block


@dataclass(eq=False, repr=False, slots=True)
class Try(Instr):
    """try body, handlers, else, finally"""

    body: Block
    handlers: list[Handler]
    orelse: Block
    final: Block


@dataclass(eq=False, repr=False, slots=True)
class Return(Instr):
    """return value"""

    value: Operand


@dataclass(eq=False, repr=False, slots=True)
class Yield(Making):
    """dest = yield value; `star` for `yield from`"""

    value: Operand
    star: bool


@dataclass(eq=False, repr=False, slots=True)
class Raise(Instr):
    """raise"""


@dataclass(eq=False, repr=False, slots=True)
class Break(Instr):
    """break"""


@dataclass(eq=False, repr=False, slots=True)
class Continue(Instr):
    """continue"""


@dataclass(eq=False, repr=False, slots=True)
class Discard(Instr):
    """An expression as a statement: nobody takes `value`. `subject` is the object whose attribute is compared."""

    value: Operand
    subject: Operand | None = None


@dataclass(eq=False, repr=False, slots=True)
class Assume(Instr):
    """assert test: after it, test is true"""

    test: Operand
