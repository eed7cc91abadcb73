"""Errors put before torch: the program runs with made-up values, until torch raises what a finding says it will."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from gradlint.confirm.check.effect import ENDED, MADE_UP
from gradlint.confirm.check.evidence import doubt, slips_of
from gradlint.confirm.prepare.entry import Way
from gradlint.confirm.prepare.script import Script, spaced, unused_name, with_marks
from gradlint.confirm.run.protocol import SEEDS, Ran
from gradlint.confirm.run.sandbox import Sandbox
from gradlint.confirm.run.search import (
    ENOUGH,
    GUARDS,
    RUN_SECONDS,
    WALKS,
    Found,
    Inquiry,
    attempts,
    passing,
    rethrown,
    shrunk,
    surfacing,
    up_to_end,
)
from gradlint.domain.confirmation import Confirmation
from gradlint.domain.finding import Finding
from gradlint.domain.frozen import Frozen

RAN_THROUGH = f"{MADE_UP} it ran through"
_NO_PROOF = "torch raised the error, and no program shows it that can be run by itself"
_FAILED_WALK = re.compile("only for scalar outputs|Mismatch in shape|modified by an inplace|a second time")


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
            script, ran, exact = tried.script, tried.ran, way.is_exact
            passed: list[Ran] = []
            for _ in range(GUARDS):
                shown = self._shown(script, ran)
                if shown is not None and not _is_consequence(shown, passed):
                    self.found = Found(number, tried.values)
                    return self._confirmed(script, shown)
                # The same error elsewhere, or another one here, is that of another finding; it refutes nothing.
                exact = exact and not any(self._is_near(script, one) for one in ran.all_raised())
                undefined = len(passed) > 0 and ran.error_type in ("NameError", "UnboundLocalError")
                if not (self._knows(ran) or undefined) or self._is_here(script, ran):
                    break
                if (again := passing(script, ran)) is None:
                    break
                passed.append(ran)
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

    def _shown(self, script: Script, ran: Ran) -> Ran | None:
        """Return the run with the error of the finding as its end, also if the program swallowed that."""
        return next((one for one in ran.all_raised() if self._shows(script, one)), None)

    def _shows(self, script: Script, ran: Ran) -> bool:
        return self._says(ran) and (self._is_here(script, ran) or self._surfaces(script, ran))

    def _says(self, ran: Ran) -> bool:
        """Return whether torch raised the stated error, wherever."""
        return doubt(ran, self._claim.pattern) is None

    def _is_near(self, script: Script, ran: Ran) -> bool:
        """Return whether torch raised the stated error, wherever, or any other at a place of the finding."""
        return self._says(ran) or (doubt(ran, None) is None and self._is_here(script, ran))

    def _is_here(self, script: Script, ran: Ran) -> bool:
        """Return whether an error passed a place of the finding."""
        ranges = (script.origin(number) for number in ran.lines)
        return any(first > 0 and any(first <= row <= last for row in self._claim.rows) for first, last in ranges)

    def _surfaces(self, script: Script, ran: Ran) -> bool:
        """Return whether an error of what the finding points at comes up where the engine of autograd runs."""
        own = script.numbers_of(self._claim.own)
        walking = [WALKS.search(script.lines[number - 1].text) is not None for number in (ran.line or 0, *own)]
        return ran.line is not None and bool(own) and walking[0] and not any(walking[1:])

    def _knows(self, ran: Ran) -> bool:
        """Return whether an error is one of those that gradlint finds: one of another finding, that is not made up."""
        return ran.outcome == "raised" and not ran.forced and self._errors.search(ran.message or "") is not None

    def _confirmed(self, script: Script, ran: Ran) -> Confirmation:
        def again(other: Script) -> Ran | None:
            """Return the run of another program with the same error from the same row, also if it is swallowed."""
            return next((one for one in self._run(other).all_raised() if self._is_same(script, ran, other, one)), None)

        small = script
        if self._shrink:
            self._end += self._shrink
            small = shrunk(script, lambda other: again(other) is not None, self._claim.own, self._is_late)
        # What is printed is executed once more, and what that run raises is what is said.
        for program in self._proofs(small, again):
            end, *raised = self._run(program).all_raised()
            final = next((one for one in (end, *raised) if self._is_same(script, ran, program, one)), None)
            if final is not None and _is_of(end, final):
                error = f"{final.error_type}: {final.message}"
                return Confirmation("confirmed", "torch raised the error", error, repro=_marked(program, final))
        return Confirmation("unconfirmed", _NO_PROOF)

    def _proofs(self, script: Script, again: Callable[[Script], Ran | None]) -> Iterator[Script]:
        """Yield the program, then with what swallows the error taken out, then with the error raised at its end."""
        yield script
        yield from surfacing(script, lambda other: again(other) is not None)
        if (shown := again(script)) is not None and shown.line is not None:
            yield from filter(None, [rethrown(script, shown.line)])

    def _is_same(self, script: Script, ran: Ran, other: Script, again: Ran) -> bool:
        """Return whether a run of another program shows the same error, from the same row."""
        origin = other.origin(again.line or 0) == script.origin(ran.line or 0)
        return _is_of(again, ran) and origin and self._shows(other, again)

    def _note(self, script: Script, ran: Ran, *, exact: bool) -> None:
        if ran.outcome == "finished":
            if self._came_by(script):
                self._passed += 1
                self.has_passed = True
                self._passed_exactly |= exact
                return
            self.has_ended |= ran.error_type == "SystemExit" or (exact and self.is_whole_script)
            if not self._passed:
                self._why = ENDED if self.has_ended else "no run came to the place"
            return
        self._note_failure(script, ran)
        if not self._passed:
            self._why = doubt(ran, self._claim.pattern, -1) or self._why

    def _came_by(self, script: Script) -> bool:
        """Return whether the lines of the finding are executed, with other random numbers, and marks at them."""
        mark = unused_name("reached", script.text)
        marked = with_marks(script, script.numbers_of(self._claim.own), mark)
        ran = self._run(marked, (f"{mark} != []",), SEEDS[1])
        return ran.outcome == "finished" and len(ran.values) > 0 and ran.values[0].value is True

    def _run(self, script: Script, probes: tuple[str, ...] = (), seed: int = SEEDS[0]) -> Ran:
        ran = self._sandbox.run(script.text, probes, RUN_SECONDS, self._claim.slips, seed)
        return up_to_end(ran)


_PASSING = re.compile(r"version \d+|0x[0-9a-f]+")


def _is_consequence(shown: Ran, passed: Iterable[Ran]) -> bool:
    """Return whether an error says that a gradient is missing, after a backward has failed that would have made it."""
    failed = any(_FAILED_WALK.search(ran.message or "") for ran in passed)
    return failed and "NoneType" in (shown.message or "")


def _is_of(one: Ran, other: Ran) -> bool:
    """Return whether two runs were raised the same error."""
    return (one.outcome, one.error_type, _gist(one.message)) == (other.outcome, other.error_type, _gist(other.message))


def _gist(message: str | None) -> str:
    """Return what a message says, whatever else was written to the tensor before."""
    return _PASSING.sub("", message or "")


def _marked(script: Script, ran: Ran) -> str:
    """Return the program with the line marked that raises."""
    lines = [line.text for line in script.lines]
    if ran.line is not None:
        lines[ran.line - 1] += f"  # {ran.error_type}"
    return spaced(lines)
