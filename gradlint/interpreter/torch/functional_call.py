"""`torch.func.functional_call`: a module called with other tensors in the place of its parameters."""

from __future__ import annotations

import libcst as cst

from gradlint.domain.state import State
from gradlint.domain.value import Args, Instance, Mapping, Ref, Value
from gradlint.interpreter.escape import unknown_call
from gradlint.interpreter.machine import Machine


def functional_call(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    """functional_call(module, dicts, args, kwargs): the attributes are exchanged for the time of the call."""
    module = args.get(0, "module")
    places = _places(state, module, args.get(1, "parameter_and_buffer_dicts"))
    if places is None or not isinstance(module, Ref):
        return unknown_call(machine, state, args.values(), node)
    former = [(owner, name, _attribute(state, owner, name)) for owner, name, _ in places]
    for owner, name, value in places:
        _put(state, owner, name, value)
    positional = args.get(2, "args", ())
    keywords = args.get(3, "kwargs")
    record = state[keywords] if isinstance(keywords, Ref) else None
    named = {str(key): value for key, value in record.items.items()} if isinstance(record, Mapping) else {}
    given = Args(positional if type(positional) is tuple else (positional,), named)
    result = machine.call(state, module, given, node)
    for owner, name, value in former:
        _put(state, owner, name, value)
    return result


def _places(state: State, module: Value, given: Value) -> list[tuple[Ref, str, Value]] | None:
    """Return each module that gets another tensor, under which name, and the tensor; None where that is not known."""
    found: list[tuple[Ref, str, Value]] = []
    for one in given if type(given) is tuple else (given,):
        record = state.heap.get(one.id) if isinstance(one, Ref) else None
        if not isinstance(record, Mapping) or record.open:
            return None
        for path, value in record.items.items():
            place = _place(state, module, path)
            if place is None:
                return None
            found.append((*place, value))
    return found


def _place(state: State, module: Value, path: object) -> tuple[Ref, str] | None:
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
    record = state[module]
    assert isinstance(record, Instance)
    state.put(module.id, record._replace(attrs={**record.attrs, name: value}))
