"""Functions, classes and their parameters."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import libcst as cst

from gradlint.source.core import Arg, Call, Code, Dest, Instr, MakeClass, MakeFunction, Operand, Param
from gradlint.source.lower.expression import LOWERINGS, lower_expression
from gradlint.source.lower.scope import Scope
from gradlint.source.lower.target import assign, simple_dest


def lower_function(scope: Scope, node: cst.FunctionDef) -> None:
    """def: the function is made, passed through its decorators, and bound to its name."""
    decorators = [lower_expression(scope, decorator.decorator) for decorator in node.decorators]
    params, defaults = lower_parameters(scope, node.params)
    code = Code(node.name.value, node, params, scope.renames, is_abstract=_is_abstract(node), is_empty=_is_empty(node))
    code.is_async = node.asynchronous is not None
    _bind(scope, node, decorators, lambda dest: MakeFunction(node, dest, code, defaults))


def lower_class(scope: Scope, node: cst.ClassDef) -> None:
    """class: its body runs in a scope of its own, then the class is bound to its name."""
    decorators = [lower_expression(scope, decorator.decorator) for decorator in node.decorators]
    bases = [lower_expression(scope, base.value) for base in node.bases if not base.star]
    code = Code(node.name.value, node, [], scope.renames)
    _bind(scope, node, decorators, lambda dest: MakeClass(node, dest, code, bases))


def _bind(
    scope: Scope, node: cst.FunctionDef | cst.ClassDef, decorators: list[Operand], make: Callable[[Dest], Instr]
) -> None:
    dest = simple_dest(scope, node.name) if not decorators else None
    if dest is not None:
        scope.emit(make(dest))
        return
    value = scope.temp()
    scope.emit(make(value))
    for decorator, syntax in zip(reversed(decorators), reversed(node.decorators), strict=True):
        decorated = scope.temp()
        scope.emit(Call(syntax, decorated, decorator, [Arg(value)]))
        value = decorated
    assign(scope, node, node.name, value)


def lower_parameters(scope: Scope, node: cst.Parameters) -> tuple[list[Param], dict[str, Operand]]:
    """Return the parameters in order, and the operands of their defaults, which are evaluated here and now."""
    params: list[Param] = []
    defaults: dict[str, Operand] = {}

    def add(group: Sequence[cst.Param], keyword_only: bool) -> None:
        for param in group:
            _add(scope, params, defaults, param, "", keyword_only)

    add(node.posonly_params, False)
    add(node.params, False)
    if isinstance(node.star_arg, cst.Param):
        _add(scope, params, defaults, node.star_arg, "*", False)
    add(node.kwonly_params, True)
    if node.star_kwarg is not None:
        _add(scope, params, defaults, node.star_kwarg, "**", False)
    return params, defaults


def _add(
    scope: Scope, params: list[Param], defaults: dict[str, Operand], param: cst.Param, kind: str, keyword_only: bool
) -> None:
    name = param.name.value
    annotation = param.annotation.annotation if param.annotation is not None else None
    if param.default is not None:
        defaults[name] = lower_expression(scope, param.default)
    params.append(Param(name, kind, keyword_only, param.default is not None, annotation, param))


def _lambda(scope: Scope, node: cst.Lambda, dest: Dest | None) -> Operand:
    params, defaults = lower_parameters(scope, node.params)
    inner = {old: new for old, new in scope.renames.items() if all(old != param.name for param in params)}
    return scope.define(MakeFunction(node, scope.out(dest), Code("<lambda>", node, params, inner), defaults))


LOWERINGS[cst.Lambda] = _lambda


def _is_abstract(node: cst.FunctionDef) -> bool:
    """Return whether a function is marked as abstract, or does nothing but say that it is not implemented."""
    if any(_last_name(one.decorator) == "abstractmethod" for one in node.decorators):
        return True
    body = node.body.body
    last = body[-1] if body else None
    if len(body) > 2 or (len(body) == 2 and not _is_text(body[0])):
        return False
    match last:
        case cst.SimpleStatementLine(body=[cst.Raise(exc=cst.BaseExpression() as raised)]):
            return _last_name(raised.func if isinstance(raised, cst.Call) else raised) == "NotImplementedError"
        case cst.SimpleStatementLine(body=[cst.Expr(value=cst.Ellipsis())]):
            return True
    return False


def _is_empty(node: cst.FunctionDef) -> bool:
    """Return whether a function does nothing but `pass`."""
    body = node.body.body
    return len(body) <= 2 and all(
        _is_text(one) or isinstance(one, cst.Pass) or (isinstance(one, cst.SimpleStatementLine) and _passes(one))
        for one in body
    )


def _passes(line: cst.SimpleStatementLine) -> bool:
    return all(isinstance(one, cst.Pass) for one in line.body)


def _is_text(statement: cst.CSTNode) -> bool:
    line = statement.body if isinstance(statement, cst.SimpleStatementLine) else ()
    return len(line) == 1 and isinstance(line[0], cst.Expr) and isinstance(line[0].value, _TEXTS)


_TEXTS = (cst.SimpleString, cst.ConcatenatedString, cst.Ellipsis)


def _last_name(node: cst.CSTNode) -> str:
    name = node.attr if isinstance(node, cst.Attribute) else node
    return name.value if isinstance(name, cst.Name) else ""
