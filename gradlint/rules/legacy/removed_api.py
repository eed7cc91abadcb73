from __future__ import annotations

from typing import TypeAlias

import libcst as cst

from gradlint.domain.event import Event
from gradlint.domain.fault import spelling as fault
from gradlint.domain.refusal import tensors as refusal
from gradlint.rules.authoring.arguments import extended, keyword_of, without
from gradlint.rules.authoring.repairs import code, with_argument, without_argument
from gradlint.rules.base import Change, EventRule, Repair, Report

_Event: TypeAlias = (
    fault.RemovedName
    | fault.AbsentName
    | fault.DeprecatedName
    | fault.RemovedArgument
    | fault.FactorsFirst
    | fault.OldReduction
    | fault.ImplicitDim
    | fault.EpochGiven
    | refusal.NumberIndexed
)


class RemovedApi(EventRule[_Event]):
    """An API is used that torch has removed or deprecated, or that the project's torch does not have yet.

    What torch does
        It raises: an IndexError for `loss.data[0]` ("invalid index of a 0-dim tensor"), and for `loss.data.numpy()[0]`
        ("too many indices for array"), an AttributeError for `.creator` and for `torch.rfft`, a RuntimeError for
        `torch.symeig` ("This function was deprecated since version 1.9 and is now removed"), a TypeError for
        `retain_variables=` and for `verbose=` of a scheduler. It still accepts `size_average=`, `reduce=`, `x.add_(0.9,
        y)`, `torch.addmm(0.5, x, 2, a, b)`, a softmax without `dim`, `scheduler.step(epoch)` and names such as
        `nn.init.xavier_uniform`, most of them with a warning.
        Where the release of the project is known, by the key `torch` or by its environment, names and arguments that
        this release does not have are reported as well: `nn.RMSNorm` came with torch 2.4.

    Why it matters
        Tutorials and old repositories use such calls often, and a call that is only deprecated may be removed later.

    When it may be wrong
        If the code checks the version of torch in a way that gradlint does not see, and uses another
        call for new versions. If a file is imported only where torch is new enough: suppress it there.

    Instead
        Use `loss.item()`, `reduction="sum"`, `x.add_(y, alpha=0.9)` or `retain_graph=True`. For a
        function, use the one that the finding names.

    References
        https://pytorch.org/blog/pytorch-0_4_0-migration-guide/
        https://docs.pytorch.org/docs/stable/linalg.html
    """

    code = "GRD804"
    name = "removed-api"
    effect = "legacy"
    raises = "invalid index of a 0-dim tensor"
    fix = "safe"
    torch_says = (
        "invalid index of a 0-dim tensor",
        "is now removed",
        "too many indices for array",
        "unexpected keyword argument 'verbose'",
    )
    bad = """\
import torch
from torch import nn

model = nn.Linear(3, 1)
loss = nn.MSELoss()(model(torch.randn(8, 3)), torch.randn(8, 1))
loss.backward()
print(loss.data[0])  # GRD804
"""
    good = """\
import torch
from torch import nn

model = nn.Linear(3, 1)
loss = nn.MSELoss(reduction="sum")(model(torch.randn(8, 3)), torch.randn(8, 1))
loss.backward(retain_graph=True)
print(loss.item(), loss.data, model.weight.data[0])
"""

    def check(self, event: _Event) -> Report | None:
        message, hint = _words(event)
        return Report(
            event.node,
            message,
            hint=hint,
            effect="raises" if isinstance(event, _RAISING) else None,
            repair=_repair(event),
        )


_RAISING = (fault.RemovedName, fault.AbsentName, fault.RemovedArgument, refusal.NumberIndexed)


def _words(event: Event) -> tuple[str, str]:
    match event:
        case refusal.NumberIndexed(array=True):
            return "the array of a 0-dim tensor cannot be indexed: numpy raises here", "write `.item()`"
        case refusal.NumberIndexed():
            return "a 0-dim tensor cannot be indexed: torch raises here", "write `.item()`"
        case fault.FactorsFirst(op=op, factors=factors):
            message = f"the factors of `{op}` are keyword arguments since torch 1.5: `{'` and `'.join(factors)}`"
            return message, f"write `{factors[0]}=...` at the end"
        case fault.OldReduction(given=given, reduction=reduction):
            message = f"`reduction` has replaced `{'` and `'.join(given)}` of losses: torch warns"
            return message, f'write `reduction="{reduction or "reduction"}"`'
        case fault.ImplicitDim(op=op):
            return (
                f"`{op}` without `dim` chooses it from the number of dimensions of its input: torch warns",
                "write `dim=...`",
            )
        case fault.EpochGiven():
            return "the `epoch` argument of a scheduler's `step` is deprecated: torch warns", "write `step()`"
        case fault.RemovedArgument(name=name, instead=instead):
            return (
                f"torch has removed the argument `{name}`: it raises here",
                f"write `{instead}`" if instead else "remove the argument",
            )
        case fault.AbsentName():
            return _missing(event)
        case fault.DeprecatedName(name=name, instead=instead):
            return f"`{name}` is deprecated: torch warns", f"use `{instead}`"
        case _:
            assert isinstance(event, fault.RemovedName)
            return f"torch has removed `{event.name}`: it raises here", f"use `{event.instead}`"


def _missing(event: fault.AbsentName) -> tuple[str, str]:
    """Return what is to say of a name or an argument that the project's release of torch does not have."""
    has = f"`{event.owner}` of torch {event.release} takes no" if event.owner else f"torch {event.release} has no"
    other = "leave it out" if event.owner else "test with `hasattr` first"
    if event.since:
        message = f"{has} `{event.name}`: it came with torch {event.since}, and Python raises here"
        return message, f"require torch {event.since}, or {other}"
    return f"{has} `{event.name}`: torch {event.last} was the last with it, and Python raises here", other


def _repair(event: Event) -> Repair | None:
    node = event.node
    match event:
        case refusal.NumberIndexed():
            return _item(node)
        case fault.DeprecatedName():
            return _renamed_function(node, event)
        case fault.ImplicitDim(dim=int(dim)):
            return with_argument(node, f"dim={dim}", safe=True)
        case fault.FactorsFirst(factors=factors) if isinstance(node, cst.Call):
            return _factors_last(node, factors)
        case fault.OldReduction(reduction=str(reduction)) if isinstance(node, cst.Call):
            return _reduction(node, reduction)
        case fault.RemovedArgument(name="verbose"):
            return without_argument(node, "verbose")
        case fault.RemovedArgument() if isinstance(node, cst.Call):
            given = keyword_of(node, event.name)
            name = None if given is None else given.keyword
            return None if name is None else Repair("write `retain_graph`", (Change(name, event.instead),))
        case _:
            return None


def _renamed_function(node: cst.CSTNode, event: fault.DeprecatedName) -> Repair | None:
    """Turn init.xavier_uniform into init.xavier_uniform_, if the names differ only in that."""
    if not isinstance(node, cst.Attribute) or event.instead != f"{event.name}_":
        return None
    return Repair(f"write `{node.attr.value}_`", (Change(node.attr, f"{node.attr.value}_"),))


def _item(node: cst.CSTNode) -> Repair | None:
    """loss.data[0], loss[0] -> loss.item()"""
    if not isinstance(node, cst.Subscript):
        return None
    value = node.value
    if isinstance(value, cst.Attribute) and value.attr.value == "data":
        value = value.value
    return Repair("write `.item()`", (Change(node, f"{code(value)}.item()"),))


def _reduction(call: cst.Call, value: str) -> Repair | None:
    """Turn size_average=False into reduction="sum"; positional and non-constant arguments are not changed."""
    old = [arg for arg in (keyword_of(call, name) for name in ("size_average", "reduce")) if arg is not None]
    if not old or any(code(arg.value) not in ("True", "False", "None") for arg in old):
        return None
    kept = without(call, *old[1:])
    new = f'reduction="{value}"'
    return Repair("write `reduction`", (Change(call, code(kept.deep_replace(old[0], _renamed(old[0], new)))),))


def _renamed(old: cst.Arg, new: str) -> cst.Arg:
    made = cst.ensure_type(cst.parse_expression(f"f({new})"), cst.Call).args[0]
    return old.with_changes(keyword=made.keyword, value=made.value)


def _factors_last(call: cst.Call, names: tuple[str, ...]) -> Repair | None:
    """x.add_(0.9, y) -> x.add_(y, alpha=0.9); torch.addmm(2, x, 3, a, b) -> torch.addmm(x, a, b, beta=2, alpha=3)"""
    if any(arg.keyword is not None or arg.star for arg in call.args):
        return None
    tensors = 1 if names == ("alpha",) else 2
    before = call.args[: len(call.args) - tensors]
    # In front of a function's two matrices stand the factors, and the tensor between them.
    if names[0] == "beta":
        is_function = len(before) == len(names) + 1
        numbers = [arg for place, arg in enumerate(before) if not (is_function and place == 1)]
    else:
        numbers = list(before[-1:])
    if len(numbers) != len(names) or len(before) - len(numbers) not in (0, 1):
        return None
    new: cst.Call | None = without(call, *numbers)
    for name, number in zip(names, numbers, strict=True):
        new = None if new is None else extended(new, name, code(number.value))
    return None if new is None else Repair(f"write `{names[0]}=` at the end", (Change(call, code(new)),))
