"""What a run came to, in a line; and in numbers, under `--statistics`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from gradlint.domain.finding import SEVERITIES, Finding
from gradlint.outcome import Outcome
from gradlint.settings.config import Config
from gradlint.settings.keys import NEVER
from gradlint.settings.nearest import Configs

MOST = 20
"""How many kinds of what was not followed are listed."""


def summary(outcome: Outcome) -> str:
    """Return how much was found in how much that was looked at."""
    findings, crashed = outcome.findings, len(outcome.crashes)
    files = len(outcome.files) - crashed - len(outcome.late)
    read = sum(1 for file in outcome.files if file.interpreted)
    scope = f"{counted(files, 'file')} checked, {read} of which {'is' if read == 1 else 'are'} about torch"
    if crashed:
        scope += f"; an internal error kept us from {counted(crashed, 'more file')}"
    if not findings:
        return f"No findings: {scope}."
    numbers = Counter(finding.severity for finding in findings)
    parts = ", ".join(counted(numbers[severity], severity) for severity in SEVERITIES if severity in numbers)
    where = counted(len({finding.filename for finding in findings}), "file")
    return f"{counted(len(findings), 'finding')} ({parts}) in {where}: {scope}."


def more_may_follow(outcome: Outcome) -> Iterator[str]:
    """Yield that an error hides what comes after it, where torch raises: the interpreter follows a path only so far."""
    if any(finding.effect == "raises" and finding.stands for finding in outcome.findings):
        yield "Code after a line where torch raises is checked only in part: fixing it may reveal more findings."


def leniency(outcome: Outcome, configs: Configs) -> Iterator[str]:
    """Yield why a run in which no finding is severe enough to make it fail is none that fails."""
    standing = (finding for finding in outcome.findings if finding.stands)
    severities = [finding.severity for finding in standing if configs.about(finding).fail_on != NEVER]
    if severities:
        highest = min(severities, key=SEVERITIES.index)
        lenient = f"No finding is more severe than {highest}, so the run does not fail for them"
        yield f"{lenient}; `--fail-on {highest}` changes that."


def fixes(outcome: Outcome, configs: Configs, *, only_shown: bool = False) -> Iterator[str]:
    """Yield what was fixed, and what could be."""
    made = sum(sum(mended.made.values()) for mended in outcome.mended.values())
    if made or only_shown:
        yield f"{'Would fix' if only_shown else 'Fixed'} {counted(made, 'finding')}."
    offered = sum(map(configs.fixes, outcome.findings))
    hidden = sum(_unsafe(finding, configs.about(finding)) for finding in outcome.findings)
    more = f"{counted(hidden, 'more fix', 'more fixes')} with `--unsafe-fixes`" if hidden else ""
    if offered:
        yield f"{offered} fixable with `--fix`{f' ({more})' if more else ''}."
    elif more:
        yield f"{more}."


def _unsafe(finding: Finding, config: Config) -> bool:
    if finding.fix is None or finding.fix.safe or config.unsafe_fixes:
        return False
    return config.may_fix(finding)


def statistics(outcome: Outcome) -> Iterator[str]:
    """Yield findings by rule, comments that silenced some, and what the interpreter gave up."""
    rules = Counter((finding.code, finding.name) for finding in outcome.findings)
    for (code, name), number in sorted(rules.items(), key=lambda item: (-item[1], item[0])):
        yield f"{number:6}  {code}  {name}"
    silenced = sum(file.silenced for file in outcome.files)
    if silenced:
        yield f"{silenced:6}  silenced by comments"
    reasons = sorted(outcome.give_ups.items(), key=lambda item: (-item[1], item[0]))
    for reason, number in reasons[:MOST]:
        yield f"{number:6}  not followed: {reason}"
    if len(reasons) > MOST:
        rest = sum(number for _, number in reasons[MOST:])
        yield f"{rest:6}  not followed: {counted(len(reasons) - MOST, 'other thing')}"


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """Return a number with a noun: `1 finding`, `2 findings`."""
    if number != 1:
        noun = plural or (noun if noun == "info" else f"{noun}s")
    return f"{number} {noun}"
