"""What the parameters of a function get: arguments, defaults, or what their annotations say."""

from __future__ import annotations

import libcst as cst

from gradlint.domain.assumption import Assumption
from gradlint.domain.state import Names, State
from gradlint.domain.value import Args, External, Function, Instance, Mapping, Sequence, Unknown, Value
from gradlint.interpreter.libraries import jaxtyping
from gradlint.interpreter.libraries.accelerate import ENGINES, new_engine
from gradlint.interpreter.machine import Machine
from gradlint.interpreter.torch.tensor import size_symbol, tensor_at, unknown_tensor
from gradlint.source.core import Param
from gradlint.source.lower.syntax import nodes_of


def bind_parameters(machine: Machine, state: State, function: Function, args: Args) -> Names:
    """Return the first variables of a call: parameters from arguments, defaults, or unknown."""
    names: Names = {}
    positional = list(args.positional)
    keywords = dict(args.keywords)
    defaults = dict(function.defaults)
    for param in function.code.params:
        name = param.name
        if param.kind == "*":
            known = tuple(positional)
            names[name] = known if not args.open else state.new(Sequence(known, open=True)) if known else Unknown()
            positional = []
        elif param.kind == "**":
            names[name] = state.new(Mapping(dict(keywords.items()), args.open))
        elif positional and not param.keyword_only:
            names[name] = positional.pop(0)
        elif name in keywords:
            names[name] = keywords.pop(name)
        elif name in defaults and not args.open:
            names[name] = defaults[name]
        else:
            names[name] = parameter(machine, state, function, param)
    return names


def with_options(machine: Machine, function: Function, args: Args) -> Args:
    """Return the arguments of a call that nobody in sight makes, with any values for what has a default."""
    machine.assume(Assumption("option", function.code.name, "", function.code.node))
    return args._replace(open=True)


_OPTIONS = (bool, int, float, str, type(None))


def kept_defaults(function: Function, *, trains: bool) -> dict[str, Value] | None:
    """Return the defaults that a run with other options leaves as they are; None if a function needs no such run.

    What trains gets any values. A `forward` may compute its loss where it gets targets, which are None by default.
    """
    if trains:
        return {} if any(isinstance(value, _OPTIONS) for _, value in function.defaults) else None
    absent = {name for name, value in function.defaults if value is None} if function.code.name == "forward" else {}
    tests = [one.test for one in nodes_of(function.code.node) if type(one) is cst.If] if absent else []
    if not any(isinstance(one, cst.Name) and one.value in absent for one in nodes_of(*tests)):
        return None
    return {name: value for name, value in function.defaults if name not in absent}


def with_defaults(machine: Machine, function: Function, args: Args) -> Args:
    """Return the arguments of a call that nobody in sight makes, and assume that the others have their defaults.

    What `*args` and `**kwargs` take in is not known.
    """
    if not machine.assumes:
        return args._replace(open=True)
    given = {*args.keywords, *(param.name for param in function.code.params[: len(args.positional)])}
    defaults = {name: value for name, value in function.defaults if name not in given}
    for param in function.code.params if defaults else ():
        if param.name in defaults:
            machine.assume(Assumption("default", param.name, "", param.node))
    if any(param.kind for param in function.code.params):
        return args._replace(keywords={**defaults, **args.keywords}, open=True)
    return args


def refuses(function: Function, args: Args) -> bool:
    """Return whether Python raises: a parameter gets no argument, or an argument has no parameter.

    Of a function with decorators it is not known what it gets.
    """
    if args.open or (isinstance(function.code.node, cst.FunctionDef) and function.code.node.decorators):
        return False
    kinds = {param.kind for param in function.code.params}
    plain = [param for param in function.code.params if not param.kind]
    places = [param.name for param in plain if not param.keyword_only]
    names = {param.name for param in plain}
    too_many = "*" not in kinds and len(args.positional) > len(places)
    if too_many or ("**" not in kinds and args.keywords.keys() - names):
        return True
    given = {*places[: len(args.positional)], *args.keywords}
    return not given.issuperset(names.difference(name for name, _ in function.defaults))


# Parameters that no argument is known for: what annotation and default say of them.

_KINDS = {"int": "int", "float": "number", "bool": "bool", "str": "str"}
_TENSORS = frozenset({"torch.Tensor", "torch.FloatTensor", "torch.autograd.Variable"})


def _annotated(machine: Machine, state: State, function: Function, param: Param) -> Value:
    """Return a value as the annotation describes it; None where it says nothing that we read."""
    annotation = param.annotation
    if annotation is None:
        return None
    value = annotated_value(machine, state, annotation, param.node, function.code)
    if value is not None:
        return value
    path = _path(machine, state, annotation)
    if path == "torch.nn.Module":
        return state.new(Instance(External("torch.nn.Module"), {}, {}, True, param.node))
    return new_engine(state, path, param.node) if path in ENGINES else None


def annotated_value(
    machine: Machine, state: State, annotation: cst.BaseExpression, node: cst.CSTNode, scope: object
) -> Value:
    """Return a number, a text or a tensor, as an annotation describes it; None for all else.

    Names of sizes stand for the same size within a `scope`.
    """
    if isinstance(annotation, cst.Name) and annotation.value in _KINDS:
        return Unknown(_KINDS[annotation.value], syntax=node)
    if _path(machine, state, annotation) in _TENSORS:
        return unknown_tensor(state, node)
    if not isinstance(annotation, cst.Subscript) or len(annotation.slice) != 2:
        return None
    path = _path(machine, state, annotation.value)
    of, sizes = (one.slice.value if isinstance(one.slice, cst.Index) else None for one in annotation.slice)
    if path is None or not jaxtyping.is_annotation(path) or of is None or _path(machine, state, of) not in _TENSORS:
        return None
    text = sizes.evaluated_value if isinstance(sizes, cst.SimpleString) else "..."
    shape = jaxtyping.shape_of(
        text if isinstance(text, str) else "...",
        lambda name: size_symbol(machine, machine.symbol("axis", scope, name, kind="int")),
    )
    ref = unknown_tensor(state, node)
    state.put(ref.id, tensor_at(state, ref)._replace(dtype=jaxtyping.dtype_of(path), shape=shape))
    return ref


def _path(machine: Machine, state: State, node: cst.BaseExpression) -> str | None:
    if isinstance(node, cst.Name):
        value = machine.read(state, node.value)
        return value.path if isinstance(value, External) else None
    if isinstance(node, cst.Attribute):
        base = _path(machine, state, node.value)
        return None if base is None else machine.program.external(f"{base}.{node.attr.value}").path
    return None


def parameter(machine: Machine, state: State, function: Function, param: Param) -> Value:
    """Return a parameter that no argument is known for: what annotation and default say of it."""
    value = _annotated(machine, state, function, param)
    if value is not None:
        return value
    default = dict(function.defaults).get(param.name)
    return Unknown(_OF_DEFAULT.get(type(default)), syntax=param.node)


_OF_DEFAULT = {bool: "bool", int: "number", float: "number", str: "str"}
