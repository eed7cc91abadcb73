from __future__ import annotations

from gradlint.domain.refusal import modules as refusal
from gradlint.rules.base import EventRule, Report


class ReparametrizationMismatch(EventRule[refusal.ReparametrizationMismatch]):
    """A parametrization, a weight norm or a pruning does not fit the tensor of the module.

    What torch does
        It raises. `register_parametrization` calls the parametrization once and refuses one that changes the shape or
        the dtype, unless it is given `unsafe=True`. A tensor can be assigned to only if each of its parametrizations
        has a `right_inverse`. `weight_norm` and `spectral_norm` cannot be applied twice, `orthogonal` takes matrices.
        A parametrized module cannot be pickled as a whole.

    Why it matters
        These functions replace a parameter by one under another name, so that a second one no longer finds it.

    When it may be wrong
        If the line is never executed.

    Instead
        Define `right_inverse`, name a parameter that the module has, undo the first function before you apply the
        second one, and save `module.state_dict()`.

    References
        https://docs.pytorch.org/docs/stable/generated/torch.nn.utils.parametrize.register_parametrization.html
        https://docs.pytorch.org/tutorials/intermediate/parametrizations.html
        https://docs.pytorch.org/tutorials/intermediate/pruning_tutorial.html
    """

    code = "GRD640"
    name = "reparametrization-mismatch"
    effect = "raises"
    raises = "may not change the dtype"
    torch_says = (
        "may not change the",
        "must return a [tT]ensor",
        "must have the same",
        "does not have a param",
        "has no attribute",
        "has no parameter or buffer",
        "Cannot register two",
        "not found in",
        "has to be pruned",
        "leave_parametrized=False",
        "does not implement right_inverse",
        "not possible to assign",
        "Expected a matrix",
        "multidimensional tensors",
        "has to be one of",
        "amount",
        "should be smaller than",
        "n_power_iterations",
        "only supported through state_dict",
        "cannot assign",
        "missing 1 required positional argument",
        r"KeyError",
        r"^'\w+'$",
    )
    bad = """\
import torch
from torch import nn
from torch.nn.utils import parametrize


class Rounded(nn.Module):
    def forward(self, weight):
        return weight.double()


layer = nn.Linear(3, 2)
parametrize.register_parametrization(layer, "weight", Rounded())  # GRD640
"""
    good = """\
import torch
from torch import nn
from torch.nn.utils import parametrize


class Clamped(nn.Module):
    def forward(self, weight):
        return weight.clamp(-1, 1)


layer = nn.Linear(3, 2)
parametrize.register_parametrization(layer, "weight", Clamped())
"""
    good_shows = "layer.weight.grad_fn is not None"

    def check(self, event: refusal.ReparametrizationMismatch) -> Report | None:
        said, hint = _SAYS[event.reason]
        text = said.format(by=event.by, name=event.name)
        end = "torch raises where it is read" if event.reason == "unreadable" else "torch raises here"
        return Report(event.node, f"{text}: {end}", hint=hint or None)


_SAYS: dict[refusal.Unfit, tuple[str, str]] = {
    "missing": ("`{by}` is to compute `{name}`, but the module has no parameter or buffer of that name", ""),
    "taken": (
        "`{by}` is applied to `{name}`, which is computed from other parameters already",
        "undo what computes it first",
    ),
    "dtype": ("the parametrization changes the dtype of `{name}`", "return the dtype of the argument"),
    "shape": ("the parametrization changes the shape of `{name}`", "return the shape of the argument"),
    "result": ("the parametrization of `{name}` returns a value that is not a tensor", "return one tensor"),
    "twice": ("`{by}` is applied to `{name}` a second time", "apply it once"),
    "unreadable": ("`{by}` is applied to `{name}` a second time", "apply it once"),
    "absent": ("`{by}` is called for `{name}`, to which nothing has been applied", ""),
    "several": (
        "`{name}` is computed from several tensors, so that `leave_parametrized=False` cannot be fulfilled",
        "leave `leave_parametrized` out",
    ),
    "no-inverse": (
        "`{name}` is assigned to, but its parametrization has no `right_inverse`",
        "define `right_inverse`, which returns the tensor to be parametrized",
    ),
    "inverse-kind": (
        "`right_inverse` of the parametrization of `{name}` returns something else than a tensor or a sequence of them",
        "return the tensor, or the tensors, that `forward` takes",
    ),
    "inverse-one": (
        "`right_inverse` of a further parametrization of `{name}` does not return one tensor",
        "return one tensor: only the first parametrization may compute `{name}` from several",
    ),
    "inverse-dtype": ("`right_inverse` of the parametrization changes the dtype of `{name}`", ""),
    "inverse-shape": ("`right_inverse` of a further parametrization changes the shape of `{name}`", ""),
    "matrix": ("`{by}` expects a tensor of at least two dimensions, but `{name}` has fewer", ""),
    "map": ("`{by}` is given an unknown `orthogonal_map`", 'pass "matrix_exp", "cayley" or "householder"'),
    "amount": (
        "`{by}` is given an `amount` that is neither a share from 0 to 1 nor a count",
        "pass a float from 0.0 to 1.0, or a positive `int`",
    ),
    "amount-size": ("`{by}` is to prune more elements than `{name}` has", "a float is a share of the elements"),
    "iterations": ("`{by}` is given an `n_power_iterations` that is not positive", ""),
    "pickled": (
        "`{by}` is given a module whose `{name}` is parametrized, which cannot be pickled",
        "save `module.state_dict()`",
    ),
}
