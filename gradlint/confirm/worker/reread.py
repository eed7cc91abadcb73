"""The second reading: a finished repro is read again where torch is loaded, by what its names lead to.

The gate knows names; it reads before there is a torch. Here each chain that begins at an import is followed through the
objects themselves, and the first that is no module has to be one of those that the allowlist leads to. What leads into
the interpreter is asked of the interpreter's own classes. It has nothing of the gate but the lists: where the two do
not agree, nothing runs.
"""

from __future__ import annotations

import ast
import builtins
import importlib
import inspect
import sys
import types
from types import ModuleType

from gradlint.confirm.gate import allowlist as allowed

_FORBIDDEN = frozenset({"AsyncFor", "AsyncFunctionDef", "AsyncWith", "Await", "Match", "TryStar", "TypeAlias"})
_MACHINERY: tuple[type, ...] = (
    *(types.FunctionType, types.CodeType, types.FrameType, types.TracebackType, types.GeneratorType, types.CellType),
    *(types.CoroutineType, types.AsyncGeneratorType, types.MethodType, types.BuiltinFunctionType, type),
)
_SPECIAL = allowed.DEFINABLE | {"__name__", "__version__"}
_OTHER_BUILTINS = frozenset(dir(builtins)) - allowed.BUILTINS
_MISSING = object()


class Reader:
    """Reads repros. It is made once, when torch is loaded."""

    def __init__(self) -> None:
        for name in allowed.MODULES - sys.modules.keys():
            _import(name)
        self.modules = {id(sys.modules[name]): name for name in allowed.MODULES if name in sys.modules}
        found = [_follow(path) for path in allowed.paths()]
        # They are kept, so that nothing else gets their ids.
        self.values = {id(value): value for value in found if not isinstance(value, ModuleType)}
        inner = {name for kind in _MACHINERY for name in vars(kind)}
        self.inner = inner - allowed.attributes() - allowed.DEFINABLE

    def doubt(self, script: str, probes: tuple[str, ...] = ()) -> str | None:
        """Return why a repro and its probes must not be run, if there is a reason."""
        reading = _Reading(self)
        for tree in (ast.parse(script), *(ast.parse(probe, mode="eval") for probe in probes)):
            reading.prepare(tree)
            reading.visit(tree)
        return next(iter(reading.doubts), None)

    def may_be_value(self, value: object) -> bool:
        """Return whether a value is one that the allowlist leads to, or a plain one."""
        return id(value) in self.values or isinstance(value, (bool, int, float, str))


class _Reading(ast.NodeVisitor):
    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._imported: dict[str, object] = {}
        self._bound: set[str] = set()
        self.doubts: list[str] = []

    def prepare(self, tree: ast.AST) -> None:
        """Note what names mean before the first is read."""
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    name = alias.name if alias.asname else alias.name.partition(".")[0]
                    self._import(node, alias.asname or name, _follow(name))
                    self._import(node, f"{alias.name} itself", _follow(alias.name))
            elif isinstance(node, ast.ImportFrom):
                for alias in node.names:
                    self._import(node, alias.asname or alias.name, _follow(f"{node.module}.{alias.name}"))
            else:
                self._bound.update(_bound_by(node))
        for name in self._bound & {name for name, value in self._imported.items() if isinstance(value, ModuleType)}:
            self._doubt(tree, f"the module `{name}` is also something else")

    def _import(self, node: ast.stmt, name: str, value: object) -> None:
        if isinstance(value, ModuleType):
            allows = id(value) in self._reader.modules
        else:
            allows = value is _MISSING or self._reader.may_be_value(value)
        if not allows or name == "*":
            self._doubt(node, f"`{name}` is {value!r:.60}")
        elif self._imported.setdefault(name, value) is not value:
            self._doubt(node, f"`{name}` is imported twice")

    def _doubt(self, node: ast.AST, what: str) -> None:
        self.doubts.append(f"{what} at line {getattr(node, 'lineno', 0)}")

    def visit(self, node: ast.AST) -> None:
        """Refuse a few kinds of syntax by name."""
        if type(node).__name__ in _FORBIDDEN:
            self._doubt(node, type(node).__name__)
        super().visit(node)

    def visit_Name(self, node: ast.Name) -> None:
        """A module is no value, and a builtin is one of the list."""
        value = self._imported.get(node.id, _MISSING)
        if isinstance(value, ModuleType):
            self._doubt(node, f"the module `{node.id}` is a value")
        elif value is _MISSING and node.id not in self._bound and node.id in _OTHER_BUILTINS:
            self._doubt(node, f"the builtin `{node.id}`")

    def visit_Attribute(self, node: ast.Attribute) -> None:
        """Follow a chain that begins at a module; of any other the name alone can be told."""
        names, root = [node], node.value
        while isinstance(root, ast.Attribute):
            names.append(root)
            root = root.value
        if isinstance(root, ast.Name) and isinstance(module := self._imported.get(root.id), ModuleType):
            self._follow(module, names[::-1])
        elif node.attr == "__name__" and isinstance(node.value, ast.Attribute) and node.value.attr == "__class__":
            self.visit(node.value.value)
        else:
            self._check_name(node)
            self.visit(node.value)

    def _follow(self, value: object, names: list[ast.Attribute]) -> None:
        for number, node in enumerate(names):
            if not isinstance(value, ModuleType):
                for rest in names[number:]:
                    self._check_name(rest)
                break
            if not isinstance(node.ctx, ast.Load):
                if f"{value.__name__}.{node.attr}" not in allowed.SETTABLE:
                    self._doubt(node, f"`{ast.unparse(node)}` is set")
                return
            value = _attribute(value, node.attr)
        if isinstance(value, ModuleType) or not (value is _MISSING or self._reader.may_be_value(value)):
            self._doubt(names[-1], f"`{ast.unparse(names[-1])}` is {value!r:.60}")

    def _check_name(self, node: ast.Attribute) -> None:
        if node.attr in self._reader.inner or (_is_special(node.attr) and node.attr not in _SPECIAL):
            self._doubt(node, f"`{node.attr}`")


def _import(name: str) -> None:
    try:
        importlib.import_module(name)
    except ImportError:  # Another torch does not have it; what a repro reads of it is missing.
        return


def _follow(path: str) -> object:
    """Return what a dotted name leads to, without asking anybody's `__getattr__`."""
    module, *names = path.split(".")
    value: object = sys.modules.get(module, _MISSING)
    for name in names:
        value = _attribute(value, name)
    return value


def _attribute(value: object, name: str) -> object:
    if value is _MISSING:
        return _MISSING
    if isinstance(value, ModuleType) and f"{value.__name__}.{name}" in sys.modules and name not in vars(value):
        return sys.modules[f"{value.__name__}.{name}"]
    return inspect.getattr_static(value, name, _MISSING)


def _bound_by(node: ast.AST) -> tuple[str, ...]:
    if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
        return (node.id,)
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        return (node.name,)
    if isinstance(node, ast.arg):
        return (node.arg,)
    return (node.name,) if isinstance(node, ast.ExceptHandler) and node.name else ()


def _is_special(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")
