"""What asks for classes and attributes: `isinstance`, `getattr`, `super`, and their like."""

from __future__ import annotations

from types import FunctionType

import libcst as cst

from gradlint.domain import value as values
from gradlint.domain.dtype import TENSOR_TYPES
from gradlint.domain.likeness import is_wrapper
from gradlint.domain.state import State
from gradlint.domain.value import (
    USED_UP,
    Args,
    External,
    Function,
    Instance,
    Mapping,
    Ref,
    Sequence,
    Tensor,
    Unknown,
    Value,
)
from gradlint.facts.names import MODULE, TENSOR, attributes_of_modules, names_of
from gradlint.interpreter.escape import set_unnamed, unknown_call
from gradlint.interpreter.machine import Machine, Native
from gradlint.interpreter.python.attribute import delete_attribute, get_attribute, set_attribute
from gradlint.interpreter.python.classes import class_of_method, find_in_class, linear_bases
from gradlint.interpreter.torch.data_loader import SAMPLER, SET_EPOCH
from gradlint.interpreter.torch.parameters import is_module, is_module_path, is_unsized
from gradlint.interpreter.torch.tensor import SUMMARY, class_of


def _isinstance(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    value, cls = args.get(0, "obj"), args.get(1, "cls")
    known = is_instance(machine, state, value, cls)
    if known is not None:
        return known
    shown = state.facts.get(("type", value)) if isinstance(value, (Unknown, Ref)) else None
    if shown is not None and shown == cls:
        return True
    if isinstance(shown, External) and isinstance(cls, External) and _are_apart(shown.path, cls.path):
        return False
    return machine.symbol("isinstance", value, cls, kind="bool")


def _of_type(cls: Value) -> Native:
    """The functions of `inspect` that ask for one type: isfunction(value), isclass(value)."""

    def ask(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
        return _isinstance(machine, state, Args((args.get(0, "object"), cls)), node)

    return ask


_PLAIN_TYPES: dict[str, tuple[type, ...]] = {
    "builtins.int": (int,),
    "builtins.float": (float,),
    "builtins.str": (str,),
    "builtins.bool": (bool,),
    "builtins.bytes": (bytes,),
    "builtins.complex": (complex,),
    "builtins.tuple": (tuple,),
    "builtins.slice": (slice,),
    "numbers.Number": (int, float, complex),
}


_FUNCTION_TYPE = External("types.FunctionType")
_CONSTANTS = (bool, int, float, complex, str, bytes, tuple)


def _is_shown(cls: Value) -> bool:
    """Return whether a class is one of the program, or of torch: it is no type of what it does not make."""
    return isinstance(cls, Ref) or (
        isinstance(cls, External) and (cls.path == "builtins.object" or is_module_path(cls.path))
    )


def is_instance(machine: Machine, state: State, value: Value, cls: Value) -> bool | None:
    """isinstance(value, cls), as far as it is known."""
    if type(cls) is tuple:
        answers = [is_instance(machine, state, value, one) for one in cls]
        if True in answers:
            return True
        return None if None in answers else False
    if cls is None:  # As in `isinstance(x, Tensor | None)`.
        return None if isinstance(value, Unknown) else value is None
    if isinstance(value, Unknown) and value.kind == "device" and isinstance(cls, External):
        return cls.path == "torch.device"
    if isinstance(value, Unknown) or not isinstance(cls, (External, Ref)):
        return None
    if isinstance(value, Ref):
        return _ref_is_instance(state, value, cls)
    if isinstance(cls, Ref):
        is_constant = value is None or isinstance(value, _CONSTANTS)
        return False if is_constant and all(map(_is_shown, linear_bases(state, cls))) else None
    if type(value) is tuple and isinstance(cls, External):
        known = cls.path.startswith(("builtins.", "types.", "torch.Tensor", "torch.nn."))
        return cls.path == "builtins.tuple" if known else None
    if isinstance(cls, External):
        plain = _PLAIN_TYPES.get(cls.path)
        if plain is not None:
            return type(value) in plain or (isinstance(value, plain) and type(value) in (bool, int))
        if value is None or isinstance(value, (int, float, str)):
            return False if cls.path.startswith(("torch.", "builtins.", "types.", "numpy.")) else None
    if isinstance(value, Function):
        return True if cls == _FUNCTION_TYPE else None
    return None


def _ref_is_instance(state: State, value: Ref, cls: Value) -> bool | None:
    record = state[value]
    if isinstance(record, Tensor):
        if not isinstance(cls, External):
            return False
        return record.parameter if cls.path == "torch.nn.Parameter" else _is_of_tensor_type(record, cls.path)
    if isinstance(record, Sequence) and isinstance(cls, External):
        lazy = record.kind in USED_UP and not cls.path.startswith("builtins.")
        return cls.path == f"builtins.{record.kind}" or (None if lazy else False)
    if isinstance(record, Mapping) and isinstance(cls, External):
        return cls.path == "builtins.dict"
    if isinstance(record, Instance):
        bases = list(linear_bases(state, record.cls)) if isinstance(record.cls, Ref) else [record.cls]
        if record.open and is_wrapper(record) and cls != External("torch.nn.Module"):
            return None  # On one of two paths it is the network inside.
        if cls in bases:
            return True
        if cls == External("torch.nn.Module") and is_module(state, value):
            return True
        if isinstance(cls, External) and cls.path.startswith(("builtins.", "torch.Tensor")):
            return False
        if isinstance(cls, External) and _is_base_of_others(cls.path):
            return None
        if isinstance(record.cls, External) and record.cls.path.startswith(_SCHEDULERS):
            return False if record.cls.path not in _SUPPOSED_SCHEDULERS else None
        return False if all(map(_is_shown, bases)) and not record.open else None
    return None


_SCHEDULERS = "torch.optim.lr_scheduler."
_SUPPOSED_SCHEDULERS = frozenset({f"{_SCHEDULERS}LRScheduler", f"{_SCHEDULERS}LambdaLR"})
"""The classes that a scheduler of another library is taken for."""


def _are_apart(one: str, other: str) -> bool:
    """Return whether no object is of both of two classes: layers of torch of which neither extends the other."""
    names = {one.rpartition(".")[2], other.rpartition(".")[2]}
    layers = all(is_module_path(path) and not _is_base_of_others(path) for path in (one, other))
    return layers and len(names) == 2 and not any(name.startswith(_RELATED) for name in names)


_RELATED = ("Module", "Sequential", "Lazy", "ReLU6", "Hardtanh", "Upsampl", "ZeroPad", "ConstantPad", "NLLLoss")
"""What the names of the classes of `torch.nn` begin with that extend another, or that another extends (2.13)."""


def _is_base_of_others(path: str) -> bool:
    """Return whether a class of torch is a base of others, of which is not known: `_BatchNorm`, `RNNBase`."""
    name = path.rpartition(".")[2]
    return name.startswith("_") or name.endswith("Base") or name in ("Optimizer", "LRScheduler")


def _is_of_tensor_type(record: Tensor, path: str) -> bool | None:
    """isinstance(tensor, torch.LongTensor): the old classes fix the type of the elements, and the device."""
    wanted = TENSOR_TYPES.get(path.removeprefix("torch.").removeprefix("cuda."))
    if wanted is None:
        return path in ("torch.Tensor", "torch.autograd.Variable")
    return None if record.dtype in (None, wanted, "int", "float") else False


def _hasattr(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    obj, name = args.get(0, "obj"), args.get(1, "name")
    if isinstance(obj, Ref) and isinstance(name, str):
        record = state[obj]
        known = isinstance(record, Instance) and (
            name in record.attrs or find_in_class(state, record.cls, name) is not None
        )
        if known or (isinstance(record, Tensor) and name in (names_of(TENSOR) or frozenset())):
            return True
        if isinstance(record, Instance) and record.cls == External(SAMPLER) and name == SET_EPOCH:
            return True
        if isinstance(record, Instance) and _lacks(machine, obj, record, name):
            return False
    if isinstance(obj, External) and isinstance(name, str):
        known_names = names_of(obj.path)
        if known_names is not None:
            return name in known_names
    if isinstance(obj, Function) and isinstance(obj.code.node, cst.Lambda) and isinstance(name, str):
        return hasattr(FunctionType, name)
    return machine.symbol("hasattr", obj, name, kind="bool")


def _lacks(machine: Machine, obj: Ref, record: Instance, name: str) -> bool:
    """Return whether an object of one of torch's own modules, which has not escaped, has no such attribute."""
    path = record.cls.path if isinstance(record.cls, External) else MODULE
    own = path.rpartition(".")[0] == "torch.nn" and is_module_path(path) and path != MODULE
    if not own or record.open or obj.id in machine.escaped:
        return False
    return name not in record.config and name not in attributes_of_modules()


def _getattr(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    obj, name = args.get(0, "obj"), args.get(1, "name")
    if isinstance(name, str):
        if args.has(2, "default") and _may_lack(state, obj, name):
            return machine.symbol("attr", obj, name)
        return get_attribute(machine, state, obj, name, node)
    if isinstance(obj, Ref) and isinstance(state[obj], Tensor):
        # Any method of it may be called then, a differentiable one as well.
        return unknown_call(machine, state, (obj,), node)
    return machine.symbol("attr", obj, name)


def _may_lack(state: State, obj: Value, name: str) -> bool:
    """Return whether an object may not have an attribute that is asked for with a default."""
    record = state[obj] if isinstance(obj, Ref) else None
    if isinstance(record, Instance):
        return name not in record.attrs
    if isinstance(record, Tensor):
        return name not in (names_of(TENSOR) or ())
    return type(obj) is tuple or isinstance(record, (Sequence, Mapping))


def _setattr(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    obj, name, value = args.get(0, "obj"), args.get(1, "name"), args.get(2, "value")
    if isinstance(name, str):
        set_attribute(machine, state, obj, name, value, node)
    elif isinstance(obj, Ref):
        set_unnamed(state, obj, value)
    return None


def _delattr(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    delete_attribute(machine, state, args.get(0, "obj"), args.get(1, "name"), node)
    return None


def _super(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    if len(args.positional) == 2:
        return values.Super(args.positional[0], args.positional[1])
    function = state.function
    if function is not None and function.code.params:
        receiver = state.locals.get(function.code.params[0].name)
        owner = class_of_method(state, receiver, function) if function.owner is None else function.owner
        return values.Super(owner, receiver)
    return Unknown()


def _type(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    value = args.get(0, "object")
    if isinstance(value, Ref):
        record = state[value]
        if isinstance(record, Instance):
            return _class(state, record)
        if isinstance(record, Tensor):
            return class_of(record)
    if isinstance(value, _CONSTANTS):
        return External(f"builtins.{type(value).__name__}")
    return machine.symbol("type", value)


def _class(state: State, record: Instance) -> Value:
    """Return the class of an object; that of a lazy module is its own until the first call."""
    cls = record.cls
    if isinstance(cls, External) and any(is_unsized(state, value) for value in record.attrs.values()):
        return External(cls.path.replace("torch.nn.", "torch.nn.Lazy"))
    return cls


def _id(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    """id(obj): a number of its own for each thing, unless one address stands for several."""
    value = args.get(0, "obj")
    if isinstance(value, Ref) and isinstance(record := state[value], Tensor) and SUMMARY not in record.tags:
        return value.id
    return machine.symbol("id", value, kind="int")


def _callable(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    value = args.get(0, "obj")
    if type(value) is tuple or (isinstance(value, Ref) and isinstance(state[value], (Tensor, Sequence, Mapping))):
        return False
    known = isinstance(value, (Function, values.Bound, External, values.Partial))
    return True if known else machine.symbol("callable", value)


def _vars(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    if args.positional:
        return get_attribute(machine, state, args.positional[0], "__dict__", node)
    return Unknown()


REFLECTING: dict[str, Native] = {
    "builtins.isinstance": _isinstance,
    "builtins.hasattr": _hasattr,
    "builtins.getattr": _getattr,
    "builtins.setattr": _setattr,
    "builtins.delattr": _delattr,
    "builtins.super": _super,
    "builtins.type": _type,
    "builtins.id": _id,
    "builtins.callable": _callable,
    "inspect.isfunction": _of_type(_FUNCTION_TYPE),
    "inspect.ismethod": _of_type(External("types.MethodType")),
    "inspect.isclass": _of_type(External("builtins.type")),
    "builtins.vars": _vars,
}
"""What a call of each of these gives, by path."""
