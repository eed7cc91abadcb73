"""The examples in which execution does not bear out the rule, one by one, and why.

A finding is named by its example and its row. Whoever mends one takes it out: the tests fail for an exception that is
none any more.
"""

from __future__ import annotations

from gradlint.domain.confirmation import Verdict

_NO_FILE = "the file cannot be read, so there is nothing to run"
_COMMENT = "a comment is nothing that runs"
_REVEAL = "`reveal` tells what gradlint knows, and computes nothing"
_SPELLING = "the old spelling does what the new one does"
_MEANT = "a run shows the gradient that is returned, and not which one is meant"
_DEFINES = "what defines an operation of torch may not be run: it would alter what others are told of torch"

BAD: dict[str, tuple[Verdict, str]] = {
    "GRD001-bad-1:2": ("unconfirmed", _NO_FILE),
    "GRD001-bad-a-bracket-that-is-never-closed:2": ("unconfirmed", _NO_FILE),
    "GRD003-bad-1:4": ("unconfirmed", _COMMENT),
    "GRD003-bad-one-needless-code-of-two:4": ("unconfirmed", _COMMENT),
    "GRD005-bad-1:4": ("unconfirmed", _COMMENT),
    "GRD004-bad-1:5": ("unconfirmed", _REVEAL),
    "GRD004-bad-through-the-module-s-name:5": ("unconfirmed", _REVEAL),
    "GRD643-bad-1:11": ("unconfirmed", _DEFINES),
    "GRD235-bad-1:8": (
        "unconfirmed",
        "what switches the hooks of saved tensors off may not be run: it would alter what others are told of torch",
    ),
    "GRD404-bad-a-mean-that-a-penalty-reaches-as-well:8": (
        "unconfirmed",
        "gradients arrive at the leaf from another term of the loss, and which of them one term gives is not measured",
    ),
    "GRD505-bad-the-optimizer-s-own-step:10": (
        "unconfirmed",
        "the step runs, and by how much its gradients are scaled is not measured",
    ),
    "GRD611-bad-torch-nn-functional-under-another-name:9": (
        "unconfirmed",
        "the program never switches to evaluation, where the dropout would show",
    ),
    "GRD622-bad-the-result-in-a-tuple:8": ("unconfirmed", "what is kept in a tuple is not measured"),
    "GRD630-bad-another-name:14": ("unconfirmed", "the repro raises in a line that is not known to be the finding's"),
    "GRD634-bad-1:13": ("unconfirmed", _MEANT),
    "GRD634-bad-the-argument-in-place-of-the-result:13": ("unconfirmed", _MEANT),
    "GRD634-bad-a-sign:13": ("unconfirmed", _MEANT),
    "GRD634-bad-the-gradients-of-a-product:13": ("unconfirmed", _MEANT),
    "GRD634-bad-a-mask-by-the-incoming-gradient:15": ("unconfirmed", _MEANT),
    "GRD803-bad-under-no-grad:7": ("unconfirmed", "nothing is recorded under `no_grad`, with `volatile` or without"),
    "GRD802-bad-1:6": ("unconfirmed", _SPELLING),
    "GRD802-bad-requires-grad:4": ("unconfirmed", _SPELLING),
    "GRD804-bad-size-average-and-a-scalar-before-a-tensor:4": ("unconfirmed", _SPELLING),
    "GRD804-bad-size-average-and-a-scalar-before-a-tensor:6": ("unconfirmed", _SPELLING),
    "GRD804-bad-softmax-without-a-dimension-and-addmm-with-scalars:6": ("unconfirmed", _SPELLING),
    "GRD804-bad-softmax-without-a-dimension-and-addmm-with-scalars:7": ("unconfirmed", _SPELLING),
}
"""What is said of findings in bad examples that are not confirmed, and why."""

GOOD: dict[str, str] = {
    "GRD113-good-an-inner-loop-that-reads-the-new-value": "a name gets another value, which the next iteration reads",
    "GRD214-good-a-first-order-inner-step": "gradients are constants in the loss",
    "GRD214-good-gradient-norms-as-weights": "gradients are constants in the loss",
    "GRD306-good-a-detached-code-that-is-optimised": "the leaf before the cut is not to be trained",
    "GRD307-good-a-backbone-that-is-not-trained": "the leaf before the cut is not to be trained",
    "GRD307-good-a-backbone-that-is-not-trained-2": "the leaf before the cut is not to be trained",
    "GRD309-good-the-detached-output-of-another-network": "the leaf before the cut is not to be trained",
    "GRD309-good-a-copy-trained-in-the-place-of-a-network": "a copy is trained in the place of the network",
    "GRD517-good-a-single-layer-kept-in-evaluation-mode": "a layer is frozen in evaluation mode",
    "GRD624-good-a-gradient-of-zero-on-purpose": "a gradient of zero is the same for any loss",
    "GRD604-good-a-teacher-that-is-kept-out-of-the-parameters": "a network is kept from the optimizer",
}
"""Good examples in which what is forced on them is confirmed: execution does not tell intent from accident."""

LONG: dict[str, int] = {"GRD518-bad-1:9": 30, "GRD519-bad-1:10": 30, "GRD624-bad-1:13": 22}
"""The repros that have more lines than the others may have, and how many."""
