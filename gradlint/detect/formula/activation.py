"""Losses over the wrong activation: what a loss takes is known, and so is the last operation before it."""

from __future__ import annotations

from collections.abc import Iterator

from gradlint.detect.formula.register import judges
from gradlint.detect.formula.terms import op_of, plain, term, unwrapped
from gradlint.domain.announcement import Operated
from gradlint.domain.fault.losses import Activation, WrongActivation
from gradlint.domain.graph import Term
from gradlint.domain.state import State

_PROBABILITIES = frozenset({"softmax", "sigmoid", "softmin", "hardsigmoid"})
_LOG_PROBABILITIES = frozenset({"log_softmax", "logsigmoid"})
_AFFINE = frozenset(
    {
        *("linear", "bilinear", "conv1d", "conv2d", "conv3d", "addmm", "matmul", "mm", "bmm"),
        *("conv_transpose1d", "conv_transpose2d", "conv_transpose3d"),
    }
)
_RAW = _AFFINE | {"relu", "leaky_relu", "elu", "gelu", "silu"}
"""Operations whose results are scores: any number may come out."""

_WRONG: dict[str, tuple[str, Activation, frozenset[str]]] = {
    "cross_entropy": ("input", "scores", _PROBABILITIES),
    "nll_loss": ("input", "log-probabilities", _PROBABILITIES | _RAW),
    "binary_cross_entropy_with_logits": ("input", "scores", _PROBABILITIES | _LOG_PROBABILITIES),
    "binary_cross_entropy": ("input", "probabilities", _LOG_PROBABILITIES | _AFFINE | {"tanh"}),
    "kl_div": ("input", "log-probabilities", _PROBABILITIES | _RAW),
    "ctc_loss": ("log_probs", "log-probabilities", _PROBABILITIES | _RAW),
}
"""Of each loss: the argument, what it takes there, and what it certainly must not get."""


@judges(*_WRONG)
def _loss(state: State, it: Operated) -> Iterator[WrongActivation]:
    """A loss of the table."""
    loss = plain(it.op)
    name, takes, wrong = _WRONG[loss]
    found = it.operands.get(name)
    if not isinstance(found, Term):
        return
    found = _before(found)
    got = op_of(found)
    if got in wrong:
        yield WrongActivation(it.node, loss, takes, got, _kind(got), found.node.syntax)


def _kind(op: str) -> Activation:
    """What an operation gives."""
    if op in _PROBABILITIES:
        return "probabilities"
    return "log-probabilities" if op in _LOG_PROBABILITIES else "scores"


def _before(found: Term) -> Term:
    """The activation behind views and joins."""
    for _ in range(4):
        found = unwrapped(found)
        if op_of(found) not in _JOINS:
            return found
        inner = term(found.node, "tensors")
        if inner is None:
            return found
        found = inner
    return found


_JOINS = frozenset({"stack", "cat"})
