"""match: a chain of tests; a pattern's captures are bound to parts of the subject where these are plain."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

import libcst as cst

from gradlint.source.core import Block, Call, Compare, Const, Copy, If, Operand, Unpack
from gradlint.source.lower.expression import lower_expression, nested
from gradlint.source.lower.scope import Scope

Suite = Callable[[Scope, cst.BaseSuite], Block]


def lower_match(scope: Scope, node: cst.Match, suite: Suite) -> None:
    """match subject: each case is `if pattern fits: body else: next case`."""
    subject = lower_expression(scope, node.subject)
    _cases(scope, node, subject, list(node.cases), suite)


def _cases(scope: Scope, node: cst.Match, subject: Operand, cases: list[cst.MatchCase], suite: Suite) -> None:
    if not cases:
        return
    case, rest = cases[0], cases[1:]
    test = _fits(scope, case, case.pattern, subject)
    guard = case.guard

    def taken() -> None:
        _bind(scope, case.pattern, subject)
        if guard is None:
            scope.block.extend(suite(scope, case.body))
            return
        holds = lower_expression(scope, guard)
        orelse = nested(scope, lambda: _cases(scope, node, subject, rest, suite))
        scope.emit(If(case, holds, suite(scope, case.body), orelse))

    then = nested(scope, taken)
    scope.emit(If(case, test, then, nested(scope, lambda: _cases(scope, node, subject, rest, suite))))


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
            scope.emit(Copy(pattern, scope.renames.get(pattern.name.value, pattern.name.value), subject))
    elif isinstance(pattern, (cst.MatchList, cst.MatchTuple)):
        dests = [scope.temp() for _ in pattern.patterns]
        stars = [i for i, item in enumerate(pattern.patterns) if isinstance(item, cst.MatchStar)]
        scope.emit(Unpack(pattern, list(dests), stars[0] if stars else -1, subject))
        for dest, item in zip(dests, pattern.patterns, strict=True):
            if isinstance(item, cst.MatchSequenceElement):
                _bind(scope, item.value, dest)
            elif isinstance(item, cst.MatchStar) and item.name is not None:
                scope.emit(Copy(item, item.name.value, dest))
