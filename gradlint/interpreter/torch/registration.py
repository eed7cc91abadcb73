"""What torch checks where a module registers something, and which leaves a value was computed from."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from gradlint.domain.announcement import ModuleEntered
from gradlint.domain.graph import Node
from gradlint.domain.refusal.modules import NoParameterRegistered, SuperInitMissing
from gradlint.domain.state import State
from gradlint.domain.value import Function, Instance, Ref, Tensor, Value
from gradlint.domain.walk import inputs, leaves
from gradlint.interpreter.machine import Machine
from gradlint.interpreter.python.classes import find_in_class
from gradlint.interpreter.torch.parameters import is_module


def check_part(machine: Machine, state: State, obj: Ref, value: Value, node: cst.CSTNode) -> None:
    """obj.name = value for a module: to register a parameter or a module, it has to be initialised."""
    record = state[obj]
    if not isinstance(record, Instance) or not record.module.uninitialised or not isinstance(value, Ref):
        return
    new = state.heap.get(value.id)
    if is_module(state, value) or (isinstance(new, Tensor) and new.parameter):
        refuse_uninitialised(machine, state, obj, record, node)


def running_method_of(state: State) -> Ref | None:
    """Return the object whose method is running."""
    function = state.function
    if function is not None and function.owner is not None and function.code.params:
        receiver = state.locals.get(function.code.params[0].name)
        return receiver if isinstance(receiver, Ref) else None
    return None


def refuse_uninitialised(machine: Machine, state: State, obj: Ref, record: Instance, node: cst.CSTNode) -> None:
    """A module does something that needs `nn.Module.__init__` to have run; said once of an object."""
    method = find_in_class(state, record.cls, "__init__")
    machine.emit(SuperInitMissing(node, method.code.node if isinstance(method, Function) else None))
    state.put(obj.id, record._replace(module=record.module._replace(uninitialised=False)))


def parameter_registered(machine: Machine, state: State, value: Value, node: cst.CSTNode) -> None:
    """register_parameter(name, value): torch refuses what is no parameter."""
    record = state.heap.get(value.id) if isinstance(value, Ref) else None
    if isinstance(record, Tensor) and not record.parameter and record.node.tracked is True:
        for leaf in leaf_records_behind(state, record.node):
            if leaf.parameter:
                machine.emit(NoParameterRegistered(node, leaf.node.syntax))
                return


def leaf_records_behind(state: State, node: Node) -> Iterator[Tensor]:
    """Yield the leaves that a value was computed from."""
    for leaf in leaves([node], inputs):
        record = state.heap.get(leaf.leaf) if leaf.leaf is not None else None
        if isinstance(record, Tensor):
            yield record


def enter_module(machine: Machine, state: State, ref: Ref, node: cst.CSTNode) -> None:
    """An object is about to be called; a module has to be initialised."""
    called = state.heap.get(ref.id)
    if not isinstance(called, Instance):
        return
    if called.module.uninitialised:
        refuse_uninitialised(machine, state, ref, called, node)
    machine.announce(state, ModuleEntered(node, ref))
