"""Silent effects put before torch: the program runs with instruments in it, and what they note is judged."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator

from gradlint.confirm.entry import Way, ways_to
from gradlint.confirm.instrument import LOSS, TURN, VALUE, instrumented, without_instruments
from gradlint.confirm.measure import Measure, Variant
from gradlint.confirm.ran import Probed, Ran
from gradlint.confirm.sandbox import Sandbox
from gradlint.confirm.script import Script, spaced
from gradlint.confirm.search import attempts
from gradlint.confirm.shrink import shrunk
from gradlint.confirm.sketch import Sketch
from gradlint.domain.confirmation import Confirmation
from gradlint.domain.finding import Finding, Span

_ENOUGH = 4
_LEAF = re.compile(r"is lost|not trained|this (?:leaf|parameter)")


class Silence:
    """One finding of a silent effect, and how it is measured."""

    def __init__(self, finding: Finding, measure: Measure, sandbox: Sandbox, end: float, shrink: float) -> None:
        """`shrink` is the time for cutting down a proof."""
        self._finding = finding
        self._measure = measure
        self._sandbox = sandbox
        self._end = end
        self._shrink = shrink
        self._why = "no run came to the place"

    def confirm(self, made: Sketch) -> Confirmation:
        """The verdict on the finding in the program of a sketch."""
        row = self._finding.span.start.row
        turns = self._measure.watches == "turns"
        losses = f"def {LOSS}(" in self._measure.variants[0].before
        watched = list(self._watched())
        program, found = instrumented(made, watched, losses=losses, loop_row=row if turns else None)
        if self._measure.watches and not found:
            return Confirmation("unconfirmed", "what would have to be watched has no place of its own in the program")
        for way in ways_to(program, row):
            verdict = self._try_way(way, exact=not way.holes and not way.driven and not made.dropped)
            if verdict is not None:
                return verdict
        return Confirmation("unconfirmed", self._why)

    def _watched(self) -> Iterator[Span]:
        if self._measure.watches == "own":
            yield self._finding.span
        elif self._measure.watches == "leaf":
            yield from (other.span for other in self._finding.related if _LEAF.search(other.message))

    def _try_way(self, way: Way, *, exact: bool) -> Confirmation | None:
        passed = 0
        for tried in attempts(way.script, way.holes, lambda script: self._run(script, self._measure.variants[0])):
            shown = self._is_shown(tried.script, tried.ran)
            if shown:
                return self._confirmed(tried.script)
            if tried.ran.outcome == "finished":
                passed += 1
                if shown is False and exact and self._measure.refutes:
                    return Confirmation("refuted", f"measured: it is not so that {self._measure.said}")
            else:
                self._why = f"the repro ends otherwise: {(tried.ran.message or tried.ran.outcome)[:120]}"
            if passed >= _ENOUGH or time.monotonic() > self._end:
                break
        return None

    def _is_shown(self, script: Script, ran: Ran) -> bool | None:
        """Whether the instruments show the effect; None if there was nothing to measure."""
        if ran.outcome != "finished":
            return None
        first, *rest = ran.values[: len(self._measure.probes)]
        if first.value is not True:
            self._why = "no run had anything to measure"
            return None
        if not all(value.value is True for value in rest):
            self._why = f"with made-up values it is not so that {self._measure.said}"
            return False
        return self._differs(script, ran.values[-1])

    def _differs(self, script: Script, usual: Probed) -> bool | None:
        """Whether one of the other variants gives another value."""
        if self._measure.compared is None:
            return True
        runs = [self._run(script, variant) for variant in self._measure.variants[1:]]
        others = [ran.values[-1] for ran in runs if ran.outcome == "finished"]
        if any(other.value != usual.value for other in others):
            return True
        self._why = f"it was not seen that {self._measure.said}"
        # Values made for the purpose may be the wrong ones to see a difference with.
        return False if others and self._measure.proof == "" else None

    def _run(self, script: Script, variant: Variant) -> Ran:
        """A run with the lines counted as in the script."""
        compared = () if self._measure.compared is None else (f"str({self._measure.compared})",)
        probes = (*self._measure.probes, *compared)
        text = variant.around(script.text)
        ran = self._sandbox.run(text, probes, seconds=max(0.2, min(2.0, self._end - time.monotonic())))
        shift = text[: text.index(script.text.split("\n")[0])].count("\n")
        lines = tuple(line - shift for line in ran.lines if 0 < line - shift <= len(script.lines))
        return ran._replace(lines=lines, line=lines[-1] if lines else None)

    def _confirmed(self, script: Script) -> Confirmation:
        if self._shrink:
            self._end = time.monotonic() + self._shrink
            span = self._finding.span
            script = shrunk(script, self._still, range(span.start.row, span.end.row + 1), self._end)
        return Confirmation("confirmed", f"measured: {self._measure.said}", repro=self._repro(script))

    def _still(self, smaller: Script) -> bool:
        return self._is_shown(smaller, self._run(smaller, self._measure.variants[0])) is True

    def _repro(self, script: Script) -> str:
        """The program with the instruments that its last statement needs."""
        needed = {name for name in (LOSS, VALUE, TURN) if f"def {name}(" in self._measure.shown}
        lines = without_instruments(script.text, {LOSS, VALUE, TURN} - needed)
        before = [line for line in self._measure.shown.splitlines() if line != "import torch"]
        before = [line for line in self._measure.shown.splitlines() if line != "import torch"]
        lines = [line for line in lines if line != "import torch"]
        imports = [line for line in lines if line.startswith(("import ", "from "))]
        lines = [*imports, *before, *lines[len(imports) :]]
        proof = [self._measure.proof] if self._measure.proof else [f"# {self._measure.said}"]
        return spaced(["import torch", *lines, *proof])
