"""The core language: register code that a Python function is lowered to before it is interpreted.

An instruction reads operands and writes its result to `dest`. An operand is a variable (a `str`), a temporary
(an `int`), or a `Const`. Each instruction keeps the syntax node it came from, for places and fixes. Control flow
stays structured, so that the abstract machine can split states at an `If` and meet them again behind it.
"""

from __future__ import annotations

from collections.abc import Callable
from types import EllipsisType
from typing import ClassVar, TypeAlias

import libcst as cst

Constant: TypeAlias = "bool | int | float | complex | str | bytes | EllipsisType | None"


class Const:
    """A constant operand."""

    __slots__ = ("value",)

    def __init__(self, value: Constant) -> None:
        self.value = value


Operand: TypeAlias = "str | int | Const"
Dest: TypeAlias = "str | int"
Block: TypeAlias = "list[Instr]"


class Instr:
    """One step of the abstract machine."""

    __slots__ = ("node",)

    def __init__(self, node: cst.CSTNode) -> None:
        self.node = node


class Copy(Instr):
    """dest = src"""

    __slots__ = ("dest", "src")

    def __init__(self, node: cst.CSTNode, dest: Dest, src: Operand) -> None:
        self.node = node
        self.dest = dest
        self.src = src


class Rebind(Instr):
    """A loop's variable, which still has the item, gets a value that nobody reads: the assignment comes next."""

    __slots__ = ("name", "value")

    def __init__(self, node: cst.CSTNode, name: Operand, value: Operand) -> None:
        self.node = node
        self.name = name
        self.value = value


class Attr(Instr):
    """dest = obj.name"""

    __slots__ = ("dest", "name", "obj")

    def __init__(self, node: cst.CSTNode, dest: Dest, obj: Operand, name: str) -> None:
        self.node = node
        self.dest = dest
        self.obj = obj
        self.name = name


class Item(Instr):
    """dest = obj[index]"""

    __slots__ = ("dest", "index", "obj")

    def __init__(self, node: cst.CSTNode, dest: Dest, obj: Operand, index: Operand) -> None:
        self.node = node
        self.dest = dest
        self.obj = obj
        self.index = index


class Binary(Instr):
    """dest = left op right; `inplace` for an augmented assignment, whose result the next instruction stores."""

    __slots__ = ("dest", "inplace", "left", "op", "right")

    def __init__(
        self, node: cst.CSTNode, dest: Dest, op: str, left: Operand, right: Operand, inplace: bool = False
    ) -> None:
        self.node = node
        self.dest = dest
        self.op = op
        self.left = left
        self.right = right
        self.inplace = inplace


class Unary(Instr):
    """dest = op operand, with op one of `-`, `+`, `~`, `not`"""

    __slots__ = ("dest", "op", "operand")

    def __init__(self, node: cst.CSTNode, dest: Dest, op: str, operand: Operand) -> None:
        self.node = node
        self.dest = dest
        self.op = op
        self.operand = operand


class Compare(Instr):
    """dest = left op right for one comparison; chains are lowered to `and`"""

    __slots__ = ("dest", "left", "op", "right")

    def __init__(self, node: cst.CSTNode, dest: Dest, op: str, left: Operand, right: Operand) -> None:
        self.node = node
        self.dest = dest
        self.op = op
        self.left = left
        self.right = right


class Make(Instr):
    """dest = a list, tuple or set of items; an item is (starred, operand)"""

    __slots__ = ("dest", "items", "kind")

    def __init__(self, node: cst.CSTNode, dest: Dest, kind: str, items: list[tuple[bool, Operand]]) -> None:
        self.node = node
        self.dest = dest
        self.kind = kind
        self.items = items


class MakeDict(Instr):
    """dest = a dict of pairs; a pair with the key None is `**operand`"""

    __slots__ = ("dest", "pairs")

    def __init__(self, node: cst.CSTNode, dest: Dest, pairs: list[tuple[Operand | None, Operand]]) -> None:
        self.node = node
        self.dest = dest
        self.pairs = pairs


class MakeSlice(Instr):
    """dest = slice(start, stop, step)"""

    __slots__ = ("dest", "parts")

    def __init__(self, node: cst.CSTNode, dest: Dest, parts: tuple[Operand, Operand, Operand]) -> None:
        self.node = node
        self.dest = dest
        self.parts = parts


class Format(Instr):
    """dest = a string made of parts"""

    __slots__ = ("dest", "parts")

    def __init__(self, node: cst.CSTNode, dest: Dest, parts: list[Operand]) -> None:
        self.node = node
        self.dest = dest
        self.parts = parts


class Arg:
    """An argument of a call: `star` is "", "*" or "**"."""

    __slots__ = ("keyword", "operand", "star")

    def __init__(self, operand: Operand, keyword: str | None = None, star: str = "") -> None:
        self.operand = operand
        self.keyword = keyword
        self.star = star


class Call(Instr):
    """dest = func(args)"""

    __slots__ = ("args", "dest", "func")

    def __init__(self, node: cst.CSTNode, dest: Dest, func: Operand, args: list[Arg]) -> None:
        self.node = node
        self.dest = dest
        self.func = func
        self.args = args


class Append(Instr):
    """Add an item to the accumulator of a comprehension; `key` for a dict."""

    __slots__ = ("key", "target", "value")

    def __init__(self, node: cst.CSTNode, target: Operand, value: Operand, key: Operand | None = None) -> None:
        self.node = node
        self.target = target
        self.value = value
        self.key = key


class SetAttr(Instr):
    """obj.name = value"""

    __slots__ = ("name", "obj", "value")

    def __init__(self, node: cst.CSTNode, obj: Operand, name: str, value: Operand) -> None:
        self.node = node
        self.obj = obj
        self.name = name
        self.value = value


class SetItem(Instr):
    """obj[index] = value"""

    __slots__ = ("index", "obj", "value")

    def __init__(self, node: cst.CSTNode, obj: Operand, index: Operand, value: Operand) -> None:
        self.node = node
        self.obj = obj
        self.index = index
        self.value = value


class Delete(Instr):
    """del name, obj.name or obj[index]"""

    __slots__ = ("index", "name", "obj")

    def __init__(
        self, node: cst.CSTNode, obj: Operand | None, name: str | None = None, index: Operand | None = None
    ) -> None:
        self.node = node
        self.obj = obj
        self.name = name
        self.index = index


class Unpack(Instr):
    """dests = src, one item each; `star` is the index of the starred dest, or -1"""

    __slots__ = ("dests", "src", "star")

    def __init__(self, node: cst.CSTNode, dests: list[Dest], star: int, src: Operand) -> None:
        self.node = node
        self.dests = dests
        self.star = star
        self.src = src


class StoreOuter(Instr):
    """A variable declared `global` or `nonlocal` is assigned."""

    __slots__ = ("name", "src", "to_global")

    def __init__(self, node: cst.CSTNode, name: str, src: Operand, to_global: bool) -> None:
        self.node = node
        self.name = name
        self.src = src
        self.to_global = to_global


class Import(Instr):
    """`import path as dest` (`bind` is the path bound) or `from path import name as dest`, `*` for all names."""

    __slots__ = ("dest", "level", "name", "path")

    def __init__(self, node: cst.CSTNode, dest: str, path: str, name: str | None, level: int = 0) -> None:
        self.node = node
        self.dest = dest
        self.path = path
        self.name = name
        self.level = level


class Param:
    """A parameter of a function: `kind` is "", "*" or "**"; `keyword_only` behind a star."""

    __slots__ = ("annotation", "has_default", "keyword_only", "kind", "name", "node")

    def __init__(
        self,
        name: str,
        kind: str,
        keyword_only: bool,
        has_default: bool,
        annotation: cst.BaseExpression | None,
        node: cst.CSTNode,
    ) -> None:
        self.name = name
        self.kind = kind
        self.keyword_only = keyword_only
        self.has_default = has_default
        self.annotation = annotation
        self.node = node


class Code:
    """A function body, lowered on first use."""

    lower: ClassVar[Callable[[Code], Block]]
    """Lowers a body: `gradlint.source.lower` sets it, since this file knows nothing of syntax."""

    __slots__ = ("_body", "is_async", "is_generator", "name", "node", "params", "renames", "size")

    def __init__(
        self,
        name: str,
        node: cst.FunctionDef | cst.Lambda | cst.GeneratorExp | cst.Module | cst.ClassDef,
        params: list[Param],
        renames: dict[str, str] | None = None,
    ) -> None:
        self.name = name
        self.node = node
        self.params = params
        self.renames = renames or {}
        self.is_generator = False
        self.is_async = False
        self.size = 0
        self._body: Block | None = None

    @property
    def body(self) -> Block:
        """The instructions."""
        if self._body is None:
            self._body = Code.lower(self)
        return self._body


class MakeFunction(Instr):
    """dest = a function; `defaults` are aligned with the last parameters that have one, in order"""

    __slots__ = ("code", "defaults", "dest")

    def __init__(self, node: cst.CSTNode, dest: Dest, code: Code, defaults: dict[str, Operand]) -> None:
        self.node = node
        self.dest = dest
        self.code = code
        self.defaults = defaults


class MakeClass(Instr):
    """dest = a class with these bases, whose body is run in a scope of its own"""

    __slots__ = ("bases", "code", "dest")

    def __init__(self, node: cst.CSTNode, dest: Dest, code: Code, bases: list[Operand]) -> None:
        self.node = node
        self.dest = dest
        self.code = code
        self.bases = bases


class If(Instr):
    """Take `then` where test is true and `orelse` where it is false. `out` is the temporary both ways set."""

    __slots__ = ("orelse", "out", "test", "then")

    def __init__(self, node: cst.CSTNode, test: Operand, then: Block, orelse: Block, out: Dest | None = None) -> None:
        self.node = node
        self.test = test
        self.then = then
        self.orelse = orelse
        self.out = out


class For(Instr):
    """`item` is the temporary that each turn's item is stored in before the body starts.

    `counters`: what the body adds to, variables by their names and attributes of anything by `.name`.
    """

    __slots__ = ("body", "counters", "item", "iterable", "orelse")

    def __init__(
        self,
        node: cst.CSTNode,
        iterable: Operand,
        item: Dest,
        body: Block,
        orelse: Block,
        counters: frozenset[str] = frozenset(),
    ) -> None:
        self.node = node
        self.counters = counters
        self.iterable = iterable
        self.item = item
        self.body = body
        self.orelse = orelse


class While(Instr):
    """`head` computes `test` before each turn. `counters` as for `For`."""

    __slots__ = ("body", "counters", "head", "orelse", "test")

    def __init__(
        self, node: cst.CSTNode, head: Block, test: Operand, body: Block, orelse: Block, counters: frozenset[str]
    ) -> None:
        self.node = node
        self.counters = counters
        self.head = head
        self.test = test
        self.body = body
        self.orelse = orelse


class With(Instr):
    """Enter `context`, store what it yields in `dest`, run the body, leave."""

    __slots__ = ("body", "context", "dest")

    def __init__(self, node: cst.CSTNode, context: Operand, dest: Dest, body: Block) -> None:
        self.node = node
        self.context = context
        self.dest = dest
        self.body = body


class Handler:
    """An `except` clause: `types` is evaluated by `head`; None catches all."""

    __slots__ = ("body", "head", "name", "types")

    def __init__(self, head: Block, types: Operand | None, name: str | None, body: Block) -> None:
        self.head = head
        self.types = types
        self.name = name
        self.body = body


class Try(Instr):
    """try body, handlers, else, finally"""

    __slots__ = ("body", "final", "handlers", "orelse")

    def __init__(self, node: cst.CSTNode, body: Block, handlers: list[Handler], orelse: Block, final: Block) -> None:
        self.node = node
        self.body = body
        self.handlers = handlers
        self.orelse = orelse
        self.final = final


class Return(Instr):
    """return value"""

    __slots__ = ("value",)

    def __init__(self, node: cst.CSTNode, value: Operand) -> None:
        self.node = node
        self.value = value


class Yield(Instr):
    """dest = yield value; `star` for `yield from`"""

    __slots__ = ("dest", "star", "value")

    def __init__(self, node: cst.CSTNode, dest: Dest, value: Operand, star: bool) -> None:
        self.node = node
        self.dest = dest
        self.value = value
        self.star = star


class Raise(Instr):
    """raise"""

    __slots__ = ()


class Break(Instr):
    """break"""

    __slots__ = ()


class Continue(Instr):
    """continue"""

    __slots__ = ()


class Discard(Instr):
    """An expression as a statement: nobody takes `value`. `subject` is the object whose attribute is compared."""

    __slots__ = ("subject", "value")

    def __init__(self, node: cst.CSTNode, value: Operand, subject: Operand | None = None) -> None:
        self.node = node
        self.value = value
        self.subject = subject


class Assume(Instr):
    """assert test: behind it, test is true"""

    __slots__ = ("test",)

    def __init__(self, node: cst.CSTNode, test: Operand) -> None:
        self.node = node
        self.test = test
