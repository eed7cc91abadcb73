"""The program around the machine: names that the file imports, its functions and classes."""

from __future__ import annotations

import builtins
import re
from collections import Counter
from collections.abc import Callable, Iterable
from functools import cache, cached_property
from itertools import islice
from typing import Any, NamedTuple

import libcst as cst

from gradlint.domain.graph import ancient
from gradlint.domain.state import Frame, State
from gradlint.domain.value import External, Function, Imported, Mapping, Record, Ref, Value
from gradlint.interpreter.world.fragment import Fragment
from gradlint.interpreter.world.training import TRAINING, TRAINING_STEP, TrainingCode, training_code
from gradlint.plugins.installed import likened
from gradlint.source.core import Import
from gradlint.source.environment.environment import Environment
from gradlint.source.files import Files, Source, Step, Unit

UNITS = 48
"""How many other files one file may look into."""

INSTALLED_TEXT = 40_000
"""How many characters of installed files one file may look into."""

CHAIN = 10
"""How long a chain of files may be in which the top level of each looks into the next."""


IN_CIRCLES = 32
"""How many files one file may look into whose results serve it alone, for they depend on how they were reached."""


class Loaded(NamedTuple):
    """What a file's top level leaves: its frame, and the frames and heap that it needs."""

    frame: int
    frames: dict[int, Frame]
    heap: dict[int, Record]


class Loading:
    """The files that one checked file looks into, and those whose top level is being run just now, by `run`.

    `provisional` holds what depends on the way it was reached: files of a circle, those that look into these, and those
    for which there was no room to look further.
    """

    def __init__(self, other_files: Files, run: Callable[[Unit, Loading], Loaded]) -> None:
        self.other_files = other_files
        self.run = run
        self.running: list[str] = []
        self.needs: list[set[str]] = []
        self.heights: list[int] = []
        self.on_the_way: list[bool] = []
        self.provisional: dict[str, Loaded] = {}
        self.seen: dict[str, Unit] = {}
        self._room = INSTALLED_TEXT
        self._former, other_files.way = other_files.way, []
        self._way = other_files.way

    def units(self) -> tuple[Unit, ...]:
        """Return the files that were looked into."""
        return tuple(self.seen.values())

    def load(self, path: str) -> Loaded | None:
        """Return what the file leaves; None for a file that cannot be read, or is being run already.

        What is loaded depends on the files and on what was loaded before. While that is as in the check before this
        one, which may be that of the same file without assumptions, or before an edit, so is what comes of it.
        """
        if self.running:
            return self._load(path)
        at = len(self._way)
        step = self._former[at] if at < len(self._former) and self._former[at].path == path else None
        if step is None:
            self._former = []
            step = self._first(path)
        else:
            self.seen.update((file, unit) for file in step.seen if (unit := self.other_files.unit(file)) is not None)
            self.provisional.update(step.provisional)
            self._room = step.room
            self.other_files.asked.repeat(step.asked)
        self._way.append(step)
        loaded: Loaded | None = step.loaded
        return loaded

    def _first(self, path: str) -> Step:
        """Load a file that no other one asks for, and note what that does."""
        seen, provisional = len(self.seen), len(self.provisional)
        with self.other_files.asked.recording() as asked:
            loaded = self._load(path)
        new = dict(islice(self.seen.items(), seen, None)), dict(islice(self.provisional.items(), provisional, None))
        return Step(path, loaded, asked, *new, self._room)

    def _load(self, path: str) -> Loaded | None:
        if path in self.running or len(self.running) >= CHAIN:
            first = self.running.index(path) if path in self.running else 0
            self.on_the_way[first:] = [True] * (len(self.running) - first)
            return None
        unit = self.other_files.unit(path)
        for needs in self.needs:
            needs.add(path)
        if unit is None:
            return None
        if path not in self.seen and len(self.provisional) >= IN_CIRCLES:
            self.on_the_way = [True] * len(self.running)
            return None
        if unit.installed and path not in self.seen:
            self._room -= len(unit.text)
            if self._room < 0:
                self.on_the_way = [True] * len(self.running)
                return None
        self.seen[path] = unit
        if path in self.provisional:
            self.on_the_way = [True] * len(self.running)
            return self.provisional[path]
        if not isinstance(unit.loaded, Loaded) or not self._reaches(unit):
            return self._run(unit)
        for needs in self.needs:
            needs |= unit.needs
        self.other_files.asked.repeat(unit.asked)
        self._rise(unit.height)
        return unit.loaded

    def _reaches(self, unit: Unit) -> bool:
        """Return whether what was learnt of a file would be learnt here as well, and look into all that it needs.

        What is found must not depend on what was checked before.
        """
        inner = {needed: self.other_files.unit(needed) for needed in unit.needs if needed not in self.seen}
        known = {path: one for path, one in inner.items() if one is not None}
        room = self._room - sum(len(one.text) for one in known.values() if one.installed)
        if room < 0 or len(self.running) + unit.height > CHAIN:
            return False
        self._room = room
        self.seen |= known
        return True

    def _rise(self, height: int) -> None:
        """Note how long the chain of files below the one that is being run is."""
        if self.heights:
            self.heights[-1] = max(self.heights[-1], height)

    def _run(self, unit: Unit) -> Loaded:
        self.running.append(unit.path)
        self.needs.append(set())
        self.heights.append(0)
        self.on_the_way.append(False)
        with ancient(), self.other_files.asked.recording() as asked:
            loaded = self.run(unit, self)
        self.running.pop()
        needs, height = self.needs.pop(), self.heights.pop() + 1
        self._rise(height)
        if self.on_the_way.pop():
            self.provisional[unit.path] = loaded
            self.on_the_way = [True] * len(self.running)
        else:
            unit.loaded, unit.needs, unit.asked, unit.height = loaded, frozenset(needs), asked, height
        return loaded


def binds(source: Source, name: str, *, builtin: bool) -> bool:
    """Return whether a file may bind a name at its top level; cheap, and a guess on the side of yes."""
    if name not in source.words:
        return not builtin and source.has_stars
    stated = rf"^(?:(?:async )?def |class )?{name}\b *[(:=]"
    return not builtin or re.search(stated, source.text, re.MULTILINE) is not None


_TRAINING = re.compile(rf"\.[\s\\]*({'|'.join(TRAINING)})\b|\bdef {TRAINING_STEP}\b")

BUILTINS = frozenset(dir(builtins)) | {"reveal"}

_CANONICAL = (
    (re.compile(r"torch\.nn\.modules\.\w+\.(\w+)$"), r"torch.nn.\1"),
    (re.compile(r"torch\.nn\.parameter\.(\w+)$"), r"torch.nn.\1"),
    (re.compile(r"torch\.autograd\.variable\.Variable$"), "torch.autograd.Variable"),
    (re.compile(r"torch\.optim\.[a-z_0-9]+\.([A-Z]\w*)$"), r"torch.optim.\1"),
    (re.compile(r"torch\.functional\.(\w+)$"), r"torch.\1"),
    (re.compile(r"torch\.autograd\.grad_mode\.(\w+)$"), r"torch.\1"),
    (re.compile(r"torch\.(?:functional|_tensor)\.Tensor$"), "torch.Tensor"),
    (re.compile(r"torch\.utils\.data\.(?:dataloader|dataset|distributed|sampler)\.(\w+)$"), r"torch.utils.data.\1"),
)
"""Other paths to the same thing; the schedulers keep theirs, for they are known by their module."""


@cache
def _external(path: str) -> External:
    """Return the thing at a path; other paths to the same thing give the same value."""
    if path.startswith("torch.") and "lr_scheduler" not in path and "swa_utils" not in path:
        for pattern, target in _CANONICAL:
            path = pattern.sub(target, path)
    return External(path)


def _fragment_of(unit: Unit) -> Fragment:
    """Return the names of a file, looked for once."""
    if not isinstance(unit.fragment, Fragment):
        unit.fragment = Fragment(unit.module)
    return unit.fragment


class Program:
    """What one file defines, and how its names are resolved: in the file, in other files, in libraries.

    `may_backpropagate`: the file names `backward` or `zero_grad`, or may.
    """

    def __init__(self, nowhere: cst.CSTNode, home: str = "", loading: Loading | None = None) -> None:
        self.nowhere = nowhere
        self.home = home
        self.may_backpropagate = True
        self.frame = 1
        self.loading = loading
        self.admitted: dict[str, Loaded | None] = {}
        self._units = 0
        self.functions: list[Function] = []
        self.classes: list[Ref] = []

    # Names.

    @staticmethod
    def external(path: str) -> External:
        """Return the imported thing at a path, or what a plugin says that it behaves like."""
        return _external(likened(path) or path)

    @cached_property
    def fragment(self) -> Fragment:
        """The names of this file that nothing binds."""
        assert isinstance(self.nowhere, cst.Module)
        own = None if self.loading is None else self.loading.other_files.unit(self.home)
        return Fragment(self.nowhere) if own is None or own.module is not self.nowhere else _fragment_of(own)

    def fragment_at(self, state: State) -> Fragment:
        """Return the names of the file whose code a state runs."""
        path = self.module_of(state)
        unit = None if self.loading is None or not path or path == self.home else self.loading.other_files.unit(path)
        return self.fragment if unit is None else _fragment_of(unit)

    @cached_property
    def source(self) -> Source:
        """The text of this file."""
        own = None if self.loading is None else self.loading.other_files.unit(self.home)
        assert isinstance(self.nowhere, cst.Module)
        return Source(self.nowhere.code) if own is None else own

    @cached_property
    def _training_code(self) -> TrainingCode:
        assert isinstance(self.nowhere, cst.Module)
        speaks = self.may_backpropagate and _TRAINING.search(self.source.text) is not None
        return training_code(self.nowhere) if speaks else TrainingCode(set(), frozenset())

    @property
    def backpropagating(self) -> set[cst.CSTNode]:
        """The functions and classes of this file that backpropagate, or clear gradients."""
        return self._training_code.training

    def callers_first(self, functions: Iterable[Function]) -> list[Function]:
        """Return functions with those last that others call, if the file trains: the calls show what they are given."""
        return sorted(functions, key=lambda one: one.code.name in self._training_code.helpers)

    # Other files.

    def file_of(self, state: State, instr: Import) -> str | None:
        """Return the file of the program that an import leads to; None for a library's."""
        importer = self.module_of(state)
        if self.loading is None or not importer:
            return None
        return self.loading.other_files.find(importer, instr.path, instr.level)

    @property
    def environment(self) -> Environment | None:
        """What is installed, if it may be looked into: for the sake of a file that backpropagates."""
        return self.loading.other_files.environment if self.loading is not None and self.may_backpropagate else None

    def is_installed(self, path: str) -> bool:
        """Return whether a path is that of a statement of an installed file."""
        return self.environment is not None and self.environment.module(path) is not None

    def is_bound(self, path: str) -> bool:
        """Return whether a statement of an installed file binds a dotted name."""
        found = self.environment is not None and self.environment.reads(path)
        return found and self.environment is not None and self.environment.find(path) is not None

    def library(self, path: str) -> External | Imported:
        """Return what a dotted name of a library stands for; a promise, where its source may say."""
        known = likened(path) is not None or self.environment is None or not self.environment.reads(path)
        return self.external(path) if known else Imported("", path)

    def below(self, path: str, name: str) -> str | None:
        """Return the file of a module inside a package."""
        return None if self.loading is None else self.loading.other_files.below(path, name)

    def loaded(self, path: str, give_ups: Counter[str]) -> Loaded | None:
        """Return what another file leaves, asked for once; None where it is not known."""
        if self.loading is not None and path not in self.admitted:
            if self.is_installed(path) or self._units < UNITS:
                self._units += not self.is_installed(path)
                self.admitted[path] = self.loading.load(path)
            else:
                give_ups["imports not followed"] += 1
        return self.admitted.get(path)

    def may_bind(self, path: str, name: str) -> bool:
        """Return whether a file may bind a name at its top level."""
        source = None if self.loading is None else self.loading.other_files.source(path)
        return source is not None and binds(source, name, builtin=name in BUILTINS)

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

    # Values.

    def pairs(self, state: State, value: Value) -> dict[Any, Value] | None:
        """Return the items of a mapping whose keys are all known."""
        if isinstance(value, Ref):
            record = state[value]
            if isinstance(record, Mapping) and not record.open:
                return dict(record.items)
        return None
