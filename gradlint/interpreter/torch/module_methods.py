"""Methods that `nn.Module` gives every module."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import libcst as cst

from gradlint.domain import announcement
from gradlint.domain.dtype import is_floating, named
from gradlint.domain.likeness import makes_others
from gradlint.domain.state import State
from gradlint.domain.value import Args, External, Instance, Mapping, Ref, Sequence, Tensor, Unknown, Value, Write
from gradlint.interpreter.machine import Machine, Method
from gradlint.interpreter.torch.hooks import register, run_saving
from gradlint.interpreter.torch.inplace import bump
from gradlint.interpreter.torch.module_parts import append_part, extend_parts, get_part, insert_part, update_parts
from gradlint.interpreter.torch.optim import clear_gradient
from gradlint.interpreter.torch.parameters import (
    NAME,
    children_of,
    modules_of,
    parameter_registered,
    parameters_of,
)
from gradlint.interpreter.torch.registration import GIVEN_AS, Part, refuses_part
from gradlint.interpreter.torch.state_dicts import note_taken, refuses_load
from gradlint.interpreter.torch.switches import note_flag, note_whole
from gradlint.interpreter.torch.tensor import UNINITIALIZED, refuses_uninitialized, tensor_at

MANY_NAMES = 64
"""Up to how many parameters a loop runs over each of them, so that it can tell them by their names."""


def _parameters(named: bool) -> Method:
    def parameters(machine: Machine, state: State, ref: Ref, args: Args, node: cst.CSTNode) -> Value:
        found, is_open = parameters_of(state, ref)
        deep = args.get(*((2, "recurse") if named else (0, "recurse")))
        if args.has(*((2, "recurse") if named else (0, "recurse"))) and deep is not True:
            is_open = is_open or deep is not False
            found = [(name, value) for name, value in found if "." not in name]
        items: list[Value] = [*found] if named else [value for _, value in found]
        if named and (is_open or len(found) > MANY_NAMES):
            # A few stand for all, whose names are others.
            items = [(machine.symbol(NAME, value.id, kind="str"), value) for _, value in found]
        made = state.new(Sequence(tuple(items), "iterator", is_open))
        machine.announce(state, announcement.ParametersListed(node, ref, made))
        return made

    return parameters


def _modules(named: bool) -> Method:
    def modules(machine: Machine, state: State, ref: Ref, args: Args, node: cst.CSTNode) -> Value:
        found = list(modules_of(state, ref))
        members: list[Value] = [module for module, _ in found]
        if any(makes_others(record) for _, record in found):
            members.insert(1, Unknown())  # Among the first, as a loop over what may be longer looks at two.
        items: list[Value] = [(Unknown("str"), one) if named else one for one in members]
        return state.new(Sequence(tuple(items), "iterator", any(record.open for _, record in found)))

    return modules


def _children(named: bool) -> Method:
    def children(machine: Machine, state: State, ref: Ref, args: Args, node: cst.CSTNode) -> Value:
        record = state.at(ref, Instance)
        if record.module.foreign:
            return state.new(Sequence((), "iterator", True))
        found = tuple((name, child) if named else child for name, child in children_of(state, record))
        return state.new(Sequence(found, "iterator", record.open))

    return children


def _moved(machine: Machine, state: State, ref: Ref, args: Args, node: cst.CSTNode) -> Value:
    """cuda() and its like: the parameters stay the same objects, on another device."""
    for _, parameter in parameters_of(state, ref)[0]:
        record = tensor_at(state, parameter)
        state.put(parameter.id, record._replace(tags=record.tags - {"cpu"}))
    return ref


def _itself(machine: Machine, state: State, ref: Ref, args: Args, node: cst.CSTNode) -> Value:
    """Moves and casts change the parameters where they are, and give the module back."""
    return ref


def _cast(dtype: str) -> Method:
    return lambda machine, state, ref, args, node: _retyped(state, ref, dtype)


def _to(machine: Machine, state: State, ref: Ref, args: Args, node: cst.CSTNode) -> Value:
    for value in args.values():
        if isinstance(value, External):
            dtype = named(value.path.removeprefix("torch."))
            if dtype is not None and is_floating(dtype):
                _retyped(state, ref, dtype)
        elif isinstance(value, Unknown) and not _is_no_type(value):
            # A device most likely; a dtype cannot be ruled out.
            _retyped(state, ref, None)
    if args.open:
        _retyped(state, ref, None)
    return _moved(machine, state, ref, args, node)


def _is_no_type(value: Unknown) -> bool:
    """Return whether an argument that is not known is certainly a device or a flag, and no element type."""
    return value.kind in ("device", "str", "int", "bool") or (value.key is not None and value.key[0] == "device")


def _retyped(state: State, ref: Ref, dtype: str | None) -> Ref:
    for _, parameter in parameters_of(state, ref)[0]:
        record = tensor_at(state, parameter)
        state.put(parameter.id, record._replace(dtype=dtype))
    return ref


def _train(machine: Machine, state: State, ref: Ref, args: Args, node: cst.CSTNode) -> Value:
    mode = args.get(0, "mode", True)
    training = mode if isinstance(mode, bool) else None
    set_training(state, ref, training)
    machine.announce(state, announcement.ModeSwitched(node, ref, training))
    return ref


def set_training(state: State, ref: Ref, mode: bool | None) -> None:
    """Switch a module and all in it to training, to evaluation, or to either."""
    for module, record in list(modules_of(state, ref)):
        value: Value = Unknown("bool") if mode is None else mode
        state.put(module.id, record._replace(module=record.module._replace(training=value)))


def _requires_grad(machine: Machine, state: State, ref: Ref, args: Args, node: cst.CSTNode) -> Value:
    if _refuses_lazy(machine, state, ref, "requires_grad_", node):
        return Unknown("raised")
    wanted = args.get(0, "requires_grad", True)
    flag = wanted if isinstance(wanted, bool) else None
    for _, parameter in parameters_of(state, ref)[0]:
        record = tensor_at(state, parameter)
        machine.announce(state, announcement.RequiresGradSet(node, parameter, flag))
        note_flag(machine, record, flag, node)
        state.put(parameter.id, record._replace(grad=flag))
    note_whole(machine, ref, flag, node)
    return ref


def _refuses_lazy(machine: Machine, state: State, ref: Ref, op: str, node: cst.CSTNode) -> bool:
    """Return whether a method of the whole module uses a parameter that has no size yet."""
    return any(refuses_uninitialized(machine, state, one, op, node) for _, one in parameters_of(state, ref)[0])


def _sized(op: str) -> Method:
    """Return a method that gives the module back, and needs the sizes of its parameters."""

    def method(machine: Machine, state: State, ref: Ref, args: Args, node: cst.CSTNode) -> Value:
        return Unknown("raised") if _refuses_lazy(machine, state, ref, op, node) else ref

    return method


def _zero_grad(machine: Machine, state: State, ref: Ref, args: Args, node: cst.CSTNode) -> Value:
    parameters = [parameter for _, parameter in parameters_of(state, ref)[0]]
    machine.announce(state, announcement.GradientsCleared(node, parameters))
    for parameter in parameters:
        clear_gradient(machine, state, parameter, args, node)
    return None


def _add_module(machine: Machine, state: State, ref: Ref, args: Args, node: cst.CSTNode) -> Value:
    return _register(machine, state, ref, "module", args, node)


def _register_parameter(machine: Machine, state: State, ref: Ref, args: Args, node: cst.CSTNode) -> Value:
    return _register(machine, state, ref, "parameter", args, node)


def _register_buffer(machine: Machine, state: State, ref: Ref, args: Args, node: cst.CSTNode) -> Value:
    return _register(machine, state, ref, "buffer", args, node)


def _register(machine: Machine, state: State, ref: Ref, kind: Part, args: Args, node: cst.CSTNode) -> Value:
    """Register a part; one that is refused is there all the same in what follows, under a name that is not known."""
    name, part = args.get(0, "name"), args.get(1, GIVEN_AS[kind])
    if refuses_part(machine, state, ref, kind, args, node):
        set_attribute(state, ref, Unknown(), part)
        return Unknown("raised")
    if kind == "parameter":
        parameter_registered(machine, state, part, node)
    set_attribute(state, ref, name, part)
    return None


def set_attribute(state: State, ref: Ref, name: Value, value: Value) -> None:
    """Register something in a module, by a name that may not be known."""
    record = state.at(ref, Instance)
    if isinstance(name, str):
        state.put(ref.id, record._replace(attrs={**record.attrs, name: value}))
    else:
        state.put(ref.id, record.with_unnamed(value))


def _apply(machine: Machine, state: State, ref: Ref, args: Args, node: cst.CSTNode) -> Value:
    """module.apply(f): f on every module."""
    for module, _ in list(modules_of(state, ref))[:24]:
        machine.call(state, args.get(0, "fn"), Args((module,)), node)
    return ref


def _state_dict(machine: Machine, state: State, ref: Ref, args: Args, node: cst.CSTNode) -> Value:
    made = state.new(Mapping({}, True))
    note_taken(state, made, ref, node)
    machine.announce(state, announcement.StateDictTaken(node, ref, made))
    run_saving(machine, state, ref, "saved", made, node)
    return made


def _load(machine: Machine, state: State, ref: Ref, args: Args, node: cst.CSTNode) -> Value:
    """load_state_dict copies into each parameter in place; `strict` and `assign` may leave some as they were."""
    if refuses_load(machine, state, ref, args, node):
        return Unknown("raised")
    machine.announce(state, announcement.StateDictLoaded(node, ref, args.get(0, "state_dict")))
    certain = not (args.has(1, "strict") or args.has(2, "assign") or args.open)
    for _, parameter in parameters_of(state, ref)[0]:
        record = tensor_at(state, parameter)  # A parameter of a lazy module gets the size of what is loaded.
        state.put(parameter.id, record._replace(tags=record.tags - {UNINITIALIZED}))
        bump(machine, state, parameter, Write(node, "load_state_dict", certain))
    run_saving(machine, state, ref, "loaded", Unknown(), node)
    return Unknown()


def _loosened(kind: str) -> Method:
    """Return the method that registers a hook which may change what is saved or loaded."""

    def method(machine: Machine, state: State, ref: Ref, args: Args, node: cst.CSTNode) -> Value:
        handle = register(kind)(machine, state, ref, args, node)
        record = state.at(ref, Instance)
        state.put(ref.id, record._replace(module=record.module._replace(loose=True)))
        return handle

    return method


def _reset(name: str, *, parameters: bool) -> Method:
    """Return a method that writes one layer's running statistics anew, in place, and its parameters."""

    def method(machine: Machine, state: State, ref: Ref, args: Args, node: cst.CSTNode) -> Value:
        for own, value in state.at(ref, Instance).attrs.items():
            record = state.heap.get(value.id) if isinstance(value, Ref) else None
            if not isinstance(value, Ref) or not isinstance(record, Tensor):
                continue
            if own in _STATISTICS or (parameters and record.parameter):
                bump(machine, state, value, Write(node, name))
        return None

    return method


_STATISTICS = frozenset({"running_mean", "running_var", "num_batches_tracked"})


def _listed(items: Callable[[State, Instance], Iterable[Value]]) -> Method:
    """Return items(), values() or keys() of a dictionary of modules."""

    def listed(machine: Machine, state: State, ref: Ref, args: Args, node: cst.CSTNode) -> Value:
        record = state.at(ref, Instance)
        return state.new(Sequence(tuple(items(state, record)), "list", record.open))

    return listed


METHODS: dict[str, Method] = {
    "parameters": _parameters(named=False),
    "named_parameters": _parameters(named=True),
    "modules": _modules(named=False),
    "named_modules": _modules(named=True),
    "children": _children(named=False),
    "named_children": _children(named=True),
    "buffers": lambda machine, state, *_: state.new(Sequence((), "iterator", True)),
    "cuda": _moved,
    "cpu": _itself,
    "xpu": _moved,
    "compile": _itself,
    "share_memory": _sized("share_memory"),
    "to_empty": _sized("to_empty"),
    "to": _to,
    "float": _cast("float32"),
    "double": _cast("float64"),
    "half": _cast("float16"),
    "bfloat16": _cast("bfloat16"),
    "train": _train,
    "eval": lambda machine, state, ref, args, node: _train(machine, state, ref, Args((False,)), node),
    "requires_grad_": _requires_grad,
    "zero_grad": _zero_grad,
    "register_parameter": _register_parameter,
    "register_buffer": _register_buffer,
    "register_module": _add_module,
    "add_module": _add_module,
    "append": append_part,
    "insert": insert_part,
    "get_submodule": get_part,
    "get_parameter": get_part,
    "get_buffer": get_part,
    "extend": extend_parts,
    "update": update_parts,
    "apply": _apply,
    "state_dict": _state_dict,
    "load_state_dict": _load,
    "reset_parameters": _reset("reset_parameters", parameters=True),
    "reset_running_stats": _reset("reset_running_stats", parameters=False),
    **dict.fromkeys(
        (
            *("register_state_dict_pre_hook", "register_load_state_dict_pre_hook", "_register_state_dict_hook"),
            "_register_load_state_dict_pre_hook",
        ),
        _loosened("changing"),
    ),
    "register_state_dict_post_hook": _loosened("saved"),
    "register_load_state_dict_post_hook": _loosened("loaded"),
    "items": _listed(children_of),
    "values": _listed(lambda state, record: record.attrs.values()),
    "keys": _listed(lambda state, record: record.attrs),
    "register_forward_hook": register("forward"),
    "register_forward_pre_hook": register("pre"),
    "register_full_backward_hook": register("backward"),
    "register_full_backward_pre_hook": register("backward pre"),
    "register_backward_hook": register("old backward"),
}
