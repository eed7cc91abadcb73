"""The classes of error: how torch's own words name each fault."""

from __future__ import annotations

import re

MESSAGES: tuple[tuple[str, str], ...] = (
    (
        "custom",
        r"incorrect number of gradients|returned an invalid gradient|save_for_backward can only save|"
        r"marked as dirty|^expected Variable or None|Legacy autograd function|with functorch transforms|"
        r"Backward' object has no attribute|once_differentiable|leaf Variable that requires grad has been used in an",
    ),
    (
        "hook-result",
        r"but hook returned|has changed the (type|size) of value|hook returned an invalid number|"
        r"regular backward hooks and full backward hooks|post accumulate grad hooks should return None",
    ),
    ("checkpoint", r"^Unexpected keyword arguments: scale|checkpoint is incompatible with"),
    (
        "transform",
        r"^grad_and_value\(f\)|^vmap: |^vmap\(|The vector v can only be None|computed in a differentiable manner",
    ),
    (
        "forward-mode",
        r"for forward AD but no level|forward gradient that has|Expected tangent to be|Nested forward mode",
    ),
    (
        "grad-arguments",
        r"^got \d tensors and \d gradients|`inputs` argument to .* cannot be empty|`is_grads_batched=True`",
    ),
    ("leaf-inplace", r"^a leaf Variable that requires grad is being used in an in-place operation"),
    ("leaf-view-inplace", r"^a view of a leaf Variable that requires grad is being used in an in-place"),
    ("saved-modified", r"modified by an inplace operation"),
    ("multi-view", r"output of a function that returns multiple views"),
    ("overlap", r"more than one element of the written-to tensor refers to a single memory location"),
    ("no-grad-view", r"(A view was|a view which was) created in no_grad mode"),
    ("inference", r"[Ii]nference ?(tensor|mode|Mode)"),
    ("out-grad", r"functions with out=\.\.\. arguments don't support automatic differentiation"),
    ("non-scalar", r"grad can be implicitly created only for scalar outputs"),
    ("grad-shape", r"^Mismatch in shape: grad_output"),
    ("second-backward", r"Trying to backward through the graph a second time"),
    ("no-graph", r"does not require grad and does not have a grad_fn"),
    (
        "unused-input",
        r"appears to not have been used in the graph|differentiated Tensors does not require grad",
    ),
    (
        "requires-grad",
        r"can only change requires_grad flags of leaf|[Oo]nly Tensors of floating point .*can require",
    ),
    ("numpy", r"Can't call numpy\(\) on Tensor that requires grad"),
    ("deepcopy", r"support the deepcopy protocol"),
    ("optimizer", r"can't optimize a non-leaf Tensor|optimizer got an empty parameter list"),
    (
        "grad-assign",
        r"attempting to assign a gradient|assigned grad expected|can't assign Variable as its own grad",
    ),
    (
        "hook",
        r"cannot register a hook on a tensor|^Expected gradient function to be set|"
        r"can't retain_grad on|hooks cannot be registered on non-leaf",
    ),
    ("detach-view", r"Can't detach views in-place"),
    ("resize", r"cannot resize variables that require grad"),
    ("parameter-assign", r"^cannot assign '.*' as parameter"),
    (
        "data-type",
        r"incompatible tensor type|data set to a tensor that requires gradients|Variable data has to be",
    ),
    ("none-grad", r"NoneType"),
)
"""Class and what its message says, in the order they are tried."""

STALE = "stale-graph"
"""A saved tensor modified by an optimizer's step: told from `saved-modified` by the line that wrote."""

NON_LEAF_GRAD = "non-leaf-grad"
"""`.grad` of a non-leaf read: torch warns and gives None."""

SILENT = "silent-data"
"""A saved value changed behind the version counter: torch says nothing and computes a wrong gradient."""

NON_LEAF_WARNING = "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed"

CLASSES: tuple[str, ...] = (*(name for name, _ in MESSAGES), STALE, NON_LEAF_GRAD, SILENT)

_PATTERNS = tuple((name, re.compile(pattern)) for name, pattern in MESSAGES)


def class_of(message: str) -> str | None:
    """Return the class of an exception by its message; None if the error is not one of autograd's."""
    return next((name for name, pattern in _PATTERNS if pattern.search(message)), None)
