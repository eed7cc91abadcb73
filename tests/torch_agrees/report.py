"""What a measurement found, in numbers and in the smallest disagreements."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .classify import CLASSES
from .generate import Generated
from .judge import Judgement
from .oracle import Outcome


@dataclass(frozen=True)
class Case:
    """One program with what torch did and what gradlint said."""

    program: Generated
    outcome: Outcome
    judgement: Judgement


@dataclass(frozen=True)
class Score:
    """How gradlint did on many programs."""

    cases: tuple[Case, ...]

    def recall(self, error: str | None = None) -> float:
        """Return the share of failing programs (of one class) whose mistake was found; 1 if there is none."""
        failing = [case for case in self.failing if error in (None, case.outcome.error)]
        found = sum(case.judgement.verdict == "found" for case in failing)
        return found / len(failing) if failing else 1.0

    @property
    def failing(self) -> list[Case]:
        """The programs that torch found a mistake in."""
        return [case for case in self.cases if case.outcome.kind == "fails"]

    @property
    def running(self) -> list[Case]:
        """The programs that run and whose gradients are right, but for those whose other mistakes torch shows."""
        return [case for case in self.cases if case.outcome.kind == "ok" and case.judgement.verdict != "shown"]

    @property
    def shown(self) -> list[Case]:
        """The programs that run, and that have silent mistakes which torch shows where it is asked about them."""
        return [case for case in self.cases if case.judgement.verdict == "shown"]

    @property
    def false_alarms(self) -> list[Case]:
        """Programs that run, and that gradlint calls wrong."""
        return [case for case in self.running if case.judgement.verdict == "false alarm"]

    @property
    def false_alarm_rate(self) -> float:
        """The share of running programs with a finding of severity error."""
        return len(self.false_alarms) / len(self.running) if self.running else 0.0

    @property
    def missed(self) -> list[Case]:
        """Failing programs whose mistake was not found."""
        return [case for case in self.failing if case.judgement.verdict == "missed"]

    @property
    def crashed(self) -> list[Case]:
        """Programs on which gradlint itself failed."""
        return [case for case in self.cases if case.judgement.verdict == "crash"]

    @property
    def disagreements(self) -> list[Case]:
        """Everything gradlint got wrong, the shortest programs first."""
        wrong = [*self.crashed, *self.false_alarms, *self.missed]
        return sorted(wrong, key=lambda case: (case.program.source.count("\n"), case.program.seed))


def render(score: Score) -> str:
    """Return the table that people read."""
    return "\n".join([*_head(score), "", *_classes(score), "", *_alarms(score), *_drops(score), *_crashes(score)])


def _head(score: Score) -> Iterator[str]:
    kinds = Counter(case.outcome.kind for case in score.cases)
    yield f"{len(score.cases)} programs: " + ", ".join(f"{count} {kind}" for kind, count in kinds.most_common())
    yield f"recall {score.recall():.2%} of {len(score.failing)} failing programs"
    yield f"false alarms {score.false_alarm_rate:.2%} of {len(score.running)} running programs"


def _classes(score: Score) -> Iterator[str]:
    sizes = Counter(case.outcome.error for case in score.failing)
    found = Counter(case.outcome.error for case in score.failing if case.judgement.verdict == "found")
    for name in sorted(CLASSES, key=lambda name: found[name] / max(sizes[name], 1)):
        share = f"{found[name] / sizes[name]:7.1%}" if sizes[name] else "      -"
        yield f"{share}  {found[name]:5d} of {sizes[name]:5d}  {name}"


def _alarms(score: Score) -> Iterator[str]:
    codes = Counter(said.code for case in score.false_alarms for said in case.judgement.said)
    for code, count in codes.most_common():
        yield f"{count:5d} false alarms of {code}"
    for code, count in Counter(said.code for case in score.shown for said in case.judgement.said).most_common():
        yield f"{count:5d} silent mistakes in programs that run, shown by execution: {code}"


def _drops(score: Score) -> Iterator[str]:
    messages = Counter(case.outcome.message for case in score.cases if case.outcome.kind == "dropped")
    for message, count in messages.most_common(5):
        yield f"{count:5d} dropped: {message}"


def _crashes(score: Score) -> Iterator[str]:
    crashes = Counter(case.judgement.crash.strip().split("\n")[-1] for case in score.crashed)
    for message, count in crashes.most_common(10):
        yield f"{count:5d} crashes of gradlint: {message}"


def render_disagreement(case: Case, source: str, outcome: Outcome) -> str:
    """Return one disagreement with its program, lines numbered; `*` marks the raising line, `!` a culprit."""
    head = f"--- seed {case.program.seed}: {case.judgement.verdict}, {outcome.error or 'runs'} {outcome.message}"
    said = [f"    gradlint: {one.code} at {one.lines}: {one.message}" for one in case.judgement.said]
    crash = [f"    {line}" for line in case.judgement.crash.strip().split("\n")] if case.judgement.crash else []
    marks: dict[int | None, str] = {**dict.fromkeys(outcome.culprits, "!"), outcome.line: "*"}
    text = [f"{marks.get(n, ' ')}{n:4d}  {line}" for n, line in enumerate(source.rstrip("\n").split("\n"), 1) if line]
    return "\n".join([head, *said, *crash, *text])


def smallest(cases: Sequence[Case], at_most: int) -> list[Case]:
    """Return short disagreements, no two of one verdict, class and scenario as long as there are others."""
    seen: Counter[tuple[str, str | None, str]] = Counter()
    ranked: list[tuple[int, int, Case]] = []
    for case in cases:
        codes = (
            ",".join(sorted({said.code for said in case.judgement.said})) if case.judgement.verdict != "missed" else ""
        )
        key = (case.judgement.verdict, case.outcome.error, codes or case.program.scenario)
        ranked.append((seen[key], len(ranked), case))
        seen[key] += 1
    return [case for _, _, case in sorted(ranked, key=lambda row: row[:2])[:at_most]]
