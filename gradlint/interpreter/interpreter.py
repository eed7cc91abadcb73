"""The abstract machine with all of Python and torch: the one place where the parts of the interpreter come together."""

from __future__ import annotations

from gradlint.domain.state import Names, State, fresh_address
from gradlint.domain.value import Value
from gradlint.interpreter.dispatch import call_in_place
from gradlint.interpreter.machine import Machine
from gradlint.interpreter.program import BUILTINS, Program
from gradlint.interpreter.python import (  # noqa: F401 -- each registers its instructions with the machine
    attribute,
    branch,
    comparison,
    exceptions,
    generators,
    literals,
    loop,
    operators,
    subscript,
    with_statement,
)
from gradlint.interpreter.world.imports import from_stars, imported
from gradlint.interpreter.world.loading import Loaded, Loading
from gradlint.interpreter.world.placeholders import supposed_value
from gradlint.source.unit import Unit

STEPS = 4_000
"""The steps of another file's top level."""


class Interpreter(Machine):
    """A machine that can call anything, and look up any name."""

    call = call_in_place
    imported = imported

    def unbound(self, state: State, name: str, number: int) -> Value:
        """Look among star imports, builtins, and what a fragment supposes."""
        program, frame = self.program, state.frames[number]
        if frame.stars:
            found = from_stars(self, state, frame, name)
            if found is not None:
                return found
        if name in BUILTINS:
            return program.external(f"builtins.{name}")
        if not frame.stars and frame.file == program.home and number == program.frame:
            found = supposed_value(self, state, program.frame, name)
            if found is not None:
                return found
        return self.symbol("global", name)


def run_file(unit: Unit, loading: Loading) -> Loaded:
    """Run the top level of another file by a machine of its own."""
    program = Program(unit.module, unit.path, loading)
    program.frame = fresh_address()
    machine = Interpreter(program, STEPS)
    state = State()
    state.enter(program.frame, program.module_frame(unit.path.rpartition("/")[2].removesuffix(".py")))
    with machine.bounded(1):
        ends = machine.join(machine.run(unit.code.body, [state]))
        state = ends[0] if ends else machine.exits[-1].state if machine.exits else state
    state.leave(program.frame)
    frame = state.frames[program.frame]
    names: Names = {name: value for name, value in frame.names.items() if isinstance(name, str)}
    return Loaded(program.frame, {**state.frames, program.frame: frame._replace(names=names)}, state.heap)
