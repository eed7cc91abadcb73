"""What a repro defines itself: the attributes that it makes, and the names that hold objects of its own classes."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

_REGISTERS = frozenset({"register_buffer", "register_parameter", "register_module", "add_module"})
_TUPLES = frozenset({"namedtuple"})
_CONTAINERS = frozenset({"OrderedDict", "ModuleDict", "ParameterDict", "Sequential"})


def attributes_made(node: ast.AST) -> Iterator[str]:
    """Yield names that values of the program may have as attributes, because the program gives them.

    Those are what it assigns, what its classes define, and the names of buffers, submodules, and fields of tuples. A
    text elsewhere names nothing.
    """
    if isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load):
        yield node.attr
    elif isinstance(node, ast.ClassDef):
        yield from _in_class(node.body)
    elif isinstance(node, ast.Call):
        yield from (word for word in _named_by(node) if word.isidentifier() and not word.startswith("_"))


def names_inside(node: ast.AST) -> Iterator[str]:
    """Yield the parameters and variables of a class's methods: `ctx.factor` is often one that was not kept."""
    if isinstance(node, ast.ClassDef):
        for part in ast.walk(node):
            if isinstance(part, ast.arg):
                yield part.arg
            elif isinstance(part, ast.Name) and not isinstance(part.ctx, ast.Load):
                yield part.id


def _in_class(body: list[ast.stmt]) -> Iterator[str]:
    """Yield the names that a class body binds; its functions have names of their own inside."""
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield node.name
        else:
            for part in ast.walk(node):
                if isinstance(part, ast.Name) and not isinstance(part.ctx, ast.Load):
                    yield part.id
                elif isinstance(part, (ast.FunctionDef, ast.ClassDef)):
                    yield part.name


def _named_by(node: ast.Call) -> Iterator[str]:
    """Yield the words in a call that become names of attributes."""
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    texts = [part.value if isinstance(part, ast.Constant) else None for part in node.args]
    if name == "setattr" and len(texts) > 1:
        yield from _texts(texts[1:2])
    elif name in _REGISTERS:
        yield from _texts(texts[:1])
        yield from (str(word.value.value) for word in node.keywords if isinstance(word.value, ast.Constant))
    elif name in _TUPLES:
        for part in (one for argument in node.args[1:2] for one in ast.walk(argument)):
            if isinstance(part, ast.Constant):
                yield from str(part.value).replace(",", " ").split()
    elif name in _CONTAINERS:
        yield from (word.arg for word in node.keywords if word.arg is not None)
        for part in (one for argument in node.args for one in ast.walk(argument)):
            yield from _keys(part)


def _keys(node: ast.AST) -> Iterator[str]:
    """Yield the keys of a dict, of pairs, and of keyword arguments, that stand in the text."""
    if isinstance(node, ast.Dict):
        yield from _texts([key.value for key in node.keys if isinstance(key, ast.Constant)])
    elif isinstance(node, ast.Tuple) and node.elts and isinstance(node.elts[0], ast.Constant):
        yield from _texts([node.elts[0].value])
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "dict":
        yield from (word.arg for word in node.keywords if word.arg is not None)


def _texts(values: Sequence[object]) -> Iterator[str]:
    return (value for value in values if isinstance(value, str))


def receivers(tree: ast.AST) -> frozenset[ast.AST]:
    """Return the names, as nodes, that are the first parameter of a method and nothing else: `self`, `cls`, `ctx`."""
    finder = _Receivers()
    finder.visit(tree)
    return frozenset(finder.found)


class _Receivers(ast.NodeVisitor):
    def __init__(self) -> None:
        self.found: list[ast.AST] = []
        self._methods: set[ast.AST] = set()
        self._names: frozenset[str] = frozenset()

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        """Note the methods of a class."""
        self._methods.update(part for part in node.body if isinstance(part, ast.FunctionDef))
        self.generic_visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        """In the body of a method its first parameter is an object of the class."""
        for part in (*node.decorator_list, node.args):
            self.visit(part)
        positional = [arg.arg for arg in (*node.args.posonlyargs, *node.args.args)]
        own = positional[:1] if node in self._methods else []
        self._inside(node.body, node.args, frozenset(own))

    def visit_Lambda(self, node: ast.Lambda) -> None:
        """A lambda has parameters of its own."""
        self.visit(node.args)
        self._inside([node.body], node.args, frozenset())

    def visit_Name(self, node: ast.Name) -> None:
        """Note a use."""
        if isinstance(node.ctx, ast.Load) and node.id in self._names:
            self.found.append(node)

    def _inside(self, body: list[ast.stmt] | list[ast.expr], arguments: ast.arguments, own: frozenset[str]) -> None:
        outer = self._names
        parts = [part for one in body for part in ast.walk(one)]
        stored = {part.id for part in parts if isinstance(part, ast.Name) and not isinstance(part.ctx, ast.Load)}
        stored |= {part.name for part in parts if isinstance(part, (ast.FunctionDef, ast.ClassDef))}
        stored |= {part.name for part in parts if isinstance(part, ast.ExceptHandler) and part.name}
        given = {arg.arg for arg in ast.walk(arguments) if isinstance(arg, ast.arg)}
        self._names = ((outer - given) | own) - stored
        for one in body:
            self.visit(one)
        self._names = outer
