"""What is set on modules, called in them, and named of them, to no effect or another than meant."""

from __future__ import annotations

import libcst as cst

from gradlint.detect.detector import Detector
from gradlint.domain.announcement import AttributeSet, Discarded, TorchCalled
from gradlint.domain.fault.modules import DropoutAlwaysOn, ModuleFlag
from gradlint.domain.fault.training_loop import MethodNotCalled
from gradlint.domain.state import State
from gradlint.domain.value import Bound, Function, Instance, Ref, Tensor, Unknown, Value
from gradlint.interpreter.python.classes import find_in_class
from gradlint.interpreter.torch.optim import OPTIMIZER_METHODS
from gradlint.interpreter.torch.parameters import is_module, module_base
from gradlint.interpreter.torch.registration import running_method_of
from gradlint.interpreter.torch.tensor import known_tensor
from gradlint.source.lower.syntax import parts

_FLAGS = frozenset({"requires_grad", "require_grad", "requires_grads", "require_grads"})
"""Attributes that people set to freeze a module; torch looks at none of them. On a parameter it does at the first."""

_OF_MODULES = frozenset({"train", "eval", "zero_grad", "requires_grad_", "cuda", "cpu", "half", "double", "float"})
_OF_TENSORS = frozenset({"backward", "detach_", "retain_grad", "requires_grad_"})
_TORCH_ONLY = frozenset({"zero_grad"})
"""Methods that nothing but torch's optimizers and modules has."""


class ModuleUseDetector(Detector[set[int]]):
    """Knows the modules that got a flag torch does not look at."""

    def begin(self) -> set[int]:
        """Begin without modules."""
        return set()

    def on_attribute_set(self, state: State, it: AttributeSet) -> None:
        """Report `module.requires_grad = False`, and `parameter.require_grad = False`."""
        if it.name not in _FLAGS or not isinstance(it.value, bool):
            return
        record = state[it.owner]
        if isinstance(record, Tensor):
            if record.parameter and it.name != "requires_grad":
                self.report(ModuleFlag(it.node, it.name, "tensor"))
        elif isinstance(record, Instance) and module_base(state, record) is not None:
            self._judge_flag(state, record, it)

    def _judge_flag(self, state: State, record: Instance, it: AttributeSet) -> None:
        """A class of the program may have an attribute of that name for itself."""
        if running_method_of(state) == it.owner:
            return
        known = it.name in record.attrs and it.owner.id not in self.facts
        if not known and find_in_class(state, record.cls, it.name) is None:
            self.facts.add(it.owner.id)
            self.report(ModuleFlag(it.node, it.name, "module"))

    def on_torch_called(self, state: State, it: TorchCalled) -> None:
        """F.dropout in a module's method drops in evaluation too, unless it is told or the method asks for the mode."""
        if it.path != "torch.nn.functional.dropout" or it.open:
            return
        given = dict(zip(("input", "p", "training"), it.positional, strict=False)) | dict(it.keywords)
        if "training" in given or given.get("p", 0.5) in (0, 0.0):
            return
        owner = running_method_of(state)
        if owner is not None and is_module(state, owner) and not _asks_for_mode(self.machine.stack[-1].node):
            self.report(DropoutAlwaysOn(it.node))

    def on_discarded(self, state: State, it: Discarded) -> None:
        """Report a method that only its effect gives a meaning, named and not called."""
        if self._is_method(state, it.value, it.name):
            self.report(MethodNotCalled(it.node))

    def _is_method(self, state: State, value: Value, name: str) -> bool:
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


def _asks_for_mode(node: cst.CSTNode) -> bool:
    """Whether a test in a function reads `training`, so that what it guards may run in training only."""
    if isinstance(node, (cst.If, cst.IfExp)) and _reads_mode(node.test):
        return True
    return any(_asks_for_mode(child) for child in parts(node))


def _reads_mode(node: cst.CSTNode) -> bool:
    name = node.attr if isinstance(node, cst.Attribute) else node
    if isinstance(name, cst.Name) and name.value == "training":
        return True
    return any(_reads_mode(child) for child in parts(node))
