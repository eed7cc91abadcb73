"""The gate at run time: whose attribute is read or set, and what is called, is decided by the values themselves.

The program that runs is the repro with a question before each use of an attribute and each call. A text can only say
that `x._evaluate` is a name that the repro uses itself; here `x` is at hand. A module is read by the names of the
allowlist; attributes of foreign values are those of the allowlist; others have to be the repro's own; and nothing of
torch's own is set.
"""

from __future__ import annotations

import ast
import importlib
import sys
from collections.abc import Callable, Iterator
from types import FunctionType, ModuleType
from typing import Any, Literal, NoReturn

import torch

from gradlint.confirm.gate import allowlist as allowed

Deny = Callable[[str], NoReturn]

_READ, _SET, _CALL = "read of a watched value", "set on a watched value", "call of a watched value"
"""The names of the questions in the namespace of a repro: no text can name what is no identifier."""

_GETTING = {"getattr": _READ, "hasattr": _READ, "setattr": _SET, "delattr": _SET}
_STATES = frozenset({"state_dict", "load_state_dict"})
"""A scheduler takes all that it is given for its attributes, and gives away those of what it calls."""

_NOT_CALLED = ("numpy.ndarray", "enum.Enum", "enum.IntEnum")
"""Classes to be asked for and derived from: the first takes any memory for objects, the others make classes."""

_WITH_STATE = (torch.nn.Module, torch.optim.Optimizer, torch.amp.GradScaler)
_KEEPING = (torch.nn.Module, torch.Tensor, torch.autograd.function.FunctionCtx)
"""What programs keep values of their own in, under any name."""

_MODULE_GETATTR = torch.nn.Module.__getattr__
_OWN = "__main__"


def parsed(text: str, mode: Literal["exec", "eval"]) -> ast.Module | ast.Expression:
    """Return the tree of a program, or of an expression."""
    return ast.parse(text) if mode == "exec" else ast.parse(text, mode="eval")


def watched(text: str, mode: Literal["exec", "eval"] = "exec") -> ast.Module | ast.Expression:
    """Return the tree of a program, or of an expression, in which each use of an attribute and each call asks."""
    tree = parsed(text, mode)
    _Asking().visit(tree)
    return ast.fix_missing_locations(tree)


class _Asking(ast.NodeTransformer):
    def visit_Attribute(self, node: ast.Attribute) -> ast.Attribute:
        """`x.name` becomes `ask(x, "name").name`; a text that is formatted is one that the gate has seen."""
        if node.attr == "format" and isinstance(node.value, ast.Constant):
            return node
        self.generic_visit(node)
        node.value = _ask(_READ if isinstance(node.ctx, ast.Load) else _SET, node.value, node.attr)
        return node

    def visit_Call(self, node: ast.Call) -> ast.Call:
        """`f(x)` becomes `ask(f)(x)`; what is reached by a text is asked for as well."""
        self.generic_visit(node)
        called = node.func.id if isinstance(node.func, ast.Name) else None
        if called in _GETTING and len(node.args) > 1 and isinstance(node.args[1], ast.Constant):
            node.args[0] = _ask(_GETTING[called], node.args[0], str(node.args[1].value))
        elif called == "type" and len(node.args) == 1:
            node.args[0] = _ask(_READ, node.args[0], "__class__")
        elif called not in allowed.CALLED_ONLY:
            node.func = _ask(_CALL, node.func)
        return node


def _ask(question: str, value: ast.expr, *name: str) -> ast.Call:
    arguments = [value, *(ast.copy_location(ast.Constant(text), value) for text in name)]
    return ast.copy_location(ast.Call(ast.copy_location(ast.Name(question, ast.Load()), value), arguments, []), value)


class Watch:
    """Answers the questions. It is made once, when torch is loaded and nothing else has run."""

    def __init__(self) -> None:
        paths = allowed.paths()
        self._inner = allowed.MODULES | {prefix for path in paths for prefix in _prefixes(path)}
        loaded = {name: _loaded(name) for name in self._inner}
        self._modules = {module: name for name, module in loaded.items() if module is not None}
        values = [value for value in map(_resolved, paths) if callable(value)]
        bases = {base for value in values if isinstance(value, type) for base in value.__mro__}
        members = [member for base in bases for member in vars(base).values()]
        self._callables = {id(value): value for value in (*values, *members)}
        for path in _NOT_CALLED:
            self._callables.pop(id(_resolved(path)), None)
        everything = [value for module in list(sys.modules.values()) for value in list(vars(module).values())]
        self._others = {id(value): value for value in everything if callable(value)}
        self._readable = allowed.attributes() | allowed.DEFINABLE | {"__name__", "__version__"}

    def questions(self, deny: Deny, builtins: dict[str, Any]) -> dict[str, Callable[..., Any]]:
        """Return what a repro is asked with, by the names that stand in its tree; `builtins` it may call as well."""
        offered = {id(value) for value in builtins.values()}

        def read(value: Any, name: str) -> Any:
            if not self._may_read(value, name):
                deny(f"`{name}` is read of a {type(value).__name__}")
            return value

        def set_(value: Any, name: str) -> Any:
            if not self._may_set(value, name):
                deny(f"`{name}` is set on a {type(value).__name__}")
            return value

        def call(value: Any) -> Any:
            if id(value) not in offered and not self._may_call(value):
                deny(f"a {type(value).__name__} is called that is not known: {value!r:.100}")
            return value

        return {_READ: read, _SET: set_, _CALL: call}

    # Reading.

    def _may_read(self, value: Any, name: str) -> bool:
        kind = type(value)
        if issubclass(kind, ModuleType):
            return self._is_in_module(value, name)
        if name == "__class__":
            # Of an instance it is known; of a class it is what makes classes.
            return not issubclass(kind, type)
        owner = _owner(value, kind, name)
        if name in _STATES and owner is not None:
            return _is_own(owner) or issubclass(owner, _WITH_STATE)
        if name in self._readable:
            return True
        if owner is not None:
            return _is_own(owner)
        if _has_own(kind) or issubclass(kind, _KEEPING):
            return True
        # What decorates a class of torch takes over its attributes.
        return not (name in allowed.FOREIGN or name in allowed.NEVER or _answers_for_others(kind))

    def _is_in_module(self, module: ModuleType, name: str) -> bool:
        """Return whether a module has a name that is allowed, or has none of that name, which is an error."""
        path = self._modules.get(module)
        if path is None:
            return False
        inner = f"{path}.{name}"
        return inner in self._inner or allowed.is_allowed(inner) or not hasattr(module, name)

    # Setting.

    def _may_set(self, value: Any, name: str) -> bool:
        kind = type(value)
        if issubclass(kind, ModuleType):
            return f"{self._modules.get(value)}.{name}" in allowed.SETTABLE
        if issubclass(kind, type):
            return _is_own(value)
        if kind is FunctionType:
            return _is_own_function(value)
        if kind is super:
            return False
        owner = _owner(value, kind, name)
        if owner is None or _has_own(kind):
            return True
        return name in allowed.WRITABLE and (name == "shape" or str(owner.__module__).startswith("torch"))

    # Calling.

    def _may_call(self, value: Any) -> bool:
        # The number of what the walls have taken out of these tables may be that of another object by now.
        if self._callables.get(id(value)) is value:
            return True
        if isinstance(value, type):
            return _is_own(value)
        return self._others.get(id(value)) is not value or (type(value) is FunctionType and _is_own_function(value))


def _prefixes(path: str) -> Iterator[str]:
    parts = path.split(".")
    return (".".join(parts[:end]) for end in range(1, len(parts)))


def _loaded(name: str) -> ModuleType | None:
    try:
        return importlib.import_module(name)
    except ImportError:  # It is a class, or another torch does not have it.
        return None


def _resolved(path: str) -> object:
    module, *names = path.split(".")
    value: object = sys.modules.get(module)
    for name in names:
        module = f"{module}.{name}"
        value = getattr(value, name, sys.modules.get(module))
    return value


def _is_own_function(function: FunctionType) -> bool:
    return bool(function.__globals__.get("__name__") == _OWN)


def _is_own(kind: type) -> bool:
    """Return whether a class is the repro's: no repro may set `__module__`, and torch's are made elsewhere."""
    return bool(type.__getattribute__(kind, "__module__") == _OWN)


def _has_own(kind: type) -> bool:
    return any(_is_own(base) for base in kind.__mro__)


def _owner(value: Any, kind: type, name: str) -> type | None:
    """Return the class in which an attribute of a value is found, if it is one of a class."""
    if kind is super:
        order = value.__self_class__.__mro__ if value.__self_class__ is not None else ()
        lines = [order[order.index(value.__thisclass__) + 1 :]] if order else []
    elif issubclass(kind, type):
        lines = [value.__mro__, kind.__mro__]
    else:
        lines = [kind.__mro__]
    return next((base for line in lines for base in line if name in base.__dict__), None)


def _answers_for_others(kind: type) -> bool:
    """Return whether a class answers for attributes that it does not have; networks do so for their parts only."""
    found = next((base.__dict__["__getattr__"] for base in kind.__mro__ if "__getattr__" in base.__dict__), None)
    return found is not None and found is not _MODULE_GETATTR
