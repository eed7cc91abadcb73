"""From a finding to a verdict: programs that lead to the fault are made up, run, and cut down to a repro."""

from __future__ import annotations

import ast
import os
import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import NamedTuple

from gradlint.confirm.entry import Way, ways_to
from gradlint.confirm.forward import agree, forward_values
from gradlint.confirm.hurry import hurried
from gradlint.confirm.linked import Importers, linked, parsed
from gradlint.confirm.measure import measure_of
from gradlint.confirm.ran import Ran
from gradlint.confirm.sandbox import Sandbox, TorchMissingError
from gradlint.confirm.script import Script, spaced, with_marks
from gradlint.confirm.search import Found, attempts, filled, guarded
from gradlint.confirm.shrink import shrunk
from gradlint.confirm.silence import MADE_UP, NO_PLACE, NOTHING, Silence
from gradlint.confirm.sketch import Sketch, sketch
from gradlint.confirm.standin import Made
from gradlint.confirm.verdict import Expectation, judge
from gradlint.domain.confirmation import Confirmation
from gradlint.domain.finding import Finding
from gradlint.source.neighbours import Layout

SECONDS = 4.0
RAN_THROUGH = f"{MADE_UP} it ran through"
_GUARDS = 5
_MOST_RUNNERS = 2
_ENOUGH = 4
"""After so many runs that came by the place and showed nothing, no other values are made up."""
_MARK = "reached"
_WALKS = re.compile(r"\.backward\(|\bgrad\(|\.apply\(")


@dataclass(frozen=True)
class Claim:
    """What confirms a finding: torch's text for one that says torch raises, and the rows where it may raise."""

    pattern: str | None
    raises: bool
    rows: frozenset[int]
    own: frozenset[int]

    @classmethod
    def of(cls, finding: Finding, pattern: str | None) -> Claim:
        """The rows are those of the finding and of the places that explain it."""
        own = frozenset(range(finding.span.start.row, finding.span.end.row + 1))
        related = (range(other.span.start.row, other.span.end.row + 1) for other in finding.related)
        return cls(pattern, finding.effect == "raises", own.union(*related), own)


class Prover:
    """Confirms findings; `patterns` says of each code what torch's message holds."""

    def __init__(
        self, sandbox: Sandbox, patterns: Mapping[str, str], *, shrink: bool = True, seconds: float = SECONDS
    ) -> None:
        """Without `shrink` a proof is given as it was found: faster, and longer to read."""
        self._sandbox = sandbox
        self._shrink = shrink
        self._patterns = patterns
        self._layout = Layout()
        self._importers = Importers(self._layout)
        self._errors = re.compile("|".join(f"(?:{pattern})" for pattern in patterns.values()) or "(?!)")
        self._seconds = seconds

    def confirm(self, finding: Finding, text: str, files: Sequence[str] = ()) -> Confirmation:
        """The verdict on one finding in a file of the text given.

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
        """Whether a finding is confirmed in one text of a file, and its place is passed without the fault in the other.

        `mended` is the finding where it would stand in the other text. With `safe`, the two must assign the same
        values to their variables, too. Errors of other findings stay out of it: each fix is judged for itself.
        """
        first = self._try(finding, before)
        if first is None or first.verdict.verdict != "confirmed":
            return False
        second = self._try(mended, after)
        if second is None:
            return False
        broken, whole = self._way(before, finding, first), self._way(after, mended, first)
        reason = second.verdict.reason
        passed = second.verdict.verdict == "refuted" or reason.startswith(MADE_UP)
        # A fix may put something else in the place of what would be watched: that has to run.
        if not passed and not (reason in (NO_PLACE, NOTHING) and self._finishes(whole, first)):
            return False
        return not safe or self._keeps_values(broken, whole, first)

    def _finishes(self, way: Way | None, shown: _Asked) -> bool:
        """Whether a program runs through with the values with which the fault was shown."""
        if way is None or shown.found is None or len(way.holes) != len(shown.found.values):
            return False
        return self._sandbox.run(filled(way.script, shown.found.values).text, seconds=SECONDS).outcome == "finished"

    def _keeps_values(self, first: Way | None, second: Way | None, shown: _Asked) -> bool:
        """Whether both programs, entered alike and given the same values, compute the same."""
        assert shown.found is not None, "what is confirmed has been shown by a run"
        if first is None or second is None or [hole.text for hole in first.holes] != [h.text for h in second.holes]:
            return False
        values = shown.found.values
        numbers = [forward_values(self._sandbox, filled(way.script, values), SECONDS) for way in (first, second)]
        return agree(*numbers)

    def _confirm(self, finding: Finding, text: str, files: Sequence[str]) -> Confirmation:
        if measure_of(finding) is None and finding.code not in self._patterns:
            return Confirmation("unconfirmed", "nothing is known that would confirm this rule")
        asked = self._try(finding, text, files)
        if asked is None:
            return Confirmation("unconfirmed", "this Python cannot parse the file")
        return asked.verdict

    def _programs(self, finding: Finding, text: str, files: Sequence[str]) -> Iterator[tuple[ast.Module, Finding]]:
        """The programs that the place of a finding may be run in: its file with what it imports, files that import it,
        and its file alone, in which all imports are made up."""
        tree = parsed(text)
        if tree is None:
            return
        if os.path.isfile(finding.filename):
            path = os.path.abspath(finding.filename)
            runners = self._importers.runners(path, files)[:_MOST_RUNNERS]
            for program in (linked(path, text, self._layout), *(linked(one, None, self._layout) for one in runners)):
                if program is not None and path in program.rows:
                    yield program.tree, program.place(finding)
        yield tree, finding

    def _try(self, finding: Finding, text: str, files: Sequence[str] = ()) -> _Asked | None:
        """The verdict on a finding in a text: the first that is one; None for what is no Python."""
        asked: _Asked | None = None
        for number, (tree, placed) in enumerate(self._programs(finding, text, files)):
            asked = self._try_program(placed, tree)._replace(program=number)
            if asked.verdict.verdict != "unconfirmed":
                break
        return asked

    def _try_program(self, finding: Finding, tree: ast.Module) -> _Asked:
        """The verdict in one program, at first with all turns of its loops."""
        made = sketch(tree)
        asked = self._ask(finding, made)
        if asked.verdict.verdict == "unconfirmed" and asked.slow and (fewer := hurried(made)) is not None:
            again = self._ask(finding, fewer)
            return again._replace(hurried=True) if again.verdict.verdict == "confirmed" else asked
        return asked

    def _way(self, text: str, finding: Finding, shown: _Asked) -> Way | None:
        """The program that leads to the place of a finding as the one does in which the fault was shown."""
        programs = self._programs(finding, text, ())
        tree, placed = next(islice(programs, shown.program, None), (None, finding))
        made = None if tree is None else sketch(tree)
        if made is not None and shown.hurried:
            made = hurried(made)
        if made is None or shown.found is None:
            return None
        return next(islice(ways_to(made, placed.span.start.row), shown.found.way, None), None)

    def _ask(self, finding: Finding, made: Sketch) -> _Asked:
        """The verdict on one program."""
        measure, pattern, slow = measure_of(finding), self._patterns.get(finding.code), False
        if measure is not None:
            shrink = SECONDS if self._shrink else 0.0
            silence = Silence(finding, measure, self._sandbox, time.monotonic() + self._seconds, shrink)
            measured, slow = silence.confirm(made), silence.is_slow
            if measured.verdict != "unconfirmed" or pattern is None:
                return _Asked(measured, slow, silence.found)
        # What loses a gradient may lose the last one, and then torch says so.
        end = time.monotonic() + self._seconds
        case = _Case(Claim.of(finding, pattern), self._sandbox, self._errors, end, self._shrink)
        for number, way in enumerate(ways_to(made, finding.span.start.row)):
            found = case.try_way(way)
            if found is not None:
                return _Asked(found, slow, Found(number, case.values))
            if case.is_refuted(made.dropped):
                break
        return _Asked(case.defeat(made.dropped) if measure is None else measured, slow or case.is_slow)


class _Asked(NamedTuple):
    """A verdict, whether some run took too long for more, how the fault was shown, and in which of the programs."""

    verdict: Confirmation
    slow: bool
    found: Found | None = None
    hurried: bool = False
    program: int = 0


class _Case:
    """One claim, and what the runs so far have shown."""

    def __init__(self, claim: Claim, sandbox: Sandbox, errors: re.Pattern[str], end: float, shrink: bool) -> None:
        self._claim = claim
        self._sandbox = sandbox
        self._errors = errors
        self._end = end
        self._shrink = shrink
        self._why = "no run came to the place"
        self.is_slow = False
        self.values: tuple[Made, ...] = ()
        self._passed = 0
        self._passed_exactly = False

    def try_way(self, way: Way) -> Confirmation | None:
        """Run one program with several made-up values; None if no run is a proof."""
        for tried in attempts(way.script, way.holes, self._run):
            script, ran, exact = tried.script, tried.ran, not way.holes and not way.driven
            for _ in range(_GUARDS):
                if self._shows(script, ran):
                    self.values = tried.values
                    return self._confirmed(script, ran)
                # The same error at another place is that of another finding; it refutes nothing.
                exact = exact and not self._says(ran)
                known = not way.holes or self._knows(ran)
                if not known or self._is_here(script, ran) or not (again := self._behind(script, ran)):
                    break
                # What runs behind an error of the program's own is no longer the program.
                script, ran, exact = again, self._run(again), False
            self._note(script, ran, exact=exact)
            if time.monotonic() > self._end or self._passed >= _ENOUGH:
                return None
        return None

    def is_refuted(self, dropped: int) -> bool:
        """Whether the program itself came by the place, with nothing made up, and torch raised nothing."""
        return self._passed_exactly and not dropped

    def defeat(self, dropped: int) -> Confirmation:
        """The verdict if no run is a proof."""
        if self.is_refuted(dropped) and self._claim.raises:
            return Confirmation("refuted", "it ran through, and torch raised nothing")
        if self._passed:
            return Confirmation("unconfirmed", RAN_THROUGH)
        return Confirmation("unconfirmed", self._why)

    def _shows(self, script: Script, ran: Ran) -> bool:
        return self._says(ran) and (self._is_here(script, ran) or self._surfaces(script, ran))

    def _says(self, ran: Ran) -> bool:
        """Whether torch raised the stated error, wherever."""
        return judge(Expectation("raises", self._claim.pattern), ran).verdict == "confirmed"

    def _is_here(self, script: Script, ran: Ran) -> bool:
        """Whether an error came by a place of the finding."""
        return any(self._meets(script, number, self._claim.rows) for number in ran.lines)

    def _surfaces(self, script: Script, ran: Ran) -> bool:
        """Whether an error of what the finding points at comes up where the engine of autograd runs."""
        if ran.line is None or not _WALKS.search(script.lines[ran.line - 1].text):
            return False
        own = script.numbers_of(self._claim.own)
        return bool(own) and not any(_WALKS.search(script.lines[number - 1].text) for number in own)

    def _knows(self, ran: Ran) -> bool:
        """Whether an error is one of those that gradlint finds: one of another finding, that is not made up."""
        return ran.outcome == "raised" and self._errors.search(ran.message or "") is not None

    def _meets(self, script: Script, number: int, rows: Iterable[int]) -> bool:
        first, last = script.origin(number)
        return first > 0 and any(first <= row <= last for row in rows)

    def _behind(self, script: Script, ran: Ran) -> Script | None:
        """Another error came first: go on behind it, as the finding takes for granted."""
        if ran.outcome != "raised" or ran.line is None or not 0 < ran.line <= len(script.lines):
            return None
        for number in reversed(ran.lines):
            if (again := guarded(script, number)) is not None:
                return again
        return None

    def _confirmed(self, script: Script, ran: Ran) -> Confirmation:
        def still(smaller: Script) -> bool:
            again = self._run(smaller)
            same = again.error_type == ran.error_type and _gist(again.message) == _gist(ran.message)
            origin = smaller.origin(again.line or 0) == script.origin(ran.line or 0)
            return same and origin and self._shows(smaller, again)

        small = shrunk(script, still, self._claim.own, self._end + SECONDS) if self._shrink else script
        final = self._run(small) if self._shrink else ran
        repro = _marked(small, final)
        return Confirmation("confirmed", "torch raised the error", f"{final.error_type}: {final.message}", repro=repro)

    def _note(self, script: Script, ran: Ran, *, exact: bool) -> None:
        if ran.outcome == "finished":
            if self._came_by(script):
                self._passed += 1
                self._passed_exactly |= exact
            elif not self._passed:
                self._why = "no run came to the place"
            return
        self.is_slow |= ran.outcome == "timeout"
        if not self._passed:
            self._why = judge(Expectation("raises", self._claim.pattern, -1), ran).reason

    def _came_by(self, script: Script) -> bool:
        """Whether the lines of the finding are executed: the same run, with marks at them."""
        marked = with_marks(script, script.numbers_of(self._claim.own), _MARK)
        ran = self._run(marked, (f"len({_MARK}) > 0",))
        return ran.outcome == "finished" and ran.values[0].value is True

    def _run(self, script: Script, probes: tuple[str, ...] = ()) -> Ran:
        return self._sandbox.run(script.text, probes, seconds=max(0.2, min(2.0, self._end - time.monotonic())))


_PASSING = re.compile(r"version \d+|0x[0-9a-f]+")


def _gist(message: str | None) -> str:
    """What a message says, whatever else was written to the tensor before."""
    return _PASSING.sub("", message or "")


def _marked(script: Script, ran: Ran) -> str:
    """The program with the line marked that raises."""
    lines = [line.text for line in script.lines]
    if ran.line is not None:
        lines[ran.line - 1] += f"  # {ran.error_type}"
    return spaced(lines)
