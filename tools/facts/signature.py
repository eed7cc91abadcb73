"""Signatures of torch's callables: from `inspect`, torch's stubs, operator schemas, and test overrides."""

from __future__ import annotations

import ast
import functools
import inspect
import re
import types
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch._jit_internal import boolean_dispatched
from typing_extensions import get_overloads

UNKNOWN_DEFAULT = "?"
NO_DEFAULT = ""

_STUBS = {
    "_C/_VariableFunctions.pyi": ("", None),
    "_C/_nn.pyi": ("nn.functional.", None),
    "nn/functional.pyi": ("nn.functional.", None),
    "_C/__init__.pyi": ("Tensor.", "TensorBase"),
}

_WORDS = {
    "Tensor": "tensor",
    "Number": "number",
    "_float": "number",
    "_complex": "number",
    "float": "number",
    "_int": "int",
    "int": "int",
    "SymInt": "int",
    "_bool": "bool",
    "bool": "bool",
    "str": "str",
    "_dtype": "dtype",
    "DeviceLikeType": "device",
    "_size": "ints",
    "_symsize": "ints",
    "Any": "any",
    "object": "any",
    "_Index": "any",
}


@dataclass(frozen=True)
class Parameter:
    """One parameter: what kinds of value it takes (empty: any), and its default as source text."""

    name: str
    kinds: frozenset[str] = frozenset()
    default: str = NO_DEFAULT
    keyword_only: bool = False
    variadic: bool = False


Overload = tuple[Parameter, ...]


@functools.cache
def overloads_of(name: str, function: Any) -> tuple[Overload, ...]:
    """Return the overloads of the callable that users spell `name`; the receiver of a method is `input`."""
    if isinstance(function, (types.GetSetDescriptorType, property)):
        return ((Parameter("input", frozenset({"tensor"})),),)
    found = (
        _typed_constructors(function)
        or _inspected(function)
        or _stubs().get(name)
        or _schema(name)
        or _overridden(function)
    )
    if name.startswith("Tensor."):
        found = _with_receiver(found, receiver_of(name))
    return _merged(found)


_SCALES = frozenset({"alpha", "beta", "value"})


def _merged(overloads: tuple[Overload, ...]) -> tuple[Overload, ...]:
    """Make one of overloads that differ in kinds only, and leave out torch's deprecated orders of arguments.

    Those take by position what another overload takes by keyword (`add(input, alpha, other)`).
    """
    by_keyword = {p.name for overload in overloads for p in overload if p.keyword_only and p.name in _SCALES}
    found: dict[tuple[tuple[str, bool], ...], Overload] = {}
    for overload in overloads:
        if any(p.name in by_keyword and not p.keyword_only for p in overload):
            continue
        names = tuple((p.name, p.variadic) for p in overload if p.name != "out")
        found[names] = tuple(_joined(p, overload) for p in found.get(names, overload))
    return tuple(found.values())


def _joined(parameter: Parameter, overload: Overload) -> Parameter:
    kinds = [p.kinds for p in overload if p.name == parameter.name]
    return replace(parameter, kinds=parameter.kinds.union(*kinds))


def receiver_of(name: str) -> str:
    """Return the label of a method's receiver: the first parameter of the function of that name."""
    plain = name.removeprefix("Tensor.").removesuffix("_")
    function: object = getattr(torch, plain, None)
    overloads = overloads_of(plain, function) if callable(function) else ()
    names = {parameter.name for overload in overloads for parameter in overload}
    firsts = {overload[0].name for overload in overloads if overload}
    return next(iter(firsts)) if len(firsts) == 1 and "input" not in names else "input"


def _with_receiver(overloads: tuple[Overload, ...], receiver: str) -> tuple[Overload, ...]:
    tensor = frozenset({"tensor"})
    if any(p.name == receiver for overload in overloads for p in overload[1:]):
        receiver = "input"
    return tuple(
        (replace(overload[0], name=receiver, kinds=tensor), *overload[1:]) for overload in overloads if overload
    )


def _inspected(function: object) -> tuple[Overload, ...]:
    if function in _dispatched():
        function = _dispatched()[function]
    if inspect.isbuiltin(function) or not callable(function):
        return ()
    try:
        signature = inspect.signature(function)
    except ValueError:  # Slot wrappers and method descriptors carry no text signature.
        return ()
    parameters = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
    if isinstance(function, type) and [p.name for p in parameters] == ["args"]:
        return ((),)  # `nn.Identity` and modules without a constructor take anything, and use none of it.
    if [p.name for p in parameters] == ["args"] or _named_by_c(function, parameters):
        return ()
    return (tuple(_from_inspect(p) for p in parameters),)


def _named_by_c(function: object, parameters: list[inspect.Parameter]) -> bool:
    """Methods written in C call their arguments `key` or `value`; the stubs know better names."""
    return not inspect.isfunction(function) and any(p.kind is p.POSITIONAL_ONLY for p in parameters)


def _typed_constructors(function: object) -> tuple[Overload, ...]:
    """Return the overloads that a class declares of its constructor where that itself takes `*args`."""
    if not isinstance(function, type):
        return ()
    declared = get_overloads(function.__init__)  # type: ignore[misc]
    signatures = [list(inspect.signature(d).parameters.values())[1:] for d in declared]
    # The overload that takes `*args` tells nothing.
    told = [parameters for parameters in signatures if not any(p.kind is p.VAR_POSITIONAL for p in parameters)]
    return tuple(tuple(_from_inspect(p) for p in parameters) for parameters in told)


def _from_inspect(parameter: inspect.Parameter) -> Parameter:
    default = NO_DEFAULT if parameter.default is parameter.empty else _constant(parameter.default)
    text = "" if parameter.annotation is parameter.empty else _annotation_text(parameter.annotation)
    return Parameter(
        parameter.name,
        _kinds(text),
        default,
        parameter.kind is parameter.KEYWORD_ONLY,
        parameter.kind is parameter.VAR_POSITIONAL,
    )


def _annotation_text(annotation: object) -> str:
    return annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)


def _constant(value: object) -> str:
    plain = value is None or isinstance(value, (bool, int, float, str))
    return repr(value) if plain else UNKNOWN_DEFAULT


@functools.cache
def _dispatched() -> Mapping[object, Callable[..., object]]:
    """Functions that pick one of two by a flag are declared with `*args`: the richer one stands for both."""
    return {function: entry["if_true"] for function, entry in boolean_dispatched.items()}


@functools.cache
def _stubs() -> dict[str, tuple[Overload, ...]]:
    found: dict[str, tuple[Overload, ...]] = {}
    root = Path(torch.__file__).parent
    for file, (prefix, class_name) in _STUBS.items():
        tree = ast.parse((root / file).read_text())
        for definition in _definitions(tree, class_name):
            name = prefix + definition.name
            overload = _from_stub(definition)
            if class_name is None:
                # Some overloads of functions call `self` what users must spell `input`.
                overload = tuple(replace(p, name="input") if p.name == "self" else p for p in overload)
            if not _is_property(definition):
                found[name] = (*found.get(name, ()), overload)
    return found


def _definitions(tree: ast.Module, class_name: str | None) -> Iterable[ast.FunctionDef]:
    body: list[ast.stmt] = tree.body
    if class_name is not None:
        body = next(n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == class_name).body
    return [node for node in body if isinstance(node, ast.FunctionDef)]


def _is_property(definition: ast.FunctionDef) -> bool:
    return any(isinstance(d, ast.Name) and d.id == "property" for d in definition.decorator_list)


def _from_stub(definition: ast.FunctionDef) -> Overload:
    arguments = definition.args
    positional = [*arguments.posonlyargs, *arguments.args]
    gap = len(positional) - len(arguments.defaults)
    found = [
        _stub_parameter(argument, arguments.defaults[i - gap] if i >= gap else None)
        for i, argument in enumerate(positional)
    ]
    if arguments.vararg is not None:
        found.append(replace(_stub_parameter(arguments.vararg, None), variadic=True))
    for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        found.append(replace(_stub_parameter(argument, default), keyword_only=True))
    return tuple(found)


def _stub_parameter(argument: ast.arg, default: ast.expr | None) -> Parameter:
    text = "" if argument.annotation is None else ast.unparse(argument.annotation)
    return Parameter(argument.arg, _kinds(text), _default_text(default))


def _default_text(default: ast.expr | None) -> str:
    if default is None:
        return NO_DEFAULT
    try:
        return _constant(ast.literal_eval(default))
    except ValueError:  # The stub writes `...` or a name for a default that it does not spell out.
        return UNKNOWN_DEFAULT


def _kinds(text: str) -> frozenset[str]:
    words = set(re.findall(r"\w+", text))
    kinds = {_WORDS[word] for word in words if word in _WORDS}
    if words & {"tuple", "list", "Sequence", "List", "Tuple"}:
        plural = {"tensor": "tensors", "int": "ints", "number": "ints"}
        kinds = {plural.get(kind, kind) for kind in kinds} | ({"tensor"} if "tensor" in kinds else set())
    if "None" in words or "Optional" in words:
        kinds.add("none")
    return frozenset(kinds - {"none"} and kinds)


def _schema(name: str) -> tuple[Overload, ...]:
    for prefix in ("linalg", "fft", "special"):
        if name.startswith(prefix + "."):
            return _jit_overloads(name.replace(".", "_", 1))
    return _jit_overloads(name.removeprefix("Tensor.").removeprefix("nn.functional."))


def _jit_overloads(operator: str) -> tuple[Overload, ...]:
    schemas = torch._C._jit_get_schemas_for_operator(f"aten::{operator}")
    usable = [s for s in schemas if not s.overload_name.endswith("out")]
    found = tuple(dict.fromkeys(tuple(_from_schema(a) for a in schema.arguments) for schema in usable))
    if len(usable) == len(schemas):
        return found
    out = Parameter("out", frozenset({"tensor"}), "None", keyword_only=True)
    return tuple((*overload, out) for overload in found)


def _from_schema(argument: Any) -> Parameter:
    text = str(argument.type)
    default = _constant(argument.default_value) if argument.has_default_value() else NO_DEFAULT
    kinds = _kinds(text.replace("Scalar", "Number").replace("List", "list"))
    name = "input" if argument.name == "self" else argument.name
    return Parameter(name, kinds, default, argument.kwarg_only)


@functools.cache
def _overrides() -> Mapping[Any, Callable[..., object]]:
    return torch.overrides.get_testing_overrides()


def _overridden(function: object) -> tuple[Overload, ...]:
    stand_in = _overrides().get(function)
    if stand_in is None:
        return ()
    parameters = inspect.signature(stand_in).parameters.values()
    found = tuple(_from_inspect(p) for p in parameters if p.kind is not p.VAR_KEYWORD)
    return (tuple(replace(p, name="input") if p.name == "self" else p for p in found),)


def bind(
    overloads: tuple[Overload, ...], args: tuple[object, ...], kwargs: Mapping[str, object]
) -> dict[str, object] | None:
    """Name the arguments of a call by the first overload that takes them; None if no overload does."""
    for strictness in (2, 1, 0):
        for overload in overloads:
            bound = _bind_one(overload, args, kwargs, strictness)
            if bound is not None:
                return bound
    return None


def _bind_one(
    overload: Overload, args: tuple[object, ...], kwargs: Mapping[str, object], strictness: int
) -> dict[str, object] | None:
    bound: dict[str, object] = {}
    positional = [p for p in overload if not p.keyword_only]
    for i, value in enumerate(args):
        if i >= len(positional):
            return None
        if positional[i].variadic:
            bound[positional[i].name] = args[i:] if len(args[i:]) != 1 else args[i]
            break
        bound[positional[i].name] = value
    names = {p.name for p in overload}
    if any(name not in names or name in bound for name in kwargs):
        return None
    bound.update(kwargs)
    missing = [p for p in overload if p.name not in bound and not p.default and not p.variadic]
    if missing:
        return None
    fitting = all(_accepts(p, bound[p.name], strictness) for p in overload if p.name in bound)
    return bound if fitting else None


def _accepts(parameter: Parameter, value: object, strictness: int) -> bool:
    kinds = parameter.kinds
    if not kinds or "any" in kinds or parameter.variadic or not strictness:
        return True
    kind = kind_of(value)
    if kind == "none":
        return strictness < 2 or "none" in kinds or parameter.default == "None"
    wider = {
        "int": {"int", "number", "ints", "device"},
        "bool": {"bool", "number"},
        "number": {"number"},
        "str": {"str", "device"},
    }
    accepted = wider.get(kind, {kind})
    if strictness < 2:
        accepted = accepted | {"int", "ints", "number", "tensors"}
    return kind == "any" or bool(accepted & kinds)


def kind_of(value: object) -> str:
    """Classify an argument the way torch's own argument parser tells overloads apart."""
    if isinstance(value, (list, tuple)):
        return _kind_of_sequence(value)
    classes: tuple[tuple[type, str], ...] = (
        (torch.Tensor, "tensor"),
        (bool, "bool"),
        (int, "int"),
        (float, "number"),
        (complex, "number"),
        (str, "str"),
        (torch.dtype, "dtype"),
        (type(None), "none"),
    )
    return next((kind for cls, kind in classes if isinstance(value, cls)), "any")


def _kind_of_sequence(value: list[object] | tuple[object, ...]) -> str:
    if value and all(isinstance(item, torch.Tensor) for item in value):
        return "tensors"
    return "ints" if all(isinstance(item, (int, float)) for item in value) else "any"
