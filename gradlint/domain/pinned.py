"""Unknown values that a test has found to equal a constant: what this says of the value, and of other tests of it."""

from __future__ import annotations

from types import NoneType

from gradlint.domain.state import State
from gradlint.domain.value import External, Unknown, Value

_CONSTANTS = (bool, int, float, complex, str, bytes, External, NoneType)


def pin(key: tuple[object, ...], holds: bool) -> dict[object, object]:
    """Return what is learnt from a comparison by its key and how it came out: the constant that a value equals."""
    if key[0] in ("==", "!=") and holds is (key[0] == "==") and _pins(key):
        return {("is", key[1]): (type(key[2]), key[2])}
    return {}


def pinned(state: State, value: Value) -> Value:
    """Return the constant that a value equals on this path, by a test that came out so; else the value."""
    known = state.facts.get(("is", value)) if isinstance(value, Unknown) else None
    return known[1] if isinstance(known, tuple) else value


def told(state: State, test: Unknown) -> bool | None:
    """Return how a comparison comes out by the constant that its value is known to equal: it equals no other one."""
    key = test.key
    if key is None or key[0] not in ("==", "!=") or not _pins(key):
        return None
    known = state.facts.get(("is", key[1]))
    return None if known is None else (known == (type(key[2]), key[2])) is (key[0] == "==")


def _pins(key: tuple[object, ...]) -> bool:
    """Return whether a comparison is one of something unknown with a constant."""
    return isinstance(key[1], Unknown) and isinstance(key[2], _CONSTANTS)
