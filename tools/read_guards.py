"""Read the tests before each `raise` of a function: as expressions of its parameters."""

from __future__ import annotations

import ast
import copy
import inspect
import textwrap
from collections.abc import Iterable
from typing import Any, Literal, NamedTuple

import torch

DEEPEST = 4


class Found(NamedTuple):
    """A test as an expression over the parameters, and the statement that raises after it."""

    test: ast.expr
    error: str
    message: ast.expr
    file: str
    lines: range


End = Literal["raise", "return"] | None
"""How a block ends, if it does not lead on: all its ways raise, or some return."""


Env = dict[str, ast.expr | None]
"""What a variable or an attribute of `self` holds, as an expression over the parameters; None where that is open."""


class Reader:
    """Reads one function, statement by statement."""

    def __init__(self, function: Any, owner: type | None, depth: int = 0) -> None:
        self.function = function
        self.owner = owner
        self.depth = depth
        self.found: list[Found] = []

    def read(self, env: Env, path: list[ast.expr]) -> bool:
        """Collect the guards; False where the source is not there."""
        try:
            lines, self.first = inspect.getsourcelines(self.function)
        except (OSError, TypeError):
            return False
        self.file = inspect.getsourcefile(self.function) or ""
        tree = ast.parse(textwrap.dedent("".join(lines))).body[0]
        if not isinstance(tree, ast.FunctionDef):
            return False
        self.block(tree.body, env, path)
        return True

    def block(self, body: Iterable[ast.stmt], env: Env, path: list[ast.expr]) -> End:
        """Read statements under the tests of a path, which grows."""
        return next((end for one in body if (end := self.statement(one, env, path)) is not None), None)

    def statement(self, one: ast.stmt, env: Env, path: list[ast.expr]) -> End:
        match one:
            case ast.Raise():
                self.keep(path, one.exc, one, env)
                return "raise"
            case ast.Return():
                self.inline_all(one.value, env, path)
                return "return"
            case ast.Assert():
                self.keep([*path, negated(put(one.test, env))], one.msg, one, env, "AssertionError")
            case ast.If():
                return self.branch(one, env, path)
            case ast.Assign(targets=[target]) if (name := name_of(target)) is not None:
                self.inline_all(one.value, env, path)
                env[name] = put(one.value, env) if is_plain(one.value) else None
            case ast.AnnAssign(value=ast.expr()) if (name := name_of(one.target)) is not None and one.value is not None:
                env[name] = put(one.value, env) if is_plain(one.value) else None
            case ast.FunctionDef():
                env[one.name] = None
            case ast.Expr():
                self.inline_all(one.value, env, path)
            case _:
                if isinstance(one, ast.Assign):
                    self.inline_all(one.value, env, path)
                forget(one, env)
                return "return" if any(isinstance(node, ast.Return) for node in ast.walk(one)) else None
        return None

    def branch(self, one: ast.If, env: Env, path: list[ast.expr]) -> End:
        if "has_torch_function" in ast.unparse(one.test) or "is_scripting" in ast.unparse(one.test):
            return self.block(one.orelse, env, path)
        test = put(one.test, env)
        then, other = dict(env), dict(env)
        then_path, other_path = [*path, test], [*path, negated(test)]
        ends = self.block(one.body, then, then_path), self.block(one.orelse, other, other_path)
        if all(ends):
            return "return" if "return" in ends else "raise"
        if any(ends):
            env.update(other if ends[0] else then)
            if "return" in ends:  # Where the other side raises, what comes later is refused in any case.
                path[:] = other_path if ends[0] else then_path
            return None
        for name in then.keys() | other.keys():
            mine, theirs = then.get(name, ast.Name(name)), other.get(name, ast.Name(name))
            same = mine is not None and theirs is not None and ast.dump(mine) == ast.dump(theirs)
            both = mine is not None and theirs is not None
            env[name] = mine if same else ast.IfExp(test, mine, theirs) if both else None  # type: ignore[arg-type]
        return None

    def inline_all(self, value: ast.expr | None, env: Env, path: list[ast.expr]) -> None:
        """Read the calls that an expression makes in any case, those inside others first."""
        if value is None or isinstance(value, (ast.IfExp, ast.BoolOp, ast.Lambda, ast.ListComp, ast.GeneratorExp)):
            return
        for inner in ast.iter_child_nodes(value):
            self.inline_all(inner.value if isinstance(inner, ast.keyword) else inner, env, path)  # type: ignore[arg-type]
        if isinstance(value, ast.Call):
            self.inline(value, env, path)

    def inline(self, call: ast.Call, env: Env, path: list[ast.expr]) -> None:
        """Read a function of torch, or the constructor of the base class, where it is called."""
        if self.depth == DEEPEST:
            return
        method = name_of(call.func)
        if method is not None and self.owner is not None and method.startswith("self."):
            function = getattr(self.owner, method.removeprefix("self."), None)
            if inspect.isfunction(function) and function.__module__.startswith("torch."):
                self.follow(function, self.owner, call, env, path)
            return
        path_of = ast.unparse(call.func).split(".")
        if path_of[0].isidentifier() and len(path_of) < 3:
            function = inspect.unwrap(self.function).__globals__.get(path_of[0])
            if len(path_of) == 2 and inspect.ismodule(function):
                function = getattr(function, path_of[1], None)
            if inspect.isfunction(function) and function.__module__.startswith("torch."):
                self.follow(function, None, call, env, path)
            return
        if ast.unparse(call.func) != "super().__init__" or self.owner is None:
            return
        above = self.owner.__mro__[self.owner.__mro__.index(defining(self.owner, "__init__")) + 1 :]
        base = next((one for one in above if "__init__" in one.__dict__), None)
        if base is None or not base.__module__.startswith("torch.") or base is torch.nn.Module:
            return
        self.follow(vars(base)["__init__"], base, call, env, path)

    def follow(self, function: Any, owner: type | None, call: ast.Call, env: Env, path: list[ast.expr]) -> None:
        reader = Reader(function, owner, self.depth + 1)
        inner = bound(call, inspect.signature(function), env)
        if inner is None:
            return
        if owner is not None:
            inner.update({name: value for name, value in env.items() if name.startswith("self.")})
        if reader.read(inner, list(path)):
            self.found += reader.found
            env.update({name: value for name, value in inner.items() if name.startswith("self.")})

    def keep(self, path: list[ast.expr], raised: ast.expr | None, at: ast.stmt, env: Env, error: str = "") -> None:
        """Keep the tests of a path that ends in an error."""
        message: ast.expr = ast.Constant("")
        if error:
            message = raised or message
        elif isinstance(raised, ast.Call) and isinstance(raised.func, ast.Name):
            error = raised.func.id
            message = raised.args[0] if raised.args else message
        else:
            return
        test = path[0] if len(path) == 1 else ast.BoolOp(ast.And(), list(path)) if path else None
        if test is not None:
            lines = range(self.first + at.lineno - 1, self.first + (at.end_lineno or at.lineno))
            self.found.append(Found(test, error, put(message, env), self.file, lines))


def defining(owner: type, name: str) -> type:
    return next(one for one in owner.__mro__ if name in one.__dict__)


def bound(call: ast.Call, signature: inspect.Signature, env: Env) -> Env | None:
    """Return what the parameters of an inner call hold; None for one that unpacks."""
    names = [name for name in signature.parameters if name != "self"]
    if any(isinstance(arg, ast.Starred) for arg in call.args) or len(call.args) > len(names):
        return None
    inner: Env = {}
    for name in names:
        default = signature.parameters[name].default
        plain = isinstance(default, (bool, int, float, str, tuple, type(None)))
        inner[name] = constant(default) if plain else None
    for name, value in zip(names, call.args, strict=False):
        inner[name] = put(value, env)
    for keyword in call.keywords:
        if keyword.arg is None:
            named = {one.arg for one in call.keywords} | set(names[: len(call.args)])
            inner = {name: value if name in named else None for name, value in inner.items()}
        else:
            inner[keyword.arg] = put(keyword.value, env)
    return inner


def constant(value: Any) -> ast.expr:
    return ast.parse(repr(value), mode="eval").body


def name_of(target: ast.expr) -> str | None:
    if isinstance(target, ast.Name):
        return target.id
    if isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name) and target.value.id == "self":
        return f"self.{target.attr}"
    return None


def is_plain(value: ast.expr) -> bool:
    """Return whether an expression may be put where a variable stands."""
    return not any(
        isinstance(node, (ast.ListComp, ast.GeneratorExp, ast.Lambda, ast.Await)) for node in ast.walk(value)
    )


def forget(one: ast.AST, env: Env) -> None:
    """Forget all that a statement may assign."""
    for node in ast.walk(one):
        if isinstance(node, (ast.Name, ast.Attribute)) and isinstance(node.ctx, (ast.Store, ast.Del)):
            name = name_of(node)
            if name is not None:
                env[name] = None


class Put(ast.NodeTransformer):
    """Puts what is known of variables into an expression."""

    def __init__(self, env: Env) -> None:
        self.env = env

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self._of(node.id, node)

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        name = name_of(node)
        if name is not None:
            return self._of(name, node)
        node.value = self.visit(node.value)
        return node

    def _of(self, name: str, node: ast.expr) -> ast.expr:
        if name not in self.env:
            return node
        held = self.env[name]
        return ast.Name("_open") if held is None else copy.deepcopy(held)


def put(value: ast.expr, env: Env) -> ast.expr:
    return Put(env).visit(copy.deepcopy(value))  # type: ignore[no-any-return]


def negated(test: ast.expr) -> ast.expr:
    return (
        test.operand if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not) else ast.UnaryOp(ast.Not(), test)
    )
