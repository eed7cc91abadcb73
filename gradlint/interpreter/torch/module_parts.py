"""Parts of modules by position or path: inserted, deleted, counted, found, and replaced for one call."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import libcst as cst

from gradlint.domain.refusal.modules import ContainerWantsList
from gradlint.domain.refusal.transform import Mismatch, TransformMismatch
from gradlint.domain.state import State
from gradlint.domain.value import Args, Instance, Mapping, Ref, Sequence, Tensor, Unknown, Value
from gradlint.interpreter.escape import unknown_call
from gradlint.interpreter.machine import Machine, Native
from gradlint.interpreter.python.classes import find_in_class, has_unknown_base
from gradlint.interpreter.python.iteration import items_of
from gradlint.interpreter.torch.parameters import DICTS, LISTS, is_module, module_base, modules_of, parameters_of, parts
from gradlint.interpreter.torch.registration import refuses_items
from gradlint.interpreter.torch.tensor import known_tensor, nontensor

_SEQUENTIAL = "torch.nn.Sequential"


def fill_container(
    machine: Machine, state: State, ref: Ref, record: Instance, path: str, args: Args, node: cst.CSTNode
) -> None:
    """What the constructor of a list, a dictionary or a sequence of modules registers."""
    attrs = dict(record.attrs)
    is_open = args.open
    values = args.positional
    mistaken = _mistaken(state, path, values)
    if mistaken is not None:
        machine.emit(ContainerWantsList(node, path.rpartition(".")[2], mistaken))
        # What the program means is registered.
        values, path = items_of(machine, state, values[0], node).items if mistaken == "list" else values, _SEQUENTIAL
    if path in DICTS or (len(values) == 1 and isinstance(values[0], Ref) and isinstance(state[values[0]], Mapping)):
        pairs = machine.program.pairs(state, values[0]) if values else {}
        is_open = is_open or pairs is None
        refuses_items(machine, state, ref, (pairs or {}).values(), node, pairs or ())
        attrs.update({str(name): value for name, value in (pairs or {}).items()})
    else:
        if path != _SEQUENTIAL and values:
            items = items_of(machine, state, values[0], node)
            values, is_open = items.items, is_open or items.open
        if mistaken is None:
            refuses_items(machine, state, ref, values, node)
        # Of a list of unknown length the items that are known are in it, at whatever places.
        hidden = [one for one in args.hidden if is_module(state, one)] if path == _SEQUENTIAL else []
        attrs.update({str(position): value for position, value in enumerate((*values, *hidden))})
    state.put(ref.id, record._replace(attrs=attrs, open=record.open or is_open))


def _mistaken(state: State, path: str, values: tuple[Value, ...]) -> Literal["several", "one", "list"] | None:
    """Return how the arguments of a list of modules differ from what it takes; None for such as it may take."""
    if path == _SEQUENTIAL:
        first = state.heap.get(values[0].id) if len(values) == 1 and isinstance(values[0], Ref) else None
        is_list = isinstance(first, Sequence) and first.kind == "list"
        return "list" if is_list or (len(values) == 1 and type(values[0]) is tuple) else None
    if path not in LISTS or not values:
        return None
    return "several" if len(values) > 1 else "one" if is_single_part(state, values[0]) else None


def is_single_part(state: State, value: Value) -> bool:
    """Return whether a value is certainly a parameter, or a module over which nothing can be iterated."""
    record = state.heap.get(value.id) if isinstance(value, Ref) else None
    if isinstance(record, Tensor):
        return record.parameter
    base = module_base(state, record) if isinstance(record, Instance) else None
    if base is None or base in LISTS | DICTS or not isinstance(record, Instance) or has_unknown_base(state, record.cls):
        return False
    return find_in_class(state, record.cls, "__iter__") is None


def count_parts(state: State, record: Instance) -> int | None:
    """len(container)"""
    return len(parts(record)) if module_base(state, record) in LISTS | DICTS and not record.open else None


def delete_part(state: State, ref: Ref, record: Instance, index: Value) -> None:
    """del container[index]: what follows moves up."""
    if module_base(state, record) not in LISTS | DICTS:
        return
    names = list(parts(record))
    if isinstance(index, int) and -len(names) <= index < len(names) and not record.open:
        index = names[index]
    if isinstance(index, str) and index in record.attrs:
        kept = {name: value for name, value in record.attrs.items() if name != index}
        state.put(ref.id, record._replace(attrs=_renumbered(kept)))
    else:
        state.put(ref.id, record._replace(open=True))


def _renumbered(attrs: dict[str, Value]) -> dict[str, Value]:
    """Numbers count from 0 again; names stay."""
    fresh: dict[str, Value] = {}
    for name, value in attrs.items():
        fresh[str(len(fresh)) if name.isdigit() else name] = value
    return fresh


def append_part(machine: Machine, state: State, ref: Ref, args: Args, node: cst.CSTNode) -> Value:
    """container.append(module)"""
    value = args.get(0, "module")
    if refuses_items(machine, state, ref, (value,), node):
        return Unknown("raised")
    record = state.at(ref, Instance)
    state.put(ref.id, record._replace(attrs={**record.attrs, str(len(record.attrs)): value}))
    return ref


def extend_parts(machine: Machine, state: State, ref: Ref, args: Args, node: cst.CSTNode) -> Value:
    """container.extend(modules)"""
    given = args.get(0, "modules")
    if is_single_part(state, given):
        path = module_base(state, state.at(ref, Instance)) or ""
        machine.emit(ContainerWantsList(node, path.rpartition(".")[2], "one"))
        return Unknown("raised")
    items = items_of(machine, state, given, node)
    if refuses_items(machine, state, ref, items.items, node):
        return Unknown("raised")
    record = state.at(ref, Instance)
    attrs = dict(record.attrs)
    for value in items.items:
        attrs[str(len(attrs))] = value
    state.put(ref.id, record._replace(attrs=attrs, open=record.open or items.open))
    return ref


def insert_part(machine: Machine, state: State, ref: Ref, args: Args, node: cst.CSTNode) -> Value:
    """container.insert(index, module)"""
    record = state.at(ref, Instance)
    index, value = args.get(0, "index"), args.get(1, "module")
    if refuses_items(machine, state, ref, (value,), node):
        return Unknown("raised")
    names = list(parts(record))
    if not isinstance(index, int) or record.open or not all(name.isdigit() for name in names):
        state.put(ref.id, record.with_unnamed(value))
        return ref
    values = [record.attrs[name] for name in names]
    values.insert(index, value)
    state.put(ref.id, record._replace(attrs={str(at): one for at, one in enumerate(values)}))
    return ref


def update_parts(machine: Machine, state: State, ref: Ref, args: Args, node: cst.CSTNode) -> Value:
    """container.update(others), of a container by names."""
    record = state.at(ref, Instance)
    if module_base(state, record) not in DICTS:
        return unknown_call(machine, state, (ref, *args.values()), node)
    pairs = machine.program.pairs(state, args.get(0, "modules"))
    if refuses_items(machine, state, ref, (pairs or {}).values(), node, pairs or ()):
        return Unknown("raised")
    named = {str(name): value for name, value in (pairs or {}).items()}
    state.put(ref.id, record._replace(attrs={**record.attrs, **named}, open=record.open or pairs is None))
    return None


def get_part(machine: Machine, state: State, ref: Ref, args: Args, node: cst.CSTNode) -> Value:
    """module.get_submodule("a.0.b") and get_parameter: a part by its path."""
    path = args.get(0, "target")
    if not isinstance(path, str):
        return machine.symbol("part", ref, path)
    value: Value = ref
    for name in path.split(".") if path else ():
        record = state.heap.get(value.id) if isinstance(value, Ref) and is_module(state, value) else None
        if not isinstance(record, Instance) or name not in record.attrs:
            return machine.symbol("part", ref, path)
        value = record.attrs[name]
    return value


def functional_call(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    """functional_call(module, dicts, args, kwargs): the attributes are exchanged for the time of the call."""
    module = args.get(0, "module")
    if args.keywords.get("strict") is True and (wrong := _wrong_key(state, module, args)) is not None:
        machine.emit(TransformMismatch(node, "functional_call", "call-keys", wrong))
        return Unknown("raised")
    given = args.get(1, "parameter_and_buffer_dicts")
    refused = _refused(state, module, given, args.keywords.get("tie_weights", True) is True)
    if refused is not None:
        machine.emit(TransformMismatch(node, "functional_call", *refused))
        return Unknown("raised")
    places = _places(state, module, given)
    if places is None or not isinstance(module, Ref) or any(_hides(machine, state, *place) for place in places):
        return unknown_call(machine, state, args.values(), node)
    former = [(owner, name, _attribute(state, owner, name)) for owner, name, _ in places]
    for owner, name, value in places:
        _put(state, owner, name, value)
    positional = args.get(2, "args", ())
    keywords = args.get(3, "kwargs")
    record = state[keywords] if isinstance(keywords, Ref) else None
    named = {str(key): value for key, value in record.items.items()} if isinstance(record, Mapping) else {}
    inputs = Args(positional if type(positional) is tuple else (positional,), named)
    result = machine.call(state, module, inputs, node)
    for owner, name, value in former:
        _put(state, owner, name, value)
    return result


def _hides(machine: Machine, state: State, owner: Ref, name: str, value: Value) -> bool:
    """Return whether a parameter is exchanged for something that is not known."""
    former = _attribute(state, owner, name)
    return isinstance(value, Unknown) and isinstance(former, Ref) and known_tensor(machine, state, value) is None


def _refused(state: State, module: Value, given: Value, ties: bool) -> tuple[Mismatch, str] | None:
    """Return what torch refuses of the tensors that a call is given (torch/nn/utils/stateless.py)."""
    records = [state.heap.get(one.id) if isinstance(one, Ref) else None for one in _dictionaries(given)]
    found: dict[str, Value] = {}
    tied: dict[Value, Value] = {}
    for record in records:
        for key, value in (record.items if isinstance(record, Mapping) else {}).items():
            if not isinstance(key, str):
                continue
            if key in found:
                return "call-twice", key
            found[key] = value
            kind = nontensor(state, value)
            if kind in ("number", "array"):
                return "call-kind", kind
            place = place_of(state, module, key)
            former = None if place is None else _attribute(state, *place)
            both = ties and isinstance(former, Ref) and type(value) is Ref
            if both and tied.setdefault(former, value) != value:
                return "call-tied", key
    return None


def _dictionaries(given: Value) -> tuple[Value, ...]:
    return given if type(given) is tuple else (given,)


def stack_state(name: str) -> Native:
    """stack_module_state(models): the tensors of modules of one class, each stacked (torch/_functorch).

    Once it was `combine_state_for_ensemble`.
    """

    def stack(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
        models = items_of(machine, state, args.get(0, "models"), node)
        records = [state.heap.get(one.id) for one in models.items if isinstance(one, Ref)]
        wrong = None if models.open or len(records) < len(models.items) else _unlike(state, models.items, records)
        if wrong is not None:
            machine.emit(TransformMismatch(node, name, *wrong))
            return Unknown("raised")
        return unknown_call(machine, state, args.values(), node)

    return stack


def replace_batch_norms(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    """replace_all_batch_norm_modules_(root): no batch norm in it keeps running statistics any more (measured)."""
    root = args.get(0, "root")
    if not isinstance(root, Ref) or not is_module(state, root):
        return unknown_call(machine, state, args.values(), node)
    for ref, record in list(modules_of(state, root)):
        if (module_base(state, record) or "").rpartition(".")[2].startswith("BatchNorm"):
            absent = dict.fromkeys(("running_mean", "running_var", "num_batches_tracked"))
            config = {**record.config, "track_running_stats": False}
            state.put(ref.id, record._replace(attrs={**record.attrs, **absent}, config=config))
    return root


def _unlike(
    state: State, models: tuple[Value, ...], records: Iterable[object]
) -> tuple[Mismatch] | tuple[Mismatch, str] | None:
    """Return in what modules differ that should not."""
    known = [one for one in records if isinstance(one, Instance)]
    if len(known) < len(models) or not all(is_module(state, one) for one in models):
        return None
    if not known:
        return ("models-none",)
    if any(one.cls != known[0].cls for one in known):
        return ("models-class",)
    modes = [one.module.training for one in known]
    if True in modes and False in modes:
        return ("models-mode",)
    flags: dict[str, set[bool | None]] = {}
    for one in models:
        for name, ref in parameters_of(state, one)[0] if isinstance(one, Ref) else ():
            record = state.at(ref, Tensor)
            flags.setdefault(name, set()).add(record.grad)
    return next((("models-flag", name) for name, found in flags.items() if {True, False} <= found), None)


def _wrong_key(state: State, module: Value, args: Args) -> str | None:
    """Return a name under which the module has no tensor, or a parameter that is not given, where all are known."""
    given = args.get(1, "parameter_and_buffer_dicts")
    record = state.heap.get(given.id) if isinstance(given, Ref) else None
    if not isinstance(record, Mapping) or record.open or not isinstance(module, Ref) or not is_module(state, module):
        return None
    params, is_open = parameters_of(state, module)
    if is_open:
        return None
    unknown = (str(key) for key in record.items if place_of(state, module, key) is None)
    return next(unknown, next((name for name, _ in params if name not in record.items), None))


def _places(state: State, module: Value, given: Value) -> list[tuple[Ref, str, Value]] | None:
    """Return each module that gets another tensor, under which name, and the tensor; None where that is not known."""
    found: list[tuple[Ref, str, Value]] = []
    for one in _dictionaries(given):
        record = state.heap.get(one.id) if isinstance(one, Ref) else None
        if not isinstance(record, Mapping) or record.open:
            return None
        for path, value in record.items.items():
            place = place_of(state, module, path)
            if place is None:
                return None
            found.append((*place, value))
    return found


def place_of(state: State, module: Value, path: object) -> tuple[Ref, str] | None:
    """Return the module that a dotted name leads to, and the last part of the name, if something stands there."""
    if not isinstance(path, str):
        return None
    *above, name = path.split(".")
    for part in above:
        module = _attribute(state, module, part)
    return (module, name) if isinstance(module, Ref) and _attribute(state, module, name) is not None else None


def _attribute(state: State, module: Value, name: str) -> Value:
    record = state.heap.get(module.id) if isinstance(module, Ref) else None
    return record.attrs.get(name) if isinstance(record, Instance) else None


def _put(state: State, module: Ref, name: str, value: Value) -> None:
    record = state.at(module, Instance)
    state.put(module.id, record._replace(attrs={**record.attrs, name: value}))
