"""Calls as former versions of torch took them: deprecated, refused, or without an effect."""

from __future__ import annotations

from functools import cache
from typing import Literal

import libcst as cst

from gradlint.detect.detector import Detector
from gradlint.domain.announcement import AttributeSet, FactorsMoved, ModuleConfigured, TorchCalled, VariableMade
from gradlint.domain.fault import spelling as fault
from gradlint.domain.state import State
from gradlint.domain.value import Args, External, Instance, Ref, Tensor
from gradlint.facts import fact, versions
from gradlint.facts.aliases import canonical
from gradlint.facts.traits import IMPLICIT_DIM
from gradlint.interpreter.torch.tensor import known_tensor, tensor_at
from gradlint.interpreter.world.versions import is_for_some_versions

_FUNCTIONAL = "torch.nn.functional."
_SCHEDULERS = "torch.optim.lr_scheduler."

_TIMED = frozenset(
    {
        *("StepLR", "MultiStepLR", "ExponentialLR", "LambdaLR", "MultiplicativeLR", "CosineAnnealingLR"),
        *("ConstantLR", "LinearLR", "PolynomialLR", "CyclicLR", "OneCycleLR"),
    }
)
"""Schedulers that count the epochs themselves (measured: `step(epoch)` warns)."""

REMOVED = frozenset({"verbose", "retain_variables"})
"""Arguments of which a fault of their own says that torch refuses them today."""


class LegacyDetector(Detector[None]):
    """Needs no facts but the arguments of a call."""

    def on_torch_called(self, state: State, it: TorchCalled) -> None:
        """Report arguments of functions and methods."""
        args = Args(it.positional, it.keywords, it.open)
        if it.receiver is not None:
            self._method(state, it.receiver, it, args)
        elif it.name.startswith(_FUNCTIONAL):
            op = it.name.removeprefix("torch.")
            self._reduction(op, args, it.node)
            self._implicit_dim(state, op.rpartition(".")[2], args, it.node)
        elif it.name.startswith(_SCHEDULERS):
            self._removed(state, it, "verbose", "")
        elif it.name in ("torch.autograd.backward", "torch.autograd.grad"):
            self._removed(state, it, "retain_variables", "retain_graph")

    def on_module_configured(self, state: State, it: ModuleConfigured) -> None:
        """Report arguments of the constructor of a module."""
        args, name = Args(it.positional, it.keywords, it.open), it.path.rpartition(".")[2]
        self._reduction(it.path.removeprefix("torch."), args, it.node)
        guesses = canonical(f"nn.{name}") in IMPLICIT_DIM and "dim" in _places(f"nn.{name}")
        if guesses and not args.has(0, "dim") and not args.open:
            self.report(fault.ImplicitDim(it.node, name, None))

    def on_factors_moved(self, state: State, it: FactorsMoved) -> None:
        """Report x.add_(0.9, y)."""
        self.report(fault.FactorsFirst(it.node, it.op, it.factors))

    def on_variable_made(self, state: State, it: VariableMade) -> None:
        """Report Variable(x), Variable(x, volatile=True)."""
        if it.volatile:
            self.report(fault.VolatileGiven(it.node, state.grad is not False, _written(state, it.node)))
            return
        record = tensor_at(state, it.data)
        live = True if record.grad is False and record.node.live else record.grad
        self.report(
            fault.LegacyVariable(it.node, live, it.requires_grad if isinstance(it.requires_grad, bool) else None)
        )

    def on_attribute_set(self, state: State, it: AttributeSet) -> None:
        """Report x.volatile = True; False is what torch does anyway."""
        if (
            it.name == "volatile"
            and it.value is not False
            and isinstance(it.owner, Ref)
            and isinstance(state.heap.get(it.owner.id), Tensor)
        ):
            self.report(fault.VolatileGiven(it.node, state.grad is not False))

    def _method(self, state: State, receiver: Ref, it: TorchCalled, args: Args) -> None:
        """Report loss.backward(retain_variables=True), scheduler.step(epoch)."""
        record = state[receiver]
        if it.name == "backward" and isinstance(record, Tensor):
            self._removed(state, it, "retain_variables", "retain_graph")
        elif it.name == "step" and isinstance(record, Instance) and isinstance(record.cls, External):
            path, _, name = record.cls.path.rpartition(".")
            if f"{path}." == _SCHEDULERS and name in _TIMED and args.has(0, "epoch"):
                self.report(fault.EpochGiven(it.node))

    def _removed(
        self, state: State, it: TorchCalled, name: Literal["verbose", "retain_variables"], instead: str
    ) -> None:
        """Report a keyword that torch refuses today, if the project's release does."""
        taken = versions.is_there(it.name, name, "arguments")
        if name in it.keywords and not taken and not is_for_some_versions(self.machine, state):
            self.report(fault.RemovedArgument(it.node, name, instead))

    def _reduction(self, op: str, args: Args, node: cst.CSTNode) -> None:
        """Report size_average=False, reduce=False of losses, which have `reduction` today."""
        places = _places(op)
        if "size_average" not in places or not (args.keywords or args.positional):
            return
        average, reduce = (args.get(places.get(name, len(args.positional)), name) for name in _REDUCTIONS)
        given = tuple(name for name, value in zip(_REDUCTIONS, (average, reduce), strict=True) if value is not None)
        if not given or not (args.keywords.keys() & set(given) or isinstance(average, bool)):
            return
        reduction: Literal["none", "sum", "mean"] | None = None
        if all(value is None or isinstance(value, bool) for value in (average, reduce)):
            reduction = "none" if reduce is False else "sum" if average is False else "mean"
        self.report(fault.OldReduction(node, given, reduction))

    def _implicit_dim(self, state: State, op: str, args: Args, node: cst.CSTNode) -> None:
        """Report F.softmax(x): the dimension is guessed by the rank, 0 of one or three dimensions, else 1."""
        if op not in IMPLICIT_DIM or args.keywords or args.has(1, "dim") or args.open:
            return
        target = known_tensor(self.machine, state, args.get(0, "input"))
        shape = None if target is None else tensor_at(state, target).shape
        self.report(fault.ImplicitDim(node, op, None if shape is None else 0 if len(shape) in (0, 1, 3) else 1))


_REDUCTIONS = ("size_average", "reduce")


@cache
def _places(op: str) -> dict[str, int]:
    """Return at which place each argument of an operation stands, or of the constructor of a module."""
    entry = fact(op)
    overloads = () if entry is None else entry.sig.overloads
    return {param.name: place for place, param in enumerate(overloads[0])} if overloads else {}


def _written(state: State, node: cst.CSTNode) -> cst.CSTNode | None:
    """Return the call that names `volatile`, where this one hands on what it was given: `Variable(*args, **kwargs)`."""
    if not isinstance(node, cst.Call) or all(arg.star != "**" for arg in node.args):
        return None
    site = state.site
    while site is not None:
        call, site = site
        if isinstance(call, cst.Call) and any(arg.keyword and arg.keyword.value == "volatile" for arg in call.args):
            return call
    return None
