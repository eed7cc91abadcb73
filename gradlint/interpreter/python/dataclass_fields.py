"""Fields of dataclasses and named tuples: what an object without an `__init__` of its own begins with."""

from __future__ import annotations

import libcst as cst

from gradlint.domain.state import State
from gradlint.domain.value import Class, External, Function, Instance, Kept, Ref, Value
from gradlint.interpreter.args import Args
from gradlint.interpreter.machine import Machine

FIELD = External("dataclasses.field")


def field(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    """dataclasses.field(default=..., default_factory=...)"""
    if "default" in args.keywords:
        return args.keywords["default"]
    factory = args.keywords.get("default_factory")
    return state.new(Instance(FIELD, {}, {}, False, node, inner=Kept(factory)))


def fill_fields(machine: Machine, state: State, ref: Ref, cls: Ref, args: Args, node: cst.CSTNode) -> None:
    """Without `__init__` of its own a class with annotated names is a dataclass: fields by name, then by default."""
    from gradlint.interpreter.python.calls import call_in_place
    from gradlint.interpreter.python.classes import find_in_class, linear_bases

    if _inherited_constructor(machine, state, ref, cls, args, node):
        return
    classes = [state[base] for base in linear_bases(state, cls) if isinstance(base, Ref)]
    records = [record for record in reversed(classes) if isinstance(record, Class)]
    names = list(dict.fromkeys(name for record in records for name in annotated_names(record)))
    given = {**dict(zip(names, args.positional, strict=False)), **args.keywords}
    for name in names:
        if name not in given:
            default = find_in_class(state, cls, name)
            made = state.heap.get(default.id) if isinstance(default, Ref) else None
            if isinstance(made, Instance) and made.cls == FIELD:
                factory = made.inner.value if isinstance(made.inner, Kept) else None
                known = factory is not None and not args.open
                given[name] = call_in_place(machine, state, factory, Args(), node) if known else machine.unknown()
    instance = state[ref]
    assert isinstance(instance, Instance)
    if given:
        state.put(ref.id, instance._replace(attrs={**instance.attrs, **given}))
    after = find_in_class(state, cls, "__post_init__")
    if names and isinstance(after, Function):
        call_in_place(machine, state, after, Args((ref,)), node)


def _inherited_constructor(machine: Machine, state: State, ref: Ref, cls: Ref, args: Args, node: cst.CSTNode) -> bool:
    """A class without `__init__` is made as the library class is that it derives from; False where none is known."""
    from gradlint.interpreter.python.classes import has_unknown_base, library_base
    from gradlint.interpreter.torch.module import fill_module
    from gradlint.interpreter.torch.optim import fill_optimizer, is_optimizer_path

    base = library_base(state, cls)
    if base is None or has_unknown_base(state, cls):
        return False
    if base.startswith("torch.nn."):
        fill_module(machine, state, ref, base, args, node)
    elif is_optimizer_path(base):
        fill_optimizer(machine, state, ref, args, node)
    else:
        return False
    return True


def annotated_names(record: Class) -> list[str]:
    assert isinstance(record.code.node, cst.ClassDef)
    names: list[str] = []
    for statement in record.code.node.body.body:
        if isinstance(statement, cst.SimpleStatementLine):
            names.extend(
                small.target.value
                for small in statement.body
                if isinstance(small, cst.AnnAssign) and isinstance(small.target, cst.Name)
            )
    return names
