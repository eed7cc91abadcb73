from __future__ import annotations

from gradlint.domain.refusal import transform as refusal
from gradlint.rules.base import EventRule, Report


class TransformMismatch(EventRule[refusal.TransformMismatch]):
    """A function transform is called with the wrong arguments, or its function returns the wrong result.

    What torch does
        It raises. `grad` and `hessian` expect a function that returns a tensor with one element. All functions of
        `torch.func` and `torch.autograd.functional` expect tensors rather than Python numbers, of a differentiable
        dtype. `vjp` expects cotangents with the shape of the output, `jvp` tangents with the shape of the inputs, and
        `argnums`, `in_dims` and `out_dims` must match the arguments and results. With `strict=True`, the functions of
        `torch.autograd.functional` reject an output that does not depend on the inputs.

    Why it matters
        These functions look alike but expect different arguments: some a tuple, others a tensor. A loss
        without `.mean()`, or a result converted by `.item()`, raises too.

    When it may be wrong
        If the line is never executed.

    Instead
        Return a tensor, reduced to one number for `grad`; for a function with several outputs use `jacrev` or `vjp`.
        Pass an argument that is not a tensor with `in_dims=None`, or bind it with `functools.partial`.

    References
        https://docs.pytorch.org/docs/stable/func.api.html
        https://docs.pytorch.org/docs/stable/autograd.html#functional-higher-level-api
    """

    code = "GRD226"
    name = "transform-mismatch"
    effect = "raises"
    raises = "to return a scalar Tensor"
    torch_says = (
        "[Ee]xpected",
        "Mismatch in shape",
        "should",
        "must",
        "can only be None",
        "argnum",
        "floating point",
        "size",
        "no level exists",
        "structure",
        "Jacobian mismatch",
        "Trying to use forward AD",
        "forward grad",
        "reparametrizing",
        "must implement the jvp",
        "strict",
        "only",
        "forward gradient|forward mode gradients|not returning a view|not enough values|out of range|Variable or None",
        "non-empty|compatible|returned an incompatible|implicitly created|Boolean value|independent",
        "multiple values for keys|multiple dictionaries|is not an instance of torch.Tensor",
    )
    bad = """\
import torch
from torch.func import grad


def loss(w):
    return (w - 1) ** 2


grad(loss)(torch.randn(3))  # GRD226
"""
    good = """\
import torch
from torch.func import grad


def loss(w):
    return ((w - 1) ** 2).mean()


gradient = grad(loss)(torch.randn(3))
"""
    good_shows = "gradient.shape == (3,)"

    def check(self, event: refusal.TransformMismatch) -> Report | None:
        backwards = event.transform == "vjp"
        said = _SAYS[event.reason].format(
            got=_given(event.got) if event.reason.endswith("kind") else event.got,
            wanted=event.wanted,
            sizes=" and ".join(map(str, event.sizes)),
            end="output" if backwards else "input",
            ends="the output" if backwards else "the primals",
        )
        if event.reason == "check-precision":
            return Report(event.node, f"`{event.transform}` {said}, with which it fails", severity="warning")
        return Report(event.node, f"`{event.transform}` {said}: torch raises here")


_SAYS: dict[refusal.Mismatch, str] = {
    "argnums-kind": "takes an `int` or a tuple of them as `argnums`",
    "argnums-empty": "is given empty `argnums`",
    "argnums-range": "has no argument {got}: it is given {wanted} by position",
    "argnums-twice": "is given the same argument twice in `argnums`",
    "input-kind": "differentiates with respect to {got}, which is not a tensor",
    "input-dtype": "differentiates with respect to a tensor of dtype {got}, which has no gradient",
    "input-complex": "does not accept a complex input",
    "inputs-kind": "expects a tensor or a tuple of tensors as inputs",
    "output-kind": "expects the function to return tensors, but it returns {got}",
    "output-empty": "expects the function to return at least one tensor, but it returns none",
    "output-dtype": "expects the function to return floating-point tensors, but it returns one of dtype {got}",
    "aux-kind": "expects the auxiliary result to be tensors, but the function returns {got}",
    "aux-missing": "expects a tuple of the output and the auxiliary result, because of `has_aux=True`",
    "output-complex": "does not accept a complex output",
    "output-container": "expects the function to return a tensor or a tuple of tensors, but it returns a list or dict",
    "scalar-kind": "expects the function to return a tensor with one element, but it returns {got}",
    "scalar-rank": "expects the function to return a tensor without dimensions, but it returns one with {got}",
    "scalar-size": "expects the function to return a tensor with one element, but it returns more",
    "scalar-complex": "expects the function to return a real number, but it returns one of dtype {got}",
    "strict-output": "with `strict=True` rejects an output that does not depend on the inputs",
    "strict-input": "with `strict=True` rejects an output that does not depend on input {got}",
    "strict-jacobian": "with `strict=True` rejects a first derivative by input {got} that is constant",
    "option-kind": "is given a tensor with several elements as {got}, which is a flag",
    "strategy": 'takes "forward-mode" or "reverse-mode" as strategy',
    "forward-graph": 'does not support `create_graph=True` with `strategy="forward-mode"`',
    "strict-vectorize": "does not accept `strict` together with `vectorize`",
    "forward-unvectorized": 'with `strategy="forward-mode"` requires `vectorize=True`',
    "vector-missing": "requires `v` if the {end} has more than one element",
    "vector-kind": "is given {got} as `v`, which must be a tensor",
    "vector-count": "is given {got} tensors as `v` for {wanted} {end}s",
    "vector-shape": "is given a `v` of a different shape from the {end}",
    "primals-kind": "expects a tuple of primals",
    "primals-empty": "is given no tensor to differentiate with respect to",
    "tangent-kind": "is given {got} instead of a tensor of tangents",
    "tangent-structure": "is given tangents that are not nested like {ends}",
    "tangent-shape": "is given tangents of a different shape from {ends}",
    "tangent-dtype": "is given tangents of a different dtype from {ends}",
    "check-nothing": "checks neither backward nor forward derivatives",
    "check-without-grad": "is given no input that requires grad",
    "check-precision": "is given an input of dtype {got}, which is too coarse for finite differences of `eps=1e-6`",
    "check-overlap": "is given an expanded input, whose elements share memory",
    "check-cut": "checks a function that cuts a part of its result off the graph, so that its gradient is another one",
    "check-hook": "checks a function with a hook that changes the gradient, which is no longer the derivative",
    "check-batched": "checks batched derivatives, which needs `{got}=True`",
    "check-batched-sparse": "checks batched derivatives with a sparse input, of which torch maps none",
    "check-sparse": "checks a function that returns a sparse tensor",
    "check-mkldnn": "is given a tensor of MKL-DNN's layout, which it does not support",
    "check-random": "checks a custom function whose backward draws random numbers",
    "check-once": "differentiates twice a custom function whose backward is marked with `once_differentiable`",
    "randomness": 'takes "error", "different" or "same" as `randomness`',
    "chunk-size": "takes a positive `chunk_size`",
    "map-nothing": "is given no input to map over",
    "map-no-tensor": "maps over no tensor",
    "map-kind": "maps over {got}, which is not a tensor: pass `None` in `in_dims`",
    "map-dim": "maps along dimension {got} of a tensor that has {wanted}",
    "map-sizes": "maps along dimensions of different sizes, {sizes}",
    "in-dims-kind": "takes an `int` or a tuple as `in_dims`",
    "in-dims-count": "has {got} `in_dims` for {wanted} arguments",
    "in-dims-structure": "has `in_dims` that are not nested like the arguments",
    "out-dims-kind": "takes an `int`, None or a collection of them as `out_dims`",
    "out-dims-structure": "has `out_dims` that are not nested like the results",
    "out-dims-count": "has {got} `out_dims` for {wanted} results",
    "out-dims-single": "has {got} `out_dims` for one result",
    "out-dims-none": "returns a batched result, which `out_dims=None` does not allow",
    "out-dim": "puts its results along dimension {got}, but they have {wanted} dimensions",
    "rule-pair": "expects the method `vmap` of `{got}` to return two values, the output and its `out_dims`",
    "rule-dims": "gets `out_dims` from the method `vmap` of `{got}` that are not nested like its output",
    "level-nested": "is entered inside another level, but levels cannot be nested",
    "level-missing": "is called outside any level",
    "level-twice": "is called inside a level, but levels cannot be nested",
    "dual-outside": "is called outside of `dual_level()`",
    "dual-twice": "is given a tensor that is already dual",
    "dual-dtype": "is given a tensor of dtype {got}, which has no derivative",
    "dual-kind": "is given {got} as tangent, which must be a tensor",
    "dual-shape": "is given a tangent of a different shape from the tensor",
    "dual-tangent": "is given a tangent that is dual itself",
    "dual-out": "is given a dual tensor, which `out=` does not support",
    "call-keys": "with `strict=True` needs one tensor for each parameter and buffer: `{got}` does not match",
    "no-forward": "is given a dual tensor, but has no derivative in forward mode",
    "jvp-count": "is applied to a dual tensor, and its `jvp` returns {got} tangents for {wanted} results",
    "jvp-constant": "is applied to a dual tensor, and its `jvp` returns a tangent for a result that is marked as "
    "non-differentiable",
    "jvp-kind": "is applied to a dual tensor, and its `jvp` returns something that is not a tensor",
    "jvp-inplace": "writes to a dual tensor in place, but its `jvp` does not return its tangent written in place",
    "jvp-view": "returns a view of a dual tensor, but its `jvp` does not return a view of the tangent",
    "jvp-shape": "is applied to a dual tensor, and its `jvp` returns a tangent of a different shape from the result",
    "jvp-unsaved": "is empty in `jvp`, which needs `ctx.save_for_forward`",
    "call-tied": "is given different tensors for `{got}` and for the name of a tensor that is tied to it",
    "call-twice": "is given `{got}` in two dictionaries",
    "call-kind": "is given {got} in place of a tensor",
    "models-none": "is given no module",
    "models-class": "is given modules of different classes",
    "models-mode": "is given modules of which some are in training mode and some in evaluation mode",
    "models-flag": "is given modules whose parameters `{got}` differ in `requires_grad`",
    "no-jvp": "is applied to a dual tensor, but the function defines no `jvp`",
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
    """Return a phrase for a value that is not a tensor."""
    return _KINDS.get(str(got), f"`{got}`")
