"""Refusals of `torch.func`, `torch.autograd.functional` and `torch.autograd.forward_ad`."""

from __future__ import annotations

from typing import Literal, TypeAlias

import libcst as cst

from gradlint.domain.event import Refusal

Mismatch: TypeAlias = Literal[
    # Which arguments are differentiated by, and what they are.
    "argnums-kind", "argnums-empty", "argnums-range", "argnums-twice",
    "input-kind", "input-dtype", "input-complex", "inputs-kind",
    # What the function returns.
    "output-kind", "output-empty", "output-dtype", "aux-kind", "aux-missing", "output-complex", "output-container",
    "scalar-kind", "scalar-rank", "scalar-size", "scalar-complex", "strict-output", "strict-input", "strict-jacobian",
    # Options.
    "option-kind", "strategy", "strict-vectorize", "forward-unvectorized", "forward-graph",
    # Vectors and tangents.
    "vector-missing", "vector-kind", "vector-count", "vector-shape", "primals-kind", "primals-empty", "tangent-kind",
    "tangent-structure", "tangent-shape", "tangent-dtype",
    # `gradcheck`.
    "check-nothing", "check-without-grad", "check-precision", "check-overlap", "check-cut", "check-hook", "check-once",
    "check-batched", "check-batched-sparse", "check-sparse", "check-mkldnn", "check-random",
    # `vmap`.
    "randomness", "chunk-size", "map-nothing", "map-no-tensor", "map-kind", "map-dim", "map-sizes", "in-dims-kind",
    "in-dims-count", "in-dims-structure", "out-dims-kind", "out-dims-count", "out-dims-single", "out-dims-structure",
    "out-dims-none", "out-dim", "rule-pair", "rule-dims",
    # Dual levels.
    "level-nested", "level-missing", "level-twice", "dual-outside", "dual-twice", "dual-dtype", "dual-kind",
    "dual-shape", "dual-tangent", "dual-out", "no-jvp", "no-forward", "jvp-count", "jvp-kind",
    "jvp-constant", "jvp-inplace", "jvp-view", "jvp-shape", "jvp-unsaved",
    # `functional_call` and `stack_module_state`.
    "call-keys", "call-tied", "call-twice", "call-kind", "models-none", "models-class", "models-mode", "models-flag",
]  # fmt: skip
"""What does not fit what. `kind`: something is no tensor, or is not what an option may be."""

Unsupported: TypeAlias = Literal[
    "method", "function", "branch", "number", "list", "array", "data", "mask", "size", "random", "batch-norm",
    "no-setup-context", "no-vmap-rule", "two-vmap-rules", "saved-hooks", "out", "num-classes", "no-batching",
    "random-shared", "escaped",
]  # fmt: skip
"""What a function does that a transform does not support. `size`: a result whose size or value depends on values."""


class TransformMismatch(Refusal):
    """What a transform is given, or gets back from its function, does not fit.

    `transform` is its name. `got` is what does not fit: for the reasons that end in `kind` a Python constant as it is
    written, or "number", "array", "string", "tuple" or "container"; else a dtype, a position, or a count. `wanted` is
    the count that it is compared with, and `sizes` are those that differ.
    """

    transform: str
    reason: Mismatch
    got: str | int | None = None
    wanted: int | None = None
    sizes: tuple[int, ...] = ()


class TransformUnsupported(Refusal):
    """A function does what the transform that runs it does not support.

    `op` is the method, function or operation, or the class of a custom function. `transform` is where the transform
    runs the function, and `by` its name.
    """

    reason: Unsupported
    op: str
    transform: cst.CSTNode
    by: str


class CapturedWrite(Refusal):
    """An in-place write to a tensor that the function of a transform takes from outside.

    `mapped`: what is written differs from one run of the function to the next, and the tensor is one for all. `made` is
    where the tensor comes from; `transform` is where the transform runs the function, and `by` its name.
    """

    op: str
    mapped: bool
    made: cst.CSTNode | None
    transform: cst.CSTNode
    by: str
