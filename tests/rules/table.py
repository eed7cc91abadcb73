"""The table of rules: effect, fix, and how many examples were executed and did what the rule says.

`python -m tests.rules.table`, which is `make rules`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

from gradlint.rules.registry import all_rules
from tests.harness.judge import raise_complaints
from tests.harness.marks import marks_of
from tests.harness.torch_run import run_under_torch
from tests.rules.examples import Bad, Good, bad_of, good_of
from tests.rules.expectation import expected_raise


def rows() -> Iterator[tuple[str, ...]]:
    """A row for each rule."""
    yield ("code", "name", "effect", "severity", "fix", "bad shown", "good run")
    for rule in all_rules():
        bad = sum(shows_its_effect(example) for example in bad_of(rule).values())
        good = sum(runs(example) for example in good_of(rule).values())
        counts = (f"{bad}/{len(bad_of(rule))}", f"{good}/{len(good_of(rule))}")
        yield (rule.code, rule.name, rule.effect, rule.severity, rule.fix or "-", *counts)


def shows_its_effect(bad: Bad) -> bool:
    """Whether torch raised what the example says, where it says so, or its measure came out true."""
    outcome = run_under_torch(bad.code, bad.shows)
    return not raise_complaints(expected_raise(bad), outcome) and outcome.shown is (None if bad.shows is None else True)


def runs(good: Good) -> bool:
    """Whether a good example has no marks, and runs."""
    outcome = run_under_torch(good.code, good.shows)
    return not marks_of(good.code).findings and outcome.raised is None and outcome.broken is None


def main() -> int:
    """Print the table; fail where an example does not do what it should."""
    table = list(rows())
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for row in table:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
    wrong = [row for row in table[1:] for cell in row[-2:] if cell.split("/")[0] != cell.split("/")[1]]
    fixable = sum(row[4] != "-" for row in table[1:])
    print(f"{len(table) - 1} rules, {fixable} of which have a fix; {len(wrong)} with an example that fails")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
