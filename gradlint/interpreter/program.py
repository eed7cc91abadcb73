"""The program around the machine: names that the file imports, its functions and classes."""

from __future__ import annotations

import builtins
import re
from collections import Counter
from functools import cached_property
from typing import Any

import libcst as cst

from gradlint.domain.state import Frame, State
from gradlint.domain.value import External, Function, Mapping, Ref, Value
from gradlint.facts.table import star_names
from gradlint.interpreter.world.fragment import Fragment
from gradlint.interpreter.world.loading import UNITS, Loaded, Loading, binds
from gradlint.source.core import Import

BUILTINS = frozenset(dir(builtins)) | {"reveal"}

_CANONICAL = (
    (re.compile(r"torch\.nn\.modules\.\w+\.(\w+)$"), r"torch.nn.\1"),
    (re.compile(r"torch\.nn\.parameter\.(\w+)$"), r"torch.nn.\1"),
    (re.compile(r"torch\.autograd\.variable\.Variable$"), "torch.autograd.Variable"),
    (re.compile(r"torch\.optim\.[a-z_0-9]+\.([A-Z]\w*)$"), r"torch.optim.\1"),
    (re.compile(r"torch\.functional\.(\w+)$"), r"torch.\1"),
    (re.compile(r"torch\.autograd\.grad_mode\.(\w+)$"), r"torch.\1"),
    (re.compile(r"torch\.(?:functional|_tensor)\.Tensor$"), "torch.Tensor"),
)
"""Other paths to the same thing; the schedulers keep theirs, for they are known by their module."""


class Program:
    """What one file defines, and how its names are resolved: in the file, in other files, in libraries.

    `may_backpropagate`: the file may name `backward`.
    """

    def __init__(self, nowhere: cst.CSTNode, home: str = "", loading: Loading | None = None) -> None:
        self.nowhere = nowhere
        self.home = home
        self.may_backpropagate = True
        self.frame = 1
        self.loading = loading
        self.admitted: dict[str, Loaded | None] = {}
        self.functions: list[Function] = []
        self.classes: list[Ref] = []
        self._externals: dict[str, External] = {}

    # Names.

    def external(self, path: str) -> External:
        """Return the imported thing at a path; other paths to the same thing give the same value."""
        found = self._externals.get(path)
        if found is None:
            canonical = path
            if path.startswith("torch.") and "lr_scheduler" not in path and "swa_utils" not in path:
                for pattern, target in _CANONICAL:
                    canonical = pattern.sub(target, canonical)
            found = self._externals[path] = External(canonical)
        return found

    @cached_property
    def fragment(self) -> Fragment:
        """The names of this file that nothing binds."""
        assert isinstance(self.nowhere, cst.Module)
        return Fragment(self.nowhere)

    def from_star(self, path: str, name: str) -> External | None:
        """Return what `from path import *` of a part of torch binds a name to."""
        return self.external(f"{path}.{name}") if name in star_names(path) else None

    # Other files.

    def module_frame(self, name: str) -> Frame:
        """Return a file's own frame, as its code begins."""
        return Frame({"__name__": name}, file=self.home)

    def file_of(self, state: State, instr: Import) -> str | None:
        """Return the file of the program that an import leads to; None for a library's."""
        importer = self.module_of(state)
        if self.loading is None or not importer:
            return None
        return self.loading.other_files.find(importer, instr.path, instr.level)

    def below(self, path: str, name: str) -> str | None:
        """Return the file of a module inside a package."""
        return None if self.loading is None else self.loading.other_files.below(path, name)

    def loaded(self, path: str, give_ups: Counter[str]) -> Loaded | None:
        """Return what another file leaves, asked for once; None where it is not known."""
        if self.loading is not None and path not in self.admitted:
            if len(self.admitted) < UNITS:
                self.admitted[path] = self.loading.load(path)
            else:
                give_ups["imports not followed"] += 1
        return self.admitted.get(path)

    def may_bind(self, path: str, name: str) -> bool:
        """Return whether a file may bind a name at its top level."""
        unit = None if self.loading is None else self.loading.other_files.unit(path)
        return unit is not None and binds(unit, name, builtin=name in BUILTINS)

    def closure(self, state: State) -> int:
        """Return the frame that a function defined here closes over: the nearest that is no class body."""
        number, frame = state.frame, state.frames[state.frame]
        while frame.of_class and frame.outer is not None:
            number, frame = frame.outer, state.frames[frame.outer]
        state.frames[number] = frame._replace(captured=True)
        return number

    def module_of(self, state: State) -> str:
        """Return the file whose code is running."""
        frame = state.frames[state.frame]
        while frame.outer is not None:
            frame = state.frames[frame.outer]
        return self.home if frame.file is None else frame.file

    def defined(self, function: Function) -> None:
        """Remember a function of this file, to be interpreted with unknown arguments if nobody calls it."""
        if function.module == self.home:
            self.functions.append(function)

    def defined_class(self, cls: Ref, module: str) -> None:
        """Remember a class of this file."""
        if module == self.home:
            self.classes.append(cls)

    # Values.

    def pairs(self, state: State, value: Value) -> dict[Any, Value] | None:
        """Return the items of a mapping whose keys are all known."""
        if isinstance(value, Ref):
            record = state[value]
            if isinstance(record, Mapping) and not record.open:
                return dict(record.items)
        return None

    def new_mapping(self, state: State, items: dict[str, Value], is_open: bool) -> Ref:
        """Return a dict."""
        pairs: dict[Value, Value] = dict(items.items())
        return state.new(Mapping(pairs, is_open))
