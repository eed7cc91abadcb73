"""GRD226: what a derivative of a function is asked of, or what the function gives, does not fit."""

from __future__ import annotations

from collections.abc import Iterator

from gradlint.domain.event import Event
from gradlint.domain.refusal import transform as refusal
from gradlint.rules.base import Bad, Good, Report, Rule


class TransformMismatch(Rule):
    """A function of `torch.func` or `torch.autograd.functional` is given, or gets back, what does not fit.

    What torch does
        It raises. `grad` and `hessian` differentiate a function that returns one number, as a tensor; all of
        them want tensors rather than Python numbers, of a type that has gradients. `vjp` wants cotangents
        shaped like the output, `jvp` tangents shaped like the inputs, and `argnums`, `in_dims` and `out_dims`
        have to agree with the arguments and results. With `strict=True`, the functions of
        `torch.autograd.functional` refuse a result that no gradient leads back from.

    Why it matters
        These functions look alike and want different things: a tuple here, a tensor there. A loss without
        `.mean()`, or a result made a number by `.item()`, ends here.

    When it may be wrong
        Where the line is never reached.

    Instead
        Return a tensor, reduced to one number for `grad`; for a function with several outputs use `jacrev`
        or `vjp`. What is no tensor goes with `in_dims=None`, or is bound by `functools.partial`.

    References
        https://docs.pytorch.org/docs/stable/func.api.html
        https://docs.pytorch.org/docs/stable/autograd.html#functional-higher-level-api
    """

    code = "GRD226"
    name = "transform-mismatch"
    effect = "raises"
    events = (refusal.TransformMismatch,)
    torch_says = r"[Ee]xpected|should|must|can only be None|argnum|floating point|size|structure|strict|only"
    bad = (
        Bad(
            """\
import torch
from torch.func import grad


def loss(w):
    return (w - 1) ** 2


grad(loss)(torch.randn(3))  # GRD226
""",
            error="to return a scalar Tensor",
        ),
        Bad(
            """\
import torch
from torch.func import jacrev


def total(w):
    return w.sum().item()


jacrev(total)(torch.randn(3))  # GRD226
""",
            error="to return only tensors",
        ),
        Bad(
            """\
import torch
from torch.func import vjp

output, pull = vjp(torch.sin, torch.randn(3))
pull(torch.ones(1, 3))  # GRD226
""",
            error="Mismatch in shape",
        ),
        Bad(
            """\
import torch
from torch.autograd.functional import jacobian


def frozen(x):
    return x.detach() * 2


jacobian(frozen, torch.randn(3), strict=True)  # GRD226
""",
            error="does not require gradients",
        ),
    )
    good = (
        Good(
            """\
import torch
from torch.func import grad


def loss(w):
    return ((w - 1) ** 2).mean()


gradient = grad(loss)(torch.randn(3))
""",
            shows="gradient.shape == (3,)",
        ),
        Good(
            """\
import torch
from torch.func import vjp

output, pull = vjp(torch.sin, torch.randn(3))
(gradient,) = pull(torch.ones(3))
""",
            shows="gradient.shape == (3,)",
        ),
        Good(
            """\
import torch


def scaled(x, factor):
    return x * factor


result = torch.vmap(scaled, in_dims=(0, None))(torch.randn(4, 3), 2.0)
""",
            shows="result.shape == (4, 3)",
        ),
        Good(
            """\
import torch
from torch.autograd.functional import hessian


def energy(x):
    return (x**4).sum()


matrix = hessian(energy, torch.randn(3))
""",
            shows="matrix.shape == (3, 3)",
        ),
    )

    def check(self, event: Event) -> Iterator[Report]:
        """A derivative that cannot be taken so."""
        assert isinstance(event, refusal.TransformMismatch)
        backwards = event.transform == "vjp"
        said = _SAYS[event.reason].format(
            got=_given(event.got) if event.reason.endswith("kind") else event.got,
            wanted=event.wanted,
            sizes=" and ".join(map(str, event.sizes)),
            end="output" if backwards else "input",
            ends="the output" if backwards else "the primals",
        )
        yield Report(event.node, f"`{event.transform}` {said}: torch raises here")


_SAYS: dict[refusal.Mismatch, str] = {
    "argnums-kind": "takes an `int` or a tuple of them as `argnums`",
    "argnums-empty": "is given empty `argnums`",
    "argnums-range": "has no argument {got}: it is given {wanted} by position",
    "argnums-twice": "is given the same argument twice in `argnums`",
    "input-kind": "differentiates by {got}, which is no tensor",
    "input-dtype": "differentiates by a tensor of {got}, which has no gradient",
    "input-complex": "takes no complex input",
    "inputs-kind": "wants a tensor or a tuple of them as inputs",
    "output-kind": "wants tensors from the function, which returns {got}",
    "aux-kind": "wants tensors from the function, which returns besides {got}",
    "aux-missing": "wants a tuple of the output and the rest, as `has_aux=True` says",
    "output-complex": "takes no complex output",
    "output-container": "wants a tensor or a tuple of them from the function, which returns a list or dict",
    "scalar-kind": "wants one number as a tensor from the function, which returns {got}",
    "scalar-rank": "wants one number as a tensor from the function, which returns a tensor of {got} dimensions",
    "scalar-size": "wants one number as a tensor from the function, which returns more",
    "strict-output": "with `strict=True` refuses an output that no gradient leads back from",
    "strict-input": "with `strict=True` refuses an output without a way to input {got}",
    "strict-vectorize": "takes `strict` and `vectorize` not together",
    "forward-unvectorized": 'with `strategy="forward-mode"` wants `vectorize=True`',
    "vector-missing": "needs `v` where the {end} has more than one element",
    "vector-kind": "is given {got} as `v`, which has to be a tensor",
    "vector-count": "is given {got} tensors as `v` for {wanted} {end}s",
    "vector-shape": "is given `v` of another shape than the {end}",
    "primals-kind": "wants a tuple of primals",
    "tangent-kind": "is given {got} for a tensor of tangents",
    "tangent-structure": "is given tangents that are not nested like {ends}",
    "tangent-shape": "is given tangents of another shape than {ends}",
    "tangent-dtype": "is given tangents of another type than {ends}",
    "randomness": 'takes "error", "different" or "same" as `randomness`',
    "chunk-size": "takes a positive `chunk_size`",
    "map-nothing": "is given nothing to map over",
    "map-no-tensor": "maps over no tensor",
    "map-kind": "maps over {got}, which is no tensor: say `None` in `in_dims`",
    "map-dim": "maps along dimension {got} of a tensor that has {wanted}",
    "map-sizes": "maps along dimensions of different sizes, {sizes}",
    "in-dims-kind": "takes an `int` or a tuple as `in_dims`",
    "in-dims-count": "has {got} `in_dims` for {wanted} arguments",
    "out-dims-count": "has {got} `out_dims` for {wanted} results",
    "out-dims-single": "has {got} `out_dims` for one result",
    "out-dims-none": "gives results that differ, which `out_dims=None` denies",
    "out-dim": "puts its results along dimension {got} of {wanted}",
    "level-nested": "is entered inside of another level: there is only one",
    "level-missing": "is called where no level has been entered",
    "level-twice": "is called inside of a level: there is only one",
    "dual-outside": "is called outside of `dual_level()`",
    "dual-twice": "is given a tensor that is dual already",
    "dual-dtype": "is given a tensor of {got}, which has no derivative",
    "dual-kind": "is given {got} as tangent, which has to be a tensor",
    "dual-shape": "is given a tangent of another shape than the tensor",
}


_KINDS = {
    "None": "None",
    "number": "a number",
    "array": "an array",
    "string": "a string",
    "tuple": "a tuple",
    "container": "a list or dict",
}


def _given(got: str | int | None) -> str:
    """What stands where a tensor is wanted, in words."""
    return _KINDS.get(str(got), f"`{got}`")
