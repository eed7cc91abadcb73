"""`python -m tests.confirm.recall posts|torch|examples`: how many right findings execution confirms, and wrong ones.

Torch has run each program, so it is known which findings are right. Wrong ones are forced on programs that are right:
an error of some rule at some statement.
"""

from __future__ import annotations

import ast
import random
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import click

from gradlint.check import check_source
from gradlint.confirm.check.evidence import obstacle, pattern_of
from gradlint.confirm.prove import Prover
from gradlint.domain.confirmation import Verdict
from gradlint.domain.finding import Finding, Position, Span
from gradlint.entrypoints.proving import prover
from gradlint.rules.registry import all_rules
from tests.confirm import exceptions
from tests.confirm.examples import BAD, GOOD, found_in
from tests.harness.judge import raise_complaints
from tests.harness.markdown import blocks_under
from tests.harness.program import Raised
from tests.harness.torch_run import run_under_torch

TESTS = Path(__file__).resolve().parents[1]
PATTERNS: Mapping[str, str] = {rule.code: rule.error for rule in all_rules() if rule.error is not None}
LEAST: Mapping[str, float] = {"posts": 0.95, "torch": 0.90, "examples": 0.95}
"""The share of right findings of which a corpus must have a confirmation, else the command ends with 1."""

_RAISING = tuple(rule for rule in all_rules() if rule.error is not None and rule.effect == "raises")


class Case(NamedTuple):
    """A finding in a program, and whether torch agrees with it."""

    place: str
    code: str
    finding: Finding
    right: bool


def _in_posts() -> Iterator[Case]:
    """The findings in the posts, which a test compares with their marks, and wrong ones in those without any."""
    for block in blocks_under(TESTS / "posts"):
        if block.is_known_gap or block.is_not_reported:
            continue
        yield from (Case(block.name, block.code, finding, True) for finding in _found(block.code))
        if not block.marks.findings and block.raises is None:
            yield Case(block.name, block.code, forced(block.code, block.name), False)


def _in_torch_tests() -> Iterator[Case]:
    """The findings that say what torch raises in programs after its own tests, and wrong ones in those that run."""
    for block in blocks_under(TESTS / "confirm" / "torch_tests"):
        outcome = run_under_torch(block.code)
        if complaints := raise_complaints(block.raises, outcome):
            raise click.ClickException(f"{block.name}: {'; '.join(complaints)}")
        if outcome.raised is None:
            yield Case(block.name, block.code, forced(block.code, block.name), False)
        else:
            found = (finding for finding in _found(block.code) if _is_of(finding, outcome.raised))
            yield from (Case(block.name, block.code, finding, True) for finding in found)


def _is_of(finding: Finding, raised: Raised) -> bool:
    """Return whether a finding is about what torch raised: by its text, or by the line."""
    pattern = pattern_of(finding, PATTERNS)
    by_text = pattern is not None and re.search(pattern, raised.text) is not None
    return by_text or (finding.effect == "raises" and raised.line in range(finding.lines[0], finding.lines[1] + 1))


def _in_examples() -> Iterator[Case]:
    """What the rules find in their bad examples, and wrong errors in the good ones."""
    for name in BAD:
        claims = [claim for claim in found_in(name) if obstacle(claim.finding.name, claim.finding.effect) is None]
        yield from (Case(claim.place, claim.code, claim.finding, True) for claim in claims)
    for name, (_, good) in GOOD.items():
        if name not in exceptions.GOOD:
            yield Case(name, good.code, forced(good.code, name), False)


CORPORA: Mapping[str, Callable[[], Iterator[Case]]] = {
    "posts": _in_posts,
    "torch": _in_torch_tests,
    "examples": _in_examples,
}


def forced(code: str, name: str) -> Finding:
    """An error of some rule at some statement of a program, always the same for one name."""
    chance = random.Random(name)
    rule = chance.choice(_RAISING)
    body = ast.parse(code).body
    found = [node for node in body if isinstance(node, (ast.Assign, ast.AugAssign, ast.Expr, ast.For, ast.With))]
    node = chance.choice(found or body[-1:])
    last = node.end_lineno or node.lineno
    span = Span(Position(node.lineno, node.col_offset + 1), Position(last, (node.end_col_offset or 0) + 1))
    return Finding(rule.code, rule.name, "forced", "error", "raises", "program.py", span, (node.lineno, last))


def _found(code: str) -> list[Finding]:
    """The findings that a run can show."""
    return [one for one in check_source(code, "program.py") if obstacle(one.name, one.effect) is None]


def table_of(
    torch: Prover, cases: Iterator[Case], say: Callable[[Case, Verdict, str], None]
) -> dict[bool, Counter[Verdict]]:
    """Return how often each verdict is given on right findings, and on wrong ones."""
    table: dict[bool, Counter[Verdict]] = {True: Counter(), False: Counter()}
    for case in cases:
        answer = torch.confirm(case.finding, case.code)
        table[case.right][answer.verdict] += 1
        say(case, answer.verdict, answer.reason)
    return table


@click.command()
@click.argument("corpus", type=click.Choice(list(CORPORA)))
@click.option("--only", default="", help="Only places that contain this text.")
@click.option("--each", default=1, help="Every N-th case only.")
@click.option("--all", "every", is_flag=True, help="Print each verdict, rather than those that are not as wanted.")
def main(corpus: str, only: str, each: int, every: bool) -> None:
    """Confirm what is found in a corpus.

    Exit 1 where a wrong finding is confirmed, a right one refuted, or the share of right ones confirmed is too small.
    """
    cases = [case for case in CORPORA[corpus]() if only in case.place][::each]

    def say(case: Case, verdict: Verdict, reason: str) -> None:
        if every or (verdict != "confirmed" if case.right else verdict == "confirmed"):
            place = f"{case.place}: {case.finding.code} at line {case.finding.span.start.row}"
            click.echo(f"{'right' if case.right else 'wrong'}: {verdict}: {place}: {reason[:140]}")

    with prover(shrink=False) as torch:
        table = table_of(torch, iter(cases), say)
    for right, counted in table.items():
        total = counted.total()
        shares = (f"{counted[name]} of {total} {name}" for name in ("confirmed", "unconfirmed", "refuted"))
        click.echo(f"{corpus}, {'right' if right else 'wrong'} findings: {', '.join(shares)}")
    reached = table[True]["confirmed"] >= LEAST[corpus] * table[True].total()
    sys.exit(0 if reached and not table[True]["refuted"] and not table[False]["confirmed"] else 1)


if __name__ == "__main__":
    main()
