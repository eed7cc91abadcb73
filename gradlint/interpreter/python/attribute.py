"""Attributes: reading, writing, and what they mean on each kind of value."""

from __future__ import annotations

import libcst as cst

from gradlint.domain import dtype as dtypes
from gradlint.domain import value as values
from gradlint.domain.announcement import Assigned, AttributeRead, AttributeSet, GradientRead, GraphsShared
from gradlint.domain.likeness import is_wrapper
from gradlint.domain.otherwise import is_otherwise, rely_on
from gradlint.domain.refusal.functions import FunctionWithoutApply
from gradlint.domain.refusal.tensors import AttributeFixed
from gradlint.domain.state import State
from gradlint.domain.value import (
    Args,
    Bound,
    External,
    Instance,
    Mapping,
    Ref,
    Sequence,
    Tensor,
    Unknown,
    Value,
    is_unnamed,
)
from gradlint.facts import method_fact
from gradlint.interpreter.escape import PLAIN, escape, may_depend_on, origins, set_unnamed
from gradlint.interpreter.machine import Machine, simple
from gradlint.interpreter.python.classes import find_in_class, is_function_class, library_base
from gradlint.interpreter.python.iteration import PART
from gradlint.interpreter.python.kinds import OF_LISTS, refuses_attribute
from gradlint.interpreter.python.unbound import is_unbound
from gradlint.interpreter.torch.attributes import UNDELETABLE, look_at_saved, set_tensor_attribute, tensor_attribute
from gradlint.interpreter.torch.ctx import ctx_attribute, is_ctx, remember
from gradlint.interpreter.torch.distributed import wrapper_method
from gradlint.interpreter.torch.methods import METHODS
from gradlint.interpreter.torch.module import module_attribute, set_module_attribute
from gradlint.interpreter.torch.module_methods import METHODS as OF_MODULES
from gradlint.interpreter.torch.reparametrized import computed, way_of
from gradlint.interpreter.torch.scaler_stages import invalidate_gradients
from gradlint.interpreter.torch.tensor import LIMITS, absent_gradient, as_tensor, known_tensor, shown_tensor
from gradlint.source.core import Attr, SetAttr
from gradlint.source.lower.syntax import nodes_of


def attr(machine: Machine, state: State, instr: Attr) -> None:
    """dest = obj.name; a path on which the variable has no value ends."""
    if type(instr.obj) is str and is_unbound(machine, state, instr.obj):
        machine.lost.append(state)
        return
    state.set(instr.dest, get_attribute(machine, state, machine.read(state, instr.obj), instr.name, instr.node))


def get_attribute(machine: Machine, state: State, obj: Value, name: str, node: cst.CSTNode) -> Value:
    """obj.name, for any value."""
    if isinstance(obj, Ref):
        return _of_record(machine, state, obj, name, node)
    if isinstance(obj, values.NoGradient):
        if not name.startswith("__") and (obj.since >= 0 or _is_update(obj.syntax)):
            absent_gradient(machine, obj, node)
        return Unknown("raised")
    if isinstance(obj, External):
        if name in _OF_TYPES and (known := _OF_TYPES[name](dtypes.named(obj.path.removeprefix("torch.")))) is not None:
            return known
        if obj.path.startswith("torch"):
            machine.announce(state, AttributeRead(node, obj, name))
        if name == "__name__" and obj.path.startswith("torch.nn."):
            return obj.path.rpartition(".")[2]
        found = machine.program.library(f"{obj.path}.{name}")
        return found if isinstance(found, External) else machine.imported(state, found)
    if isinstance(obj, Unknown):
        return _of_unknown(machine, state, obj, name, node)
    if isinstance(obj, values.File):
        return machine.imported(state, values.Imported(obj.path, name))
    if isinstance(obj, values.Super):
        return _of_super(machine, state, obj, name, node)
    if type(obj) is tuple and name in _FIELDS and _FIELDS[name] < len(obj):
        return obj[_FIELDS[name]]
    if type(obj) is tuple and refuses_attribute(machine, state, obj, name, node):
        return Unknown("raised")
    if isinstance(obj, Bound) and obj.receiver == External("builtins.property") and name in ("setter", "deleter"):
        return Bound(obj, name)
    if isinstance(obj, (values.Function, Bound, values.Partial)):
        return machine.symbol("attr", obj, name) if name != "__name__" else Unknown("str")
    if obj is None and name in _OF_CTX:
        machine.emit(FunctionWithoutApply(node, "without-ctx", name))
        return Unknown("raised")
    return Bound(obj, name)


def _is_update(made: cst.CSTNode | None) -> bool:
    """Return whether a tensor is computed from a gradient, as in `w = w - lr * w.grad`: a leaf was meant to be it."""
    nodes = nodes_of(*(() if made is None else (made,)))
    return any(isinstance(node, cst.Attribute) and node.attr.value == "grad" for node in nodes)


_OF_CTX = frozenset({"save_for_backward", "mark_dirty", "mark_non_differentiable", "needs_input_grad", "saved_tensors"})
"""What only the `ctx` of a custom function has, in the place of which None was given."""

_OF_TYPES = {"is_floating_point": dtypes.is_floating, "is_complex": dtypes.is_complex}
_FIELDS = {
    **dict.fromkeys(("values", "eigenvalues", "Q", "U", "sign", "L", "solution", "P", "min", "inverse"), 0),
    **dict.fromkeys(("indices", "eigenvectors", "R", "S", "logabsdet", "max"), 1),
    **dict.fromkeys(("Vh", "V"), 2),
}
"""The fields of torch's named tuples (`max(dim)`, `sort`, `svd`, ...); a program's own tuples have none of these."""


def _of_record(machine: Machine, state: State, obj: Ref, name: str, node: cst.CSTNode) -> Value:
    record = state[obj]
    if isinstance(record, Tensor):
        return tensor_attribute(machine, state, obj, name, node)
    if isinstance(record, Instance):
        return _of_instance(machine, state, obj, record, name, node)
    if isinstance(record, values.Class):
        value = find_in_class(state, obj, name)
        if value is not None:
            return _descriptor(value, obj)
        if name == "apply" and is_function_class(state, obj):
            return Bound(obj, name)
        return record.name if name == "__name__" else machine.symbol("attr", obj, name)
    if isinstance(record, (Sequence, Mapping)):
        refused = name not in OF_LISTS and refuses_attribute(machine, state, obj, name, node)
        return Unknown("raised") if refused else Bound(obj, name)
    return Unknown()


def _of_instance(machine: Machine, state: State, obj: Ref, record: Instance, name: str, node: cst.CSTNode) -> Value:
    if name in record.attrs:
        if obj.id in machine.differentiated:
            machine.passes((node, "ctx"))
        if way_of(record.attrs[name]) is not None:
            return computed(machine, state, obj, name, node)
        if is_otherwise(state, obj.id, name):
            return Unknown()
        if type(value := record.attrs[name]) is not Unknown:
            rely_on(state, obj.id, name)
        return value
    if is_ctx(record):
        return ctx_attribute(machine, state, obj, name, node)
    if name in ("_parameters", "_modules", "_buffers", "__dict__"):
        loosen(state, obj, record)
        escape(machine, state, (obj,), node)
        return machine.symbol("attr", obj, name)
    if name in ("__delattr__", "__setattr__"):
        return values.Partial(machine.program.external(f"builtins.{name.strip('_')}"), (obj,), ())
    if name == "__class__":
        return record.cls
    if isinstance(record.cls, Ref):
        value = find_in_class(state, record.cls, name)
        if value is not None and type(value) in PLAIN and any(map(is_unnamed, record.attrs)):
            return machine.symbol("attr", obj, name)  # An attribute of the object may hide it.
        if value is not None:
            return _bind(machine, state, obj, value, node)
        base = library_base(state, record.cls)
        if base is not None:
            return module_attribute(machine, state, obj, record, base, name, node)
        # A method that has not run yet may set it, or code elsewhere: unknown, and the same until it is set.
        return machine.symbol("attr", obj, name)
    assert isinstance(record.cls, External)
    own = name in OF_MODULES or name in ("forward", "training") or wrapper_method(record.cls.path, name) is not None
    if record.open and is_wrapper(record) and not own:
        return get_attribute(machine, state, record.attrs["module"], name, node)
    return module_attribute(machine, state, obj, record, record.cls.path, name, node)


def _bind(machine: Machine, state: State, obj: Ref, value: Value, node: cst.CSTNode) -> Value:
    """Return what a class attribute becomes on an object: methods are bound, properties are called."""
    if isinstance(value, values.Function):
        return Bound(obj, value)
    if isinstance(value, Bound) and isinstance(value.receiver, External):
        kind = value.receiver.path
        if kind == "builtins.property":
            return machine.call(state, value.function, Args((obj,)), node)
        if kind == "functools.cached_property":
            return _cached(machine, state, obj, value.function, node)
        if kind == "builtins.classmethod":
            instance = state[obj]
            return Bound(instance.cls if isinstance(instance, Instance) else obj, value.function)
        return value.function
    return value


def _cached(machine: Machine, state: State, obj: Ref, function: Value, node: cst.CSTNode) -> Value:
    """Return a property that is called once: its value stays as an attribute, with its graph."""
    value = machine.call(state, function, Args((obj,)), node)
    instance = state[obj]
    if isinstance(function, values.Function) and isinstance(instance, Instance):
        state.put(obj.id, instance._replace(attrs={**instance.attrs, function.code.name: value}))
    return value


def _descriptor(value: Value, cls: Ref) -> Value:
    """Return what a class attribute is on the class itself."""
    if isinstance(value, Bound) and isinstance(value.receiver, External):
        if value.receiver.path == "builtins.classmethod":
            return Bound(cls, value.function)
        if value.receiver.path == "builtins.staticmethod":
            return value.function
    return value


def _of_super(machine: Machine, state: State, obj: values.Super, name: str, node: cst.CSTNode) -> Value:
    receiver = obj.receiver
    if isinstance(receiver, Ref):
        record = state[receiver]
        cls = record.cls if isinstance(record, Instance) else receiver
        value = find_in_class(state, cls, name, after=obj.owner)
        if value is None:
            return Bound(receiver, f"super.{name}")
        if isinstance(value, values.Function) or isinstance(record, Instance):
            return _bind(machine, state, receiver, value, node)
        return _descriptor(value, receiver)
    return Unknown()


def _of_unknown(machine: Machine, state: State, obj: Unknown, name: str, node: cst.CSTNode) -> Value:
    """Return an attribute of something unknown; of a tensor, once something has shown that it is one."""
    value = state.attribute_of(obj, name)
    if value is not None:
        return value
    if obj.kind == "raised":
        return obj
    if obj.kind == LIMITS:
        return Unknown("number")
    if obj.kind == "object":
        held = look_at_saved(machine, state, obj, name, node)
        if held is not None:
            return held
    if name == "detach_" and obj.key is not None and obj.key[0] == PART:
        whole = obj.key[1]
        if isinstance(whole, Unknown) and whole.origin is not None:
            state.sever(whole.origin)
    if name.endswith("_") and _is_gradient(obj):
        invalidate_gradients(machine, state, node)  # As `p.grad.zero_()`: whose it is, is not known.
    ref = shown_tensor(machine, state, obj, name)
    if ref is not None:
        return tensor_attribute(machine, state, ref, name, node)
    typed = state.facts.get(("instance", obj))
    if isinstance(typed, Ref):
        return get_attribute(machine, state, typed, name, node)
    if name == "data" and machine.assumes and _is_of_loss(machine, state, obj, node):
        loss = as_tensor(machine, state, obj, node)  # What is backpropagated is a tensor.
        return Unknown() if loss is None else tensor_attribute(machine, state, loss, name, node)
    if obj.origin is not None and obj.origin.live:
        if name == "data":
            return may_depend_on([obj.origin], node)  # Of a tensor it has no graph, of a packed sequence it has.
        # A result of a call that is not known: a tensor, or an object that holds some.
        return Bound(obj, name) if method_fact(name) or name in METHODS else Unknown(None, obj.origin, None, node)
    if name == "grad":
        machine.announce(state, GradientRead(node, None, warned=False))
    return machine.symbol("attr", obj, name)


def _is_of_loss(machine: Machine, state: State, obj: Unknown, node: cst.CSTNode) -> bool:
    """Return whether the file backpropagates an attribute of a value, or what is computed from both."""
    fragment = machine.program.fragment_at(state)
    live = obj.origin is not None and obj.origin.live
    return node in (fragment.for_losses if live else fragment.losses)


def _is_gradient(value: object) -> bool:
    """Return whether something unknown is the `.grad` of something unknown, or its `data`."""
    key = value.key if isinstance(value, Unknown) else None
    return key is not None and key[0] == "attr" and (key[2] == "grad" or (key[2] == "data" and _is_gradient(key[1])))


def set_attr(machine: Machine, state: State, instr: SetAttr) -> None:
    """obj.name = value"""
    obj, value = machine.read(state, instr.obj), machine.read(state, instr.value)
    set_attribute(machine, state, obj, instr.name, value, instr.node)


def set_attribute(machine: Machine, state: State, obj: Value, name: str, value: Value, node: cst.CSTNode) -> None:
    """obj.name = value, for any object."""
    if isinstance(obj, Unknown):
        ref = shown_tensor(machine, state, obj, name)
        if ref is None:
            if name == "grad":
                invalidate_gradients(machine, state, node)  # Whose it is, is not known.
            machine.announce(state, GraphsShared(node, origins(state, (value,))))
            machine.announce(state, AttributeSet(node, obj, name, value))
            state.decide(("set", obj, name), value)
            return
        obj = ref
    if isinstance(obj, values.NoGradient) and obj.since >= 0:
        absent_gradient(machine, obj, node)
    if not isinstance(obj, Ref):
        return
    if type(value) is Ref:
        machine.announce(state, Assigned(node, value))
    record = state[obj]
    if isinstance(record, Tensor):
        set_tensor_attribute(machine, state, obj, name, value, node)
    elif isinstance(record, Instance):
        if is_ctx(record):
            remember(state, obj, name, node)
            record = state.at(obj, Instance)
        if isinstance(record.cls, Ref):
            setter = find_in_class(state, record.cls, name)
            if isinstance(setter, Bound) and setter.receiver == External("builtins.property"):
                function = machine.setters.get(setter.function)
                if function is not None:
                    machine.call(state, function, Args((obj, value)), node)
                return
        if name == "__dict__":
            set_unnamed(state, obj, value)
        else:
            set_module_attribute(machine, state, obj, record, name, value, node)
    elif isinstance(record, values.Class):
        state.put(obj.id, record._replace(attrs={**record.attrs, name: value}))


def delete_attribute(machine: Machine, state: State, obj: Value, name: Value, node: cst.CSTNode) -> None:
    """del obj.name; under a name that is not known anything may be gone."""
    tensor = known_tensor(machine, state, obj)
    if tensor is not None and name == "grad":
        set_tensor_attribute(machine, state, tensor, "grad", None, node)
    elif tensor is not None and isinstance(name, str) and name in UNDELETABLE:
        machine.emit(AttributeFixed(node, name))
    record = state[obj] if isinstance(obj, Ref) else None
    if isinstance(obj, Ref) and isinstance(record, Instance):
        if isinstance(name, str):
            attrs = {key: value for key, value in record.attrs.items() if key != name}
            state.put(obj.id, record._replace(attrs=attrs))
        else:
            loosen(state, obj, record)


def loosen(state: State, obj: Ref, record: Instance) -> None:
    """Note that what is registered in a module may change unseen from here on."""
    state.put(obj.id, record._replace(open=True, module=record.module._replace(loose=True)))


simple(Attr, attr)
simple(SetAttr, set_attr)
