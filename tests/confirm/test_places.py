"""Where a program is watched: whatever else stands in it."""

from __future__ import annotations

from gradlint.check import check_source
from gradlint.confirm.effects.measure import Measure, Watch
from gradlint.confirm.prove import Prover
from gradlint.domain.finding import Evidence, Finding, Position, Related, Span

FUNCTION = """\
import torch

show = lambda: print("done")


class Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        grad.mul_(2)
        return grad


x = torch.ones(3, requires_grad=True)
(Twice.apply(x) * torch.ones(3, requires_grad=True)).sum().backward()
"""


def test_a_function_without_statements_is_passed_over(prover: Prover) -> None:
    """Only a class has methods whose arguments are watched; the body of a lambda is an expression."""
    (finding,) = (one for one in check_source(FUNCTION, "twice.py") if one.code == "GRD628")
    assert prover.confirm(finding, FUNCTION).verdict == "confirmed"


def test_what_is_watched_stands_in_a_field_of_the_fault() -> None:
    """Not in the finding's own words; a place in another file is left out."""
    own, leaf = (Span(Position(row, 1), Position(row, 4)) for row in (5, 2))
    places = (("leaf", Related(leaf, "")), ("leaf", Related(leaf, "", "b.py")), ("backward", Related(own, "")))
    evidence = Evidence("LostLeaf", (), places)
    finding = Finding("GRD302", "a", "m", "error", "silent", "a.py", own, (5, 5), evidence=evidence)
    measure = Measure("it is lost", (), (), watches=(Watch("value", at=("leaf",)),))
    assert [place.stretch for place in measure.places(finding)] == [(2, 1, 2, 4)]
