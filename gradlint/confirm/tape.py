"""A drawn tape put before torch: the program is run in the sandbox, and what torch records there is compared.

The tape is read by the program itself, with instruments that pass the gate like all of it: nothing in the sandbox knows
of tapes.
"""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple, TypeAlias

from gradlint.confirm.check.tape import LEAF, Recorded, Score, Tape, compare
from gradlint.confirm.prepare.altered import alteration
from gradlint.confirm.prepare.candidates import Sketch, statement
from gradlint.confirm.prepare.entry import ways_to
from gradlint.confirm.prepare.hidden import hidden_effect
from gradlint.confirm.prepare.instrument import ASKED, LOSS, instrumented
from gradlint.confirm.prepare.link import linked, parsed
from gradlint.confirm.prepare.script import Script, unused_name
from gradlint.confirm.prepare.sketch import sketch
from gradlint.confirm.prepare.syntax import blocks_of
from gradlint.confirm.run.protocol import Ran
from gradlint.confirm.run.sandbox import Sandbox, TorchMissingError
from gradlint.confirm.run.search import RUN_SECONDS, attempts
from gradlint.domain.drawing import Drawing

Verdict: TypeAlias = "Literal['same', 'different', 'unconfirmed']"

SECONDS = 5.0
"""What all runs may cost until one has come to the place."""

MOST_TAPES, MOST_NODES = 4, 400
"""So many times that a place is come by, and so many nodes of a tape, are taken down."""

_CHUNK, _CHUNKS = 480, 60
"""A probe answers with so many characters, and so many are asked."""

_NOTED, _KEPT = "taped", "tapes"
_INSTRUMENT = f"""\
import torch
{_KEPT} = []
def {_NOTED}(value):
    if not isinstance(value, torch.Tensor) or len({_KEPT}) >= {MOST_TAPES}:
        return value
    numbers, nodes, waiting = {{}}, [], [value.grad_fn]
    while waiting and len(nodes) < {MOST_NODES}:
        function = waiting.pop()
        if function is not None and function not in numbers:
            numbers[function] = len(nodes)
            below = [edge for edge, _ in function.next_functions if edge is not None]
            nodes.append((function.name(), below))
            waiting.extend(below)
    lines = [' '.join([name, *[str(numbers.get(edge, -1)) for edge in below]]) for name, below in nodes]
    {_KEPT}.append(';'.join(lines) or ('{LEAF}' if value.requires_grad else 'none'))
    return value
"""


class Compared(NamedTuple):
    """What has come of it: `said` in a line, and the places where the drawing and torch's tape differ."""

    verdict: Verdict
    said: str
    differences: tuple[str, ...] = ()


def compared(sandbox: Sandbox, drawing: Drawing, text: str) -> Compared:
    """Return whether torch records what is drawn of a row of a file with this text."""
    try:
        sandbox.start()
    except TorchMissingError as error:
        return Compared("unconfirmed", str(error))
    why = "this Python cannot parse the file"
    for tree, row, effect in _programs(drawing.filename, text, drawing.row):
        if (said := effect or alteration(tree, row, ()) or hidden_effect(tree, row, ())) is not None:
            return Compared("unconfirmed", said)
        run = _Run(sandbox, drawing, row)
        if (found := run.result(sketch(tree))) is not None:
            return found
        why = run.why
    return Compared("unconfirmed", sandbox.undecided or why)


def _programs(filename: str, text: str, row: int) -> Iterator[tuple[ast.Module, int, str | None]]:
    """Yield the file with what it imports from its project, and the file alone, with the row in each."""
    path = os.path.abspath(filename)
    program = linked(path, text) if os.path.isfile(path) else None
    if program is not None and path in program.rows:
        yield program.tree, row + program.rows[path], program.effect
    if (tree := parsed(text)) is not None:
        yield tree, row, None


class _Run:
    """Runs one program until it has come to the place."""

    def __init__(self, sandbox: Sandbox, drawing: Drawing, row: int) -> None:
        self._sandbox, self._drawing, self._row = sandbox, drawing, row
        self.why = "the line neither assigns a tensor to a variable nor calls backward"

    def result(self, made: Sketch) -> Compared | None:
        """Return what came of the first run that has come to the place."""
        names = [unused_name(name, ast.unparse(ast.Module(made.body, []))) for name in (_NOTED, _KEPT)]
        noting = instrumented(made, (), losses=True, loss_rows={self._row}, names={LOSS: names[0], ASKED: names[0]})[0]
        if f"{names[0]}(" not in ast.unparse(ast.Module(noting.body, [])) and not _note(
            noting.body, self._row, names[0]
        ):
            return None
        self.why = "no run came to the line"
        end = self._sandbox.clock() + SECONDS
        before = _INSTRUMENT.replace(_NOTED, names[0]).replace(_KEPT, names[1])
        for way in ways_to(noting, self._row):
            for tried in attempts(way.script, way.holes, lambda script: self._ran(before, names[1], script)):
                if tapes := self._tapes(tried.ran):
                    return self._compared(tapes, exact=way.is_exact and not made.dropped)
                if tried.ran.message:
                    self.why = f"no run came to the line: {tried.ran.message[:120]}"
                if self._sandbox.clock() > end:
                    return None
        return None

    def _ran(self, before: str, kept: str, script: Script) -> Ran:
        """Return a run with the instruments, its lines counted as in the script."""
        probes = tuple(f"'|'.join({kept})[{_CHUNK * at}:{_CHUNK * (at + 1)}]" for at in range(_CHUNKS))
        ran = self._sandbox.run(before + script.text, probes, RUN_SECONDS)
        lines = tuple(line - before.count("\n") for line in ran.lines if line > before.count("\n"))
        return ran._replace(lines=lines, line=lines[-1] if lines else None)

    def _tapes(self, ran: Ran) -> list[Tape]:
        text = "".join(one.value for one in ran.values if isinstance(one.value, str))
        if len(text) >= _CHUNK * _CHUNKS:
            self.why = "torch's tape is too long to be taken down"
            return []
        parts = [self._tape(part) for part in text.split("|") if part]
        return [one for one in parts if one is not None]

    def _tape(self, text: str) -> Tape | None:
        """Return a tape from its text; None for one that is too long."""
        lines = [] if text == "none" else [line.split() for line in text.split(";")]
        nodes = [Recorded(name.rpartition("::")[2]) for name, *_ in lines]
        for node, (_, *below) in zip(nodes, lines, strict=True):
            if "-1" in below:
                return None
            node.inputs = [nodes[int(number)] for number in below]
        return Tape(self._drawing.row, self._drawing.title, nodes[0] if nodes else None)

    def _compared(self, tapes: Sequence[Tape], *, exact: bool) -> Compared:
        """Hold the drawing against the tape that fits it best: another path may lead to another."""
        scores = [compare(self._drawing, tape) for tape in (tapes if self._drawing.others else tapes[:1])]
        best = min(scores, key=lambda score: len(score.wrong))
        if best.wrong and not exact:
            return Compared("unconfirmed", "it differs where values of the program were made up", tuple(best.wrong))
        if best.wrong:
            return Compared("different", "torch records another graph", tuple(best.wrong))
        if not best.right:
            return Compared("unconfirmed", "nothing in the drawing is certain enough to be compared")
        return Compared("same", f"torch records the same graph: {_counted(best)}")


def _counted(score: Score) -> str:
    """Say what was compared; what is not certain in the drawing was not."""
    right, uncertain = score.right, sum(score.open.values())
    said = f"{right['node']} names of nodes, {right['edges']} lists of inputs, {right['leaf']} times a leaf"
    left = f"; {uncertain} facts of which the drawing is not certain are left out" if uncertain else ""
    return f"{'none' if right['no graph'] else said}{left}"


def _note(body: list[ast.stmt], row: int, name: str) -> bool:
    """Note what a statement of the row gives to a variable, after it; return whether there is one."""
    for index, node in enumerate(body):
        target = _target(node) if getattr(node, "lineno", 0) == row else None
        if target is not None:
            body.insert(index + 1, statement(f"{name}({target})"))
            return True
        if any(_note(block, row, name) for block in blocks_of(node)):
            return True
    return False


def _target(node: ast.stmt) -> str | None:
    match node:
        case ast.Assign([ast.Name(name)]) | ast.AnnAssign(ast.Name(name)) | ast.AugAssign(ast.Name(name)):
            return name
    return None
