from __future__ import annotations

import libcst as cst

from gradlint.domain.fault import functions as fault
from gradlint.rules.authoring.repairs import code
from gradlint.rules.base import Change, EventRule, Remove, Repair, Report


class TensorKeptOnCtx(EventRule[fault.TensorKeptOnCtx]):
    """A custom function stores an input or its result as an attribute of `ctx`.

    What torch does
        With `save_for_backward`, torch detects writes in place, frees the memory after backward, and avoids a reference
        cycle through the graph of a result. An attribute has none of this: a write between forward and backward
        silently changes the gradient, and a stored result keeps its own graph alive until the garbage collector runs.

    Why it matters
        It works until a line such as `h += 1` is added after the call, or memory runs out.

    When it may be wrong
        If nothing writes to the tensor. Tensors that are neither inputs nor results may be stored
        on `ctx`, and are not reported.

    Instead
        Call `ctx.save_for_backward(x)` in `forward`, and read `(x,) = ctx.saved_tensors` in `backward`.

    References
        https://docs.pytorch.org/docs/stable/notes/extending.html#extending-torch-autograd
        https://docs.pytorch.org/docs/stable/autograd.html#torch.autograd.Function
    """

    code = "GRD622"
    name = "tensor-kept-on-ctx"
    effect = "fragile"
    fix = "unsafe"
    bad = """\
import torch


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.x = x  # GRD622
        return x**2

    @staticmethod
    def backward(ctx, grad_output):
        return 2 * ctx.x * grad_output


w = torch.ones(3, requires_grad=True)
h = w * 1
y = Square.apply(h)
h += 1
y.sum().backward()
"""
    bad_shows = "differs_from_finite_differences(lambda: (w * 1).pow(2).sum(), w)"
    good = """\
import torch


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**2

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return 2 * x * grad_output


x = torch.ones(3, requires_grad=True)
Square.apply(x).sum().backward()
"""
    good_shows = "x.grad.sum() == 6"

    def check(self, event: fault.TensorKeptOnCtx) -> Report | None:
        what = "the result" if event.result else "an input"
        return Report(
            event.node,
            f"`ctx.{event.name}` stores {what}: torch cannot detect writes to it, and does not free it after backward",
            hint="use `ctx.save_for_backward`",
            repair=None if event.listed else _saved(event),
        )


def _saved(event: fault.TensorKeptOnCtx) -> Repair | None:
    """Turn `ctx.x = x` into `ctx.save_for_backward(x)`, and each read of `ctx.x` into an item of `ctx.saved_tensors`.

    Attributes are converted one at a time. Return None if the class uses the attribute in another way, or unpacks
    `saved_tensors`.
    """
    assign = event.node
    if event.others or not isinstance(assign, cst.Assign) or not isinstance(event.owner, cst.ClassDef):
        return None
    uses = _Uses(event.name)
    uses.look(event.owner)
    target = assign.targets[0].target
    if len(assign.targets) > 1 or not isinstance(target, cst.Attribute) or uses.set != [target] or uses.is_unpacked:
        return None
    ctx, value = code(target.value), code(assign.value)
    index = 0
    save: tuple[Change | Remove, ...] = (Change(assign, f"{ctx}.save_for_backward({value})"),)
    if uses.saves:
        call = uses.saves[0]
        if len(uses.saves) > 1 or any(arg.star or arg.keyword for arg in call.args):
            return None
        index = len(call.args)
        arguments = ", ".join([*(code(arg.value) for arg in call.args), value])
        text = f"{code(call.func)}({arguments})"
        # All tensors exist at the later of the two statements.
        save = (Remove(call), Change(assign, text)) if uses.saved_first else (Remove(assign), Change(call, text))
    reads = tuple(Change(read, f"{code(read.value)}.saved_tensors[{index}]") for read in uses.read)
    return Repair("save it with `save_for_backward`", (*save, *reads), safe=False)


class _Uses:
    """Collects how the methods of a custom function use an attribute of `ctx` and the saved tensors."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.set: list[cst.Attribute] = []
        self.read: list[cst.Attribute] = []
        self.saves: list[cst.Call] = []
        self.is_unpacked = False
        self.saved_first = False

    def look(self, node: cst.CSTNode) -> None:
        """Look at a node and at those below it."""
        if self._goes_on(node):
            for child in node.children:
                self.look(child)

    def _goes_on(self, node: cst.CSTNode) -> bool:
        """Return whether what is below a node may be a use of its own."""
        if isinstance(node, cst.AssignTarget) and _names(node.target, self.name):
            assert isinstance(node.target, cst.Attribute)
            self.set.append(node.target)
            return False
        if isinstance(node, cst.Attribute) and node.attr.value == self.name:
            self.read.append(node)
        elif isinstance(node, cst.Call) and _names(node.func, "save_for_backward"):
            self.saves.append(node)
            self.saved_first = not self.set
        elif isinstance(node, cst.Subscript) and _names(node.value, "saved_tensors"):
            return False
        self.is_unpacked = self.is_unpacked or _names(node, "saved_tensors") or _names(node, "saved_variables")
        return True


def _names(node: cst.CSTNode, name: str) -> bool:
    """Return whether a node is an attribute of that name."""
    return isinstance(node, cst.Attribute) and node.attr.value == name
