"""What torch raises on in backward and `autograd.grad`, and in what prepares them."""

from __future__ import annotations

from typing import ClassVar, Literal, TypeAlias

import libcst as cst

from gradlint.domain.announcement import BackwardCall
from gradlint.domain.event import Refusal
from gradlint.domain.shape import Shape


class NonscalarRoot(Refusal):
    """A backward starts at a tensor of other than one element, made at `root`, without a gradient."""

    call: BackwardCall
    shape: Shape
    root: cst.CSTNode | None


class ComplexRoot(Refusal):
    """A backward starts at a complex tensor, made at `root`, without a gradient."""

    call: BackwardCall
    root: cst.CSTNode | None


class GradientShapeMismatch(Refusal):
    """The gradient that a backward is given has another shape than its tensor, which is made at `root`.

    `batched`: the gradient has a first dimension more, because of `is_grads_batched`.
    """

    call: BackwardCall
    shape: Shape
    root: cst.CSTNode | None
    batched: bool = False


class GradientComplexMismatch(Refusal):
    """Of the gradient that a backward is given and its tensor, made at `root`, one is complex and the other is not."""

    call: BackwardCall
    root: cst.CSTNode | None


class GradientCountMismatch(Refusal):
    """A backward from several tensors is given another number of gradients."""

    call: BackwardCall
    tensors: int
    gradients: int


class GradientIsNumber(Refusal):
    """The gradient that a backward is given is a Python number."""

    call: BackwardCall


class SecondBackward(Refusal):
    """A backward runs through a part of the graph whose saved tensors an earlier one has freed.

    `read`: it is no backward, but asks the part for a tensor that it had saved.
    """

    earlier: cst.CSTNode
    part: cst.CSTNode
    part_op: str
    read: bool = False
    carried: ClassVar = "graph"


Unsupported: TypeAlias = Literal["slope", "without-q", "complete", "sparse", "in-place"]
"""Why an operation has no backward: it was computed in place with a negative slope, or it is a QR decomposition.

That is one without Q, or with a complete Q of more rows than the matrix has columns. Or its input is sparse, or it was
computed in place at all.
"""


class BackwardUnsupported(Refusal):
    """A backward comes to an operation, called at `made`, that has none for its arguments."""

    reason: Unsupported
    made: cst.CSTNode


class StaleSaved(Refusal):
    """A value saved for `backward` was written before it: the node is the write.

    `by` is what wrote; `saver` the operation that saved, and `label` what it saved (an input's name, `>` for its
    result). `built` is the constructor of the module that writes. `leaf`: what was saved is a leaf, as parameters are.
    """

    by: str
    saver: cst.CSTNode
    saver_op: str
    label: str
    backward: cst.CSTNode
    built: cst.CSTNode | None
    leaf: bool
    carried: ClassVar = "graph"


class GradInputUnused(Refusal):
    """`autograd.grad` is asked for the gradient of a tensor, made at `made`, that the output does not depend on."""

    made: cst.CSTNode | None


class GradInputWithoutGraph(Refusal):
    """The gradient of a tensor is asked for, made at `made`, that does not require grad."""

    made: cst.CSTNode | None
    call: BackwardCall = "grad"


class GradInputsEmpty(Refusal):
    """The gradients of no tensor at all are asked for."""

    call: BackwardCall


class GradOption(Refusal):
    """`autograd.grad` does not take its options together, or inputs that are no tensors.

    "materialize": `materialize_grads=True` with `allow_unused=False`. "batched": `is_grads_batched=True` without
    gradients to start from, "flat" with one that has no dimension, "sizes" with several of other first sizes.
    "inputs": among the inputs is a text, a number or a pair. "variables": `grad_tensors` by both its names.
    """

    reason: Literal["materialize", "batched", "flat", "sizes", "inputs", "variables"]


class UnusedGradientUsed(Refusal):
    """The None that `autograd.grad` gives for an unused input, made at `made`, is computed with: Python raises."""

    made: cst.CSTNode | None
    asked: cst.CSTNode


class HookWithoutGrad(Refusal):
    """A hook is asked of a tensor that does not require grad, or to retain its gradient."""

    method: Literal[
        "retain_grad",
        "register_hook",
        "register_post_accumulate_grad_hook",
        "register_multi_grad_hook",
        "get_gradient_edge",
    ]


class HookMode(Refusal):
    """`register_multi_grad_hook` is asked for a mode that is neither "all" nor "any"."""

    mode: str


class NoneGradientUsed(Refusal):
    """A `.grad` that is None is computed with; its tensor is made at `made`. It is Python that raises."""

    made: cst.CSTNode | None


class SecondDerivativeMissing(Refusal):
    """A backward goes through a gradient of an operation, called at `made`, whose derivative has no derivative."""

    op: str
    made: cst.CSTNode
