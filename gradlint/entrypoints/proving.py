"""Findings put before torch: the part of the command line that starts the sandbox."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from gradlint.confirm.prepare.link import lowered
from gradlint.confirm.prove import Prover
from gradlint.confirm.run.sandbox import Sandbox
from gradlint.domain.confirmation import Confirmation
from gradlint.domain.finding import Finding
from gradlint.fixes.edits import apply, moved
from gradlint.outcome import Checked, Crash, Outcome
from gradlint.rules.registry import all_rules

Progress = Callable[[int, int], None]


@contextmanager
def prover(*, shrink: bool) -> Iterator[Prover]:
    """A prover that knows what confirms each rule, and its sandbox as long as it is used."""
    with Sandbox() as sandbox:
        yield Prover(sandbox, {rule.code: rule.error for rule in all_rules() if rule.error is not None}, shrink=shrink)


def confirmed(outcome: Outcome, progress: Progress, *, repros: bool) -> Outcome:
    """The outcome with a verdict on each finding; a refuted one becomes info. `repros`: they will be read."""
    total, done = len(outcome.findings), 0
    files: list[Checked] = []
    paths = [os.path.abspath(file.filename) for file in outcome.files]
    with prover(shrink=repros) as torch:
        for file in outcome.files:
            findings, crash = [], file.crash
            for finding in file.findings:
                try:
                    findings.append(asked(torch, finding, file.text, paths))
                except Exception as error:  # The finding stands; that torch could not be asked is reported apart.
                    crash = Crash.of(file.filename, error)
                    findings.append(replace(finding, confirmation=Confirmation("unconfirmed", crash.summary)))
                done += 1
                progress(done, total)
            files.append(replace(file, findings=tuple(findings), crash=crash))
    return Outcome(tuple(files), outcome.warnings)


def asked(torch: Prover, finding: Finding, text: str, files: Sequence[str] = ()) -> Finding:
    """The finding with its verdict; `files` are the paths of all that are checked."""
    verdict = torch.confirm(finding, text, files)
    severity = "info" if verdict.verdict == "refuted" else finding.severity
    return replace(finding, confirmation=verdict, severity=severity)


def healed(torch: Prover, finding: Finding, text: str) -> bool:
    """Whether torch shows the fault in the text, and no more once the fix is made; a safe one keeps the values, too."""
    after, made = apply(text, [finding])
    if not made or finding.fix is None:
        return False
    where = moved(text, [finding], finding.span.start)
    rows = after.count("\n", 0, where.start) + 1 - finding.span.start.row
    # Imports that the fix adds move all of its places down.
    mended = finding.relocated(
        lowered(finding.span, rows), lambda place: replace(place, span=lowered(place.span, rows))
    )
    return torch.heals(finding, text, after, mended, safe=finding.fix.safe)


def only_confirmed(outcome: Outcome) -> Outcome:
    """Return the outcome without what torch did not show."""

    def is_shown(finding: Finding) -> bool:
        return finding.confirmation is not None and finding.confirmation.verdict == "confirmed"

    return replace(
        outcome,
        files=tuple(replace(file, findings=tuple(filter(is_shown, file.findings))) for file in outcome.files),
    )
