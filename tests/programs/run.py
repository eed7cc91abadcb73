"""Execute the corpus under torch, and score gradlint over it.

`python -m tests.programs.run [--lint] [--execute] [--fix] [--confirm] [--missed] [NAME ...]`
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from gradlint import Config, check_paths
from gradlint.domain.finding import Finding

from .corpus import Program, load, mutants
from .execute import Verdict, judge_mutant, judge_original, worker
from .fixing import disturbed, fixed, summary
from .proving import proofs
from .proving import summary as summary_of_proofs
from .score import Catch, FalseAlarm, Guarded, catches, false_alarms


def main() -> int:
    """Both parts, or the one asked for; 1 if torch disagrees with the corpus or gradlint crashes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--execute", action="store_true", help="execute originals and mutants under torch")
    parser.add_argument("--lint", action="store_true", help="score gradlint: recall and false alarms")
    parser.add_argument("--fix", action="store_true", help="make all fixes, and ask torch what is left of each defect")
    parser.add_argument("--confirm", action="store_true", help="put what is found in mutants before torch")
    parser.add_argument("--missed", action="store_true", help="with the score, list every mutant not found")
    parser.add_argument("names", nargs="*", help="only these programs")
    options = parser.parse_args()
    programs = [program for program in load() if not options.names or program.name in options.names]
    both = not (options.execute or options.lint or options.fix or options.confirm)
    agreed = execute(programs) if options.execute or both else True
    sound = score(programs, options.missed) if options.lint or both else True
    if options.fix:
        fix(programs)
    if options.confirm:
        confirm(programs)
    return 0 if agreed and sound else 1


def fix(programs: list[Program]) -> None:
    """Fix everything, execute it, and print what the fixes are worth."""
    with worker() as torch_worker:
        for line in summary(list(fixed(torch_worker, mutants(programs)))):
            print(line)
        for line in disturbed(torch_worker, programs):
            print(f"a right program is broken by a fix: {line}")


def confirm(programs: list[Program]) -> None:
    """Put each finding that points at a defect before torch, and print what it says."""
    lint = Guarded(lint_in)
    for line in summary_of_proofs(proofs([fate for program in programs for fate in catches(lint, program)])):
        print(line, flush=True)


def execute(programs: list[Program]) -> bool:
    """Execute everything and print where torch disagrees."""
    with worker() as torch_worker:
        verdicts = [judge_original(torch_worker, program) for program in programs]
        verdicts += [judge_mutant(torch_worker, mutant) for mutant in mutants(programs)]
    faults = [verdict for verdict in verdicts if verdict.fault is not None]
    for verdict in faults:
        print(f"{verdict.name}: {verdict.fault}")
    slowest = max(verdicts, key=lambda verdict: verdict.seconds)
    print(
        f"executed {len(programs)} programs and {len(verdicts) - len(programs)} mutants in "
        f"{_total(verdicts):.0f} s (slowest {slowest.name}, {slowest.seconds:.1f} s): {len(faults)} disagree"
    )
    return not faults


def score(programs: list[Program], list_missed: bool) -> bool:
    """Lint everything and print recall per defect and the false alarms; False if gradlint crashed."""
    lint = Guarded(lint_in)
    alarms = [alarm for program in programs for alarm in false_alarms(lint, program)]
    fates = [fate for program in programs for fate in catches(lint, program)]
    _print_recall(fates)
    if list_missed:
        _print_missed(fates)
    _print_alarms(alarms)
    found = sum(bool(fate.hits) for fate in fates)
    speaking = {alarm.file for alarm in alarms}
    for crash, file in lint.crashes.items():
        print(f"crashed, first on {file}: {crash}")
    print(f"recall {found}/{len(fates)} mutants; {len(alarms)} false alarms in {len(speaking)} files")
    return not lint.crashes


def lint_in(folder: Path, file: Path) -> Sequence[Finding]:
    """The findings in a file of the folder; a crash of gradlint is raised."""
    outcome = check_paths([folder] if len(list(folder.rglob("*.py"))) > 1 else [file], Config())
    for crash in outcome.crashes:
        raise RuntimeError(crash.summary)
    return [finding for finding in outcome.findings if finding.filename == str(file)]


def _print_recall(fates: list[Catch]) -> None:
    by_defect: dict[str, list[Catch]] = defaultdict(list)
    for fate in fates:
        by_defect[fate.mutant.mutation.defect].append(fate)
    for defect, group in sorted(by_defect.items()):
        codes = sorted({code for fate in group for code in fate.hits})
        print(f"{defect:28} {sum(bool(fate.hits) for fate in group):3}/{len(group):<3} {' '.join(codes)}")


def _print_missed(fates: list[Catch]) -> None:
    for fate in fates:
        if not fate.hits:
            mutation, rows = fate.mutant.mutation, sorted(fate.mutant.accepted)
            other = " ".join(f"{code}@{row}" for row, code in fate.elsewhere)
            doubt = f" (hard: {mutation.doubt})" if mutation.doubt else ""
            print(f"missed {fate.mutant.name} [{mutation.defect}] {mutation.file}:{rows} {other}{doubt}")


def _print_alarms(alarms: list[FalseAlarm]) -> None:
    for alarm in alarms:
        print(f"false alarm {alarm.file}:{alarm.row}: {alarm.code} {alarm.message}")


def _total(verdicts: list[Verdict]) -> float:
    return sum(verdict.seconds for verdict in verdicts)


if __name__ == "__main__":
    sys.exit(main())
