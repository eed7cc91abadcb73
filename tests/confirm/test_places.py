"""Where a program is watched: whatever else stands in it."""

from __future__ import annotations

from gradlint.check import check_source
from gradlint.confirm.prove import Prover

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
