"""The arguments of torch's Python functions and classes: their number, their names, and the values that are refused."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping

import libcst as cst

from gradlint.domain.likeness import is_optimizer_path
from gradlint.domain.otherwise import may_be_another
from gradlint.domain.refusal.arguments import ArgumentRefused
from gradlint.domain.state import State
from gradlint.domain.value import Args, Bound, External, Function, Instance, Ref, Unknown, Value
from gradlint.facts.aliases import canonical
from gradlint.facts.deciding import OPEN, Described, Known, Listed, Shaped, text_of, value_of
from gradlint.facts.guards import Guard, Guarded, guarded
from gradlint.facts.names import attributes_of_modules, meant_keyword
from gradlint.facts.versions import ever
from gradlint.interpreter.machine import Machine
from gradlint.interpreter.python.classes import has_unknown_base
from gradlint.interpreter.reachable import known_items
from gradlint.interpreter.torch.elements import bounds_of
from gradlint.interpreter.torch.parameters import LISTS, module_base, optimizer_state, settings_of
from gradlint.interpreter.torch.tensor import is_of_torch, is_raised, known_tensor, tensor_at
from gradlint.shapes.misfit import CHECKS


def refuses_call(machine: Machine, state: State, ref: Ref, module: Instance, args: Args, node: cst.CSTNode) -> bool:
    """Report arguments that the `forward` of one of torch's modules does not take; return True where it raises."""
    if not isinstance(module.cls, External) or "forward" in module.attrs or module.module.torn is not None:
        return False
    if may_be_another(state, ref):
        return False
    path = module.cls.path
    known = guarded(path)
    defaults = {} if known is None else known.defaults
    settings = settings_of(state, module, path.removeprefix("torch."))
    made = {**defaults, **{name: _known(machine, state, one) for name, one in settings.items()}}
    return refuses_arguments(machine, state, f"{path}.forward", args, node, made)


def refuses_inherited(
    machine: Machine, state: State, record: Instance, path: str, args: Args, node: cst.CSTNode
) -> bool:
    """Report arguments that a method which torch gives an object does not take; return True where it raises."""
    return not has_unknown_base(state, record.cls) and refuses_arguments(machine, state, path, args, node)


def refuses_values(machine: Machine, state: State, ref: Ref, name: str, args: Args, node: cst.CSTNode) -> bool:
    """Report arguments that a method of a tensor does not take, as the function of its name does not."""
    return refuses_arguments(machine, state, f"torch.{name}", args.prepend(ref), node)


def refuses_arguments(
    machine: Machine,
    state: State,
    path: str,
    args: Args,
    node: cst.CSTNode,
    made: Mapping[str, Known] | None = None,
) -> bool:
    """Report arguments that a function of torch does not take; return True where it raises.

    `made`: what the constructor of a module was given, if the function is its `forward`.
    """
    if any(is_raised(one) for one in args.values()):
        return False  # It is not called.
    if not isinstance(node, cst.Call) or path in LISTS:
        return False  # What a list of modules refuses, `module_parts` says, as it knows what is meant.
    known = guarded(path)
    if known is None:
        return False
    place = (node, state.site, "arguments")
    found = _wrong_names(known, path, args, node) or _refused(machine, state, known, path, args, made or {}, node)
    if found is None:
        if state.facts:  # Another path may have come here by tests that exclude one another.
            machine.passes(place)
        return False
    machine.emit(found, place)
    return True


def _wrong_names(known: Guarded, path: str, args: Args, node: cst.Call) -> ArgumentRefused | None:
    """Return an argument too many, one that is given twice, of a name that no release has, or one that is missing."""
    if known.is_native or any(arg.star for arg in node.args):
        return None  # What a dict holds, options decide: which of them belong together is not known.
    at_most = len(known.parameters) - len(known.keyword_only)
    if len(args.positional) > at_most and not args.open:
        return ArgumentRefused(node, path, "many", text=str(at_most))
    twice = next((name for name in known.parameters[: len(args.positional)] if name in args.keywords), None)
    if twice is not None and not args.open:
        return ArgumentRefused(node, path, "twice", twice)
    others = [name for name in args.keywords if name not in known.parameters]
    for name in others:
        if not ever(path, name, "arguments") and meant_keyword(path, name) is None:
            return ArgumentRefused(node, path, "unexpected", name)
    if args.open or others:  # A name that is misspelt, or of another release, is said elsewhere.
        return None
    given = {*known.parameters[: len(args.positional)], *args.keywords}
    missing = next((name for name in known.parameters if name not in given and name not in known.optional), None)
    return None if missing is None else ArgumentRefused(node, path, "missing", missing)


def _refused(
    machine: Machine,
    state: State,
    known: Guarded,
    path: str,
    args: Args,
    made: Mapping[str, Known],
    node: cst.CSTNode,
) -> ArgumentRefused | None:
    """Return the first value that torch refuses for certain."""
    if not known.guards:
        return None
    defaults = dict.fromkeys(known.parameters, OPEN) if args.open else known.defaults
    values: dict[str, Known] = {
        **{f"self_{name}": value for name, value in made.items()},
        **defaults,
        **{name: _known(machine, state, value) for name, value in _by_position(known, args)},
        **{name: _known(machine, state, value) for name, value in args.keywords.items()},
    }
    name = path.removesuffix(".forward").removeprefix("torch.")
    sized = name in CHECKS or canonical(name) in CHECKS or name.removeprefix("nn.functional.") in CHECKS
    for guard in known.guards:
        if not (sized and not guard.by_hand and _is_about_sizes(guard)) and value_of(guard.test, values) is True:
            return ArgumentRefused(node, path, "value", _named(guard, values, args), text_of(guard.message, values))
    return None


def _by_position(known: Guarded, args: Args) -> Iterable[tuple[str, Value]]:
    """Return the parameters that are given by position, with what is given."""
    given, last = args.positional, len(known.parameters) - 1
    if known.packs and len(given) > last and not args.open and type(given[last]) is int:
        given = (*given[:last], given[last:])
    return zip(known.parameters, given, strict=False)


def _is_about_sizes(guard: Guard) -> bool:
    """Return whether a test asks for sizes, where `shapes.misfit` says more of these."""
    return any(isinstance(one, ast.Attribute) and one.attr in ("size", "dim", "shape") for one in ast.walk(guard.test))


def _named(guard: Guard, values: Mapping[str, Known], args: Args) -> str:
    """Return the argument that a test is about: the first that it names and the call gives, or the first at all."""
    named = [one.id for one in ast.walk(guard.test) if isinstance(one, ast.Name) and one.id in values]
    return next((name for name in named if name in args.keywords), named[0] if named else "")


_OF_PACKET = 3
"""How many dots stand in `torch.ops.aten.sin`, which is all overloads of an operation."""

_DEEPEST = 2
"""How many levels of lists the tests see: a list may hold another one twice, or itself."""


def _known(machine: Machine, state: State, value: Value, levels: int = _DEEPEST) -> Known:
    """Return a value as the tests see it."""
    if value is None or type(value) in (bool, int, float, str):
        return value
    tensor = known_tensor(machine, state, value)
    if tensor is not None:
        record = tensor_at(state, tensor)
        return Shaped(record.shape, record.dtype if is_of_torch(record) else None, bounds_of(state, record))
    if isinstance(value, Ref) and isinstance(instance := state.heap.get(value.id), Instance):
        return _described(state, instance)
    if isinstance(value, Function) or (isinstance(value, Bound) and _is_method(state, value)):
        return Described(frozenset({"function"}))
    if isinstance(value, External) and value.path.startswith("torch.ops."):
        return Described(frozenset({"OpOverloadPacket" if value.path.count(".") == _OF_PACKET else "OpOverload"}))
    items = known_items(state, value) if levels and not isinstance(value, Unknown) else None
    if items is None:
        return OPEN
    return (tuple if type(value) is tuple else Listed)([_known(machine, state, item, levels - 1) for item in items])


def _is_method(state: State, value: Bound) -> bool:
    """Return whether an attribute is certainly a method: of the program, or of torch's modules."""
    if isinstance(value.function, Function):
        return True
    record = state.heap.get(value.receiver.id) if isinstance(value.receiver, Ref) else None
    is_module = isinstance(record, Instance) and module_base(state, record) is not None
    return is_module and value.function in attributes_of_modules()


def _described(state: State, record: Instance) -> Known:
    """Return a module, or an optimizer of one of torch's own classes, as the tests see it; others are no None."""
    if module_base(state, record) is not None:
        return Described(frozenset({"Module"}))
    if not isinstance(record.cls, External) or not is_optimizer_path(record.cls.path):
        return Described(frozenset()) if isinstance(record.syntax, cst.Call) else OPEN
    count, known = optimizer_state(record).groups, guarded(record.cls.path)
    attributes: dict[str, Known] = {}
    if isinstance(count, int):
        attributes["param_groups"] = (OPEN,) * count
    if known is not None:
        attributes["defaults"] = known.parameters[1:]
    return Described(frozenset({"Optimizer"}), attributes)
