from __future__ import annotations

import libcst as cst

from gradlint.domain.fault import losses as fault
from gradlint.domain.finding import Severity
from gradlint.facts.aliases import canonical
from gradlint.facts.traits import APPLIED_BY_LOSSES
from gradlint.rules.authoring.repairs import code
from gradlint.rules.base import Change, EventRule, Repair, Report

_HINTS = {
    "cross_entropy": "pass the scores: `cross_entropy` applies `log_softmax` itself",
    "nll_loss": "apply `log_softmax` before it, or use `cross_entropy` on the scores",
    "binary_cross_entropy_with_logits": "pass the scores: this loss applies `sigmoid` itself",
    "binary_cross_entropy": "apply `sigmoid` before it, or use `binary_cross_entropy_with_logits` on the scores",
    "kl_div": "apply `log_softmax` to its first argument",
    "ctc_loss": "apply `log_softmax` before it",
}
_RANGE = "all elements of input should be between 0 and 1"


class ActivationLossMismatch(EventRule[fault.WrongActivation]):
    """The last activation does not match the loss function.

    What torch does
        Nothing: it computes a wrong loss. If `cross_entropy` gets the output of a softmax, all scores lie between 0 and
        1, so the loss cannot come near 0 and its gradient is small. `nll_loss` of raw scores has no lower bound, and of
        probabilities it is not a likelihood. `binary_cross_entropy_with_logits` of a sigmoid cannot express a confident
        prediction. Only `binary_cross_entropy` checks its input: it raises a RuntimeError, "all elements of input
        should be between 0 and 1", as soon as a score is outside.

    Why it matters
        The model still learns, but slowly and badly. There is no error and no NaN.

    When it may be wrong
        If an activation before the loss is meant to limit the scores. `cross_entropy` of `log_softmax`
        is not reported: `log_softmax` is idempotent, so the loss is the same as that of the scores.

    Instead
        `cross_entropy` and `binary_cross_entropy_with_logits` expect scores; `nll_loss`, `kl_div` and `ctc_loss` expect
        the `log_softmax` of the scores, and `nll_loss` along dimension 1, where its classes lie; `binary_cross_entropy`
        expects their `sigmoid`.

    References
        https://docs.pytorch.org/docs/stable/generated/torch.nn.CrossEntropyLoss.html
        https://docs.pytorch.org/docs/stable/generated/torch.nn.NLLLoss.html
        https://docs.pytorch.org/docs/stable/generated/torch.nn.BCEWithLogitsLoss.html
    """

    code = "GRD701"
    name = "activation-loss-mismatch"
    effect = "silent"
    raises = _RANGE
    fix = "unsafe"
    bad = """\
import torch
from torch import nn

model = nn.Linear(4, 1)
nn.init.constant_(model.bias, 3.0)
loss = nn.BCELoss()(model(torch.zeros(8, 4)), torch.ones(8, 1))  # GRD701
loss.backward()
"""
    good = """\
import torch
from torch import nn

model = nn.Sequential(nn.Linear(4, 1), nn.Sigmoid())
loss = nn.BCELoss()(model(torch.randn(8, 4)), torch.ones(8, 1))
loss.backward()
"""

    @property
    def severity(self) -> Severity:
        """Return what its figure in real code allows: an option may choose the loss and what it gets together."""
        return "warning"

    def check(self, event: fault.WrongActivation) -> Report | None:
        """Report a loss whose input is certainly of the wrong kind."""
        if event.along is not None:
            return Report(
                event.node,
                f"`{event.loss}` expects log-probabilities of the classes, in dimension 1, but `{event.got}` has "
                f"normalised dimension {event.along}",
                hint="give it `dim=1`",
                related=((event.made, "the log-probabilities are computed here"),),
            )
        raises = event.loss == "binary_cross_entropy"
        end = ": torch raises as soon as one is outside [0, 1]" if raises else ""
        return Report(
            event.node,
            f"`{event.loss}` expects {event.takes} but gets {event.kind} from `{event.got}`{end}",
            hint=_HINTS.get(event.loss, "give it the scores, or probabilities as `probs`"),
            related=((event.made, f"the {event.kind} are computed here"),),
            effect="raises" if raises else None,
            repair=_fitting(event),
        )


_FITTING = {
    ("nll_loss", "scores"): "cross_entropy",
    ("NLLLoss", "scores"): "CrossEntropyLoss",
    ("binary_cross_entropy", "scores"): "binary_cross_entropy_with_logits",
    ("BCELoss", "scores"): "BCEWithLogitsLoss",
}


def _fitting(event: fault.WrongActivation) -> Repair | None:
    """Use the loss that matches the input, or remove an activation that is called directly."""
    call = event.node
    loss = call.func if isinstance(call, cst.Call) else None
    loss = loss.func if isinstance(loss, cst.Call) else loss
    if isinstance(loss, cst.Attribute) and (loss.attr.value, event.kind) in _FITTING:
        name = _FITTING[loss.attr.value, event.kind]
        return Repair(f"use `{name}`", (Change(loss.attr, name),), safe=False)
    made = event.made
    if event.takes == "scores" and isinstance(made, cst.Call) and isinstance(made.func, cst.Attribute):
        owner = code(made.func.value)
        if canonical(made.func.attr.value) in APPLIED_BY_LOSSES and not (owner in _MODULES and not made.args):
            scores = made.args[0].value if owner in _MODULES else made.func.value
            return Repair(f"remove `{made.func.attr.value}`", (Change(made, code(scores)),), safe=False)
    return None


_MODULES = ("F", "torch", "nn.functional", "torch.nn.functional")
