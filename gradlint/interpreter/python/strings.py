"""Texts: what their methods give where all is known, as for the names of parameters and layers."""

from __future__ import annotations

import libcst as cst

from gradlint.domain.state import State
from gradlint.domain.value import Args, Unknown, Value
from gradlint.interpreter.machine import Machine

_TESTS = frozenset({"startswith", "endswith", "isdigit", "isupper", "islower"})
_CHANGES = frozenset(
    {"format", "replace", "lower", "upper", "strip", "lstrip", "rstrip", "removeprefix", "removesuffix"}
)


def to_text(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    """str(value)"""
    value = args.get(0, "object", "")
    return str(value) if type(value) in (str, int) else Unknown("str")


def text_method(text: str, name: str, args: Args) -> Value:
    """Return a method of a known text: computed where Python would, of whole numbers and texts."""
    known = all(_is_plain(value) for value in args.values()) and not args.open
    if known and (name in _TESTS or name in _CHANGES):
        try:
            changed: Value = getattr(text, name)(*args.positional, **args.keywords)
            return changed
        except (IndexError, KeyError, ValueError, TypeError):
            return Unknown()  # Python raises here.
    if name in _TESTS:
        return Unknown("bool")
    return Unknown("str") if name not in ("split", "encode", "partition", "find", "count") else Unknown()


def _is_plain(value: Value) -> bool:
    return type(value) in (str, int) or (type(value) is tuple and all(map(_is_plain, value)))
