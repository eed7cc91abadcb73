"""The arguments of a torch call: bound to parameters, read as tensors, as flags of the facts, as sizes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import count

from gradlint import facts
from gradlint.domain import dtype as dtypes
from gradlint.domain.shape import Sym
from gradlint.domain.size import LARGEST
from gradlint.domain.state import State
from gradlint.domain.value import Args, External, Ref, Sequence, Tensor, Unknown, Value
from gradlint.facts import Param, Signature
from gradlint.facts.row import NO_CONSTANT
from gradlint.interpreter.machine import Machine
from gradlint.interpreter.reachable import contents
from gradlint.interpreter.torch.tensor import is_scalar, known_tensor, size_symbol, tensor_at
from gradlint.shapes.operand import UNKNOWN, Operand, Several


def bind(
    machine: Machine, state: State, signature: Signature, args: Args
) -> tuple[dict[str, Value], tuple[Param, ...]] | None:
    """Return the arguments by parameter name, for the first overload that takes them."""
    possible: tuple[dict[str, Value], tuple[Param, ...]] | None = None
    for overload in signature.overloads:
        bound = _bind_overload(overload, args)
        if bound is None:
            continue
        if len(signature.overloads) == 1 or all(
            param.name not in bound or _takes(machine, state, param, bound[param.name]) for param in overload
        ):
            return bound, overload
        possible = possible or (bound, overload)
    return possible


NO_DTYPE = frozenset({"device", "str", "int", "bool", "number"})
"""What something unknown is that is certainly no element type."""

_SIZES = frozenset({"size", "shape", "dims", "sizes", "repeats"})


def _takes(machine: Machine, state: State, param: Param, value: Value) -> bool:
    """Return whether a parameter takes a value of this sort; what is not known is taken."""
    if value is None:
        return param.default
    if param.name == "dtype":
        known = isinstance(value, External) and dtype_flag(value) is not None
        return known or (isinstance(value, Unknown) and value.kind not in NO_DTYPE)
    if isinstance(value, External):
        return dtype_flag(value) is None and not param.tensor
    if param.name == "device":
        return isinstance(value, (str, int, Unknown))
    number = isinstance(value, (bool, int, float, complex, Sym)) or _is_rather_a_number(value)
    if param.tensor:
        return (not number and not isinstance(value, str)) or param.number
    if param.name in _SIZES and not param.variadic:
        return not number
    return known_tensor(machine, state, value) is None


def _is_rather_a_number(value: Value) -> bool:
    """Return whether an unknown value is rather a number, if only by a parameter's default: enough among overloads."""
    return isinstance(value, Unknown) and value.kind in ("number", "int")


def _bind_overload(overload: tuple[Param, ...], args: Args) -> dict[str, Value] | None:
    bound: dict[str, Value] = {}
    positional = args.positional
    at = 0
    for param in overload:
        if param.variadic:
            rest = positional[at:]
            if len(rest) == 1 and (type(rest[0]) is tuple or isinstance(rest[0], Ref)):
                bound[param.name] = rest[0]
            elif args.open and param.name in _SIZES:
                bound[param.name] = Unknown()  # torch.ones(*more, 5): there may be any number of them.
            elif rest:
                bound[param.name] = rest
            at = len(positional)
        elif at < len(positional) and not param.keyword_only:
            if param.name in args.keywords:
                return None
            bound[param.name] = positional[at]
            at += 1
        elif param.name in args.keywords:
            bound[param.name] = args.keywords[param.name]
        elif not param.default and not args.open:
            return None
    if at < len(positional):
        return None
    extra = set(args.keywords) - set(bound)
    # Torch takes `dim` and `axis`, `keepdim` and `keepdims` alike.
    for name in extra:
        twin = _TWINS.get(name)
        if twin is None:
            return None
        bound[twin] = args.keywords[name]
    return bound


_TWINS = {
    "axis": "dim",
    "keepdims": "keepdim",
    "dims": "dim",
    "size": "size",
    "x": "input",
    "x2": "other",
    "out": "out",
}


def bind_loosely(signature: Signature, args: Args) -> tuple[dict[str, Value], tuple[Param, ...]]:
    """Return what can be bound of a call that fits no overload known: by position and name in the first.

    Several sizes are one argument, as in `torch.zeros(2, 3, names=...)`, which torch takes up to 2.12.
    """
    overload = signature.overloads[0] if signature.overloads else ()
    positional: tuple[Value, ...] = args.positional
    if positional and isinstance(positional[0], (int, Sym)):
        several = next((one for one in signature.overloads if one and one[0].variadic), None)
        if several is not None:
            overload, positional = several, (Unknown() if args.open else positional,)
    names = [param.name for param in overload if not param.keyword_only]
    bound = dict(zip(names, positional, strict=False))
    bound.update(args.keywords)
    return bound, overload


def defaults_of(overload: tuple[Param, ...], prefix: str = "") -> dict[str, object]:
    """Return the plain constants that absent arguments stand for: the tests of the facts table count them as given."""
    return {prefix + param.name: param.constant for param in overload if param.constant is not NO_CONSTANT}


def tensors_in(machine: Machine, state: State, value: Value) -> list[Ref]:
    """Return the tensors in an argument: itself, or the items of a list."""
    found = known_tensor(machine, state, value)
    if found is not None:
        return [found]
    items = (known_tensor(machine, state, item) for item in contents(state, (value,)))
    return [item for item in items if item is not None]


def flag_of(machine: Machine, state: State, value: Value) -> object:
    """Return an argument as the tests of the facts table see it."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, Ref):
        record = state[value]
        if isinstance(record, Tensor):
            return "T"
        if isinstance(record, Sequence):
            first = record.items[0] if record.items else None
            return "T" if first is not None and known_tensor(machine, state, first) else "L"
        return "O"
    if isinstance(value, Unknown):
        if ("tensor", value) in state.facts:
            return "T"
        return "N" if value.kind in ("number", "int") else facts.UNKNOWN
    if isinstance(value, Sym):
        return "N"
    if type(value) is tuple:
        return "T" if value and known_tensor(machine, state, value[0]) else "L"
    if isinstance(value, External):
        return dtype_flag(value) or "O"
    return "O"


def dtype_flag(value: External) -> str | None:
    """Return a dtype as the table spells it."""
    name = dtypes.asked(value.path)
    return None if name is None else f"torch.{name}"


_SIZES_END = 1 << 63
"""Where the whole numbers end that torch takes."""


_DEEPEST = 70
"""How many levels of lists are looked into: tensors have up to 64 dimensions."""


def operand_of(machine: Machine, state: State, value: Value) -> object:
    """Return an argument as the size rules see it; of lists within lists only so many parts are looked at."""
    return _operand(machine, state, value, count(LARGEST, -1), _DEEPEST)


def _operand(machine: Machine, state: State, value: Value, left: Iterator[int], levels: int) -> object:
    """Return an argument, or UNKNOWN where no parts are left: a list may hold another one twice, or itself."""
    if next(left) < 0 or not levels or (type(value) is int and abs(value) >= _SIZES_END):
        return UNKNOWN
    if value is None or isinstance(value, (bool, int, float, complex, str, Sym)) or value is ...:
        return value
    if isinstance(value, Ref):
        record = state[value]
        if isinstance(record, Tensor):
            return Operand(record.shape, record.dtype)
        if isinstance(record, Sequence):
            items = [_operand(machine, state, item, left, levels - 1) for item in record.items]
            return _alike(items) if record.open else items
        return UNKNOWN
    if isinstance(value, Unknown):
        found = state.tensor_of(value)
        if found is not None:
            record = tensor_at(state, found)
            return Operand(record.shape, record.dtype)
        if value.key is not None and value.key[0] == "array":
            sizes, dtype = value.key[1], value.key[2]
            shape = tuple(Sym() if size is None else size for size in sizes) if isinstance(sizes, tuple) else None
            return Operand(shape, dtype)  # type: ignore[arg-type]
        if value.kind == "int":
            return size_symbol(machine, value)
        return Operand(() if is_scalar(value) else None, None, True) if value.kind == "number" else UNKNOWN
    if type(value) is tuple:
        return tuple([_operand(machine, state, item, left, levels - 1) for item in value])
    if isinstance(value, slice):
        return slice(
            *(_operand(machine, state, part, left, levels - 1) for part in (value.start, value.stop, value.step))
        )
    if isinstance(value, External):
        return dtypes.asked(value.path) or UNKNOWN
    return UNKNOWN


def _alike(items: list[object]) -> object:
    """More items like those shown, if these are alike."""
    first = items[0] if items else None
    if isinstance(first, Operand) and first.shape is not None and all(one == first for one in items):
        return Several(None, first)
    return UNKNOWN


def operands_of(machine: Machine, state: State, bound: Mapping[str, Value]) -> dict[str, object]:
    """Return all arguments as the size rules see them."""
    return {name: operand_of(machine, state, value) for name, value in bound.items()}
