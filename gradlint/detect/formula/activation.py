"""Losses over the wrong activation: what a loss takes is known, and so is the last operation before it."""

from __future__ import annotations

from collections.abc import Iterator

from gradlint.detect.formula.register import judges
from gradlint.detect.formula.terms import op_of, term, unwrapped
from gradlint.domain.announcement import Operated
from gradlint.domain.fault.losses import Activation, WrongActivation
from gradlint.domain.graph import Term
from gradlint.domain.state import State
from gradlint.facts.aliases import bare, canonical
from gradlint.facts.traits import (
    ACTIVATIONS,
    AFFINE,
    JOINS,
    LOG_PROBABILITIES,
    LOSSES_OF_LOG_PROBABILITIES,
    LOSSES_OF_PROBABILITIES,
    LOSSES_OF_SCORES,
    PROBABILITIES,
    Trait,
)

_SCORES = AFFINE | ACTIVATIONS


@judges(*LOSSES_OF_SCORES, *LOSSES_OF_LOG_PROBABILITIES, *LOSSES_OF_PROBABILITIES)
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


def _taken(loss: str) -> tuple[Activation, Trait]:
    """Return what a loss takes, and what it certainly must not get."""
    if loss in LOSSES_OF_LOG_PROBABILITIES:
        return "log-probabilities", PROBABILITIES | _SCORES
    if loss in LOSSES_OF_PROBABILITIES:
        return "probabilities", LOG_PROBABILITIES | AFFINE | {"tanh"}
    # The logarithm of a softmax is left as it is by another one.
    return "scores", PROBABILITIES if loss == "cross_entropy" else PROBABILITIES | LOG_PROBABILITIES


def _kind(op: str) -> Activation:
    """Return what an operation gives."""
    if op in PROBABILITIES:
        return "probabilities"
    return "log-probabilities" if op in LOG_PROBABILITIES else "scores"


def _before(found: Term) -> Term:
    """Return the activation behind views and joins."""
    for _ in range(4):
        found = unwrapped(found)
        if op_of(found) not in JOINS:
            return found
        inner = term(found.node, "tensors")
        if inner is None:
            return found
        found = inner
    return found
