"""`python -m tests.confirm.shares [CODE ...]`: how many of the examples of the rules execution confirms.

Of the bad ones at least 95 % of the findings have to be, and of what is forced on the good ones nothing.
"""

from __future__ import annotations

import sys
from collections import Counter
from functools import cache

from gradlint.confirm.prove import Prover
from gradlint.entrypoints.proving import prover
from gradlint.rules.base import Good, Rule
from gradlint.rules.registry import all_rules
from tests.confirm.examples import Claim, forced_on_good, found_in_bad
from tests.rules.examples import good_of

LEAST = 0.95

WISHED = {
    "GRD113-good-an-inner-loop-that-reads-the-new-value",  # A name gets another value, which the next turn reads.
    # No gradient arrives at a leaf behind the loss.
    "GRD306-good-a-detached-code-that-is-optimised",
    *("GRD307-good-a-backbone-that-is-not-trained", "GRD307-good-a-backbone-that-is-not-trained-2"),
    "GRD309-good-the-detached-output-of-another-network",
    # Gradients are constants in the loss.
    *("GRD214-good-a-first-order-inner-step", "GRD214-good-gradient-norms-as-weights"),
    "GRD309-good-a-copy-trained-in-the-place-of-a-network",  # A copy is trained in the place of a network.
    "GRD517-good-a-single-layer-kept-in-evaluation-mode",  # A layer is frozen in evaluation mode.
    "GRD604-good-a-teacher-that-is-kept-out-of-the-parameters",  # A network is hidden from the optimizer.
}
"""What is measured is what the author wishes: no execution tells a wish from an accident."""


@cache
def good_examples() -> dict[str, tuple[Rule, Good]]:
    """The good examples by name, without those that wish for what would be found."""
    return {
        name: (rule, good)
        for rule in all_rules()
        for name, good in good_of(rule).items()
        if rule.effect != "invalid" and name not in WISHED
    }


def forced_on(name: str) -> tuple[Claim, ...]:
    """What is forced on a good example."""
    rule, good = good_examples()[name]
    return tuple(Claim(name, rule, good.code, finding) for finding in forced_on_good(rule, good.code))


def main(codes: list[str]) -> int:
    """Print what is not as it should be, and the shares; 1 if they are missed."""
    with prover(shrink=False) as torch:
        bad = _bad(torch, codes)
        forced, wrong = _good(torch, codes)
    share = bad["confirmed"] / max(1, bad.total())
    print(
        f"bad examples: {bad['confirmed']} of {bad.total()} findings confirmed ({share:.1%}), {bad['refuted']} refuted"
    )
    print(f"good examples: {wrong} of {forced} forced findings confirmed")
    return 0 if share >= LEAST and not bad["refuted"] and not wrong else 1


def _bad(torch: Prover, codes: list[str]) -> Counter[str]:
    table: Counter[str] = Counter()
    for claim in found_in_bad():
        if not codes or claim.rule.code in codes:
            verdict = torch.confirm(claim.finding, claim.code)
            table[verdict.verdict] += 1
            if verdict.verdict != "confirmed":
                print(
                    f"{claim.name} line {claim.finding.span.start.row}: {verdict.verdict}: {verdict.reason}", flush=True
                )
    return table


def _good(torch: Prover, codes: list[str]) -> tuple[int, int]:
    asked, wrong = 0, 0
    for name in good_examples():
        for claim in forced_on(name) if not codes or name.split("-")[0] in codes else ():
            asked += 1
            if torch.confirm(claim.finding, claim.code).verdict == "confirmed":
                wrong += 1
                print(f"{name} line {claim.finding.span.start.row}: forced, and confirmed", flush=True)
    return asked, wrong


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
