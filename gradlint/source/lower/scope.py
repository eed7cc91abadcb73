"""One scope being lowered: its instructions so far, temporaries, and the names that mean something else."""

from __future__ import annotations

from itertools import count

import libcst as cst

from gradlint.source.core import Block, Code, Const, Copy, Dest, Instr, Making, Operand

_renamed = count(1)


class Scope:
    """Collects the instructions of one scope; `emit` adds to the innermost open block.

    `lost`: the assignments to a loop's variable whose value nobody reads.
    """

    __slots__ = ("block", "code", "counters", "lost", "outer", "renames", "taken")

    def __init__(self, code: Code) -> None:
        self.code = code
        self.block: Block = []
        self.renames: dict[str, str] = dict(code.renames)
        self.outer: dict[str, bool] = {}
        """The names declared `global` (True) or `nonlocal`: an assignment to them goes to an enclosing scope."""
        self.lost: dict[cst.CSTNode, str] = {}
        self.counters: list[str] = []
        """What was added to so far: names, and attributes as `.name`."""
        self.taken = 0
        """How many temporaries are in use: a statement gives back those that it took, and the next one takes them."""

    def emit(self, instr: Instr) -> None:
        """Append one instruction."""
        self.block.append(instr)

    def define(self, instr: Making) -> Dest:
        """Append an instruction that has a result, and return where."""
        self.block.append(instr)
        return instr.dest

    def temp(self) -> int:
        """Return a temporary that no statement around this one uses."""
        self.taken += 1
        return self.taken

    def out(self, dest: Dest | None) -> Dest:
        """Return where a result goes: the variable that is asked for, or a temporary."""
        return self.temp() if dest is None else dest

    def rename(self, name: str) -> str:
        """Return a name of its own for the variable of a comprehension: a dot cannot stand in any other."""
        self.renames[name] = renamed = f"{name}.{next(_renamed)}"
        return renamed

    def name(self, name: str) -> str:
        """Return what a variable is called in this scope."""
        return self.renames.get(name, name)

    def copied(self, node: cst.CSTNode, operand: Operand, dest: Dest | None) -> Operand:
        """`operand`, stored in `dest` if one is asked for."""
        if dest is None:
            return operand
        self.block.append(Copy(node, dest, operand))
        return dest


NONE = Const(None)
