from __future__ import annotations

from gradlint.domain.refusal import functions as refusal
from gradlint.rules.base import EventRule, Report


class CallbackArguments(EventRule[refusal.CallbackArguments]):
    """A method of a custom function, a hook, or a transformed function does not take torch's arguments.

    What torch does
        It calls `forward` with `ctx` and the arguments of `apply`, and `backward` with `ctx` and one gradient for each
        value that `forward` has returned, also for one that is marked non-differentiable. If the class has a
        `setup_context`, `forward` gets no `ctx`, and `setup_context` is called with `ctx`, the tuple of the arguments
        and the result. Hooks are called with the arguments in the documentation of the method that registers them.
        Python raises a TypeError where a function does not take them: "takes 2 positional arguments but 3 were given".

    Why it matters
        The definition and the registration run without an error. A `backward` or a backward hook fails only when a
        backward runs through it.

    When it may be wrong
        If the function is never called.

    Instead
        Give the function the parameters that torch passes.

    References
        https://docs.pytorch.org/docs/stable/notes/extending.html#extending-torch-autograd
        https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html
    """

    code = "GRD631"
    name = "callback-arguments"
    effect = "raises"
    raises = "takes 2 positional arguments but 3 were given"
    torch_says = ("takes .* positional arguments? but", "missing .* required positional argument", "missing a required")
    bad = """\
import torch


class SineAndCosine(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.sin(), x.cos()

    @staticmethod
    def backward(ctx, grad_output):  # GRD631
        (x,) = ctx.saved_tensors
        return grad_output * x.cos()


sine, cosine = SineAndCosine.apply(torch.ones(3, requires_grad=True))
(sine + cosine).sum().backward()  # raises
"""
    good = """\
import torch


class SineAndCosine(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.sin(), x.cos()

    @staticmethod
    def backward(ctx, grad_sine, grad_cosine):
        (x,) = ctx.saved_tensors
        return grad_sine * x.cos() - grad_cosine * x.sin()


sine, cosine = SineAndCosine.apply(torch.ones(3, requires_grad=True))
(sine + cosine).sum().backward()
"""

    def check(self, event: refusal.CallbackArguments) -> Report | None:
        role = event.role
        what = f"the hook of `{role}`" if role.startswith("register_") else f"`{role}`"
        if role in ("transformed", "parametrization"):
            what = "the function" if role == "transformed" else "`forward` of the parametrization"
        node, other, text = event.node, event.call, "this is what leads to the call"
        if role in ("forward", "vmap", "jvp", "transformed", "parametrization"):
            node, other, text = event.call, event.node, "this is what is called"
        return Report(
            node,
            f"torch calls {what} with {event.given} arguments, which it does not take: the call raises",
            hint=f"take {_GIVEN[role]}",
            related=((other, text),),
        )


_GIVEN: dict[refusal.Role, str] = {
    "forward": "`ctx`, unless there is a `setup_context`, and the arguments of `apply`",
    "setup_context": "`ctx`, the tuple of the arguments of `apply`, and the result",
    "backward": "`ctx` and one gradient for each result of `forward`",
    "vjp": "`ctx` and one gradient for each result of `forward`",
    "jvp": "`ctx` and one tangent for each argument of `apply`",
    "vmap": "`info`, `in_dims`, and the arguments of `apply`",
    "register_hook": "the gradient",
    "register_post_accumulate_grad_hook": "the parameter",
    "register_forward_hook": "the module, its arguments and its output (and keywords, with `with_kwargs=True`)",
    "register_forward_pre_hook": "the module and its arguments (and keywords, with `with_kwargs=True`)",
    "register_full_backward_hook": "the module, `grad_input` and `grad_output`",
    "register_full_backward_pre_hook": "the module and `grad_output`",
    "register_multi_grad_hook": "the sequence of gradients, or with `mode='any'` one gradient",
    "grad_fn.register_hook": "the gradients of the inputs and those of the outputs",
    "grad_fn.register_prehook": "the gradients of the outputs",
    "pack_hook": "the tensor",
    "unpack_hook": "what the other hook has packed",
    "parametrization": "the tensors that `right_inverse` returns, or the one that is parametrized",
    "transformed": "the arguments that are differentiated or mapped",
}
