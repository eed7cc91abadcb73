from __future__ import annotations

from collections.abc import Callable

import libcst as cst

from gradlint.domain.fault import numerics as fault
from gradlint.rules.authoring.arguments import argument_of, holds
from gradlint.rules.authoring.repairs import code
from gradlint.rules.base import Change, EventRule, Repair, Report

_FUNCTIONAL = "torch.nn.functional"


class UnstableSpelling(EventRule[fault.UnstableFormula]):
    """A formula can overflow or underflow, and torch has a stable function for it.

    What torch does
        It evaluates the formula in float32: `exp(x)` is infinite above 88, and `softmax` and `sigmoid`
        round to 0 below about -104. So `log(softmax(x))` and `log(sigmoid(x))` become -inf with a NaN
        gradient, `exp(x) / exp(x).sum()`, `log(exp(x).sum())` and `log(1 + exp(x))` become NaN or
        infinite, and `1 / (1 + exp(-x))` has a NaN gradient at -100, although its value is correct.

    Why it matters
        The formula works until a score becomes large, which often happens during training.

    When it may be wrong
        If the values are known to be small. A formula that subtracts the maximum first, adds a small
        constant before the logarithm, or is bounded (a cosine, a `tanh`, a `clamp`) is not reported.

    Instead
        Use `log_softmax`, `logsigmoid`, `softmax`, `logsumexp`, `softplus` or `sigmoid`, which are
        numerically stable and have a correct gradient everywhere.

    References
        https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.log_softmax.html
        https://docs.pytorch.org/docs/stable/generated/torch.logsumexp.html
        https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.softplus.html
    """

    code = "GRD407"
    name = "unstable-spelling"
    effect = "fragile"
    fix = "safe"
    bad = """\
import torch
import torch.nn.functional as F

scores = torch.tensor([[200.0, 0.0]], requires_grad=True)
loss = -torch.log(F.softmax(scores, dim=1))[0, 1]  # GRD407
loss.backward()
"""
    bad_shows = "loss.isinf() and scores.grad.isnan().any()"
    good = """\
import torch
import torch.nn.functional as F

scores = torch.tensor([[200.0, 0.0]], requires_grad=True)
loss = -F.log_softmax(scores, dim=1)[0, 1] + torch.logsumexp(scores, dim=1).sum()
loss.backward()
"""
    good_shows = "scores.grad.isfinite().all()"

    def check(self, event: fault.UnstableFormula) -> Report | None:
        instead = _SAID.get(event.instead, event.instead)
        return Report(
            event.node,
            f"this formula for `{instead}` can overflow or underflow; torch's function does not",
            hint=f"write `{instead}`",
            repair=_repair(event),
        )


_SAID = {"scaled log_softmax": "log_softmax plus the logarithm of the factor"}


def _repair(event: fault.UnstableFormula) -> Repair | None:
    """Replace the formula by the stable function, if the formula is a single expression."""
    write = _WRITERS.get(event.instead)
    text = write(event) if write and all(holds(event.node, part) for part in event.parts) else None
    if text is None:
        return None
    paths = tuple(path for path in (_FUNCTIONAL, "torch") if text.startswith(f"{path}."))[:1]
    return Repair(f"write `{event.instead}`", (Change(event.node, text),), True, paths)


def _log_softmax(event: fault.UnstableFormula) -> str | None:
    """torch.log(F.softmax(x, dim=1)) -> F.log_softmax(x, dim=1)"""
    inner = event.parts[0]
    method = inner.func if isinstance(inner, cst.Call) else None
    if not isinstance(method, cst.Attribute) or method.attr.value != "softmax":
        return None
    return code(inner.deep_replace(method.attr, cst.Name("log_softmax")))


def _of_argument(function: str) -> Callable[[fault.UnstableFormula], str | None]:
    """Return a writer of f(x), for the x of the innermost part."""

    def write(event: fault.UnstableFormula) -> str | None:
        argument = argument_of(event.parts[-1])
        return None if argument is None else f"{function}({_bare(argument)})"

    return write


def _sigmoid(event: fault.UnstableFormula) -> str | None:
    """1 / (1 + torch.exp(-x)) -> torch.sigmoid(x)"""
    argument = argument_of(event.parts[-1])
    if isinstance(argument, cst.UnaryOperation) and isinstance(argument.operator, cst.Minus):
        return f"torch.sigmoid({_bare(argument.expression)})"
    return None if argument is None else f"torch.sigmoid(-({_bare(argument)}))"


def _logsumexp(event: fault.UnstableFormula) -> str | None:
    """torch.log(torch.exp(x).sum(dim)) -> torch.logsumexp(x, dim)"""
    total, argument = event.parts[0], argument_of(event.parts[-1])
    if argument is None or not isinstance(total, cst.Call) or not isinstance(total.func, cst.Attribute):
        return None
    by_method = total.func.value is event.parts[-1]
    rest = total.args if by_method else total.args[1:]
    if not rest or (not by_method and total.args[0].value is not event.parts[-1]):
        return None
    bare = (arg.with_changes(comma=cst.MaybeSentinel.DEFAULT) for arg in rest)
    return f"torch.logsumexp({_bare(argument)}, {', '.join(map(code, bare))})"


def _bare(node: cst.BaseExpression) -> str:
    """Return the source of an expression without its outer parentheses, as an argument."""
    return code(node.with_changes(lpar=[], rpar=[])) if not isinstance(node, cst.Tuple) else code(node)


_WRITERS: dict[str, Callable[[fault.UnstableFormula], str | None]] = {
    "log_softmax": _log_softmax,
    "logsigmoid": _of_argument("torch.nn.functional.logsigmoid"),
    "softplus": _of_argument("torch.nn.functional.softplus"),
    "sigmoid": _sigmoid,
    "logsumexp": _logsumexp,
}
