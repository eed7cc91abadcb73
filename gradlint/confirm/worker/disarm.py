"""Functions with effects outside the process, taken away from a repro where the audit hook is not asked about them.

Python's audit events cover `open` and `subprocess`; they cover neither `os.mkfifo`, `_posixsubprocess.fork_exec` and
`_multiprocessing.SemLock` nor what torch writes from C++. Each such function is replaced wherever the process refers
to it, and each such type can no longer be instantiated. What is known of modules is that of CPython 3.10 to 3.14.

This is no wall: numpy reads and writes any address of the process that it is given, and so could undo all of it.
"""

from __future__ import annotations

import ctypes
import gc
import os
import sys
import sysconfig
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from importlib.machinery import EXTENSION_SUFFIXES
from types import CellType, FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, NoReturn

import torch

from gradlint.confirm.worker import native

if TYPE_CHECKING:
    from typing import TypeGuard

Refusal = Callable[..., NoReturn]
_TYPE_NEW = object.__basicsize__ + 37 * ctypes.sizeof(ctypes.c_void_p)
"""Where `tp_new` stands in a type: behind the header, the size, and 36 other slots (cpython/object.h)."""


class Removal:
    """Functions and types to take away, with all places that refer to the functions; `apply` does it, once.

    The places are looked for where there is time, and `apply` runs in each child.
    """

    def __init__(self, functions: Mapping[str, object], types: Iterable[type] = ()) -> None:
        """Find the places of the functions, which are given by the names that a refusal says.

        Raises:
            RuntimeError: this Python lays out its types in a way that is not known.
        """
        if not _slot(Removal).value == _slot(object).value != _slot(int).value:
            raise RuntimeError("types have no `tp_new` where it is looked for")
        self._refusals = {id(one): (one, _refusal(name)) for name, one in functions.items()}
        self._types = list(dict.fromkeys(sub for kind in types for sub in _with_subclasses(kind)))
        self._dicts: list[tuple[dict[Any, Any], Any, Refusal]] = []
        self._attributes: list[tuple[type, str, Refusal]] = []
        self._sets: list[tuple[set[Any], Any]] = []
        self._cells: list[tuple[CellType, Refusal]] = []
        self._defaults: list[FunctionType] = []
        self._find()

    def apply(self) -> None:
        """Take them away from this process."""
        for mapping, key, refusal in self._dicts:
            mapping[key] = refusal
        for owner, name, refusal in self._attributes:
            setattr(owner, name, refusal)
        for group, function in self._sets:
            group.discard(function)
        for cell, refusal in self._cells:
            cell.cell_contents = refusal
        for user in self._defaults:
            user.__defaults__ = tuple(self._instead(value) or value for value in user.__defaults__ or ())
        for kind in self._types:
            _slot(kind).value = None
        for known in (self._refusals, self._dicts, self._attributes, self._sets, self._cells, self._defaults):
            known.clear()

    def _instead(self, value: object) -> Refusal | None:
        return self._refusals[id(value)][1] if id(value) in self._refusals else None

    def _find(self) -> None:
        objects = gc.get_objects()
        # The dictionary of a class must not be changed behind its back.
        own = {id(_dictionary(one)) for one in objects if _is_type(one)} | {id(self._refusals)}
        for one in objects:
            kind = type(one)
            if kind is dict and id(one) not in own:
                self._dicts += [(one, key, said) for key, value in one.items() if (said := self._instead(value))]
            elif issubclass(kind, type):
                found = ((n, self._instead(getattr(value, "__func__", value))) for n, value in vars(one).items())
                self._attributes += [(one, name, said) for name, said in found if said]
            elif kind is set:
                self._sets += [(one, value) for value in one if self._instead(value)]
            elif kind is CellType and (said := self._instead(_contents(one))):
                self._cells.append((one, said))
            elif kind is FunctionType and any(map(self._instead, one.__defaults__ or ())):
                self._defaults.append(one)


def of_python() -> Removal:
    """Return what Python's own native modules hold that computing does not need, of those that are loaded."""
    functions: dict[str, object] = {}
    types: list[type] = []
    for module in list(sys.modules.values()):
        name = module.__name__
        whole = name in native.KEPT or (_is_native(module) and name not in native.COMPUTING)
        for key, value in vars(module).items():
            full = f"{name}.{key}"
            own = whole and getattr(value, "__module__", None) in (name, *native.KEPT)
            if _is_type(value):
                if full in native.MADE or (own and name not in native.KEPT):
                    types.append(value)
            elif full in native.REFUSED or (own and callable(value) and key not in native.KEPT.get(name, ())):
                functions.setdefault(full, value)
    return Removal(functions, types)


def of_torch() -> Removal:
    """Return what torch's C++ holds that reaches more than memory; its methods and operators are removed at once."""
    functions: dict[str, object] = {}
    types: list[type] = []
    for name, module in list(sys.modules.items()):
        if name == "torch._C" or name.startswith("torch._C."):
            for key, value in vars(module).items():
                full = f"{name}.{key}"
                if _is_type(value):
                    types += [value] if full in native.TORCH_CLASSES or name in native.TORCH_MODULES else []
                elif callable(value) and (name in native.TORCH_MODULES or native.TORCH_FUNCTIONS.fullmatch(full)):
                    functions[full] = value
    functions["torch.from_file"] = torch.from_file
    _forget(torch._C.StorageBase, native.STORAGE_METHODS)
    _forget(vars(torch._C)["_VariableFunctionsClass"], {"from_file"})
    _refuse_operator("from_file")
    for name in ("_jit_get_operation", "_get_operation_overload"):
        if hasattr(torch._C, name):
            setattr(torch._C, name, _without_operators(getattr(torch._C, name)))
    return Removal(functions, [kind for kind in types if not issubclass(kind, (BaseException, tuple, int))])


def forbidden() -> frozenset[str]:
    """Return the native modules of Python's own that nobody may load in a child."""
    folder = sysconfig.get_config_var("DESTSHARED") or ""
    files = os.listdir(folder) if os.path.isdir(folder) else []
    built = {file.split(".")[0] for file in files if file.endswith(tuple(EXTENSION_SUFFIXES))}
    return frozenset({*sys.builtin_module_names, *built} - native.COMPUTING)


def _refuse_operator(name: str) -> None:
    """Have the dispatcher itself refuse an operator of torch, whoever calls it."""
    library = torch._C._dispatch_library("IMPL", "aten", "CPU")
    library.impl(name, "CPU", _refusal(f"aten::{name}"))
    # It lasts as long as this object does, which nobody shall find.
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(library))


def _without_operators(find: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that finds all operators but those with effects; nothing of Python's leads to the given one.

    What a generator knows is seen only through its frame, and reading that is an audit event.
    """

    def found() -> Generator[tuple[Any, Exception | None], tuple[Any, ...], None]:
        answer: tuple[Any, Exception | None] = None, None
        while True:
            arguments = yield answer
            try:
                if type(arguments[0]) is not str or arguments[0] in refused:
                    audit(f"operator {arguments[0]}")
                    raise PermissionError(f"{arguments[0]} is refused")
                answer = find(*arguments), None
            except Exception as error:
                answer = None, error

    audit, refused = sys.audit, native.TORCH_OPERATORS
    finding = found()
    next(finding)
    ask = finding.send

    def finder(*arguments: Any) -> Any:
        """Find one by name, or refuse it."""
        operator, error = ask(arguments)
        if error is not None:
            raise error
        return operator

    return finder


def _forget(owner: type, names: Iterable[str]) -> None:
    """Remove methods of a class that is written in C."""
    for name in names:
        _dictionary(owner).pop(name, None)
    ctypes.pythonapi.PyType_Modified(ctypes.py_object(owner))


def _slot(kind: type) -> ctypes.c_void_p:
    """Return the function that makes instances of a type; a class of Python's without one has that of `object`."""
    return ctypes.c_void_p.from_address(id(kind) + _TYPE_NEW)


def _dictionary(owner: type) -> dict[str, object]:
    found: dict[str, object] = gc.get_referents(owner.__dict__)[0]
    return found


def _contents(cell: CellType) -> object:
    try:
        return cell.cell_contents
    except ValueError:  # It is empty.
        return None


def _with_subclasses(kind: type) -> Iterator[type]:
    yield kind
    subclasses: list[type] = type.__subclasses__(kind)
    for sub in subclasses:
        yield from _with_subclasses(sub)


def _refusal(name: str) -> Refusal:
    audit = sys.audit

    def refused(*_: object, **__: object) -> NoReturn:
        """Ask the audit hook, which ends the process."""
        audit(name)
        raise PermissionError(f"{name} is refused")

    return refused


def _is_type(value: object) -> TypeGuard[type]:
    """Return whether a value is a class, without a question to it: some of torch warn of themselves when asked."""
    return issubclass(type(value), type)


def _is_native(module: ModuleType) -> bool:
    """Return whether a module of the standard library is written in C."""
    if module.__name__ in sys.builtin_module_names:
        return True
    folder = sysconfig.get_config_var("DESTSHARED") or sysconfig.get_paths()["platstdlib"]
    file = getattr(module, "__file__", None) or ""
    return file.startswith(folder + os.sep) and file.endswith(tuple(EXTENSION_SUFFIXES))
