"""The functions of `torch.func` and `torch.autograd.functional`, by path."""

from __future__ import annotations

from gradlint.interpreter.machine import Native
from gradlint.interpreter.torch.transform import derivatives, forward_mode, mapping
from gradlint.interpreter.torch.transform.functional import functional

_TRANSFORMS: dict[str, Native] = {
    "grad": derivatives.transform("grad"),
    "grad_and_value": derivatives.transform("grad_and_value"),
    "jacrev": derivatives.transform("jacrev"),
    "jacfwd": derivatives.transform("jacfwd"),
    "hessian": derivatives.transform("hessian"),
    "vjp": derivatives.vjp,
    "jvp": derivatives.jvp,
    "linearize": derivatives.linearize,
    "vmap": mapping.vmap,
}

TRANSFORMS: dict[str, Native] = {
    **{f"{place}.{name}": native for place in ("torch.func", "functorch") for name, native in _TRANSFORMS.items()},
    "torch.vmap": mapping.vmap,
    derivatives.RUN: derivatives.call,
    derivatives.PULL: derivatives.pull,
    derivatives.PUSH: derivatives.push,
    mapping.RUN: mapping.call,
    **{
        f"torch.autograd.forward_ad.{name}": native
        for name, native in (
            ("dual_level", forward_mode.dual_level),
            ("enter_dual_level", forward_mode.enter),
            ("exit_dual_level", forward_mode.leave),
            ("make_dual", forward_mode.make_dual),
        )
    },
    **{
        f"torch.autograd.functional.{name}": functional(name)
        for name in ("jacobian", "hessian", "vjp", "jvp", "vhp", "hvp")
    },
}
