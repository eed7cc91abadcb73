"""Flags that are set on modules to no effect, and dropout in them that does not know their mode."""

from __future__ import annotations

import libcst as cst

from gradlint.detect.detector import Detector
from gradlint.domain.announcement import AttributeSet, TorchCalled
from gradlint.domain.fault.modules import DropoutAlwaysOn, ModuleFlag
from gradlint.domain.state import State
from gradlint.domain.value import Instance, Ref
from gradlint.interpreter.python.classes import find_in_class
from gradlint.interpreter.torch.parameters import is_module, module_base, running_method_of
from gradlint.source.lower.syntax import parts

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
        """A class of the program may have an attribute of that name for itself."""
        if running_method_of(state) == owner:
            return
        known = it.name in record.attrs and owner.id not in self.facts
        if not known and find_in_class(state, record.cls, it.name) is None:
            self.facts.add(owner.id)
            self.report(ModuleFlag(it.node, it.name, "module"))

    def on_torch_called(self, state: State, it: TorchCalled) -> None:
        """F.dropout in a module's method drops in evaluation too, unless the mode is passed or tested."""
        if it.name != "torch.nn.functional.dropout" or it.open:
            return
        given = dict(zip(("input", "p", "training"), it.positional, strict=False)) | dict(it.keywords)
        if "training" in given or given.get("p", 0.5) in (0, 0.0):
            return
        owner = running_method_of(state)
        if owner is not None and is_module(state, owner) and not _asks_for_mode(self.machine.stack[-1].node):
            self.report(DropoutAlwaysOn(it.node))


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
