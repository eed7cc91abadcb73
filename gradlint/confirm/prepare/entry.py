"""How to get at a place of a program: run it from the top, or call what nobody calls with made-up arguments."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from gradlint.confirm.gate import allowlist as allowed
from gradlint.confirm.prepare.candidates import Hole, Sketch, are_known, statement
from gradlint.confirm.prepare.kinds import INSTANCE, NAMESPACE, Parents, kinds_of
from gradlint.confirm.prepare.script import Script, render
from gradlint.confirm.prepare.syntax import attributes_of, is_name, method_of, name_of, positional

_MOST = 4
"""How many ways in are tried for one place."""

_NOT_GIVEN = frozenset({"self", "cls", "ctx"})
_UNUSUAL = frozenset({"staticmethod", "classmethod"})


class Function(NamedTuple):
    """A function of the program, and the class that it is a method of."""

    node: ast.FunctionDef
    owner: ast.ClassDef | None


class Way(NamedTuple):
    """A program that may lead to a place: text with holes, and what they are."""

    script: Script
    holes: tuple[Hole, ...]
    driven: bool

    @property
    def is_exact(self) -> bool:
        """Whether it is the program itself, with nothing made up."""
        return not self.driven and are_known(self.holes, self.script.text)


def ways_to(sketch: Sketch, row: int) -> Iterator[Way]:
    """Yield programs that may reach a row, the most natural first."""
    yield Way(render(sketch.body), tuple(sketch.holes), False)
    functions = list(_functions(sketch.body))
    target = next((one for one in functions if one.node.lineno <= row <= (one.node.end_lineno or 0)), None)
    if target is not None:
        for entry in islice(_entries(target, functions), _MOST):
            yield _Driver(sketch).drive(entry)


def _functions(body: Sequence[ast.stmt]) -> Iterator[Function]:
    """Yield the functions of the module and the methods of its classes, also below `if` and the like."""
    for node in body:
        if isinstance(node, ast.FunctionDef):
            yield Function(node, None)
        elif isinstance(node, ast.ClassDef):
            yield from (Function(part, node) for part in node.body if isinstance(part, ast.FunctionDef))
        else:
            yield from _functions(getattr(node, "body", []))


def _entries(target: Function, functions: Sequence[Function]) -> Iterator[Function]:
    """Yield the function itself, then those through which it is called, the outermost last."""
    found = [target]
    for one in found:
        yield one
        found += [other for other in functions if other not in found and _calls(other.node, one)]


def _calls(caller: ast.FunctionDef, called: Function) -> bool:
    name = called.node.name
    if name == "__init__" and called.owner is not None:
        name = called.owner.name
    return any(isinstance(node, ast.Call) and _is_call_of(node.func, name) for node in ast.walk(caller))


def _is_call_of(func: ast.expr, name: str) -> bool:
    """Return whether a call may be one of a function of that name; an object of a module is called by its own name."""
    if name_of(func) == name:
        return True
    owner = func.value if isinstance(func, ast.Attribute) else func
    return name == "forward" and is_name(owner, "self")


class _Plan(NamedTuple):
    """How to make up arguments: by statements that go to `before`, or with `inline` in the call itself."""

    before: list[str]
    skip: str = ""
    tracked: bool = False
    inline: bool = False


class _Driver:
    """Appends the statements that call a function of the program."""

    def __init__(self, sketch: Sketch) -> None:
        self._sketch = Sketch(list(sketch.body), list(sketch.holes))
        tree = ast.Module(sketch.body, [])
        self._parents = Parents(tree)
        self._classes = {node.name: node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}
        self._taken = {node.name for node in sketch.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
        self._module: str | None = None

    def drive(self, entry: Function) -> Way:
        """Return the program with the calls at its end; what ran at the top level stays."""
        for text in self._lines(entry):
            self._sketch.body.append(statement(text))
        return Way(render(self._sketch.body), tuple(self._sketch.holes), True)

    def _lines(self, entry: Function) -> list[str]:
        node, owner = entry
        if owner is None:
            return self._call(node.name, node)
        if any(name_of(base) == "Function" for base in owner.bases):
            return self._custom_function(owner)
        decorators = {ast.unparse(one) for one in node.decorator_list}
        if decorators & _UNUSUAL:
            return self._call(f"{owner.name}.{node.name}", node)
        init = self._find_init(owner)
        made = [f"{owner.name}()"] if init is None else self._call(owner.name, init)
        if node.name == "__init__":
            return made
        name = self._free(owner.name.lower())
        made[-1] = f"{name} = {made[-1]}"
        if "property" in decorators:
            return [*made, f"{name}.{node.name}"]
        called = name if node.name in ("forward", "__call__") else f"{name}.{node.name}"
        return [*made, *self._call(called, node)]

    def _call(self, called: str, node: ast.FunctionDef) -> list[str]:
        """Return a call with made-up arguments, after the statements that make them up."""
        plan = _Plan([])
        given = self._arguments(node, plan)
        return [*plan.before, f"{called}({', '.join(given)})"]

    def _custom_function(self, owner: ast.ClassDef) -> list[str]:
        forward = method_of(owner, "forward")
        if forward is None:
            return [owner.name]
        plan = _Plan([], skip=forward.args.args[0].arg if forward.args.args else "", tracked=True)
        given = self._arguments(forward, plan)
        name = self._free("result")
        return [*plan.before, f"{name} = {owner.name}.apply({', '.join(given)})", f"{name}.sum().backward()"]

    def _find_init(self, owner: ast.ClassDef) -> ast.FunctionDef | None:
        if (own := method_of(owner, "__init__")) is not None:
            return own
        bases = filter(None, (self._classes.get(base.id) for base in owner.bases if isinstance(base, ast.Name)))
        return next(filter(None, (self._find_init(base) for base in bases if base is not owner)), None)

    def _arguments(self, node: ast.FunctionDef, plan: _Plan) -> list[str]:
        """Return what to pass; networks are made up before their optimizers."""
        places = positional(node)
        required = places[: len(places) - len(node.args.defaults)]
        defaults = zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
        words = [arg.arg for arg, default in defaults if default is None]
        names = [name for name in (*required, *words) if name not in (*_NOT_GIVEN, plan.skip)]
        nodes = list(ast.walk(node))
        used = {part.id for part in nodes if isinstance(part, ast.Name)}
        kinds = {name: kinds_of(name, nodes, self._parents) if name in used else (NAMESPACE,) for name in names}
        given: dict[str, str] = {}
        for name in sorted(names, key=lambda name: kinds[name][0] not in ("module", INSTANCE)):
            given[name] = self._argument(node, name, kinds[name], plan)
        return [f"{name}={given[name]}" if name in words else given[name] for name in names]

    def _argument(self, node: ast.FunctionDef, name: str, kinds: tuple[str, ...], plan: _Plan) -> str:
        if kinds[0] == NAMESPACE:
            return "None"
        hole = self._sketch.hole(name, kinds, self._first(node, name, kinds, plan))
        if plan.inline or kinds[0] in ("int", "float", "bool", "str", "device"):
            return hole.name
        variable = self._free(name)
        if kinds[0] in ("module", INSTANCE) and self._module is None:
            self._module = variable
        plan.before.append(f"{variable} = {hole.name}")
        return variable

    def _first(self, node: ast.FunctionDef, name: str, kinds: tuple[str, ...], plan: _Plan) -> Iterator[str]:
        """Yield what to try first: what the program itself has of the kind."""
        if kinds[0] == "optimizer" and self._module is not None:
            yield f"torch.optim.SGD({self._module}.parameters(), lr=0.1)"
        if plan.tracked and kinds[0] == "tensor":
            yield "torch.randn(2, 3, requires_grad=True)"
        if kinds[0] in ("module", INSTANCE) and not plan.inline:
            for owner in self._fitting(node, name)[:2]:
                init = self._find_init(owner)
                given = [] if init is None else self._arguments(init, _Plan([], inline=True))
                yield f"{owner.name}({', '.join(given)})"

    def _fitting(self, node: ast.FunctionDef, name: str) -> list[ast.ClassDef]:
        """Return the classes of the program that have what a function asks of a parameter."""
        asked = attributes_of(name, ast.walk(node)) & self._parents.methods
        return [
            owner
            for owner in self._classes.values()
            if asked <= {part.name for part in owner.body if isinstance(part, ast.FunctionDef)}
            and (asked or any(ast.unparse(base).endswith("Module") for base in owner.bases))
        ]

    def _free(self, name: str) -> str:
        while name in self._taken or (hasattr(builtins, name) and name not in allowed.BUILTINS):
            name += "_"
        self._taken.add(name)
        return name
