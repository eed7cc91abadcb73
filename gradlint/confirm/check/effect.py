"""Silent effects put before torch: the program runs with instruments in it, and what they note is judged."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping

from gradlint.confirm.check.places import GIVEN
from gradlint.confirm.effects.measure import Measure, Variant, defined_in
from gradlint.confirm.prepare.bindings import bound_by
from gradlint.confirm.prepare.candidates import Sketch
from gradlint.confirm.prepare.entry import Way, ways_to
from gradlint.confirm.prepare.instrument import ASKED, INSTRUMENTS, LOSS, instrumented, without_instruments
from gradlint.confirm.prepare.script import Script, spaced, unused_name
from gradlint.confirm.run.protocol import NOT_DECIDED, SEEDS, Probed, Ran
from gradlint.confirm.run.sandbox import Sandbox
from gradlint.confirm.run.search import (
    ENOUGH,
    GUARDS,
    MOST_RUNS,
    RUN_SECONDS,
    WALKS,
    Found,
    Inquiry,
    attempts,
    passing,
    shrunk,
    up_to_end,
)
from gradlint.domain.confirmation import Confirmation
from gradlint.domain.finding import Finding

MADE_UP = "with made-up values"
"""How the reason begins why nothing is confirmed where a run reached the place and did not show the effect."""

ENDED = "the program ends before it comes to the place"
_NO_PROOF = "the effect was measured, and no program shows it that can be run by itself"
_NOTHING = "no run had anything to measure"
_NO_PLACE = "what would have to be watched has no place of its own in the program"

_LAST_SECONDS = 4.0


class Silence(Inquiry):
    """One finding of a silent effect, and how it is measured."""

    def __init__(
        self,
        finding: Finding,
        measure: Measure,
        sandbox: Sandbox,
        errors: re.Pattern[str],
        end: float,
        shrink: float,
        most: int = MOST_RUNS,
    ) -> None:
        """`errors` are all that gradlint finds, of whatever finding; `most` is the number of values to try."""
        super().__init__(sandbox, end, shrink)
        self._most = most
        self._errors = errors
        self._finding = finding
        self._rows = range(finding.span.start.row, finding.span.end.row + 1)
        self._measure = measure
        self._way = 0
        self._seed = SEEDS[0]
        self._names: Mapping[str, str] = {}

    @property
    def is_idle(self) -> bool:
        """Whether no run had anything to measure."""
        return self._why in (_NOTHING, _NO_PLACE)

    def confirm(self, made: Sketch) -> Confirmation:
        """Return the verdict on the finding in the program of a sketch."""
        bound, taken = _names_of(made)
        text = self._measure.variants[0].before
        self._measure, self._names = measure, names = self._measure.beside(bound, taken)
        if GIVEN in taken:
            self._names = names = {**names, GIVEN: unused_name(GIVEN, "".join(taken))}
        row = self._rows[0]
        program, found = instrumented(
            made,
            measure.places(self._finding),
            names=names,
            losses=f"def {LOSS}(" in text,
            asked=f"{ASKED} = " in text,
            loss_rows=self._rows if measure.own_losses else None,
            loop_row=row if measure.iterated else None,
        )
        if (measure.watches or measure.iterated) and not found:
            self._why = _NO_PLACE
            return Confirmation("unconfirmed", self._why)
        self.is_whole_script = made.is_whole_script
        for number, way in enumerate(ways_to(program, row)):
            self._way = number
            verdict = self._try_way(way, exact=way.is_exact and not made.dropped)
            if verdict is not None:
                return verdict
            if self._is_late() or self.is_cut_off:
                break
        return Confirmation("unconfirmed", self._why)

    def _try_way(self, way: Way, *, exact: bool) -> Confirmation | None:
        passed = 0
        for tried in attempts(way.script, way.holes, self._run, self._most):
            script, ran = self._past_others(tried.script, tried.ran)
            shown, exact = self._is_shown(script, ran), exact and script == tried.script
            if shown and ran.outcome == "raised":
                script, shown = self._passed(script, ran)
            if shown:
                self.found = Found(self._way, tried.values)
                return self._confirmed(script)
            ends = ran.error_type == "SystemExit" or (exact and self.is_whole_script)
            if ran.outcome == "finished" and shown is None and ends:
                self.has_ended = True
                self._why = ENDED if ran.error_type else self._why
            elif ran.outcome == "finished":
                passed += 1
                self.has_passed |= shown is False
                if shown is False and exact and self._measure.refutes and self._is_shown_again(script) is False:
                    return Confirmation("refuted", f"measured: it is not so that {self._measure.said}")
            else:
                said = (ran.message or ran.outcome)[:120]
                self._why = said if said.startswith(NOT_DECIDED) else f"the repro ends otherwise: {said}"
                self._note_failure(script, ran)
            if passed >= ENOUGH or self._is_late():
                break
        return None

    def _past_others(self, script: Script, ran: Ran) -> tuple[Script, Ran]:
        """Run the program on after errors of other findings, unless a walk has failed: that loses gradients itself."""
        for _ in range(GUARDS):
            known = ran.outcome == "raised" and not ran.forced and self._errors.search(ran.message or "") is not None
            walked = ran.line is None or any(WALKS.search(script.lines[number - 1].text) for number in ran.lines)
            if not known or walked or self._is_shown(script, ran) or (again := passing(script, ran)) is None:
                break
            script, ran = again, self._run(again)
        return script, ran

    def _passed(self, script: Script, ran: Ran) -> tuple[Script, bool]:
        """Run the program on after an error that followed the effect; return also whether it shows the effect."""
        for _ in range(GUARDS):
            if (again := passing(script, ran)) is None:
                break
            script, ran = again, self._run(again)
            if ran.outcome != "raised":
                break
        return script, ran.outcome == "finished" and self._is_shown(script, ran) is True

    def _is_shown(self, script: Script, ran: Ran) -> bool | None:
        """Return whether the instruments show the effect; None if there was nothing to measure."""
        if not ran.values or (ran.outcome != "finished" and not self._measure.early):
            return None
        first, *rest = ran.values[: len(self._measure.probes)]
        failed = next((one.error for one in (first, *rest) if one.error is not None), None)
        if failed is not None or first.value is not True:
            self._why = _NOTHING if failed is None else f"it could not be measured: {failed}"
            return None
        if not all(value.value is True for value in rest):
            self._why = f"{MADE_UP} it is not so that {self._measure.said}"
            return False
        return self._differs(script, ran.values[-1])

    def _differs(self, script: Script, usual: Probed) -> bool | None:
        """Return whether one of the other variants gives another value."""
        if self._measure.compared is None:
            return True
        measured = False
        for variant in self._measure.variants[1:]:
            ran = self._run(script, variant)
            if ran.values and (ran.outcome == "finished" or self._measure.early):
                measured = True
                if (ran.values[-1].value != usual.value) != self._measure.same:
                    return True
        self._why = f"it was not seen that {self._measure.said}"
        # Values made for the purpose may be the wrong ones to see a difference with.
        return False if measured and self._measure.proof == "" else None

    def _is_shown_again(self, script: Script) -> bool | None:
        """Return whether the effect is shown with other random numbers."""
        self._seed = SEEDS[1]
        try:
            return self._is_shown(script, self._run(script))
        finally:
            self._seed = SEEDS[0]

    def _run(self, script: Script, variant: Variant | None = None) -> Ran:
        """Return a run, of the first variant unless another is given, with the lines counted as in the script."""
        compared = () if self._measure.compared is None else (f"str({self._measure.compared})",)
        probes = (*self._measure.probes, *compared)
        text = (variant or self._measure.variants[0]).around(script.text)
        ran = up_to_end(self._sandbox.run(text, probes, RUN_SECONDS, seed=self._seed))
        shift = text.count("\n") - script.text.count("\n")
        lines = tuple(line - shift for line in ran.lines if 0 < line - shift <= len(script.lines))
        return ran._replace(lines=lines, line=lines[-1] if lines else None)

    def _confirmed(self, script: Script) -> Confirmation:
        if self._shrink:
            self._end = self._sandbox.clock() + self._shrink
            script = shrunk(script, self._still, self._rows, self._is_late)
        if (repro := self._repro(script)) is None:
            return Confirmation("unconfirmed", _NO_PROOF)
        return Confirmation("confirmed", f"measured: {self._measure.said}", repro=repro)

    def _still(self, smaller: Script) -> bool:
        ran = self._run(smaller)
        return ran.outcome == "finished" and self._is_shown(smaller, ran) is True

    def _repro(self, script: Script) -> str | None:
        """Return the program with the first instruments with which it fails by itself, once it has done so."""
        variants = self._measure.shown or self._measure.variants[:1]
        return next(filter(self._fails, (self._shown(script, variant) for variant in variants)), None)

    def _fails(self, repro: str) -> bool:
        """Return whether a repro fails in its last statement, or where torch or an instrument looks for the effect."""
        ran = self._sandbox.run(repro, seconds=_LAST_SECONDS)
        if not self._measure.proof:
            return ran.outcome == "raised" and self._measure.raises in (ran.message or "")
        return (ran.outcome, ran.error_type, ran.line) == ("raised", "AssertionError", len(repro.splitlines()))

    def _shown(self, script: Script, variant: Variant) -> str:
        """Return the program with the instruments that its last statement needs."""
        names = {name: self._names.get(name, name) for name in INSTRUMENTS}
        defined = set(defined_in(ast.parse(variant.before)))
        unneeded = {name for name in names.values() if name not in defined} - {names[GIVEN]}
        before = [line for line in variant.before.splitlines() if line]
        lines = [line for line in without_instruments(script.text, unneeded) if line != "import torch"]
        imports = [line for line in lines if line.startswith(("import ", "from "))]
        rest = [line for line in lines if line not in imports]
        if variant.block:
            rest = [variant.block.rstrip(), *(f"    {line}" for line in rest)]
        imports += [line for line in before if line.startswith(("import ", "from "))]
        unused = () if any(f"{names[ASKED]}(" in line for line in rest) else (f"{names[ASKED]} = {names[LOSS]}",)
        before = [line for line in before if not line.startswith(("import ", "from ")) and line not in unused]
        proof = [self._measure.proof] if self._measure.proof else []
        return spaced(["import torch", *imports, *before, *rest, *proof])


def _names_of(made: Sketch) -> tuple[set[str], set[str]]:
    """Return the names that a program binds, apart from the module of torch, and all that it has."""
    bound: set[str] = set()
    taken: set[str] = set()
    for node in (node for part in made.body for node in ast.walk(part)):
        names = set(bound_by(node))
        if isinstance(node, ast.Import):
            names = {alias.asname or alias.name.partition(".")[0] for alias in node.names}
            names -= {"torch"} if all(not alias.asname for alias in node.names) else set()
        bound |= names
        taken |= {*names, *(name for name in (getattr(node, "id", None), getattr(node, "attr", None)) if name)}
        taken |= {node.arg} if isinstance(node, ast.keyword) and node.arg else set()
    return bound, taken
