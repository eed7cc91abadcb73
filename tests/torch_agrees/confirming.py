"""`python -m tests.torch_agrees.confirming N`: what execution says of right findings and of false alarms.

Torch has run each generated program, so it is known which findings are right. False alarms are too few to count:
beside those that there are, a finding of some rule is forced on some line of each program that runs.
"""

from __future__ import annotations

import ast
import random
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import NamedTuple

import click

from gradlint.check import check_source
from gradlint.confirm.prove import Prover
from gradlint.domain.confirmation import Verdict
from gradlint.domain.finding import Finding, Position, Span
from gradlint.entrypoints.proving import prover
from gradlint.rules.base import Rule
from gradlint.rules.registry import all_rules

from .generate import generate
from .judge import meets, said_by
from .oracle import FILENAME, prepare_worker, run

_RAISING = tuple(rule for rule in all_rules() if rule.error is not None and rule.effect == "raises")


class Claim(NamedTuple):
    """A finding in a generated program, and whether torch agrees with it: `right`, `false alarm`, or `forced`."""

    seed: int
    source: str
    finding: Finding
    kind: str


def claims(seed: int) -> list[Claim]:
    """The findings in the program of a seed of which torch has told whether they are right, and a forced one."""
    source = generate(seed).source
    outcome = run(source)
    if outcome.kind in ("dropped", "doubtful"):
        return []
    found = [finding for finding in check_source(source, FILENAME) if finding.severity == "error"]
    if outcome.kind == "fails":
        return [Claim(seed, source, finding, "right") for finding in found if meets([said_by(finding)], outcome)]
    alarms = [Claim(seed, source, finding, "false alarm") for finding in found if finding.effect == "raises"]
    return [*alarms, Claim(seed, source, _forced(seed, source), "forced")]


def _forced(seed: int, source: str) -> Finding:
    """The finding of some rule at some statement of the top level, which is certainly executed."""
    chance = random.Random(seed)
    rule: Rule = chance.choice(_RAISING)
    body = ast.parse(source).body
    statement = chance.choice([node for node in body if _does_something(node)] or body[-1:])
    last = statement.end_lineno or statement.lineno
    span = Span(
        Position(statement.lineno, statement.col_offset + 1), Position(last, (statement.end_col_offset or 0) + 1)
    )
    return Finding(rule.code, rule.name, "forced", "error", "raises", FILENAME, span, (statement.lineno, last))


def _does_something(node: ast.stmt) -> bool:
    return isinstance(node, ast.Assign) or (isinstance(node, ast.Expr) and not isinstance(node.value, ast.Constant))


def ask(torch: Prover, found: Iterator[Claim]) -> Iterator[tuple[Claim, Verdict, str]]:
    """What execution says of each."""
    for claim in found:
        verdict = torch.confirm(claim.finding, claim.source)
        yield claim, verdict.verdict, verdict.reason


@click.command()
@click.argument("count", type=int, default=300)
@click.option("--seed", default=0, help="The seed of the first program; the others follow.")
@click.option("--jobs", default=2, help="Worker processes that generate and lint.")
def main(count: int, seed: int, jobs: int) -> None:
    """Confirm what is found in COUNT programs: the share of right findings confirmed, and of false alarms refuted.

    Exit 1 where a false alarm is confirmed, or a share is below 95 %.
    """
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn"), initializer=prepare_worker) as workers:
        found = [claim for part in workers.map(claims, range(seed, seed + count), chunksize=10) for claim in part]
    tables: dict[str, Counter[Verdict]] = {kind: Counter() for kind in ("right", "false alarm", "forced")}
    with prover(shrink=False) as torch:
        for claim, verdict, reason in ask(torch, iter(found)):
            tables[claim.kind][verdict] += 1
            if verdict != ("confirmed" if claim.kind == "right" else "refuted"):
                place = f"seed {claim.seed}, {claim.finding.code} at line {claim.finding.span.start.row}"
                click.echo(f"{claim.kind}: {verdict}: {place}: {reason[:120]}")
    for kind, table in tables.items():
        counts = ", ".join(f"{table[verdict]} {verdict}" for verdict in ("confirmed", "refuted", "unconfirmed"))
        click.echo(f"{kind:12} {sum(table.values()):5}: {counts}")
    right, alarms = tables["right"], tables["false alarm"] + tables["forced"]
    good = right["confirmed"] >= 0.95 * right.total() and alarms["refuted"] >= 0.95 * alarms.total()
    sys.exit(0 if good and not alarms["confirmed"] else 1)


if __name__ == "__main__":
    main()
