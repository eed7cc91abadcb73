"""Calls of real torch as the size rules see them: canonical names, bound arguments, operands."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Any, NamedTuple

import torch
from torch.overrides import TorchFunctionMode, resolve_name

from gradlint.facts import Param, Signature
from gradlint.shapes.operand import Operand

Value = Any
"""Whatever torch takes and gives."""


class Call(NamedTuple):
    """One call: canonical name, arguments by parameter name, what torch gave, and the arguments as they
    stood.

    Tensors among the arguments are operands.
    """

    name: str
    args: dict[str, Value]
    output: Value
    positional: tuple[Value, ...]
    keywords: dict[str, Value]


class Recorder(TorchFunctionMode):
    """Notes every call that the code under it makes, but not those that torch makes inside of one."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[Call] = []

    def __torch_function__(
        self,
        func: Callable[..., Value],
        types: object,
        args: tuple[Value, ...] = (),
        kwargs: Mapping[str, Value] | None = None,
    ) -> Value:
        """Operands are noted before the call, for it may write to its arguments."""
        kwargs = dict(kwargs or {})
        bound = bind(func, args, kwargs)
        name, arguments = bound or ("", {})
        operands = [{key: operand(value) for key, value in given.items()} for given in (arguments, kwargs)]
        positional = operand(args)
        output = func(*args, **kwargs)
        if bound is not None:
            self.calls.append(Call(name, operands[0], output, positional, operands[1]))
        return output


@contextmanager
def recorded() -> Iterator[list[Call]]:
    """The calls that the block makes."""
    recorder = Recorder()
    with recorder:
        yield recorder.calls


def operand(value: Value) -> Value:
    """A torch value as the size rules take it."""
    if isinstance(value, torch.Tensor):
        return Operand(tuple(value.shape), type_name(value.dtype))
    if isinstance(value, torch.dtype):
        return type_name(value)
    if isinstance(value, torch.device):
        return str(value)
    if isinstance(value, tuple | list):
        items = [operand(item) for item in value]
        return tuple(items) if isinstance(value, tuple) else items
    return value


def type_name(dtype: torch.dtype) -> str:
    """The name of a type as torch writes it, without its module."""
    return str(dtype).removeprefix("torch.")


_MOVED = {
    "torch._C._nn.": "nn.functional.",
    "torch._C._fft.fft_": "fft.",
    "torch._C._linalg.linalg_": "linalg.",
    "torch._C._special.special_": "special.",
    "torch.functional.": "",
    "torch._VF.": "",
    "torch._C._VariableFunctions.": "",
    "torch._C.TensorBase.": "Tensor.",
    "torch.": "",
}


def canonical(func: Callable[..., Value]) -> str | None:
    """The canonical name of a function, None where torch itself does not know one."""
    name: str | None = resolve_name(func)
    if name is None:
        return None
    name = name.removesuffix(".__get__")
    for prefix, replacement in _MOVED.items():
        if name.startswith(prefix):
            return replacement + name.removeprefix(prefix)
    return name


def bind(
    func: Callable[..., Value], args: tuple[Value, ...], kwargs: dict[str, Value]
) -> tuple[str, dict[str, Value]] | None:
    """Name and arguments of a call, bound by the signature of a function or the schema of a native one."""
    name = canonical(func)
    if name is None:
        return None
    if inspect.isfunction(func) and not name.startswith("Tensor.__"):
        # Where a flag decides between two functions, the one it usually takes has the signature.
        func = inspect.getclosurevars(func).nonlocals.get("if_false", func)
        bound = dict(inspect.signature(func).bind(*args, **kwargs).arguments)
        return name, _unwrapped(name, bound, args, kwargs)
    return _bind_native(name, args, kwargs)


def _unwrapped(
    name: str, bound: dict[str, Value], args: tuple[Value, ...], kwargs: dict[str, Value]
) -> dict[str, Value]:
    """Names for the arguments of a wrapper that takes anything."""
    if "args" not in bound and "kwargs" not in bound:
        return bound
    if name == "einsum":
        return {"equation": args[0], "operands": args[1:]}
    return {"input": args[0], **kwargs}


@cache
def _schemas(name: str) -> tuple[Value, ...]:
    bare = name.removeprefix("Tensor.").replace("nn.functional.", "").replace(".", "_")
    found = torch._C._jit_get_schemas_for_operator(f"aten::{bare}")
    if not found and bare.endswith("_"):
        found = torch._C._jit_get_schemas_for_operator(f"aten::{bare[:-1]}")
    return tuple([schema for schema in found if not schema.overload_name.endswith("out")])


_SUBSCRIPTS = ("self", "indices")


def _bind_native(name: str, args: tuple[Value, ...], kwargs: dict[str, Value]) -> tuple[str, dict[str, Value]] | None:
    method = name.startswith("Tensor.")
    if name == "Tensor.__getitem__":
        return name, dict(zip(_SUBSCRIPTS, args, strict=True))
    if len(args) == 1 and not kwargs and method:
        return name, {"self": args[0]}
    if method and name.startswith("Tensor.__") and len(args) == 2:
        return name, {"self": args[0], "other": args[1]}
    for schema in _schemas(name):
        bound = _bind_schema(schema, args, kwargs, "self" if method else "input")
        if bound is not None:
            return name, bound
    if len(args) == 1 and isinstance(args[0], torch.Tensor):
        return name, {"self" if method else "input": args[0], **kwargs}
    return None


def _bind_schema(
    schema: Value, args: tuple[Value, ...], kwargs: dict[str, Value], receiver: str
) -> dict[str, Value] | None:
    positional = [argument for argument in schema.arguments if not argument.kwarg_only]
    if len(args) > len(positional):
        lists = [place for place, argument in enumerate(positional) if str(argument.type) in _LISTS]
        if not lists or not all(isinstance(arg, int) for arg in args[lists[0] :]):
            return None
        args = (*args[: lists[0]], args[lists[0] :])
        if len(args) > len(positional):
            return None
    bound: dict[str, Value] = {}
    for argument, value in zip(positional, args, strict=False):
        if not _fits(str(argument.type), value):
            return None
        bound[receiver if argument.name == "self" else argument.name] = value
    named = {receiver if argument.name == "self" else argument.name: argument for argument in schema.arguments}
    for name, value in kwargs.items():
        name = {"axis": "dim", "x1": "input", "x2": "other"}.get(name, name) if name not in named else name
        if name in ("out", "requires_grad"):
            bound[name] = value
            continue
        if name not in named or name in bound or not _fits(str(named[name].type), value):
            return None
        bound[name] = value
    missing = [name for name, argument in named.items() if name not in bound and not argument.has_default_value()]
    nullable = [name for name in missing if str(named[name].type).startswith("Optional") or named[name].kwarg_only]
    return bound if len(missing) == len(nullable) else None


_LISTS = ("List[int]", "Optional[List[int]]")


def _fits(kind: str, value: Value) -> bool:
    """Whether a value may be the argument of a schema type."""
    if kind.startswith("Optional["):
        return value is None or _fits(kind[9:-1], value)
    if kind.startswith("List["):
        if isinstance(value, tuple | list):
            return all(_fits(kind[5:-1], item) for item in value)
        return kind == "List[int]" and isinstance(value, int)
    numbers = (bool, int, float, complex)
    checks: dict[str, tuple[type, ...]] = {
        "Tensor": (torch.Tensor,),
        "int": (int, torch.dtype, torch.layout, torch.memory_format),
        "float": (int, float),
        "number": numbers,
        "bool": (bool,),
        "str": (str,),
        "Device": (torch.device, str),
        "Generator": (torch.Generator,),
    }
    return isinstance(value, checks.get(kind, (object,)))


def bind_by_number(
    signature: Signature, positional: tuple[Value, ...], keywords: dict[str, Value]
) -> dict[str, Value] | None:
    """The arguments bound to the first overload of the facts table that has room for them."""
    for overload in signature.overloads:
        bound = _fill(overload, positional, keywords)
        if bound is not None:
            return bound
    return None


def _fill(
    overload: tuple[Param, ...], positional: tuple[Value, ...], keywords: dict[str, Value]
) -> dict[str, Value] | None:
    bound = dict(keywords)
    rest = list(positional)
    for param in overload:
        if param.variadic:
            bound[param.name] = rest[0] if len(rest) == 1 else tuple(rest)
            rest = []
        elif rest and not param.keyword_only:
            bound[param.name] = rest.pop(0)
    names = {param.name for param in overload}
    missing = [param for param in overload if param.name not in bound and not param.default]
    return None if rest or missing or not names.issuperset(bound) else bound
