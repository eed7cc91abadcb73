"""From a finding to a verdict: programs that lead to the fault are made up, run, and cut down to a repro."""

from __future__ import annotations

import ast
import copy
import math
import os
import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import NamedTuple

from gradlint.confirm.check.effect import Silence
from gradlint.confirm.check.error import Claim, Raising
from gradlint.confirm.check.evidence import is_known, is_local, measure_of, obstacle, other_torch, pattern_of, slips_of
from gradlint.confirm.check.places import call
from gradlint.confirm.prepare.altered import alteration
from gradlint.confirm.prepare.candidates import Sketch, statement
from gradlint.confirm.prepare.ends import may_end
from gradlint.confirm.prepare.entry import Way, ways_to
from gradlint.confirm.prepare.hidden import hidden_effect, leaves_out_effects
from gradlint.confirm.prepare.link import Importers, linked, parsed
from gradlint.confirm.prepare.script import Script, unused_name
from gradlint.confirm.prepare.sketch import sketch
from gradlint.confirm.prepare.slice import Slice, slices
from gradlint.confirm.prepare.syntax import length_of, name_of
from gradlint.confirm.run.sandbox import Sandbox, TorchMissingError
from gradlint.confirm.run.search import MOST_RUNS, Found, Inquiry, filled
from gradlint.domain.confirmation import Confirmation
from gradlint.domain.finding import Finding
from gradlint.source.layout import Layout

SECONDS = 5.0
"""What a finding may take until it is confirmed; cutting a proof down comes on top of it."""

_WHOLE = 0.6
"""The share of whole programs; the rest is for slices of them."""
_SHRINKING = 4.0
_MOST_RUNNERS = 2
_MOST_CUTS = 12
_LONG = 100
"""From so many lines on slices of a program come before the whole."""
_HUGE = 1500
"""From so many lines on the whole is not tried: to make it harmless alone takes longer than there is time."""
_TOO_LONG = "the program is too long to be run, and no part of it shows the fault"
_FEW = 8
"""So many made-up values are tried in a slice before what fails is cut out of it."""


class Prover:
    """Confirms findings; `patterns` says of each code what torch's message holds."""

    def __init__(
        self, sandbox: Sandbox, patterns: Mapping[str, str], *, shrink: bool = True, seconds: float = SECONDS
    ) -> None:
        """Without `shrink` a proof is given as it was found: faster, and longer to read."""
        self._sandbox = sandbox
        self._shrink = _SHRINKING if shrink else 0.0
        self._patterns = patterns
        self._layout = Layout()
        self._importers = Importers(self._layout)
        self._errors = re.compile("|".join(f"(?:{pattern})" for pattern in patterns.values()) or "(?!)")
        self._seconds = seconds

    def confirm(self, finding: Finding, text: str, files: Sequence[str] = ()) -> Confirmation:
        """Return the verdict on one finding in a file of the text given.

        What it imports from its project belongs to the program, and where that shows nothing, so do those of `files`,
        by their paths, that import it.
        """
        try:
            self._sandbox.start()
        except TorchMissingError as error:
            return Confirmation("unconfirmed", str(error))
        begun = time.monotonic()
        verdict = self._confirm(finding, text, files)
        return replace(verdict, torch=self._sandbox.torch, seconds=time.monotonic() - begun)

    def heals(self, finding: Finding, before: str, after: str, mended: Finding, *, safe: bool) -> bool:
        """Return whether a finding is confirmed in one text of a file, and its place is passed without the fault in
        the other.

        `mended` is the finding where it would stand in the other text. With `safe`, the two must assign the same
        values to their variables, too. Errors of other findings stay out of it: each fix is judged for itself.
        """
        first = self._try(finding, before, sliced=False)
        if first is None or first.verdict.verdict != "confirmed":
            return False
        second = self._try(mended, after, sliced=False)
        if second is None or second.verdict.verdict == "confirmed":
            return False
        broken, whole = self._way(before, finding, first), self._way(after, mended, first)
        passed = second.verdict.verdict == "refuted" or second.passed
        # A fix may put something else in the place of what would be watched: that has to run.
        if not passed and not (second.idle and self._finishes(whole, first)):
            return False
        return not safe or self._keeps_values(broken, whole, first, slips_of(finding))

    def _finishes(self, way: Way | None, shown: _Asked) -> bool:
        """Return whether a program runs through with the values with which the fault was shown."""
        if way is None or shown.found is None or len(way.holes) != len(shown.found.values):
            return False
        return self._sandbox.run(filled(way.script, shown.found.values).text, seconds=SECONDS).outcome == "finished"

    def _keeps_values(self, first: Way | None, second: Way | None, shown: _Asked, slips: tuple[str, ...]) -> bool:
        """Return whether both programs, entered alike and given the same values, compute the same."""
        assert shown.found is not None, "what is confirmed has been shown by a run"
        if first is None or second is None or [hole.text for hole in first.holes] != [h.text for h in second.holes]:
            return False
        values = shown.found.values
        programs = [filled(way.script, values) for way in (first, second)]
        numbers = [_forward_values(self._sandbox, program, SECONDS, slips) for program in programs]
        return _agree(*numbers)

    def _confirm(self, finding: Finding, text: str, files: Sequence[str]) -> Confirmation:
        if (why := obstacle(finding.name, finding.effect) or other_torch(finding)) is not None:
            return Confirmation("unconfirmed", why)
        if not is_known(finding, self._patterns):
            return Confirmation("unconfirmed", "nothing is known that would confirm this rule")
        asked = self._try(finding, text, files)
        if asked is None:
            return Confirmation("unconfirmed", "this Python cannot parse the file")
        return asked.verdict

    def _try(self, finding: Finding, text: str, files: Sequence[str] = (), *, sliced: bool = True) -> _Asked | None:
        """Return the verdict on a finding in a text; None for what is no Python.

        After a run that was given up by the clock there is none: on another day it might have come to something.
        """
        self._sandbox.undecided = None
        asked = self._first_try(finding, text, files, sliced=sliced)
        if asked is not None and self._sandbox.undecided is not None:
            return _Asked(Confirmation("unconfirmed", self._sandbox.undecided), slow=False)
        return asked

    def _first_try(self, finding: Finding, text: str, files: Sequence[str], *, sliced: bool) -> _Asked | None:
        """Return the first verdict that is one."""
        begun = self._sandbox.clock()
        whole, end = begun + self._seconds * (_WHOLE if sliced else 1.0), begun + self._seconds
        asked: _Asked | None = None
        pieces: list[tuple[Finding, Slice]] = []
        for number, (tree, placed, effect) in enumerate(self._programs(finding, text, files)):
            row, slips = placed.span.start.row, slips_of(finding)
            if (said := effect or alteration(tree, row, slips) or hidden_effect(tree, row, slips)) is not None:
                return _Asked(Confirmation("unconfirmed", said), slow=False)
            if number == 0 and sliced:
                # A program is changed by what is made of it, so slices are made before.
                made = slices(tree, placed.span, local=is_local(placed))
                pieces = [(placed, piece) for piece in made if not leaves_out_effects(piece.tree, tree, row)]
                long = length_of(tree) > _HUGE or (length_of(tree) > _LONG and not may_end(tree))
                if long and (shown := self._try_slices(pieces, whole)) is not None:
                    return shown
                if length_of(tree) > _HUGE and pieces:
                    return _Asked(Confirmation("unconfirmed", _TOO_LONG), slow=False)
            if asked is None or self._sandbox.clock() < whole:
                asked = self._try_program(placed, tree, end if length_of(tree) > _LONG else whole)._replace(
                    program=number
                )
                if asked.verdict.verdict != "unconfirmed" or asked.ended:
                    return asked
        if asked is None or asked.passed or asked.exact or self._sandbox.clock() > end:
            return asked
        return self._try_slices(pieces, end) or asked

    def _programs(self, finding: Finding, text: str, files: Sequence[str]) -> Iterator[_Program]:
        """Yield the programs that the place of a finding may be run in.

        These are its file with what it imports, files that import it, and its file alone, in which all imports are made
        up.
        """
        tree = parsed(text)
        if tree is None:
            return
        if os.path.isfile(finding.filename):
            path = os.path.abspath(finding.filename)
            runners = self._importers.runners(path, files)[:_MOST_RUNNERS]
            for one, own in ((path, text), *((runner, None) for runner in runners)):
                program = linked(one, own, self._layout)
                if program is not None and path in program.rows:
                    yield _Program(program.tree, program.place(finding), program.effect)
        yield _Program(tree, finding)

    def _try_program(self, finding: Finding, tree: ast.Module, end: float) -> _Asked:
        """Return the verdict in one program, at first with all iterations of its loops."""
        made = sketch(tree, slips_of(finding))
        asked = self._ask(finding, made, end)._replace(exact=made.is_exact)
        if asked.verdict.verdict == "unconfirmed" and asked.slow and (fewer := limit_iterations(made)) is not None:
            again = self._ask(finding, fewer, end + self._seconds * (1 - _WHOLE) / 2)
            return again._replace(limited=True) if again.verdict.verdict == "confirmed" else asked
        if asked.verdict.verdict == "unconfirmed" and asked.failed is not None and measure_of(finding) is not None:
            # The error may be that of another finding, which a second iteration has.
            once = limit_iterations(made, 1)
            again = asked if once is None else self._ask(finding, once, end)
            return again._replace(limited=True) if again.verdict.verdict == "confirmed" else asked
        return asked

    def _try_slices(self, pieces: Iterable[tuple[Finding, Slice]], end: float) -> _Asked | None:
        """Return the first proof that a part of a program gives."""
        return next(filter(None, (self._try_slice(finding, piece, end) for finding, piece in pieces)), None)

    def _try_slice(self, finding: Finding, piece: Slice, end: float) -> _Asked | None:
        """Return the proof that a part of the program gives; what fails in it is cut out."""
        for _ in range(_MOST_CUTS):
            made = sketch(piece.fresh(), slips_of(finding), piece.aliases)
            asked = self._ask(finding, made, end, _FEW)
            if asked.verdict.verdict == "confirmed":
                return asked
            if asked.passed or asked.failed is None or self._sandbox.clock() > end or not piece.cut(asked.failed):
                break
        return None

    def _way(self, text: str, finding: Finding, shown: _Asked) -> Way | None:
        """Return the program that leads to the place of a finding as the one does in which the fault was shown."""
        programs = self._programs(finding, text, ())
        program = next(islice(programs, shown.program, None), None)
        made = None if program is None else sketch(program.tree, slips_of(finding))
        if made is not None and shown.limited:
            made = limit_iterations(made)
        if program is None or made is None or shown.found is None:
            return None
        return next(islice(ways_to(made, program.finding.span.start.row), shown.found.way, None), None)

    def _ask(self, finding: Finding, made: Sketch, end: float, most: int = MOST_RUNS) -> _Asked:
        """Return the verdict on one program."""
        measure, pattern = measure_of(finding), pattern_of(finding, self._patterns)
        measured: _Asked | None = None
        if measure is not None:
            silence = Silence(finding, measure, self._sandbox, self._errors, end, self._shrink, most)
            verdict = silence.confirm(made)
            measured = _Asked.of(verdict, silence)._replace(idle=silence.is_idle)
            if verdict.verdict != "unconfirmed" or pattern is None:
                return measured
        # What loses a gradient may lose the last one, and then torch says so.
        case = Raising(Claim.of(finding, pattern), self._sandbox, self._errors, end, self._shrink)
        case.is_whole_script = made.is_whole_script
        for number, way in enumerate(ways_to(made, finding.span.start.row)):
            if (found := case.try_way(number, way, most)) is not None:
                return _Asked.of(found, case)
            if case.is_refuted(made.dropped) or case.is_cut_off or self._sandbox.clock() > end:
                break
        if measured is not None:
            return measured._replace(slow=measured.slow or case.is_slow, ended=measured.ended or case.is_cut_off)
        return _Asked.of(case.defeat(made.dropped), case)


class _Program(NamedTuple):
    """A program, a finding at its place in it, and what an import in it may change, if anything."""

    tree: ast.Module
    finding: Finding
    effect: str | None = None


class _Asked(NamedTuple):
    """A verdict, whether some run took too long for more, how the fault was shown, whether some run came by the place
    and did not show it, the row where one failed, and which of the programs it was."""

    verdict: Confirmation
    slow: bool
    found: Found | None = None
    passed: bool = False
    failed: int | None = None
    exact: bool = False
    """Whether nothing of the program was made up."""
    limited: bool = False
    program: int = 0
    idle: bool = False
    """Whether no run had anything to measure."""
    ended: bool = False
    """Whether the program ends itself before the place."""

    @classmethod
    def of(cls, verdict: Confirmation, runs: Inquiry) -> _Asked:
        """Return what the runs have come to."""
        return cls(verdict, runs.is_slow, runs.found, runs.has_passed, runs.failed, ended=runs.is_cut_off)


_ITERATIONS = 4
_TRAINS = frozenset({"backward", "step", "grad"})


def limit_iterations(made: Sketch, most: int = _ITERATIONS) -> Sketch | None:
    """Return a copy whose training loops, and those around them, end after a few iterations; None if there are none."""
    tree = ast.Module(copy.deepcopy(made.body), [])
    trainers = _trainers(tree)
    loops = [node for node in ast.walk(tree) if isinstance(node, ast.For) and _trains(node, trainers)]
    limit = unused_name("islice", ast.unparse(tree))
    for loop in loops:
        loop.iter = ast.Call(ast.Name(limit, ast.Load()), [loop.iter, ast.Constant(most)], [])
    if not loops:
        return None
    fewer = Sketch(tree.body, list(made.holes), made.dropped + 1, made.removed)
    fewer.imports([statement(f"from itertools import islice as {limit}")])
    return fewer


def _trainers(tree: ast.Module) -> frozenset[str]:
    """Return the functions of the program in which gradients flow, by name, also those that call one."""
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    found: set[str] = set()
    size = -1
    while len(found) > size:
        size = len(found)
        found |= {node.name for node in functions if _trains(node, found)}
    return frozenset(found)


def _trains(node: ast.AST, trainers: set[str] | frozenset[str]) -> bool:
    return any(isinstance(part, ast.Call) and name_of(part.func) in _TRAINS | trainers for part in ast.walk(node))


_KEPT, _NOTER = "numbers_by_name", "number_noted"
_NOTED = f"""\
import torch
{_KEPT} = {{}}
def {_NOTER}(name, value):
    if isinstance(value, torch.Tensor) and value.is_floating_point():
        {_KEPT}.setdefault(name, []).append(float(value.detach().double().sum()))
    elif isinstance(value, float):
        {_KEPT}.setdefault(name, []).append(value)
    return value
"""
_MOST_NAMES = 40
_LONGEST_VALUE = 500
_CLOSE = 1e-4

Numbers = Mapping[str, tuple[float, ...]]
"""The sums of the tensors, and the numbers, that were assigned to each name, in order."""


def _forward_values(sandbox: Sandbox, script: Script, seconds: float, slips: tuple[str, ...] = ()) -> Numbers:
    """Return what a run assigns to its variables, up to its end or error; nothing of one without a result."""
    tree = ast.parse(script.text)
    kept, function = (unused_name(name, script.text) for name in (_KEPT, _NOTER))
    noter = _Noter(function)
    noter.visit(tree)
    names = sorted(noter.names)[:_MOST_NAMES]
    probes = tuple(f"' '.join(f'{{one:.8g}}' for one in {kept}.get({name!r}, []))" for name in names)
    text = _NOTED.replace(_KEPT, kept).replace(_NOTER, function) + ast.unparse(ast.fix_missing_locations(tree)) + "\n"
    ran = sandbox.run(text, probes, seconds=seconds, slips=slips)
    texts = {name: value.value for name, value in zip(names, ran.values, strict=False)}
    return {name: _numbers(text) for name, text in texts.items() if isinstance(text, str)}


def _agree(before: Numbers, after: Numbers) -> bool:
    """Return whether two runs assign the same numbers to the same names, as far as both come; one of them at least.

    What was no finite number before did not work.
    """
    both = [(before[name], after[name]) for name in before if name in after]
    pairs = [pair for one, other in both for pair in zip(one, other, strict=False)]
    worked = [pair for pair in pairs if math.isfinite(pair[0])]
    return all(_is_close(*pair) for pair in worked) and (len(pairs) > 0 or not any(before.values()))


def _numbers(text: str) -> tuple[float, ...]:
    words = text.split()
    # What is cut off may be half a number.
    return tuple(map(float, words[:-1] if len(text) >= _LONGEST_VALUE else words))


def _is_close(one: float, other: float) -> bool:
    return math.isclose(one, other, rel_tol=_CLOSE, abs_tol=1e-6)


class _Noter(ast.NodeTransformer):
    """Notes what is assigned to names."""

    def __init__(self, function: str) -> None:
        self._function = function
        self.names: set[str] = set()

    def visit_Assign(self, node: ast.Assign) -> ast.Assign:
        """On its way into the variable."""
        target = node.targets[0]
        if isinstance(target, ast.Name):
            self.names.add(target.id)
            node.value = call(self._function, ast.Constant(target.id), node.value)
        return node

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AugAssign | list[ast.stmt]:
        """When it is there."""
        if not isinstance(node.target, ast.Name):
            return node
        name = node.target.id
        self.names.add(name)
        return [node, ast.Expr(call(self._function, ast.Constant(name), ast.Name(name, ast.Load())))]
