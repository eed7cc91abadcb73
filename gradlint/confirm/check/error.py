"""Errors put before torch: the program runs with made-up values, until torch raises what a finding says it will."""

from __future__ import annotations

import re

from gradlint.confirm.check.effect import MADE_UP
from gradlint.confirm.check.evidence import doubt, slips_of
from gradlint.confirm.prepare.entry import Way
from gradlint.confirm.prepare.script import Script, spaced, with_marks
from gradlint.confirm.run.protocol import Ran
from gradlint.confirm.run.sandbox import Sandbox
from gradlint.confirm.run.search import ENOUGH, GUARDS, Found, Inquiry, attempts, passing, shrunk
from gradlint.domain.confirmation import Confirmation
from gradlint.domain.finding import Finding
from gradlint.domain.frozen import Frozen

RAN_THROUGH = f"{MADE_UP} it ran through"
_MARK = "reached"
_WALKS = re.compile(r"\.backward\(|\bgrad\(|\.apply\(")


class Claim(Frozen):
    """What confirms a finding: torch's text for one that says torch raises, and the rows where it may raise."""

    pattern: str | None
    raises: bool
    rows: frozenset[int]
    own: frozenset[int]
    slips: tuple[str, ...] = ()

    @classmethod
    def of(cls, finding: Finding, pattern: str | None) -> Claim:
        """Return the claim of a finding; its rows are those of the finding and of the places that explain it."""
        own = frozenset(range(finding.span.start.row, finding.span.end.row + 1))
        related = (range(other.span.start.row, other.span.end.row + 1) for other in finding.related)
        return cls(pattern, finding.effect == "raises", own.union(*related), own, slips_of(finding))


class Raising(Inquiry):
    """One claim, and what the runs so far have shown."""

    def __init__(self, claim: Claim, sandbox: Sandbox, errors: re.Pattern[str], end: float, shrink: float) -> None:
        """`errors` are all that gradlint finds, of whatever finding."""
        super().__init__(sandbox, end, shrink)
        self._claim = claim
        self._errors = errors
        self._passed = 0
        self._passed_exactly = False

    def try_way(self, number: int, way: Way, most: int) -> Confirmation | None:
        """Run one program, the way of this number, with several made-up values; None if no run is a proof."""
        for tried in attempts(way.script, way.holes, self._run, most):
            script, ran, exact = tried.script, tried.ran, not way.holes and not way.driven
            for _ in range(GUARDS):
                if self._shows(script, ran):
                    self.found = Found(number, tried.values)
                    return self._confirmed(script, ran)
                # The same error at another place is that of another finding; it refutes nothing.
                exact = exact and not self._says(ran)
                known = not way.holes or self._knows(ran)
                if not known or self._is_here(script, ran) or ran.outcome != "raised":
                    break
                if (again := passing(script, ran)) is None:
                    break
                # What runs after an error of the program's own is no longer the program.
                script, ran, exact = again, self._run(again), False
            self._note(script, ran, exact=exact)
            if self._is_late() or self._passed >= ENOUGH:
                return None
        return None

    def is_refuted(self, dropped: int) -> bool:
        """Return whether the program itself came by the place, with nothing made up, and torch raised nothing."""
        return self._passed_exactly and not dropped

    def defeat(self, dropped: int) -> Confirmation:
        """Return the verdict if no run is a proof."""
        if self.is_refuted(dropped) and self._claim.raises:
            return Confirmation("refuted", "it ran through, and torch raised nothing")
        return Confirmation("unconfirmed", RAN_THROUGH if self._passed else self._why)

    def _shows(self, script: Script, ran: Ran) -> bool:
        return self._says(ran) and (self._is_here(script, ran) or self._surfaces(script, ran))

    def _says(self, ran: Ran) -> bool:
        """Return whether torch raised the stated error, wherever."""
        return doubt(ran, self._claim.pattern) is None

    def _is_here(self, script: Script, ran: Ran) -> bool:
        """Return whether an error passed a place of the finding."""
        ranges = (script.origin(number) for number in ran.lines)
        return any(first > 0 and any(first <= row <= last for row in self._claim.rows) for first, last in ranges)

    def _surfaces(self, script: Script, ran: Ran) -> bool:
        """Return whether an error of what the finding points at comes up where the engine of autograd runs."""
        own = script.numbers_of(self._claim.own)
        walking = [_WALKS.search(script.lines[number - 1].text) is not None for number in (ran.line or 0, *own)]
        return ran.line is not None and bool(own) and walking[0] and not any(walking[1:])

    def _knows(self, ran: Ran) -> bool:
        """Return whether an error is one of those that gradlint finds: one of another finding, that is not made up."""
        return ran.outcome == "raised" and self._errors.search(ran.message or "") is not None

    def _confirmed(self, script: Script, ran: Ran) -> Confirmation:
        small, final = script, ran

        def still(smaller: Script) -> bool:
            nonlocal final
            again = self._run(smaller)
            same = again.error_type == ran.error_type and _gist(again.message) == _gist(ran.message)
            origin = smaller.origin(again.line or 0) == script.origin(ran.line or 0)
            shown = same and origin and self._shows(smaller, again)
            final = again if shown else final
            return shown

        if self._shrink:
            self._end += self._shrink
            small = shrunk(script, still, self._claim.own, self._is_late)
        repro = _marked(small, final)
        return Confirmation("confirmed", "torch raised the error", f"{final.error_type}: {final.message}", repro=repro)

    def _note(self, script: Script, ran: Ran, *, exact: bool) -> None:
        if ran.outcome == "finished":
            if self._came_by(script):
                self._passed += 1
                self.has_passed = True
                self._passed_exactly |= exact
            elif not self._passed:
                self._why = "no run came to the place"
            return
        self._note_failure(script, ran)
        if not self._passed:
            self._why = doubt(ran, self._claim.pattern, -1) or self._why

    def _came_by(self, script: Script) -> bool:
        """Return whether the lines of the finding are executed: the same run, with marks at them."""
        marked = with_marks(script, script.numbers_of(self._claim.own), _MARK)
        ran = self._run(marked, (f"len({_MARK}) > 0",))
        return ran.outcome == "finished" and ran.values[0].value is True

    def _run(self, script: Script, probes: tuple[str, ...] = ()) -> Ran:
        return self._sandbox.run(script.text, probes, seconds=self._seconds(), slips=self._claim.slips)


_PASSING = re.compile(r"version \d+|0x[0-9a-f]+")


def _gist(message: str | None) -> str:
    """Return what a message says, whatever else was written to the tensor before."""
    return _PASSING.sub("", message or "")


def _marked(script: Script, ran: Ran) -> str:
    """Return the program with the line marked that raises."""
    lines = [line.text for line in script.lines]
    if ran.line is not None:
        lines[ran.line - 1] += f"  # {ran.error_type}"
    return spaced(lines)
