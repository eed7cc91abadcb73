"""Statements to core."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import libcst as cst

import gradlint.source.core as core
from gradlint.source.core import Block, Call, Compare, Const, Copy, Dest, If, Operand, Unpack
from gradlint.source.lower.comprehension import lower_kept
from gradlint.source.lower.expression import BINARY, lower_expression, lower_index, nested
from gradlint.source.lower.function import lower_class, lower_function
from gradlint.source.lower.scope import NONE, Scope
from gradlint.source.lower.syntax import root_of
from gradlint.source.lower.target import assign, delete, lost_bindings, simple_dest


def lower_statements(scope: Scope, body: Sequence[cst.CSTNode]) -> None:
    """Emit a body, statement by statement."""
    taken = scope.taken
    for statement in body:
        if type(statement) is cst.SimpleStatementLine:
            for small in statement.body:
                _LOWER[type(small)](scope, small)
                scope.taken = taken
        else:
            _LOWER[type(statement)](scope, statement)
            scope.taken = taken


def lower_suite(scope: Scope, suite: cst.BaseSuite) -> Block:
    """Return the block of an indented or one-line suite."""
    if type(suite) is cst.SimpleStatementSuite:
        line = cst.SimpleStatementLine(suite.body)
        return nested(scope, lambda: lower_statements(scope, [line]))
    return nested(scope, lambda: lower_statements(scope, suite.body))


def _expr(scope: Scope, node: cst.Expr) -> None:
    expression = node.value
    if isinstance(expression, (cst.SimpleString, cst.Ellipsis, cst.ConcatenatedString)):
        return
    value = lower_expression(scope, expression)
    if isinstance(expression, cst.Attribute) or _of_namespace_or_object(expression):
        scope.emit(core.Discard(expression, value))
    elif isinstance(expression, cst.Comparison) and isinstance(expression.left, cst.Attribute):
        owner = expression.left.value
        if root_of(owner):  # A path, which may be read twice.
            scope.emit(core.Discard(expression, value, lower_expression(scope, owner)))


def _of_namespace_or_object(node: cst.CSTNode) -> bool:
    return isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute)


def _assign(scope: Scope, node: cst.Assign) -> None:
    if len(node.targets) == 1:
        dest = simple_dest(scope, node.targets[0].target)
        if dest is not None and node in scope.lost:
            value = lower_expression(scope, node.value)
            scope.emit(core.Rebind(node, scope.name(scope.lost[node]), value))
            scope.emit(core.Copy(node, dest, value))
            return
        if dest is not None:
            _kept(scope, node.value, dest)
            return
    value = _kept(scope, node.value)
    for target in node.targets:
        assign(scope, node, target.target, value)


def _kept(scope: Scope, node: cst.BaseExpression, dest: Dest | None = None) -> Operand:
    """Return a value that goes into a variable, an attribute, or back to a caller: a generator stays one."""
    return lower_kept(scope, node, dest) if type(node) is cst.GeneratorExp else lower_expression(scope, node, dest)


def _annotated(scope: Scope, node: cst.AnnAssign) -> None:
    if node.value is not None:
        assign(scope, node, node.target, _kept(scope, node.value))


def _augmented(scope: Scope, node: cst.AugAssign) -> None:
    op = _AUGMENTED[type(node.operator)]
    target = node.target
    if isinstance(node.operator, cst.AddAssign) and isinstance(target, (cst.Name, cst.Attribute)):
        scope.counters.append(target.value if isinstance(target, cst.Name) else f".{target.attr.value}")
    if isinstance(target, cst.Attribute):
        obj = lower_expression(scope, target.value)
        old, new = scope.temp(), scope.temp()
        scope.emit(core.Attr(target, old, obj, target.attr.value))
        scope.emit(core.Binary(node, new, op, old, lower_expression(scope, node.value), inplace=True))
        scope.emit(core.SetAttr(node, obj, target.attr.value, new))
    elif isinstance(target, cst.Subscript):
        obj = lower_expression(scope, target.value)
        index = lower_index(scope, target)
        old, new = scope.temp(), scope.temp()
        scope.emit(core.Item(target, old, obj, index))
        scope.emit(core.Binary(node, new, op, old, lower_expression(scope, node.value), inplace=True))
        scope.emit(core.SetItem(node, obj, index, new))
    else:
        old_name = lower_expression(scope, target)
        right = lower_expression(scope, node.value)
        dest = simple_dest(scope, target)
        out = scope.out(dest)
        scope.emit(core.Binary(node, out, op, old_name, right, inplace=True))
        if dest is None:
            assign(scope, node, target, out)


_AUGMENTED = {getattr(cst, f"{kind.__name__}Assign"): op for kind, op in BINARY.items()}


def _raise(scope: Scope, node: cst.Raise) -> None:
    if node.exc is not None:
        lower_expression(scope, node.exc)
    scope.emit(core.Raise(node))


def dotted(node: cst.CSTNode | None) -> str:
    """`a.b.c` as text."""
    if node is None:
        return ""
    if isinstance(node, cst.Attribute):
        return f"{dotted(node.value)}.{node.attr.value}"
    assert isinstance(node, cst.Name)
    return node.value


def _import(scope: Scope, node: cst.Import) -> None:
    for alias in node.names:
        path = dotted(alias.name)
        if alias.asname is not None:
            scope.emit(core.Import(node, dotted(alias.asname.name), path, None))
        else:
            # `import a.b` binds a.
            scope.emit(core.Import(node, path.partition(".")[0], path.partition(".")[0], None))


def _import_from(scope: Scope, node: cst.ImportFrom) -> None:
    path, level = dotted(node.module), len(node.relative)
    if isinstance(node.names, cst.ImportStar):
        scope.emit(core.Import(node, "*", path, "*", level))
        return
    for alias in node.names:
        name = dotted(alias.name)
        dest = dotted(alias.asname.name) if alias.asname is not None else name
        scope.emit(core.Import(node, dest, path, name, level))


def _if(scope: Scope, node: cst.If) -> None:
    if node.orelse is None and _raises(node.body):
        _all(scope, node, _conjuncts(node.test))
        return
    test = lower_expression(scope, node.test)
    then = lower_suite(scope, node.body)
    orelse: Block = []
    if isinstance(node.orelse, cst.If):
        inner = node.orelse
        orelse = nested(scope, lambda: _if(scope, inner))
    elif node.orelse is not None:
        orelse = lower_suite(scope, node.orelse.body)
    scope.emit(core.If(node, test, then, orelse))


def _all(scope: Scope, node: cst.If, tests: list[cst.BaseExpression]) -> None:
    """Lower `if a and b: raise` as one test in the other: what comes out of each is known after them."""
    first, *rest = tests
    value = lower_expression(scope, first)
    then = nested(scope, lambda: _all(scope, node, rest)) if rest else lower_suite(scope, node.body)
    scope.emit(core.If(node, value, then, []))


def _raises(body: cst.BaseSuite) -> bool:
    last = body.body[-1] if body.body else None
    small = last.body[-1] if isinstance(last, cst.SimpleStatementLine) and last.body else last
    return isinstance(small, cst.Raise)


def _conjuncts(test: cst.BaseExpression) -> list[cst.BaseExpression]:
    if isinstance(test, cst.BooleanOperation) and isinstance(test.operator, cst.And):
        return [*_conjuncts(test.left), *_conjuncts(test.right)]
    return [test]


def _orelse(scope: Scope, node: cst.Else | None) -> Block:
    return [] if node is None else lower_suite(scope, node.body)


def _while(scope: Scope, node: cst.While) -> None:
    test: list[Operand] = []
    head = nested(scope, lambda: test.append(lower_expression(scope, node.test)))
    body, counters = _body(scope, node)
    scope.emit(core.While(node, head, test[0], body, _orelse(scope, node.orelse), counters))


def _for(scope: Scope, node: cst.For) -> None:
    iterable = lower_expression(scope, node.iter)
    item = scope.temp()
    scope.lost.update(lost_bindings(node))
    bind = nested(scope, lambda: assign(scope, node, node.target, item))
    body, counters = _body(scope, node)
    scope.emit(core.For(node, iterable, item, bind + body, _orelse(scope, node.orelse), counters))


def _body(scope: Scope, node: cst.For | cst.While) -> tuple[Block, frozenset[str]]:
    """Return the body of a loop, and what it adds to."""
    first = len(scope.counters)
    return lower_suite(scope, node.body), frozenset(scope.counters[first:])


def _with_item(scope: Scope, node: cst.With, items: Sequence[cst.WithItem]) -> None:
    """`with a, b:` is `with a:` around `with b:`."""
    item, rest = items[0], items[1:]
    context = lower_expression(scope, item.item)
    dest = scope.temp()
    asname = item.asname

    def bind() -> None:
        if asname is not None:
            assign(scope, item, asname.name, dest)

    body = nested(scope, bind)
    body += nested(scope, lambda: _with_item(scope, node, rest)) if rest else lower_suite(scope, node.body)
    scope.emit(core.With(item, context, dest, body))


def _try(scope: Scope, node: cst.Try | cst.TryStar) -> None:
    body = lower_suite(scope, node.body)
    handlers = [_handler(scope, handler) for handler in node.handlers]
    final = [] if node.finalbody is None else lower_suite(scope, node.finalbody.body)
    scope.emit(core.Try(node, body, handlers, _orelse(scope, node.orelse), final))


def _handler(scope: Scope, node: cst.ExceptHandler | cst.ExceptStarHandler) -> core.Handler:
    types: list[Operand] = []
    syntax = node.type
    head = [] if syntax is None else nested(scope, lambda: types.append(lower_expression(scope, syntax)))
    name = dotted(node.name.name) if node.name is not None else None
    return core.Handler(head, types[0] if types else None, name, lower_suite(scope, node.body))


def _match(scope: Scope, node: cst.Match) -> None:
    """match subject: each case is `if pattern fits: body else: next case`."""
    subject = lower_expression(scope, node.subject)
    _cases(scope, node, subject, list(node.cases))


def _cases(scope: Scope, node: cst.Match, subject: Operand, cases: list[cst.MatchCase]) -> None:
    if not cases:
        return
    case, rest = cases[0], cases[1:]
    test = _fits(scope, case, case.pattern, subject)
    guard = case.guard

    def taken() -> None:
        _bind(scope, case.pattern, subject)
        if guard is None:
            scope.block.extend(lower_suite(scope, case.body))
            return
        holds = lower_expression(scope, guard)
        orelse = nested(scope, lambda: _cases(scope, node, subject, rest))
        scope.emit(If(case, holds, lower_suite(scope, case.body), orelse))

    then = nested(scope, taken)
    scope.emit(If(case, test, then, nested(scope, lambda: _cases(scope, node, subject, rest))))


def _fits(scope: Scope, case: cst.MatchCase, pattern: cst.MatchPattern, subject: Operand) -> Operand:
    """Return a test that says whether the pattern fits; unknown where it looks inside the subject."""
    out = scope.temp()
    if isinstance(pattern, cst.MatchValue):
        scope.emit(Compare(case, out, "==", subject, lower_expression(scope, pattern.value)))
    elif isinstance(pattern, cst.MatchSingleton):
        scope.emit(Compare(case, out, "is", subject, lower_expression(scope, pattern.value)))
    elif isinstance(pattern, cst.MatchAs) and pattern.pattern is None:
        scope.emit(Copy(case, out, Const(True)))
    elif isinstance(pattern, cst.MatchAs) and pattern.pattern is not None:
        return _fits(scope, case, pattern.pattern, subject)
    elif isinstance(pattern, cst.MatchOr):
        return _either(scope, case, pattern, subject)
    else:
        scope.emit(Call(case, out, Const(None), []))
    return out


def _either(scope: Scope, case: cst.MatchCase, pattern: cst.MatchOr, subject: Operand) -> Operand:
    def join(left: Operand, element: cst.MatchOrElement) -> Operand:
        out = scope.temp()
        scope.emit(Copy(case, out, left))
        right = nested(scope, lambda: scope.emit(Copy(case, out, _fits(scope, case, element.pattern, subject))))
        scope.emit(If(case, out, [], right, out))
        return out

    first = _fits(scope, case, pattern.patterns[0].pattern, subject)
    return reduce(join, pattern.patterns[1:], first)


def _bind(scope: Scope, pattern: cst.MatchPattern, subject: Operand) -> None:
    """Bind captures: names for the whole subject, and for the items of a plain sequence pattern."""
    if isinstance(pattern, cst.MatchAs):
        if pattern.pattern is not None:
            _bind(scope, pattern.pattern, subject)
        if pattern.name is not None:
            scope.emit(Copy(pattern, scope.name(pattern.name.value), subject))
    elif isinstance(pattern, (cst.MatchList, cst.MatchTuple)):
        dests = [scope.temp() for _ in pattern.patterns]
        stars = [i for i, item in enumerate(pattern.patterns) if isinstance(item, cst.MatchStar)]
        scope.emit(Unpack(pattern, list(dests), stars[0] if stars else -1, subject))
        for dest, item in zip(dests, pattern.patterns, strict=True):
            if isinstance(item, cst.MatchSequenceElement):
                _bind(scope, item.value, dest)
            elif isinstance(item, cst.MatchStar) and item.name is not None:
                scope.emit(Copy(item, item.name.value, dest))


_LOWER: dict[type[cst.CSTNode], Callable[[Scope, Any], None]] = {
    cst.Expr: _expr,
    cst.Assign: _assign,
    cst.AnnAssign: _annotated,
    cst.AugAssign: _augmented,
    cst.Return: lambda scope, node: scope.emit(
        core.Return(node, NONE if node.value is None else _kept(scope, node.value))
    ),
    cst.Raise: _raise,
    cst.Assert: lambda scope, node: scope.emit(core.Assume(node, lower_expression(scope, node.test))),
    cst.Del: lambda scope, node: delete(scope, node, node.target),
    cst.Global: lambda scope, node: scope.outer.update((item.name.value, True) for item in node.names),
    cst.Nonlocal: lambda scope, node: scope.outer.update((item.name.value, False) for item in node.names),
    **dict.fromkeys((cst.Pass, cst.TypeAlias), lambda scope, node: None),
    cst.Break: lambda scope, node: scope.emit(core.Break(node)),
    cst.Continue: lambda scope, node: scope.emit(core.Continue(node)),
    cst.Import: _import,
    cst.ImportFrom: _import_from,
    cst.FunctionDef: lower_function,
    cst.ClassDef: lower_class,
    cst.If: _if,
    cst.While: _while,
    cst.For: _for,
    cst.With: lambda scope, node: _with_item(scope, node, node.items),
    cst.Try: _try,
    cst.TryStar: _try,
    cst.Match: _match,
}
