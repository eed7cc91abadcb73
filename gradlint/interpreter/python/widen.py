"""What is known after a loop of what two iterations were run for."""

from __future__ import annotations

from gradlint.domain.state import PathFact, State, rebound
from gradlint.domain.value import Instance, Mapping, Ref, Sequence, Unknown, Value
from gradlint.interpreter.torch.parameters import NAME


def widen(before: State, after: State) -> None:
    """Forget what two iterations computed that another number of them would compute differently.

    Numbers that the loop changed are unknown after it, lists and dicts that it filled may be longer, and sizes of
    tensors rebound in it are unknown.
    """
    frame = after.frame
    if frame in after.dirty_frames and frame in before.frames:
        old = before.frames[frame].names
        for name in list(rebound(after.locals, old)):
            if isinstance(name, str):
                after.set(name, _widened(after.locals[name], old[name]))
    for address in list(after.dirty):
        if address in before.heap:
            _widen_record(before.heap[address], after.heap[address], address, after)
    _forget_facts(before, after)


def _widened(value: Value, old: Value) -> Value:
    if isinstance(value, (int, float)) and not isinstance(value, bool) and value != old:
        return Unknown("number")
    return value


def _widen_record(old: object, new: object, address: int, state: State) -> None:
    if isinstance(new, Sequence) and isinstance(old, Sequence):
        former = (*old.items, *new.items[len(old.items) :])
        items = tuple(map(_widened, new.items, former))
        if items != new.items or len(new.items) > len(old.items):
            state.put(address, new._replace(items=items, open=new.open or len(new.items) > len(old.items)))
    elif isinstance(new, Mapping) and isinstance(old, Mapping):
        counted = {key: _widened(value, old.items.get(key)) for key, value in new.items.items()}
        more = new.open or len(new.items) > len(old.items)
        state.put(address, new._replace(items=counted, open=more, rest=_widened(new.rest, old.rest)))
    elif isinstance(new, Instance) and isinstance(old, Instance):
        attrs = {name: _widened(value, old.attrs.get(name)) for name, value in new.attrs.items()}
        state.put(address, new._replace(attrs=attrs))


def _forget_facts(before: State, after: State) -> None:
    """Forget tests made in the loop, which may come out differently in another iteration, but no fact of the path.

    A test of what there was before the loop comes out the same in each.
    """
    facts = {key: fact for key, fact in before.facts.items() if not isinstance(key, PathFact)}
    there: frozenset[Unknown] | None = None
    for key, fact in after.facts.items():
        if isinstance(key, PathFact):
            facts[key] = fact
        elif key not in facts and isinstance(key, (Unknown, tuple)):
            there = _values_of(before) if there is None else there
            if _is_of_name(key) or _is_made_of(key, there):
                facts[key] = fact
    after.facts = facts


def _values_of(state: State) -> frozenset[Unknown]:
    """Return the unknown values of the variables, and of the attributes of the objects that these hold."""
    values = list(state.locals.values())
    for value in state.locals.values():
        record = state.heap.get(value.id) if type(value) is Ref else None
        if isinstance(record, Instance):
            values += record.attrs.values()
    return frozenset(value for value in values if type(value) is Unknown)


def _is_made_of(test: object, values: frozenset[Unknown]) -> bool:
    """Return whether a test is one of these values, or made of them and of constants alone."""
    parts = test
    if isinstance(test, Unknown):
        if test in values:
            return True
        parts = test.key
    if type(parts) is not tuple:
        return False
    made = False
    for part in parts:
        if isinstance(part, (Unknown, tuple)):
            if not _is_made_of(part, values):
                return False
            made = True
        elif type(part) is Ref:
            return False
    return made


def _is_of_name(value: object) -> bool:
    """Return whether a test is one of a parameter's name or dimensions, which are the same in every loop."""
    key = value.key if isinstance(value, Unknown) else None
    return key is not None and (key[0] in (NAME, "ndim") or any(map(_is_of_name, key)))
