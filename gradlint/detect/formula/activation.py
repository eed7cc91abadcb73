"""Losses over the wrong activation: what a loss takes is known, and so is the last operation before it."""

from __future__ import annotations

from collections.abc import Iterator

from gradlint.detect.formula.register import judges
from gradlint.detect.formula.terms import op_of, term, unwrapped
from gradlint.domain.announcement import Operated
from gradlint.domain.fault.losses import Activation, WrongActivation
from gradlint.domain.graph import Term
from gradlint.domain.state import State
from gradlint.facts import traits
from gradlint.facts.aliases import bare, canonical

_SCORES = traits.AFFINE | traits.ACTIVATIONS


@judges(*traits.LOSSES_OF_SCORES, *traits.LOSSES_OF_LOG_PROBABILITIES, *traits.LOSSES_OF_PROBABILITIES)
def _loss(state: State, it: Operated) -> Iterator[WrongActivation]:
    """Yield a loss over the last activation of a network."""
    found = it.operands.get("input", it.operands.get("log_probs"))
    if not isinstance(found, Term):
        return
    found = _before(found)
    takes, wrong = _taken(canonical(it.op))
    if op_of(found) in wrong:
        got = bare(found.node.op)
        yield WrongActivation(it.node, bare(it.op), takes, got, _kind(op_of(found)), found.node.syntax)


def _taken(loss: str) -> tuple[Activation, traits.Trait]:
    """Return what a loss takes, and what it certainly must not get."""
    if loss in traits.LOSSES_OF_LOG_PROBABILITIES:
        return "log-probabilities", traits.PROBABILITIES | _SCORES
    if loss in traits.LOSSES_OF_PROBABILITIES:
        return "probabilities", traits.LOG_PROBABILITIES | traits.AFFINE | {"tanh"}
    # The logarithm of a softmax is left as it is by another one.
    return (
        "scores",
        traits.PROBABILITIES if loss == "cross_entropy" else traits.PROBABILITIES | traits.LOG_PROBABILITIES,
    )


def _kind(op: str) -> Activation:
    """Return what an operation gives."""
    if op in traits.PROBABILITIES:
        return "probabilities"
    return "log-probabilities" if op in traits.LOG_PROBABILITIES else "scores"


def _before(found: Term) -> Term:
    """Return the activation behind views and joins."""
    for _ in range(4):
        found = unwrapped(found)
        if op_of(found) not in traits.JOINS:
            return found
        inner = term(found.node, "tensors")
        if inner is None:
            return found
        found = inner
    return found
