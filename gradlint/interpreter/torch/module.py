"""Modules: made, called, asked for their parameters, frozen and moved."""

from __future__ import annotations

import re

import libcst as cst

from gradlint import facts
from gradlint.domain import dtype as dtypes
from gradlint.domain.announcement import AttributeSet, ModuleConfigured, NameMissing, TorchCalled
from gradlint.domain.graph import Node
from gradlint.domain.likeness import is_optimizer_path
from gradlint.domain.otherwise import may_lack
from gradlint.domain.refusal.functions import FunctionWithoutApply
from gradlint.domain.refusal.modules import ChildOverwritten, ParameterOverwritten
from gradlint.domain.state import State
from gradlint.domain.value import (
    Args,
    Bound,
    External,
    Function,
    Instance,
    ModuleState,
    Ref,
    Tensor,
    Unknown,
    Value,
)
from gradlint.facts import Entry, fact, resolve
from gradlint.interpreter.escape import escape, run_hooks_inside, unknown_call
from gradlint.interpreter.libraries import trainers as frameworks
from gradlint.interpreter.libraries.accelerate import ENGINES, engine_method, is_engine
from gradlint.interpreter.libraries.model_zoos import call_foreign, foreign_part
from gradlint.interpreter.machine import Machine
from gradlint.interpreter.python.classes import find_in_class, is_function_class, library_base
from gradlint.interpreter.torch.apply import apply
from gradlint.interpreter.torch.arguments import refuses_call, refuses_inherited
from gradlint.interpreter.torch.custom_ops import CUSTOM_OP
from gradlint.interpreter.torch.data_loader import SAMPLER, call_sampler
from gradlint.interpreter.torch.distributed import WRAPPERS, wrapper_method
from gradlint.interpreter.torch.distribution import call_distribution
from gradlint.interpreter.torch.gradient_layout import weight_tags
from gradlint.interpreter.torch.hooks import HANDLE, call_hooked, is_hooked, remove, run_inside
from gradlint.interpreter.torch.legacy_calls import with_reduction
from gradlint.interpreter.torch.module_methods import METHODS, set_attribute
from gradlint.interpreter.torch.module_parts import fill_container
from gradlint.interpreter.torch.operands import bind, bind_loosely, defaults_of, flag_of, operands_of
from gradlint.interpreter.torch.operation import Input
from gradlint.interpreter.torch.optim import OPTIMIZER_METHODS, fill_optimizer
from gradlint.interpreter.torch.parameters import (
    DICTS,
    LISTS,
    are_trained_alike,
    check_part,
    is_module_path,
    is_unsized,
    module_base,
    parameter_shape,
    parts,
    refuse_uninitialised,
    set_sized,
    settings_of,
    spelled_out,
    with_setting,
)
from gradlint.interpreter.torch.parametrizations import assign_parametrized
from gradlint.interpreter.torch.registration import MODULE_DICT, is_no_module, lacks_forward, refuses_items
from gradlint.interpreter.torch.reparametrized import computed, note_call, way_of
from gradlint.interpreter.torch.scaler import SCALERS, call_helper, call_scheduler, is_scheduler_path
from gradlint.interpreter.torch.tensor import UNCOUNTED, new_leaf, new_tensor
from gradlint.interpreter.world.placeholders import call_supposed


def new_user_module(state: State, cls: Ref, node: cst.CSTNode) -> Ref:
    """Return an object of a class of the program that derives from a torch module."""
    uninitialised = isinstance(find_in_class(state, cls, "__init__"), Function)
    return state.new(Instance(cls, {}, {}, False, node, module=ModuleState(uninitialised=uninitialised)))


def new_module(machine: Machine, state: State, path: str, args: Args, node: cst.CSTNode) -> Ref:
    """Return a module of torch: its configuration, and the parameters that the table derives from it."""
    lazy = _LAZY.fullmatch(path)
    if lazy is not None:
        path, args = f"torch.nn.{lazy[1]}", args.prepend(Unknown("int"))  # The size that the first call tells.
    ref = state.new(Instance(External(path), {}, {}, False, node))
    fill_module(machine, state, ref, path, args, node)
    if lazy is not None:
        set_sized(state, ref, False)
    return ref


_LAZY = re.compile(r"torch\.nn\.Lazy((?:Linear|Conv|BatchNorm|InstanceNorm)\w*)")
"""Modules that learn their first argument from the first call."""


def fill_module(machine: Machine, state: State, ref: Ref, path: str, args: Args, node: cst.CSTNode) -> None:
    """What the constructor of a torch module sets."""
    record = state.at(ref, Instance)
    if path in WRAPPERS:
        attrs = {**record.attrs, "module": args.get(0, "module")}
        state.put(ref.id, record._replace(attrs=attrs))
        return
    if path in (LISTS | DICTS):
        fill_container(machine, state, ref, record, path, args, node)
        return
    if path == "torch.nn.Module":
        return
    entry = fact(path.removeprefix("torch."))
    if entry is None:
        machine.give_up(path, node)
        state.put(ref.id, record._replace(open=True))
        return
    machine.announce(state, ModuleConfigured(node, path, args.positional, args.keywords, args.open))
    bound, overload = bind(machine, state, entry.sig, args) or bind_loosely(entry.sig, args)
    config = with_reduction(bound, overload)
    flags = {**defaults_of(overload), **{name: flag_of(machine, state, value) for name, value in config.items()}}
    attrs = dict(record.attrs)
    names = resolve(entry.row.parameters, flags)
    buffers = resolve(entry.row.buffers, flags)
    sizes = operands_of(machine, state, config)
    dtype = _parameter_dtype(args)
    tags = UNCOUNTED | weight_tags(flags.get("sparse"))
    for name in spelled_out(names.must, sizes):
        shape = parameter_shape(entry.name, name, sizes)
        attrs[name] = new_leaf(state, node, dtype=dtype, shape=shape, parameter=True, tags=tags, name=name)
    for name in sorted(buffers.must):
        attrs[name] = new_tensor(state, Node("buffer", node), tags=UNCOUNTED)
    is_open = record.open or bool(names.may - names.must) or args.open
    state.put(ref.id, record._replace(attrs=attrs, config={**record.config, **config}, open=is_open))


def _parameter_dtype(args: Args) -> str | None:
    """Return the type a constructor was asked for; torch's default where it was not."""
    wanted = args.keywords.get("dtype")
    if wanted is None:
        return "float32" if not args.open else None
    return dtypes.named(wanted.path.removeprefix("torch.")) if isinstance(wanted, External) else None


# Attributes.


def module_attribute(
    machine: Machine, state: State, obj: Ref, record: Instance, base: str, name: str, node: cst.CSTNode
) -> Value:
    """Return an attribute that the program has not set: a method of torch's, or unknown."""
    if is_module_path(base):
        own = name in METHODS or name == "forward" or wrapper_method(base, name) is not None
        if own or (name in frameworks.METHODS and base.endswith(".LightningModule")):
            return Bound(obj, name)
        if name == "training":
            return record.module.training
        if name in record.config:
            return record.config[name]
        if record.module.foreign:
            return foreign_part(machine, state, obj, name) or machine.symbol("attr", obj, name)
        machine.announce(state, NameMissing(node, obj, name))
        return machine.symbol("attr", obj, name)
    if is_optimizer_path(base):
        if name in OPTIMIZER_METHODS:
            return Bound(obj, name)
        machine.announce(state, NameMissing(node, obj, name))
    has_methods = base.startswith("torch.distributions.") or base in (HANDLE, CUSTOM_OP) or _is_helper(base)
    return Bound(obj, name) if has_methods or name in ENGINES.get(base, ()) else machine.symbol("attr", obj, name)


def _is_helper(path: str) -> bool:
    return path in SCALERS or path == SAMPLER or is_scheduler_path(path)


def set_module_attribute(
    machine: Machine, state: State, obj: Ref, record: Instance, name: str, value: Value, node: cst.CSTNode
) -> None:
    """obj.name = value: a tensor does not go where a parameter is registered."""
    machine.announce(state, AttributeSet(node, obj, name, value))
    former = None if may_lack(state, obj.id, name, machine.give_ups["paths dropped"]) else record.attrs.get(name)
    if assign_parametrized(machine, state, obj, name, former, node):
        return
    if module_base(state, record) is not None:
        check_part(machine, state, obj, value, node)
        record = state[obj]  # type: ignore[assignment]
    if module_base(state, record) is not None and isinstance(former, Ref) and not record.module.loose:
        old = state.heap.get(former.id)
        if isinstance(old, Tensor) and old.parameter and _no_parameter(state, value):
            machine.emit(ParameterOverwritten(node, name, old.syntax))
            return
        if isinstance(old, Instance) and module_base(state, old) is not None and is_no_module(state, value):
            machine.emit(ChildOverwritten(node, name))
            return
    state.put(obj.id, with_setting(state, record, name, value))


def _no_parameter(state: State, value: Value) -> bool:
    """Return whether a value is certainly neither a parameter nor None."""
    if isinstance(value, Ref):
        record = state.heap.get(value.id)
        if isinstance(record, Tensor):
            return not record.parameter and (record.view is None or record.view.kind != "maybe")
        return not isinstance(record, Instance)
    if isinstance(value, Unknown):
        return value.kind in ("array", "number", "int", "str", "bool")
    return isinstance(value, (bool, int, float, str)) or type(value) is tuple


def index_module(machine: Machine, state: State, ref: Ref, record: Instance, index: Value) -> Value:
    """container[index]"""
    base = module_base(state, record)
    if base in (LISTS | DICTS):
        items = tuple(parts(record).values())
        if isinstance(index, int) and not record.open and -len(items) <= index < len(items):
            return items[index]
        if isinstance(index, str) and index in record.attrs:
            return record.attrs[index]
        if isinstance(index, slice) and not record.open:
            bounds = (index.start, index.stop, index.step)
            if all(bound is None or isinstance(bound, int) for bound in bounds):
                return state.new(record._replace(attrs={str(i): value for i, value in enumerate(items[index])}))
        if isinstance(index, Unknown) and items:
            escape(machine, state, items)  # The first stands for each of them, unless they are frozen otherwise.
            return items[0] if are_trained_alike(state, items) else machine.symbol("item", ref, index)
    return ref if record.module.foreign and isinstance(index, slice) else machine.symbol("item", ref, index)


def replace_module(
    machine: Machine, state: State, ref: Ref, record: Instance, index: Value, value: Value, node: cst.CSTNode
) -> None:
    """container[index] = module"""
    keys = (index,) if module_base(state, record) == MODULE_DICT else ()
    if refuses_items(machine, state, ref, (value,), node, keys):
        return
    names = list(record.attrs)
    if isinstance(index, int) and not record.module.foreign and -len(names) <= index < len(names):
        index = names[index]
    set_attribute(state, ref, index, value)


# Calls.


def call_instance(machine: Machine, state: State, ref: Ref, record: Instance, args: Args, node: cst.CSTNode) -> Value:
    """Call an object whose class has no `__call__`, and no `forward` either unless it has hooks."""
    if not is_hooked(machine, record):
        return _call_library(machine, state, ref, record, args, node)

    def forward(given: Args) -> Value:
        own = record.attrs.get("forward") or find_in_class(state, record.cls, "forward")
        if isinstance(own, Function):
            return machine.call(state, Bound(ref, own), given, node)
        return _call_library(machine, state, ref, record, given, node)

    return call_hooked(machine, state, ref, record, args, node, forward)


def _call_library(machine: Machine, state: State, ref: Ref, record: Instance, args: Args, node: cst.CSTNode) -> Value:
    """Return what a class of a library computes."""
    base = module_base(state, record)
    if base is None and is_function_class(state, record.cls):
        machine.emit(FunctionWithoutApply(node, "called"))
    if base is None:
        return unknown_call(machine, state, (ref, *args.values()), node)
    if base in WRAPPERS:
        return _call_in_turn(machine, state, ref, (record.attrs.get("module"),), args, node)
    if record.module.torn is not None:
        return call_supposed(machine, state, ref, record, args, node)
    if record.module.foreign or (base == "torch.nn.Sequential" and record.open):
        result = call_foreign(machine, state, ref, args, node)
        run_inside(machine, state, ref, node, result.origin)
        return result
    if refuses_call(machine, state, ref, record, args, node):
        return Unknown("raised")
    run_hooks_inside(machine, state, record, node)
    if base == "torch.nn.Sequential":
        value = args.get(0, "input")
        return _call_in_turn(machine, state, ref, tuple(parts(record).values()), Args((value,)), node)
    entry = fact(base.removeprefix("torch."))
    if entry is None and lacks_forward(machine, state, ref, record, node):
        return Unknown("raised")
    if entry is None or not entry.row.is_module:
        run_inside(machine, state, ref, node, None)
        return unknown_call(machine, state, (ref, *args.values()), node)
    if record.config.get("inplace") is not True:
        return _call_torch_module(machine, state, ref, record, entry, args, node)
    former, machine.writer = machine.writer, record.syntax
    try:
        return _call_torch_module(machine, state, ref, record, entry, args, node)
    finally:
        machine.writer = former


def _call_in_turn(
    machine: Machine, state: State, ref: Ref, modules: tuple[Value, ...], args: Args, node: cst.CSTNode
) -> Value:
    """Call modules of a module one after the other; where it holds itself, Python's recursion ends in an exception."""
    if ref.id in machine.in_turn:
        return Unknown("raised")
    machine.in_turn.add(ref.id)
    try:
        for module in modules:
            args = Args((machine.call(state, module, args, node),))
    finally:
        machine.in_turn.discard(ref.id)
    return args.positional[0] if args.positional else Unknown()


def _call_torch_module(
    machine: Machine, state: State, ref: Ref, record: Instance, entry: Entry, args: Args, node: cst.CSTNode
) -> Value:
    if any(is_unsized(state, value) for value in record.attrs.values()):
        set_sized(state, ref, True)
    flags: dict[str, object] = defaults_of(entry.sig.overloads[0] if entry.sig.overloads else ())
    config = settings_of(state, record, entry.name)
    flags |= {name: flag_of(machine, state, value) for name, value in config.items()}
    flags["@module"] = ref.id
    training = record.module.training
    flags["training"] = facts.UNKNOWN if isinstance(training, Unknown) else training
    parts: list[Input] = []
    for name, value in record.attrs.items():
        if way_of(value) is not None:
            value = computed(machine, state, ref, name, node)
            note_call(state, ref, name)
        tensor = state.heap.get(value.id) if isinstance(value, Ref) else None
        if isinstance(value, Ref) and isinstance(tensor, Tensor):
            # A tensor that stands where the class has a parameter is used as one (weight and spectral norm).
            label = f"p.{name}" if f"p.{name}" in entry.row.saved else f"b.{name}"
            parts.append(Input("p.*" if tensor.parameter and "p.*" in entry.row.saved else label, value))
    return apply(machine, state, entry, args, node, flags, tuple(parts), config)


def call_module_method(
    machine: Machine, state: State, ref: Ref, record: Instance, name: str, args: Args, node: cst.CSTNode
) -> Value:
    """Call a method that torch gives an object."""
    machine.announce(state, TorchCalled(node, name, ref, args.positional, args.keywords, args.open))
    if name.startswith("super."):
        return _super_method(machine, state, ref, record, name.removeprefix("super."), args, node)
    path = record.cls.path if isinstance(record.cls, External) else ""
    if module_base(state, record) is not None:
        if name == "forward":
            return _call_library(machine, state, ref, record, args, node)
        method = METHODS.get(name) or frameworks.METHODS.get(name) or wrapper_method(module_base(state, record), name)
        if method is not None:
            if record.module.uninitialised:
                refuse_uninitialised(machine, state, ref, record, node)
            if refuses_inherited(machine, state, record, f"torch.nn.Module.{name}", args, node):
                return Unknown("raised")
            return method(machine, state, ref, args, node)
    elif path == SAMPLER:
        return call_sampler(machine, state, ref, name, node)
    elif _is_helper(path):
        return call_helper(machine, state, ref, record, name, args, node)
    elif path.startswith("torch.distributions."):
        return call_distribution(machine, state, ref, record, name, args, node)
    elif path == HANDLE:
        if name in ("remove", "__exit__"):
            remove(state, record)
        return None
    elif (known := engine_method(library_base(state, record.cls), name)) is not None:
        return known(machine, state, args, node)
    elif is_engine(record):
        machine.announce(state, NameMissing(node, ref, name))
    else:
        base = library_base(state, record.cls)
        if base is not None and is_scheduler_path(base):
            return call_scheduler(machine, state, ref, base, name, args, node)
        step = OPTIMIZER_METHODS.get(name)
        if step is not None:
            if refuses_inherited(machine, state, record, f"torch.optim.Optimizer.{name}", args, node):
                return Unknown("raised")
            return step(machine, state, ref, args, node)
    return unknown_call(machine, state, (ref, *args.values()), node)


def _super_method(
    machine: Machine, state: State, ref: Ref, record: Instance, name: str, args: Args, node: cst.CSTNode
) -> Value:
    """super().name(...) that reaches a class of the library."""
    base = module_base(state, record)
    if base is not None:
        if name == "__init__":
            state.put(ref.id, record._replace(module=record.module._replace(uninitialised=False)))
            fill_module(machine, state, ref, base, args, node)
            return None
        if name == "forward":
            return _call_library(machine, state, ref, record, args, node)
        if name in METHODS:
            return METHODS[name](machine, state, ref, args, node)
        if name == "__setattr__" and len(args.positional) == 2 and isinstance(args.positional[0], str):
            set_module_attribute(machine, state, ref, record, args.positional[0], args.positional[1], node)
            return None
    path = library_base(state, record.cls) if isinstance(record.cls, Ref) else None
    if path is not None and is_optimizer_path(path) and name == "__init__":
        fill_optimizer(machine, state, ref, args, node)
        return None
    if path is not None and is_scheduler_path(path):
        if name != "__init__":
            return call_scheduler(machine, state, ref, path, name, args, node)
        attrs = {**record.attrs, "optimizer": args.get(0, "optimizer")}
        state.put(ref.id, record._replace(attrs=attrs))
    return unknown_call(machine, state, args.values(), node) if name != "__init__" else None
