"""Objects of the program's classes: made by `__init__`, or from the fields of dataclasses and named tuples."""

from __future__ import annotations

import libcst as cst

from gradlint.domain.likeness import is_optimizer_path
from gradlint.domain.refusal.functions import FunctionWithoutApply
from gradlint.domain.state import State
from gradlint.domain.value import Args, Class, External, Function, Instance, Kept, Ref, Unknown, Value
from gradlint.interpreter.machine import Machine
from gradlint.interpreter.python import classes
from gradlint.interpreter.python.binding import annotated_value
from gradlint.interpreter.python.classes import find_in_class, is_function_class, library_base
from gradlint.interpreter.torch.module import fill_module, new_user_module
from gradlint.interpreter.torch.optim import fill_optimizer

FIELD = External("dataclasses.field")


def instantiate(machine: Machine, state: State, cls: Ref, args: Args, node: cst.CSTNode) -> Value:
    """Return an object of a class of the program: made, then `__init__` run on it."""
    if classes.MEMBERS in state.at(cls, Class).attrs:
        value = args.get(0, "value")
        member = classes.member_of(state, cls, value)
        return machine.symbol("member", cls, value) if member is None else member
    base = library_base(state, cls)
    if classes.has_unknown_base(state, cls):
        ref = state.new(Instance(cls, {}, {}, True, node))
    elif base is not None and base.startswith("torch.nn."):
        ref = new_user_module(state, cls, node)
    else:
        ref = state.new(Instance(cls, {}, {}, base is not None, node))
    init = find_in_class(state, cls, "__init__")
    if isinstance(init, Function):
        machine.call(state, init, Args((ref, *args.positional), args.keywords, args.open), node)
    elif is_function_class(state, cls) and args.positional:
        machine.emit(FunctionWithoutApply(node, "made"))
    else:
        fill_fields(machine, state, ref, cls, args, node)
    return ref


def field(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    """dataclasses.field(default=..., default_factory=...)"""
    if "default" in args.keywords:
        return args.keywords["default"]
    factory = args.keywords.get("default_factory")
    return state.new(Instance(FIELD, {}, {}, False, node, inner=Kept(factory)))


def fill_fields(machine: Machine, state: State, ref: Ref, cls: Ref, args: Args, node: cst.CSTNode) -> None:
    """Fill a dataclass, as a class with annotated names is without `__init__`: fields by name, then by default."""
    if _inherited_constructor(machine, state, ref, cls, args, node):
        return
    bases = [state[base] for base in classes.linear_bases(state, cls) if isinstance(base, Ref)]
    records = [record for record in reversed(bases) if isinstance(record, Class)]
    fields = {name: said for record in records for name, said in classes.annotated_names(record).items()}
    names = list(fields)
    given = {**dict(zip(names, args.positional, strict=False)), **args.keywords}
    for name in names:
        if name not in given:
            default = find_in_class(state, cls, name)
            made = state.heap.get(default.id) if isinstance(default, Ref) else None
            if isinstance(made, Instance) and made.cls == FIELD:
                factory = made.inner.value if isinstance(made.inner, Kept) else None
                known = factory is not None and not args.open
                given[name] = machine.call(state, factory, Args(), node) if known else Unknown()
            elif default is None and args.open:
                said = annotated_value(machine, state, fields[name], node, cls)
                given[name] = Unknown() if said is None else said
    instance = state.at(ref, Instance)
    if given:
        state.put(ref.id, instance._replace(attrs={**instance.attrs, **given}))
    after = find_in_class(state, cls, "__post_init__")
    if names and isinstance(after, Function):
        machine.call(state, after, Args((ref,)), node)


def _inherited_constructor(machine: Machine, state: State, ref: Ref, cls: Ref, args: Args, node: cst.CSTNode) -> bool:
    """Make an object as the library class does that its class derives from; return False where none is known."""
    base = library_base(state, cls)
    if base is None or classes.has_unknown_base(state, cls):
        return False
    if base.startswith("torch.nn."):
        fill_module(machine, state, ref, base, args, node)
    elif is_optimizer_path(base):
        fill_optimizer(machine, state, ref, args, node)
    else:
        return False
    return True
