from __future__ import annotations

import libcst as cst

from gradlint.domain.fault import losses as fault
from gradlint.domain.finding import Severity
from gradlint.domain.refusal import shapes as refusal
from gradlint.rules.authoring.arguments import keyword_of
from gradlint.rules.authoring.phrases import operation
from gradlint.rules.authoring.repairs import code
from gradlint.rules.base import Change, EventRule, Repair, Report


class DtypeMismatch(EventRule[fault.TypeClash | refusal.ElementTypeRefused]):
    """An operation or a loss gets tensors of dtypes that it does not accept.

    What torch does
        Elementwise operations promote: float64 + float32 is float64. Matrix products, linear and convolution layers,
        recurrent layers, and normalisations require a single dtype and raise a RuntimeError: "mat1 and mat2 must have
        the same dtype, but got Double and Float". Losses have requirements of their own: class indices must be int64 or
        uint8 ("expected target dtype to be Long or Byte, but got Float"), `binary_cross_entropy` and
        `binary_cross_entropy_with_logits` reject integer targets, and `huber_loss` raises only in its backward.
        `mse_loss` and `l1_loss` promote.

        Some operations exist for some dtypes only: `mean`, `norm`, `softmax` and the functions of `torch.linalg`
        reject integers, and a mask must be bool. An operation in place rejects a result that its tensor cannot hold:
        `x += 0.5` for integers raises "result type Float can't be cast to the desired output type Long".

    Why it matters
        numpy creates float64 and int64 by default, torch creates float32:
        `torch.from_numpy(np.random.rand(8))` is float64, and `torch.tensor([0, 1, 1])` is int64.

    When it may be wrong
        If code that gradlint does not see changes torch's default dtype or converts the module.

    Instead
        Convert the data where it is loaded: `torch.from_numpy(a).float()` or `torch.tensor(a,
        dtype=torch.float32)`. Convert targets with `.long()` for classes and `.float()` for probabilities.

    References
        https://docs.pytorch.org/docs/stable/tensor_attributes.html#torch.dtype
        https://docs.pytorch.org/docs/stable/generated/torch.nn.CrossEntropyLoss.html
    """

    code = "GRD703"
    name = "dtype-mismatch"
    effect = "raises"
    raises = "mat1 and mat2 must have the same dtype, but got Double and Float"
    fix = "unsafe"
    torch_says = (
        "Found dtype Long but expected Float",
        "expected target dtype to be Long or Byte, but got Float",
        "mat1 and mat2 must have the same dtype, but got Double and Float",
        "expected m1 and m2 to have the same dtype",
        "Expected dtype int32/int64 for index",
        "result type .* can't be cast to the desired output type",
        "not implemented for '",
        "Input dtype must be either a floating point or complex dtype",
        "(only support|[Ee]xpected a) floating point",
        "only supports boolean masks|expected BoolTensor for mask|to be a boolean tensor",
        "not supported|unsupported ScalarType|must have the same dtype|expected scalar type|mixed dtype",
    )
    bad = """\
import numpy as np
import torch
from torch import nn

model = nn.Linear(3, 1)
x = torch.from_numpy(np.random.rand(8, 3))
prediction = model(x)  # GRD703
"""
    good = """\
import numpy as np
import torch
from torch import nn

x = torch.from_numpy(np.random.rand(8, 3))
single = nn.Linear(3, 1)(x.float())
double = nn.Linear(3, 1).double()(x)
"""

    @property
    def severity(self) -> Severity:
        """Return what its figure in real code allows behind an open test: one option may decide both dtypes."""
        return "warning"

    def check(self, event: fault.TypeClash | refusal.ElementTypeRefused) -> Report | None:
        if isinstance(event, refusal.ElementTypeRefused):
            return _refused(event)
        where = "its backward raises" if event.late else "torch raises here"
        if event.argument == "target":
            message = f"`{event.op}` gets a target of dtype {event.got} but expects {event.wants}: {where}"
            hint = f"convert the target: `.{'long' if event.wants == 'int64' else 'float'}()`"
        elif event.wants == "int64":
            message = f"`{event.op}` expects integers but gets {event.got}: {where}"
            hint = "convert the indices: `.long()`"
        else:
            message = f"`{event.op}` gets both {event.got} and {event.wants}: {where}"
            hint = "convert one of them, for example with `.float()` on data from numpy"
        made = event.made, f"the {event.got} tensor is created here"
        # Of two options one may decide both types: then other paths than the program's are seen here.
        severity: Severity = "error" if event.settled else "warning"
        repair = _converted(event)
        return Report(event.node, message, hint=hint, related=(made,), severity=severity, repair=repair)


def _refused(event: refusal.ElementTypeRefused) -> Report:
    """Report a type that an operation has nothing for, or that cannot hold a result."""
    shown = operation(event.op.removeprefix("nn.functional."), event.node)
    related = ((event.made, f"the {event.got} tensor is created here"),)
    certain: Severity = "error"
    if event.result:
        message = f"{shown} computes {event.result}, which a tensor of dtype {event.got} cannot hold: torch raises here"
        hint = "write out of place: `x = x + y`, or convert the tensor where it is created"
        return Report(event.node, message, hint=hint, related=related, severity=certain)
    given = "" if event.argument == "input" else f" as `{event.argument}`"
    message = f"{shown} does not accept dtype {event.got}{given}: torch raises here"
    hint = "convert it, for example with `.float()`" if given == "" else "convert it: `.bool()` for a mask"
    return Report(event.node, message, hint=hint, related=related, severity=certain)


def _converted(event: fault.TypeClash) -> Repair | None:
    """Convert the target of a loss, or the only input of a module, to the expected dtype."""
    call = event.node
    method = _METHODS.get(event.wants)
    if not isinstance(call, cst.Call) or method is None or any(arg.star for arg in call.args):
        return None
    given = [arg.value for arg in call.args if arg.keyword is None]
    target = keyword_of(call, "target")
    if event.argument == "target":
        value = target.value if target is not None else given[1] if len(given) > 1 else None
    else:
        value = given[0] if len(call.args) == 1 and given and event.argument in ("input", "") else None
    if not isinstance(value, (cst.Name, cst.Attribute, cst.Call, cst.Subscript)):
        return None
    return Repair(f"convert it: `.{method}()`", (Change(value, f"{code(value)}.{method}()"),), safe=False)


_METHODS = {"int64": "long", "float32": "float", "float64": "double"}
