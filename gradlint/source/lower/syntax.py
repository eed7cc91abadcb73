"""Walking over syntax, fast: libcst's own visitors stop at every blank and comma."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import fields
from functools import lru_cache
from operator import attrgetter
from typing import Any

import libcst as cst

from gradlint.source.core import Code

_TRIVIA = re.compile(
    r"whitespace|[lr]par|[lr]bracket|[lr]brace|comma|semicolon|colon|dot|equal|leading_|lines_after|trailing_"
    r"|header|footer|indent|first_line|last_line|asynchronous"
)
_NO_NODES = (str, bool, type(None), cst.MaybeSentinel)


def parts(node: cst.CSTNode) -> Sequence[cst.CSTNode]:
    """Return the nodes directly below one, in the order of their fields, without blanks, comments, and punctuation."""
    values = _FIELDS[type(node)]
    if values is None:
        return ()
    found: list[cst.CSTNode] = []
    for value in values(node):
        kind = type(value)
        if kind is tuple or kind is list:
            found += value
        elif kind not in _NO_NODES:
            found.append(value)
    return found


_Values = Callable[[cst.CSTNode], tuple[Any, ...]]


class _Fields(dict[type[cst.CSTNode], "_Values | None"]):
    """What returns the values of the fields in which nodes may stand, for each kind of node; None if it has none."""

    def __missing__(self, kind: type[cst.CSTNode]) -> _Values | None:
        """Look at a kind for the first time."""
        named = [
            field.name for field in fields(kind) if field.type not in ("str", str) and not _TRIVIA.match(field.name)
        ]
        self[kind] = found = _values_of(named) if named else None
        return found


def _values_of(names: Sequence[str]) -> _Values:
    """Return what gives the values of fields; `attrgetter` gives that of a single one as it is."""
    values = attrgetter(*names)
    return values if len(names) > 1 else lambda node: (values(node),)


_FIELDS = _Fields()


def nodes_of(*starts: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """Yield pieces of code and all nodes below them, without blanks, comments, and punctuation; the last first."""
    stack = [*starts]
    while stack:
        node = stack.pop()
        yield node
        stack += parts(node)


BLOCKS = frozenset(
    {
        *(cst.If, cst.Else, cst.For, cst.While, cst.With, cst.Try, cst.TryStar, cst.Finally, cst.ExceptHandler),
        *(cst.ExceptStarHandler, cst.FunctionDef, cst.ClassDef, cst.Match, cst.MatchCase, cst.IndentedBlock),
    }
)
"""The statements that hold statements, and what holds these in them."""
_LINES = frozenset({cst.SimpleStatementLine, cst.SimpleStatementSuite})


def lines_of(*starts: cst.CSTNode) -> Iterator[cst.BaseSmallStatement]:
    """Yield the small statements anywhere in blocks, without a look into them; in no order."""
    blocks = [*starts]
    while blocks:
        for part in parts(blocks.pop()):
            if type(part) in _LINES:
                yield from part.body  # type: ignore[attr-defined]
            elif type(part) in BLOCKS:
                blocks.append(part)


_EMPTY = cst.Module([])


def code_of(node: cst.CSTNode) -> str:
    """Return the source of a node, with its parentheses, as libcst writes it outside of any block."""
    return _EMPTY.code_for_node(node)


def called_name(node: cst.CSTNode | None) -> str:
    """Return the last name of what a call calls, as `c` in `a.b.c(...)`; empty for anything else."""
    if type(node) is not cst.Call:  # Of libcst's classes, which are abstract, `isinstance` asks in Python.
        return ""
    name: cst.CSTNode = node.func
    if type(name) is cst.Attribute:
        name = name.attr
    return name.value if type(name) is cst.Name else ""


def root_of(node: cst.CSTNode) -> str:
    """Return the name that a chain of attributes begins with, as `a` in `a.b.c`; empty for anything else."""
    while isinstance(node, cst.Attribute):
        node = node.value
    return node.value if isinstance(node, cst.Name) else ""


_OTHER_BINDINGS = frozenset(
    {
        *(cst.FunctionDef, cst.ClassDef, cst.Lambda, cst.ImportAlias, cst.AsName, cst.NamedExpr, cst.AnnAssign),
        *(cst.Global, cst.Nonlocal, cst.Del, cst.MatchAs, cst.MatchStar, cst.MatchMapping, cst.Param),
    }
)


def attributes_in(code: Code) -> frozenset[str]:
    """Return the names of all attributes in a function."""
    if code.attributes is None:
        code.attributes = frozenset(part.attr.value for part in nodes_of(code.node) if type(part) is cst.Attribute)
    return code.attributes


def asks_itself(code: Code, names: Set[str]) -> bool:
    """Return whether a method names an attribute of its own object that is one of these."""
    if names.isdisjoint(attributes_in(code)):
        return False
    attributes = (part for part in nodes_of(code.node) if type(part) is cst.Attribute and part.attr.value in names)
    return any(type(one.value) is cst.Name and one.value.value == "self" for one in attributes)


def assigned_only(code: Code) -> frozenset[str]:
    """Return the local variables of a function that nothing but assignments and `for` loops bind."""
    if code.assigned is None:
        code.assigned = assigned_in(code.node)
    return code.assigned


@lru_cache(maxsize=64)
def assigned_in(function: cst.CSTNode) -> frozenset[str]:
    """Return the variables that in a part of a program nothing but assignments and `for` loops bind."""
    plain: set[str] = set()
    others: set[str] = set()
    stack: list[tuple[cst.CSTNode, set[str] | None]] = [(part, None) for part in parts(function)]
    while stack:
        node, names = stack.pop()
        kind = type(node)
        if kind is cst.Name:
            if names is not None:
                names.add(node.value)  # type: ignore[attr-defined]
        elif type(node) is cst.Assign:
            stack += [(target.target, plain) for target in node.targets]
            stack.append((node.value, names))
        elif kind is cst.AugAssign or kind is cst.For:
            stack.append((node.target, plain))  # type: ignore[attr-defined]
            stack += [(part, names) for part in parts(node) if part is not node.target]  # type: ignore[attr-defined]
        elif kind is cst.CompFor:
            stack.append((node.target, others))  # type: ignore[attr-defined]
            stack += [(part, names) for part in parts(node) if part is not node.target]  # type: ignore[attr-defined]
        elif kind in (cst.FunctionDef, cst.ClassDef) and type(function) is cst.Module:
            # Names of its own, but for those that it says are the module's.
            others.add(node.name.value)  # type: ignore[attr-defined]
            stack += [(one, others) for one in nodes_of(node) if type(one) is cst.Global]
        elif names is plain and kind in (cst.Attribute, cst.Subscript, cst.Call):
            stack += [(part, None) for part in parts(node)]  # `self.loss = ...` binds no variable.
        else:
            inside = others if kind in _OTHER_BINDINGS else names
            stack += [(part, inside) for part in parts(node)]
    return frozenset(plain - others)
