"""Faults of values: what is not a number, infinite, or arbitrary, or becomes so in the gradient."""

from __future__ import annotations

from typing import Literal, TypeAlias

import libcst as cst

from gradlint.domain.event import Fault

Stable: TypeAlias = Literal[
    "log_softmax", "scaled log_softmax", "logsigmoid", "logsigmoid of the negative", "softplus", "sigmoid", "softmax",
    "logsumexp", "logcumsumexp",
]  # fmt: skip


class UnstableFormula(Fault):
    """A formula that loses its value or its gradient for large numbers; the node is its outermost operation.

    `instead` is torch's function for it, `parts` are the operations inside, from the outside in.
    """

    instead: Stable
    parts: tuple[cst.CSTNode, ...] = ()


class MaskedSingularity(Fault):
    """A mask hides values of an operation where its derivative is infinite, and so not from the gradient.

    The node is the operation, `op` its name; `mask` is where its values are selected, `by` the operation that selects.
    """

    op: str
    mask: cst.CSTNode
    by: Literal["where", "masked_fill", "masked_select", "nan_to_num", "product", "subscript"]


class SingularPoint(Fault):
    """An operation gets a value at which its derivative is infinite, for certain; `origin` is where that comes from.

    `kind` is what it gets: zeros, of a value less the "same", of "rows" less each row, or of a "fresh" leaf; the
    "bound" of its range, which is `value`; a "single" element, which has no spread; or zeros that a run has "seen".
    `slope` is the gradient there.
    """

    op: str
    origin: cst.CSTNode
    kind: Literal["same", "rows", "fresh", "bound", "single", "seen"]
    slope: Literal["NaN", "infinite"]
    value: float = 0.0


class NonfiniteValue(Fault):
    """A run has seen the first value that is not finite: `op` makes it, and `loss` is the backward that starts at it.

    `value` says what the loss is. `given` says what the operation was given, `op` is empty where it is not known.
    """

    op: str
    value: Literal["NaN", "infinity"]
    given: str
    loss: cst.CSTNode


class NonfiniteGradient(Fault):
    """A run has seen the first gradient that is not finite, of a finite loss.

    `op` makes it, of what is `given`, in `backward`; where it is not known, the node is the backward, `leaf` is where
    the parameter was made, and `backward` the step that would use it.
    """

    op: str
    given: str
    backward: cst.CSTNode
    leaf: cst.CSTNode | None


class ZeroGradient(Fault):
    """A run has seen nothing but zeros in the gradient of a parameter, made at `leaf`, in each of `steps` steps.

    The node is the operation `op` that gives the zeros in a backward; without one, it is where the parameter was made.
    """

    op: str
    leaf: cst.CSTNode | None
    name: str
    steps: int
