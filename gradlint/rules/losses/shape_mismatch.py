from __future__ import annotations

from gradlint.domain.refusal import shapes as refusal
from gradlint.domain.shape import Dim
from gradlint.rules.authoring.phrases import operation, sizes
from gradlint.rules.base import EventRule, Report


class ShapeMismatch(EventRule[refusal.ShapeMismatch]):
    """An operation gets tensors whose shapes do not fit together.

    What torch does
        It raises. Elementwise operations need shapes that broadcast: counted from the last dimension, two sizes must be
        equal, or one of them 1. A matrix product needs as many columns on the left as rows on the right. `mm`, `bmm`,
        `mv` and `dot` accept one number of dimensions each; only `matmul` and `@` accept several. A layer needs the
        number of features or channels that it was created with, a view as many elements as the tensor has, and a loss a
        target that fits its input. The parts of `split` are together as long as the dimension, and an index of `gather`
        has as many dimensions as the tensor.

    Why it matters
        The line never runs. Where it is behind a branch or at the end of an epoch, this shows only after hours.

    When it may be wrong
        If the line is never executed. Only sizes that are constants of the program are compared; an unknown one may
        always fit.

    Instead
        Transpose, reshape or unsqueeze one of the tensors, or create the layer with the size of what it gets.

    References
        https://docs.pytorch.org/docs/stable/notes/broadcasting.html
        https://docs.pytorch.org/docs/stable/generated/torch.matmul.html
    """

    code = "GRD704"
    name = "shape-mismatch"
    effect = "raises"
    raises = "mat1 and mat2 shapes cannot be multiplied"
    torch_says = (
        "mat1 and mat2 shapes cannot be multiplied",
        "must match the size of tensor b",
        "shapes cannot be multiplied",
        "must match the existing size",
        "Expected size for first two dimensions of batch2 tensor to be",
        "must have same number of dimensions",
        r"[Ss]izes of tensors must match",
        "stack expects each tensor to be equal size",
        r"shape '\[.*\]' is invalid for input of size",
        "Dimension out of range",
        r"to have \d+ channels",
        r"[Ee]xpected \dD|[Ee]xpected.* to be \dD|must be a (matrix|vector|3D tensor)|1D tensors expected",
        "Kernel size can't be greater than actual input size",
        "Given normalized_shape=",
        r"running_mean should contain \d+ elements",
        r"input.size\(-1\) must be equal to input_size",
        r"Expected input batch_size .* to match target batch_size",
        "Expected floating point type for target with class probabilities",
        "Using a target size .* that is different to the input size|must be the same as input size",
        "inconsistent tensor size|size mismatch|Expected target size|multi-target not supported|0D or 1D target tensor",
        "operands could not be broadcast|does not broadcast|number of dimensions in the tensor input does not match",
        "the number of sizes provided|need to be at least 1D",
        "split_with_sizes expects|chunk expects|exceeds dimension size|maximum size for|attempted to split along",
        "unflatten: Provided sizes|shifts and dimensions must align|Number of dimensions of repeat dims",
        "same number of dimensions as|Index is supposed to be a vector|Number of indices|number of subscripts",
        "contracted dimensions need to match|must have length 3|Output size is too small|[Pp]adding (length|size) ",
        "divisible by|Halving dimension must be even",
        "is out of bounds for dimension|too many indices for tensor|The shape of the mask",
        "Tensor must have a last dimension of size 2",
    )
    bad = """\
import torch
from torch import nn

layer = nn.Linear(3, 1)
prediction = layer(torch.randn(8, 4))  # GRD704
"""
    good = """\
import torch
from torch import nn

layer = nn.Linear(4, 1)
prediction = layer(torch.randn(8, 4)) + torch.randn(8, 1)
"""

    def check(self, event: refusal.ShapeMismatch) -> Report | None:
        """Report both shapes, and what the operation demands of them."""
        shown = operation(event.op.removeprefix("nn.functional."), event.node)
        first, *rest = [sizes(shape) for shape in event.shapes]
        got = f"shape {first}" if not rest else f"shapes {first} and {rest[0]}"
        related = tuple(
            (made, f"the tensor of shape {sizes(shape)} is created here")
            for shape, made in zip(event.shapes, event.made, strict=True)
        )
        message = f"{shown} gets {got}, but {_demand(event)}: torch raises here"
        return Report(event.node, message, hint=_HINTS.get(event.demand, _ANY), related=related)


def _demand(event: refusal.ShapeMismatch) -> str:
    """Return what the operation demands, as the end of a sentence."""
    one, other = event.shapes[0], event.shapes[-1]
    match event.demand:
        case "broadcast":
            return "these do not broadcast"
        case "equal":
            return "these must be equal"
        case "target":
            return "the target needs one class for each sample, or the shape of the input"
        case "number":
            return "neither may have no dimension"
        case "product":
            return f"{one[-1]} columns do not meet {other[-2] if len(other) > 1 else other[0]} rows"
        case "letters":
            return "one letter stands for two sizes"
        case "batch":
            return "the batches differ"
        case "rank":
            return f"takes {_one_of(event.wanted)}-D tensors"
        case "square":
            return "takes square matrices"
        case "features":
            return f"needs {event.wanted[0]} as the last size"
        case "channels":
            return f"needs {event.wanted[0]} channels"
        case "kernel":
            return f"the kernel of size {sizes(event.wanted)} is larger than that, padding included"
        case "normalized":
            return f"normalizes over {sizes(event.wanted)}"
        case "ranks":
            return "these differ in the number of dimensions"
        case "joined":
            return f"these differ outside of dimension {event.wanted[0]}"
        case "elements":
            return f"{sizes(event.wanted)} has not as many elements"
        case "expanded":
            return f"it does not expand to {sizes(event.wanted)}"
        case "dimension":
            return f"there is no dimension {event.wanted[0]}"
        case "indices":
            return f"{event.wanted[0]} indices are too many"
        case "index":
            return f"there is no index {event.wanted[0]}"
        case "mask":
            return "a mask has the sizes of what it indexes"
        case "said":
            return event.said
        case "permuted":
            return f"{sizes(event.wanted)} does not name each dimension once"


def _one_of(ranks: tuple[Dim, ...]) -> str:
    return "-D or ".join(map(str, ranks))


_ANY = "transpose, reshape or unsqueeze one of them"
_HINTS = {
    "features": "create the layer with the size of what it gets, or transpose the input",
    "channels": "create the layer with the channels of what it gets, or permute the input: channels come second",
    "kernel": "use a smaller kernel, or padding",
    "rank": "unsqueeze or flatten it, or use an operation for this number of dimensions",
    "elements": "leave one size to torch: -1",
    "dimension": "count the dimensions from 0, or from -1 backwards",
    "index": "count the indices from 0",
    "indices": "count the dimensions of what is indexed",
    "product": "transpose one of them: `.t()`, or `.transpose(-2, -1)`",
    "normalized": "the sizes of the layer are the last ones of its input",
}
