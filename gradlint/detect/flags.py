"""Statements that look as if they set a flag, called a method, or changed a parameter, and do not; constant dropout."""

from __future__ import annotations

import re
from functools import cached_property

import libcst as cst

from gradlint.detect.detector import Detector
from gradlint.domain.announcement import (
    AttributeSet,
    Discarded,
    LoopVariableRebound,
    ModuleEntered,
    RunEnded,
    TorchCalled,
)
from gradlint.domain.assumption import Assumption
from gradlint.domain.fault.inplace import LoopVariableAssigned
from gradlint.domain.fault.modules import DropoutAlwaysOn, ModuleFlag
from gradlint.domain.fault.tensors import FlagCompared, MethodOverwritten
from gradlint.domain.fault.training_loop import MethodNotCalled, ResultDiscarded
from gradlint.domain.graph import Node
from gradlint.domain.state import State
from gradlint.domain.value import Bound, External, Function, Instance, Ref, Tensor, Unknown, Value
from gradlint.facts.aliases import canonical
from gradlint.facts.names import TENSOR, names_of
from gradlint.facts.traits import CONVERTS, DROPS_BY_DEFAULT, RANDOM
from gradlint.interpreter.python.classes import find_in_class
from gradlint.interpreter.torch.optim import OPTIMIZER_METHODS
from gradlint.interpreter.torch.parameters import is_module, module_base, running_method_of
from gradlint.interpreter.torch.tensor import known_tensor, tensor_at
from gradlint.source.lower.syntax import nodes_of, parts

_OF_MODULES = frozenset({"train", "eval", "zero_grad", "requires_grad_", "cuda", "cpu", "half", "double", "float"})
_OF_TENSORS = frozenset({"backward", "detach_", "retain_grad", "requires_grad_"})
_TORCH_ONLY = frozenset({"zero_grad"})
"""Methods that nothing but torch's optimizers and modules has."""
_EFFECTIVE = ("backward", "zero_grad", "step", "train", "eval")
"""Methods that nobody names for anything but their effect."""
_EFFECTS = re.compile(rf"\.({'|'.join(_EFFECTIVE)})\s*(#.*)?$", re.MULTILINE)


def _is_method_by_name(node: cst.Attribute) -> Assumption:
    return Assumption("name", node.attr.value, "a method", node)


class FlagDetector(Detector[None]):
    """Needs no facts but the value at hand."""

    def on_attribute_set(self, state: State, it: AttributeSet) -> None:
        """Report `x.requires_grad_ = True`."""
        record = state.heap.get(it.owner.id) if it.name == "requires_grad_" and isinstance(it.owner, Ref) else None
        may_be_flag = isinstance(it.value, Unknown) and it.value.kind in ("bool", "number", "int")
        if isinstance(record, Tensor) and (may_be_flag or isinstance(it.value, bool)):
            self.report(MethodOverwritten(it.node, "tensor"))
        elif isinstance(record, Instance) and isinstance(it.value, bool) and module_base(state, record) is not None:
            self.report(MethodOverwritten(it.node, "module"))

    def on_discarded(self, state: State, it: Discarded) -> None:
        """Report a method that is named and not called, and a flag that is compared where it was to be set."""
        if type(it.node) is cst.Attribute:
            if self._is_method(state, it.value, it.node.attr.value):
                self._reported.add(it.node)
                # Whatever else is assumed: nobody names it for anything but its effect.
                enough = self.machine.assumed and it.node.attr.value in _EFFECTIVE
                with self.machine.assuming(*(_is_method_by_name(it.node),) if enough else ()):
                    self.report(MethodNotCalled(it.node))
        elif _is_flag(it.node) and known_tensor(self.machine, state, it.value) is not None:
            self.report(FlagCompared(it.node))

    def on_run_ended(self, state: State, it: RunEnded) -> None:
        """Report `loss.backward` as a statement, where the value is not known: such a name is read for nothing."""
        if not self.machine.assumes or _EFFECTS.search(self.machine.program.source.text) is None:
            return
        nodes = list(nodes_of(self.machine.program.nowhere))
        own = {one.name.value for one in nodes if type(one) is cst.FunctionDef and one.decorators}
        for node in (one.value for one in nodes if type(one) is cst.Expr):
            if isinstance(node, cst.Attribute) and node not in self._reported:
                name = node.attr.value
                if name in _EFFECTIVE and name not in own:
                    with self.machine.assuming(_is_method_by_name(node)):
                        self.report(MethodNotCalled(node))

    @cached_property
    def _reported(self) -> set[cst.CSTNode]:
        return set()

    def on_loop_variable_rebound(self, state: State, it: LoopVariableRebound) -> None:
        """Report a variable that stood for a parameter, and gets a value with memory of its own."""
        former, value = (known_tensor(self.machine, state, one) for one in (it.former, it.value))
        if former is None or value is None:
            return
        old, new = tensor_at(state, former), tensor_at(state, value)
        if old.parameter and old.node.leaf is not None and new.memory != old.memory and new.view is None:
            self.report(LoopVariableAssigned(it.node))

    def _is_method(self, state: State, value: Value, name: str) -> bool:
        """Return whether a value is a method that only its effect gives a meaning."""
        if isinstance(value, Unknown):
            return name in _TORCH_ONLY and value.key is not None and value.key[0] == "attr"
        if not isinstance(value, Bound):
            return False
        receiver = value.receiver
        record = state.heap.get(receiver.id) if isinstance(receiver, Ref) else None
        if isinstance(record, Instance):
            if module_base(state, record) is not None:
                return name in _OF_MODULES
            return not isinstance(value.function, Function) and name in OPTIMIZER_METHODS
        writes = name.endswith("_") and not name.startswith("_")
        return (writes or name in _OF_TENSORS) and known_tensor(self.machine, state, receiver) is not None


def _is_flag(node: cst.CSTNode) -> bool:
    """Return whether a comparison is `x.requires_grad == ...`."""
    if type(node) is not cst.Comparison or len(node.comparisons) != 1:
        return False
    left, operator = node.left, node.comparisons[0].operator
    return isinstance(left, cst.Attribute) and left.attr.value == "requires_grad" and isinstance(operator, cst.Equal)


_MOVES = CONVERTS | {"cuda", "cpu", "detach"}
"""Gives a copy, or the tensor itself, where it is wanted; or the same values without a graph."""


class ResultDetector(Detector[set[object]]):
    """Knows the calls that move a tensor, and the addresses of what may be a network instead, as it has a flag set."""

    def on_torch_called(self, state: State, it: TorchCalled) -> None:
        """Note a tensor that is moved; what only its flag shows to be one may be a network."""
        record = None if it.receiver is None else state.heap.get(it.receiver.id)
        if it.receiver is None or not isinstance(record, Tensor):
            return
        if it.name == "requires_grad_" and record.node.op in ("call", "input"):
            self.facts.add(it.receiver.id)
        elif it.name in _MOVES and it.receiver.id not in self.facts and not _may_be_network(record.node):
            self.facts.add(it.node)

    def on_discarded(self, state: State, it: Discarded) -> None:
        """Report a tensor that an operation made, and that nobody takes.

        Some programs compute only to measure the time: what counts is a move, a view, and what torch can do in place.
        At the top of a notebook, an expression shows what it computes. What draws numbers moves the generator on.
        """
        made = known_tensor(self.machine, state, it.value)
        record = None if made is None else tensor_at(state, made)
        if record is None or record.node.syntax is not it.node or not isinstance(it.node, cst.Call):
            return
        func = it.node.func
        if (
            not isinstance(func, cst.Attribute)
            or isinstance(func.value, cst.Call)
            or canonical(record.node.op) in RANDOM
        ):
            return
        if any(write.syntax is it.node for write in state.writes(record.counter)):
            return
        name = func.attr.value
        if name.endswith("_"):
            return
        alike = f"{name}_" in (names_of(TENSOR) or ())
        shown = not self.machine.stack and not self.machine.iterations
        changes = name not in _MOVES and not shown and (alike or record.view is not None)
        if it.node in self.facts or changes:
            self.report(ResultDiscarded(it.node, name, alike))


def _may_be_network(made: Node) -> bool:
    """Return whether a value is the result of a call that is not known, and a tensor only because it was moved."""
    moves = 0
    while made.op.rpartition(".")[2] in _MOVES and len(made.edges) == 1:
        made, moves = made.edges[0].node, moves + 1
    return moves > 0 and made.op == "call"


_FLAGS = frozenset({"requires_grad", "require_grad", "requires_grads", "require_grads"})
"""Attributes that people set to freeze a module; torch looks at none of them."""


class ModuleUseDetector(Detector[set[int]]):
    """Knows the modules that got a flag torch does not look at."""

    def on_attribute_set(self, state: State, it: AttributeSet) -> None:
        """Report `module.requires_grad = False`."""
        if it.name in _FLAGS and isinstance(it.value, bool) and isinstance(it.owner, Ref):
            record = state.heap.get(it.owner.id)
            if isinstance(record, Instance) and module_base(state, record) is not None:
                self._judge_flag(state, it.owner, record, it)

    def _judge_flag(self, state: State, owner: Ref, record: Instance, it: AttributeSet) -> None:
        """Report the flag, unless a class of the program has an attribute of that name for itself."""
        if running_method_of(state) == owner:
            return
        known = it.name in record.attrs and owner.id not in self.facts
        if not known and find_in_class(state, record.cls, it.name) is None:
            self.facts.add(owner.id)
            self.report(ModuleFlag(it.node, it.name, "module"))

    def on_torch_called(self, state: State, it: TorchCalled) -> None:
        """Report F.dropout in a module's method: it drops in evaluation too, unless the mode is passed or tested."""
        if it.name.removeprefix("torch.nn.functional.") not in DROPS_BY_DEFAULT or it.open:
            return
        given = dict(zip(("input", "p", "training"), it.positional, strict=False)) | dict(it.keywords)
        if "training" not in given and given.get("p", 0.5) not in (0, 0.0):
            self._judge_dropout(state, it.node, made=False)

    def on_module_entered(self, state: State, it: ModuleEntered) -> None:
        """Report a dropout layer that the method has made itself: nothing but the method could switch its mode."""
        record = state.heap.get(it.module.id)
        if not isinstance(record, Instance) or it.module.id < state.frame or record.module.training is not True:
            return
        path = record.cls.path if isinstance(record.cls, External) else ""
        known = path.removeprefix("torch.nn.").lower() in DROPS_BY_DEFAULT and not record.open
        if known and record.config.get("p", 0.5) not in (0, 0.0):
            self._judge_dropout(state, it.node, made=True)

    def _judge_dropout(self, state: State, node: cst.CSTNode, *, made: bool) -> None:
        owner = running_method_of(state)
        if owner is not None and is_module(state, owner) and not _asks_for_mode(self.machine.stack[-1].node):
            self.report(DropoutAlwaysOn(node, made))


def _asks_for_mode(node: cst.CSTNode) -> bool:
    """Return whether a test in a function reads `training`, so that what it guards may run in training only."""
    if isinstance(node, (cst.If, cst.IfExp)) and _reads_mode(node.test):
        return True
    return any(_asks_for_mode(child) for child in parts(node))


def _reads_mode(node: cst.CSTNode) -> bool:
    name = node.attr if isinstance(node, cst.Attribute) else node
    if isinstance(name, cst.Name) and name.value == "training":
        return True
    return any(_reads_mode(child) for child in parts(node))
