from __future__ import annotations

from gradlint.domain.fault import functions as fault
from gradlint.rules.authoring.phrases import article, sizes
from gradlint.rules.base import EventRule, Report


class GradientMismatch(EventRule[fault.GradientMismatch]):
    """The backward of a custom function returns a gradient that does not fit its argument.

    What torch does
        It takes tensors and None, and sums a gradient that is a broadcast of its argument. It raises a RuntimeError for
        anything else: a number, a list or an array ("expected Variable or None (got float)"), another shape ("returned
        an invalid gradient at index 0 - got [2] but expected shape compatible with [4]"), a complex gradient of a real
        argument, and a gradient of an argument that is not a tensor ("returned a gradient different than None").

    Why it matters
        The autograd engine raises the error, without naming a line of the function, and only when a backward runs.

    When it may be wrong
        If no backward runs through the function.

    Instead
        Return a tensor of the shape of the argument, in the order of the arguments of `forward`, and None for an
        argument that is not a tensor.

    References
        https://docs.pytorch.org/docs/stable/notes/extending.html#extending-torch-autograd
        https://docs.pytorch.org/docs/stable/autograd.html#torch.autograd.Function
    """

    code = "GRD632"
    name = "gradient-mismatch"
    effect = "raises"
    raises = "returned an invalid gradient at index 1"
    torch_says = (
        "returned an invalid gradient at index",
        "expected Variable or None",
        "returned a gradient different than None",
        "input_is_complex == grad_is_complex",
    )
    bad = """\
import torch


class Linear(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight):
        ctx.save_for_backward(x, weight)
        return x @ weight.t()

    @staticmethod
    def backward(ctx, grad_output):
        x, weight = ctx.saved_tensors
        return grad_output @ weight, x.t() @ grad_output  # GRD632


x, weight = torch.ones(2, 3), torch.ones(4, 3, requires_grad=True)
Linear.apply(x, weight).sum().backward()  # raises
"""
    good = """\
import torch


class Linear(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight):
        ctx.save_for_backward(x, weight)
        return x @ weight.t()

    @staticmethod
    def backward(ctx, grad_output):
        x, weight = ctx.saved_tensors
        return grad_output @ weight, grad_output.t() @ x


x, weight = torch.ones(2, 3), torch.ones(4, 3, requires_grad=True)
Linear.apply(x, weight).sum().backward()
"""
    good_shows = "weight.grad.shape == (4, 3)"

    def check(self, event: fault.GradientMismatch) -> Report | None:
        which = f"for argument {event.position + 1} of `forward`"
        if event.misfit == "unwanted":
            return self._report(event, f"a gradient {which}, which is not a tensor", "return None for it")
        if event.misfit == "complex":
            return self._report(event, f"a complex gradient {which}, which is real", "return the real part")
        if event.kind is not None:
            given = f"{article(event.kind)} {event.kind}"
            return self._report(event, f"{given} {which}", "return a tensor, or None for no gradient")
        got, wanted = sizes(event.got), sizes(event.wanted)
        hint = "return a gradient of the shape of the argument, in the order of the arguments"
        return self._report(event, f"a gradient of shape {got} {which}, which has shape {wanted}", hint)

    def _report(self, event: fault.GradientMismatch, what: str, hint: str) -> Report:
        return Report(event.node, f"`backward` returns {what}: torch raises in backward", hint=hint)
