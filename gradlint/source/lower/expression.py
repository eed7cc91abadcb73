"""Expressions to core: each operation gets an instruction, each call a step of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import libcst as cst

import gradlint.source.core as core
from gradlint.source.core import Block, Constant, Dest, Operand
from gradlint.source.lower.scope import NONE, Scope

Lowering: TypeAlias = "Callable[[Scope, Any, Dest | None], Operand]"


def lower_expression(scope: Scope, node: cst.BaseExpression, dest: Dest | None = None) -> Operand:
    """Emit what computes `node`; its value is the operand returned, which is `dest` if one is given."""
    return LOWERINGS[type(node)](scope, node, dest)


def _name(scope: Scope, node: cst.Name, dest: Dest | None) -> Operand:
    value = node.value
    return scope.copied(node, core.Const(_KEYWORDS[value]) if value in _KEYWORDS else scope.name(value), dest)


_KEYWORDS: dict[str, Constant] = {"None": None, "True": True, "False": False}


def _number(scope: Scope, node: cst.Integer | cst.Float | cst.Imaginary, dest: Dest | None) -> Operand:
    return scope.copied(node, core.Const(_READ[type(node)](node.value)), dest)


_READ: dict[type[cst.CSTNode], Callable[[str], Constant]] = {
    cst.Integer: lambda literal: int(literal, 0),
    cst.Float: float,
    cst.Imaginary: complex,
}
"""What reads a literal; `ast.literal_eval` would start CPython's parser for each."""


def _text(node: cst.BaseString) -> str | bytes | None:
    """Return the text of a literal, or of several side by side, mostly without a parser; None of a formatted one."""
    if isinstance(node, cst.ConcatenatedString):
        left, right = _text(node.left), _text(node.right)
        if isinstance(left, bytes) and isinstance(right, bytes):
            return left + right
        return left + right if isinstance(left, str) and isinstance(right, str) else None
    if not isinstance(node, cst.SimpleString):
        return None
    literal = node.value
    if literal[0] not in "'\"" or "\\" in literal or "\r" in literal:
        return node.evaluated_value
    quotes = 3 if literal.startswith(('"""', "'''")) else 1
    return literal[quotes:-quotes]


def _string(scope: Scope, node: cst.SimpleString | cst.ConcatenatedString, dest: Dest | None) -> Operand:
    value = _text(node)
    if value is not None or isinstance(node, cst.SimpleString):
        return scope.copied(node, core.Const(value), dest)
    parts = [lower_expression(scope, node.left), lower_expression(scope, node.right)]
    return scope.define(core.Format(node, scope.out(dest), parts))


def _formatted(scope: Scope, node: cst.FormattedString, dest: Dest | None) -> Operand:
    parts: list[Operand] = []
    for part in node.parts:
        if isinstance(part, cst.FormattedStringText):
            # Escapes are not read: `...` says that the text is not known.
            parts.append(
                core.Const(... if "\\" in part.value or "{{" in part.value or "}}" in part.value else part.value)
            )
        elif isinstance(part, cst.FormattedStringExpression):
            parts.append(lower_expression(scope, part.expression))
            if part.conversion or part.format_spec or part.equal:
                parts.append(core.Const(...))
    return scope.define(core.Format(node, scope.out(dest), parts))


def _attribute(scope: Scope, node: cst.Attribute, dest: Dest | None) -> Operand:
    obj = lower_expression(scope, node.value)
    return scope.define(core.Attr(node, scope.out(dest), obj, node.attr.value))


def _subscript(scope: Scope, node: cst.Subscript, dest: Dest | None) -> Operand:
    obj = lower_expression(scope, node.value)
    index = lower_index(scope, node)
    return scope.define(core.Item(node, scope.out(dest), obj, index))


def lower_index(scope: Scope, node: cst.Subscript) -> Operand:
    """Return the index of a subscript: one operand, a tuple where there are several elements."""
    elements = [_index_element(scope, element.slice) for element in node.slice]
    last = node.slice[-1]
    if len(elements) == 1 and not elements[0][0] and not isinstance(last.comma, cst.Comma):
        return elements[0][1]
    return scope.define(core.Make(node, scope.temp(), "tuple", elements))


def _index_element(scope: Scope, node: cst.BaseSlice) -> tuple[bool, Operand]:
    if isinstance(node, cst.Index):
        return (node.star is not None, lower_expression(scope, node.value))
    assert isinstance(node, cst.Slice)
    parts = tuple(
        NONE if part is None else lower_expression(scope, part) for part in (node.lower, node.upper, node.step)
    )
    out = scope.temp()
    scope.emit(core.MakeSlice(node, out, (parts[0], parts[1], parts[2])))
    return (False, out)


def _call(scope: Scope, node: cst.Call, dest: Dest | None) -> Operand:
    func = lower_expression(scope, node.func)
    args = [
        core.Arg(lower_expression(scope, arg.value), arg.keyword.value if arg.keyword is not None else None, arg.star)
        for arg in node.args
    ]
    return scope.define(core.Call(node, scope.out(dest), func, args))


BINARY: dict[type[cst.CSTNode], str] = {
    cst.Add: "+",
    cst.Subtract: "-",
    cst.Multiply: "*",
    cst.Divide: "/",
    cst.FloorDivide: "//",
    cst.Modulo: "%",
    cst.Power: "**",
    cst.MatrixMultiply: "@",
    cst.BitAnd: "&",
    cst.BitOr: "|",
    cst.BitXor: "^",
    cst.LeftShift: "<<",
    cst.RightShift: ">>",
}


def _binary(scope: Scope, node: cst.BinaryOperation, dest: Dest | None) -> Operand:
    left = lower_expression(scope, node.left)
    right = lower_expression(scope, node.right)
    return scope.define(core.Binary(node, scope.out(dest), BINARY[type(node.operator)], left, right))


UNARY: dict[type[cst.CSTNode], str] = {cst.Minus: "-", cst.Plus: "+", cst.BitInvert: "~", cst.Not: "not"}


def _unary(scope: Scope, node: cst.UnaryOperation, dest: Dest | None) -> Operand:
    operand = lower_expression(scope, node.expression)
    op = UNARY[type(node.operator)]
    if op == "-" and isinstance(operand, core.Const) and isinstance(operand.value, (int, float)):
        return scope.copied(node, core.Const(-operand.value), dest)
    return scope.define(core.Unary(node, scope.out(dest), op, operand))


def nested(scope: Scope, lower: Callable[[], None]) -> Block:
    """Return the block that `lower` emits, instead of adding it to the open one."""
    outer, scope.block = scope.block, []
    lower()
    inner, scope.block = scope.block, outer
    return inner


def _boolean(scope: Scope, node: cst.BooleanOperation, dest: Dest | None) -> Operand:
    # The result is a fresh temporary even where a variable is asked for: the variable may be read on the right.
    out = scope.temp()
    lower_expression(scope, node.left, out)
    right = nested(scope, lambda: void(lower_expression(scope, node.right, out)))
    if isinstance(node.operator, cst.And):
        scope.emit(core.If(node, out, right, [], out))
    else:
        scope.emit(core.If(node, out, [], right, out))
    return scope.copied(node, out, dest)


def void(_: object) -> None:
    """Drop a value, so that a lambda can be a procedure."""


COMPARISON: dict[type[cst.CSTNode], str] = {
    cst.Equal: "==",
    cst.NotEqual: "!=",
    cst.LessThan: "<",
    cst.LessThanEqual: "<=",
    cst.GreaterThan: ">",
    cst.GreaterThanEqual: ">=",
    cst.In: "in",
    cst.NotIn: "not in",
    cst.Is: "is",
    cst.IsNot: "is not",
}


def _comparison(scope: Scope, node: cst.Comparison, dest: Dest | None) -> Operand:
    out = scope.out(dest)
    left = lower_expression(scope, node.left)
    _comparisons(scope, node, left, node.comparisons, out)
    return out


def _comparisons(
    scope: Scope, node: cst.Comparison, left: Operand, targets: Sequence[cst.ComparisonTarget], out: Dest
) -> None:
    """`a < b < c` is `a < b and b < c`, with b computed once."""
    target, rest = targets[0], targets[1:]
    right = lower_expression(scope, target.comparator)
    scope.emit(core.Compare(node, out, COMPARISON[type(target.operator)], left, right))
    if rest:
        scope.emit(core.If(node, out, nested(scope, lambda: _comparisons(scope, node, right, rest, out)), [], out))


def _conditional(scope: Scope, node: cst.IfExp, dest: Dest | None) -> Operand:
    test = lower_expression(scope, node.test)
    out = scope.temp()
    then = nested(scope, lambda: void(lower_expression(scope, node.body, out)))
    orelse = nested(scope, lambda: void(lower_expression(scope, node.orelse, out)))
    scope.emit(core.If(node, test, then, orelse, out))
    return scope.copied(node, out, dest)


def _sequence(scope: Scope, node: cst.Tuple | cst.List | cst.Set, dest: Dest | None) -> Operand:
    kind = {cst.Tuple: "tuple", cst.List: "list", cst.Set: "set"}[type(node)]
    items = [(isinstance(one, cst.StarredElement), lower_expression(scope, one.value)) for one in node.elements]
    return scope.define(core.Make(node, scope.out(dest), kind, items))


def _starred(scope: Scope, node: cst.StarredElement, dest: Dest | None) -> Operand:
    """Lower a star where Python allows none, as in `x = *y`: libcst parses it, and nothing is known of its value."""
    lower_expression(scope, node.value)
    return scope.copied(node, core.Const(...), dest)


def _dict(scope: Scope, node: cst.Dict, dest: Dest | None) -> Operand:
    pairs: list[tuple[Operand | None, Operand]] = []
    for element in node.elements:
        if isinstance(element, cst.DictElement):
            key = lower_expression(scope, element.key)
            pairs.append((key, lower_expression(scope, element.value)))
        else:
            assert isinstance(element, cst.StarredDictElement)
            pairs.append((None, lower_expression(scope, element.value)))
    return scope.define(core.MakeDict(node, scope.out(dest), pairs))


def _yield(scope: Scope, node: cst.Yield, dest: Dest | None) -> Operand:
    star = isinstance(node.value, cst.From)
    inner = node.value.item if isinstance(node.value, cst.From) else node.value
    value = NONE if inner is None else lower_expression(scope, inner)
    scope.code.is_generator = True
    return scope.define(core.Yield(node, scope.out(dest), value, star))


LOWERINGS: dict[type[cst.CSTNode], Lowering] = {
    cst.Name: _name,
    **dict.fromkeys((cst.Integer, cst.Float, cst.Imaginary), _number),
    **dict.fromkeys((cst.SimpleString, cst.ConcatenatedString), _string),
    cst.FormattedString: _formatted,
    cst.Ellipsis: lambda scope, node, dest: scope.copied(node, core.Const(...), dest),
    cst.Attribute: _attribute,
    cst.Subscript: _subscript,
    cst.Call: _call,
    cst.BinaryOperation: _binary,
    cst.UnaryOperation: _unary,
    cst.BooleanOperation: _boolean,
    cst.Comparison: _comparison,
    cst.IfExp: _conditional,
    **dict.fromkeys((cst.Tuple, cst.List, cst.Set), _sequence),
    cst.StarredElement: _starred,
    cst.Dict: _dict,
    cst.Await: lambda scope, node, dest: lower_expression(scope, node.expression, dest),
    cst.Yield: _yield,
}
"""How each expression is lowered; those that need statements of their own are added by the files that lower them."""
