"""Attributes that are other ones on a path that was dropped: which tests decide that, and what follows from a read.

What makes an object may have several paths, as a constructor with options, of which one goes on.
"""

from __future__ import annotations

from typing import NamedTuple

from gradlint.domain.likeness import is_made_alike
from gradlint.domain.pinned import told
from gradlint.domain.state import State
from gradlint.domain.value import Instance, Ref, Unknown


class Otherwise(NamedTuple):
    """The key of the tests, and how they came out, without which an attribute of an object is another one.

    What made the object had several paths, of which one goes on.
    """

    address: int
    name: str


def left_out(count: int, most: int) -> list[int]:
    """Return which of so many paths do not go on, the last first.

    The first of each half do: both sides of the oldest branch, and of the youngest.
    """
    half = count // 2
    wanted = dict.fromkeys((0, half, 1, half + 1, *range(count)))
    return sorted(list(wanted)[most:], reverse=True) if count > most else []


def note_otherwise(state: State, other: State) -> None:
    """Remember which attributes are other ones, or none, on another path, and the tests that came out otherwise."""
    tests = tuple(
        (key, truth)
        for key, truth in state.facts.items()
        if isinstance(key, Unknown) and isinstance(truth, bool) and other.facts.get(key) is (not truth)
    )
    for address in other.dirty if tests else ():
        own, record = state.heap.get(address), other.heap.get(address)
        if isinstance(own, Instance) and isinstance(record, Instance):
            for name, value in own.attrs.items():
                theirs = record.attrs.get(name)
                if name not in record.attrs or not is_made_alike(state.heap, value, other.heap, theirs):
                    noted = state.facts.get(Otherwise(address, name), ())
                    state.decide(Otherwise(address, name), (*noted, *tests) if isinstance(noted, tuple) else tests)


def is_otherwise(state: State, address: int, name: str) -> bool:
    """Return whether an attribute is another one where tests came out as they have on this path."""
    tests = state.facts.get(Otherwise(address, name), ())
    return isinstance(tests, tuple) and any(
        state.facts.get(test, told(state, test)) is (not truth) for test, truth in tests
    )


def may_lack(state: State, address: int, name: str, dropped: int) -> bool:
    """Return whether an object may lack an attribute, by the tests of this path: so many paths were `dropped`."""
    return is_otherwise(state, address, name) or (dropped > 0 and state.undecided_since(address))


def rely_on(state: State, address: int, name: str) -> None:
    """Let tests come out as where an attribute is what it is here: the path goes on with that."""
    tests = state.facts.get(Otherwise(address, name), ())
    if isinstance(tests, tuple) and tests:
        state.facts = {**state.facts, **dict(tests)}


def may_be_another(state: State, ref: Ref) -> bool:
    """Return whether an object is one of several that open tests choose, here or in a constructor."""
    return state.undecided_since(0) or any(
        isinstance(key, Otherwise)
        and isinstance(owner := state.heap.get(key.address), Instance)
        and owner.attrs.get(key.name) == ref
        for key in state.facts
    )
