"""Imports: of libraries, whose names are known by their path, and of the program's other files.

A name from another file is a promise until it is used. Then the top level of that file is run, once for all files
that are checked, by a machine of its own; what it leaves (functions, classes, constants) is admitted to the
state that asked. Functions are interpreted where they are called, with the actual values, in the frame of their file.

What a file leaves must not depend on which file was checked first. Everything in it counts as older than all
that the checked file makes (`ancient`). What was seen half-way, in a circle of imports, is not kept for later files.
"""

from __future__ import annotations

from gradlint.domain.announcement import AttributeRead
from gradlint.domain.state import MISSING, Frame, State
from gradlint.domain.value import External, File, Imported, Unknown, Value
from gradlint.facts.table import star_names
from gradlint.interpreter.libraries.modelled import is_modelled
from gradlint.interpreter.machine import Machine, simple
from gradlint.source.core import Import

HOPS = 10
"""How often a name may be imported on from file to file."""


def run_import(machine: Machine, state: State, instr: Import) -> None:
    """import, from ... import"""
    program = machine.program
    importer = program.module_of(state)
    installed = program.is_installed(importer)
    file = None if installed or instr.path == "__future__" else program.file_of(state, instr)
    if installed and instr.path != "__future__":
        assert program.environment is not None
        _import_library(machine, state, instr, program.environment.absolute(importer, instr.path, instr.level))
    elif file is not None:
        if instr.dest == "*":
            _star(state, File(file))
        else:
            state.set(instr.dest, File(file) if instr.name is None else Imported(file, instr.name))
    elif instr.level or instr.path == "__future__":
        if instr.dest != "*":
            state.set(instr.dest, machine.symbol("import", instr.level, instr.path, instr.name))
    else:
        _import_library(machine, state, instr, instr.path)


def _import_library(machine: Machine, state: State, instr: Import, path: str) -> None:
    """import of the library module at an absolute path"""
    if instr.name is None:
        state.set(instr.dest, machine.program.external(path))
    elif instr.dest == "*":
        _star(state, path)
    else:
        if path.startswith("torch"):
            machine.announce(state, AttributeRead(instr.node, External(path), instr.name))
        state.set(instr.dest, machine.program.library(f"{path}.{instr.name}"))


def _star(state: State, source: File | str) -> None:
    frame = state.frames[state.frame]
    state.frames[state.frame] = frame._replace(stars=(*frame.stars, source))


Searched = set[tuple[str, str]]
"""The files, each with a name, among whose stars one search has looked: packages import one another in circles."""


def imported(machine: Machine, state: State, name: Imported, searched: Searched | None = None) -> Value:
    """Return the value of a name that another file of the program binds; a symbol where it is not known."""
    value: Value = name
    searched = set() if searched is None else searched
    for _ in range(HOPS):
        if not isinstance(value, Imported):
            return value
        if value.file:
            value = _bound(machine, state, value.file, value.name, searched)
        else:
            value = _installed(machine, state, value.name)
    return machine.symbol("import", name.file, name.name) if name.file else machine.program.external(name.name)


def _installed(machine: Machine, state: State, path: str) -> Value:
    """Return the value of a name of a library: what its source says, where gradlint has no model of it.

    A value that is not known stays the library's for the project: of a flag such as `_VISION_AVAILABLE`, it is true.
    """
    program = machine.program
    place = program.environment.find(path) if program.environment is not None and not is_modelled(path) else None
    frame = admit(machine, state, place.path) if place is not None else None
    value = MISSING if place is None or frame is None else frame.names.get(place.name, MISSING)
    inside = program.is_installed(program.module_of(state))
    return program.external(path) if value is MISSING or (isinstance(value, Unknown) and not inside) else value


def _bound(machine: Machine, state: State, path: str, name: str, searched: Searched) -> Value:
    frame = admit(machine, state, path)
    if frame is not None:
        value = frame.names.get(name, MISSING)
        if value is not MISSING:
            return value
        if (path, name) not in searched:
            searched.add((path, name))
            value = from_stars(machine, state, frame, name, searched)
            if value is not None:
                return value
    below = machine.program.below(path, name)
    return File(below) if below is not None else machine.symbol("import", path, name)


def from_stars(machine: Machine, state: State, frame: Frame, name: str, searched: Searched | None = None) -> Value:
    """Return what `from x import *` in a file may bind a name to: the last that does counts. None for none."""
    for source in reversed(frame.stars):
        if isinstance(source, File):
            if machine.program.may_bind(source.path, name):
                value = imported(machine, state, Imported(source.path, name), searched)
                if not (isinstance(value, Unknown) and value.key is not None and value.key[0] == "import"):
                    return value
        elif source.startswith("torch") and name in star_names(source):
            return machine.program.external(f"{source}.{name}")
        elif machine.program.is_bound(f"{source}.{name}"):
            return imported(machine, state, Imported("", f"{source}.{name}"))
    return None


def admit(machine: Machine, state: State, path: str) -> Frame | None:
    """Return the frame of a file, having admitted what it left to this state; None if it is not known."""
    program = machine.program
    if path == program.home:
        return state.frames.get(program.frame)
    loaded = program.loaded(path, machine.give_ups)
    if loaded is None:
        return None
    if loaded.frame not in state.frames:
        state.admit(loaded.frames, loaded.heap)
    return state.frames[loaded.frame]


simple(Import, run_import)
