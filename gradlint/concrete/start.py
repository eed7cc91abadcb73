"""Run a program as Python itself does, and begin to watch once it has imported torch.

torch is imported by the program and not before: what it reads of the environment is as the program has left it.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import io
import os
import runpy
import sys
import types
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

_HERE = str(Path(__file__).parents[1])


class Ended(NamedTuple):
    """How a program has ended: its exit code, and what it has raised, if anything."""

    code: int
    error: BaseException | None = None


class _Hook(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Calls back once torch is imported. It steps aside as soon as it is asked for torch."""

    def __init__(self, imported: Callable[[], None]) -> None:
        self._imported = imported
        self._loader: importlib.abc.Loader | None = None

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Return the spec of torch, which this one loads; of anything else, nothing."""
        if fullname != "torch":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(fullname)
        if spec is not None and spec.loader is not None:
            self._loader, spec.loader = spec.loader, self
        return spec

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType | None:
        """Return what the loader itself makes."""
        assert self._loader is not None
        return self._loader.create_module(spec)

    def exec_module(self, module: types.ModuleType) -> None:
        """Load torch by its own loader, of which nothing differs afterwards."""
        assert self._loader is not None
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        module.__loader__ = self._loader
        self._loader.exec_module(module)
        self._imported()


def once_imported(imported: Callable[[], None]) -> None:
    """Call back once torch is imported, or at once if it is."""
    if "torch" in sys.modules:
        imported()
    else:
        sys.meta_path.insert(0, _Hook(imported))


def run_script(script: str, arguments: Sequence[str]) -> Ended:
    """Run a file as `python script arguments`."""
    _settle([script, *arguments], os.path.dirname(os.path.realpath(script)))
    main = types.ModuleType("__main__")
    main.__dict__.update(__file__=script, __builtins__=__builtins__, __cached__=None)
    sys.modules["__main__"] = main

    def act() -> None:
        with io.open_code(os.path.abspath(script)) as file:
            code = compile(file.read(), script, "exec", dont_inherit=True)
        exec(code, main.__dict__)

    return _ended(act)


def run_module(module: str, arguments: Sequence[str]) -> Ended:
    """Run a module as `python -m module arguments`."""
    _settle([module, *arguments], os.getcwd())
    return _ended(lambda: runpy.run_module(module, run_name="__main__", alter_sys=True))


def _settle(arguments: list[str], folder: str) -> None:
    """Set what Python sets before it runs a program; of the folder of gradlint's own script nothing is left."""
    if sys.path and sys.argv and sys.path[0] == os.path.dirname(os.path.realpath(sys.argv[0])):
        del sys.path[0]
    sys.path.insert(0, folder)
    sys.argv = arguments
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="strict")


def _ended(act: Callable[[], object]) -> Ended:
    """Run, and say what Python would: the traceback is that of the program, without frames of gradlint's."""
    try:
        act()
    except SystemExit as leaving:
        if leaving.code is None or isinstance(leaving.code, int):
            return Ended(leaving.code or 0, leaving)
        print(leaving.code, file=sys.stderr)
        return Ended(1, leaving)
    except BaseException as error:
        error.__traceback__ = without_ours(error.__traceback__)
        sys.stdout.flush()
        sys.excepthook(type(error), error, error.__traceback__)
        return Ended(1, error)
    return Ended(0)


def without_ours(trace: types.TracebackType | None) -> types.TracebackType | None:
    """Return a traceback without the frames of gradlint, and those of `runpy` at its beginning."""
    first = True
    kept: list[types.TracebackType] = []
    while trace is not None:
        name = trace.tb_frame.f_code.co_filename
        ours = name.startswith(_HERE) or (first and (name == runpy.__file__ or name.startswith("<frozen runpy")))
        if ours and kept and kept[-1].tb_frame.f_code.co_name == "handle_torch_function":
            del kept[-2:]  # A function of torch in Python that has asked the mode, which calls it again.
        if not ours:
            kept.append(trace)
            first = False
        trace = trace.tb_next
    for one, following in zip(kept, (*kept[1:], None), strict=False):
        one.tb_next = following
    return kept[0] if kept else None
