"""Decide the tests in a value by what is known of a call's arguments."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from gradlint.facts.row import MustMay, Sum, Value


class Unknown:
    """The type of `UNKNOWN`: an argument that was given, but of which nothing is known."""

    def __repr__(self) -> str:
        return "UNKNOWN"


UNKNOWN: Final = Unknown()
ABSENT: Final = "-"
KINDS: Final = frozenset("NTLO-")


def resolve(value: Value, flags: Mapping[str, object]) -> MustMay:
    """Return what must and what may hold in a call.

    `flags` maps the arguments that the call gives to constants (`True`, `"mean"`, `None`, 2), to a kind
    (`"N"` some number, `"T"` a tensor, `"L"` a list, `"O"` another object), to a dtype's name
    (`"torch.float64"`) or to `UNKNOWN`. An argument that is not in `flags` is absent, except for the flags
    that begin with `@`, which are unknown unless given.
    """
    if isinstance(value, MustMay):
        return value
    if isinstance(value, Sum):
        return _added(resolve(part, flags) for part in value.parts)
    key = _key(value.flag, flags)
    if key is None:
        rest = () if {"yes", "no"} <= value.cases.keys() else (value.default,)
        return joined(resolve(v, flags) for v in (*value.cases.values(), *rest))
    if key == "N":
        numeric = [v for k, v in value.cases.items() if _is_number(k)]
        unseen = [] if "N" in value.cases else [value.default]
        return joined(resolve(v, flags) for v in (*numeric, *unseen))
    case = value.cases.get(key)
    if case is None and _is_number(key):
        case = value.cases.get("N")
    return resolve(value.default if case is None else case, flags)


def resolve_flag(value: Value, flags: Mapping[str, object]) -> bool | None:
    """Decide a value of the kind that says `yes`: True, False, or None if it cannot be decided."""
    found = resolve(value, flags)
    if "yes" in found.must:
        return True
    return None if "yes" in found.may else False


def joined(values: Iterable[MustMay]) -> MustMay:
    """Return what is known if any of the values may be the case."""
    first, *rest = values
    for value in rest:
        first = first.join(value)
    return first


def _added(values: Iterable[MustMay]) -> MustMay:
    parts = list(values)
    return MustMay(frozenset().union(*(p.must for p in parts)), frozenset().union(*(p.may for p in parts)))


def key_of(constant: object) -> str:
    """Return the key under which cases hold a plain constant; kinds, dtypes and keys stand for themselves."""
    if isinstance(constant, str) and (constant in KINDS or constant.startswith(("torch.", "'", '"'))):
        return constant
    return repr(constant)


def _key(flag: str, flags: Mapping[str, object]) -> str | None:
    if flag not in flags:
        return None if flag.startswith("@") else ABSENT
    value = flags[flag]
    if isinstance(value, Unknown):
        return None
    return str(value) if flag.startswith("@") else key_of(value)


def _is_number(key: str) -> bool:
    return key == "N" or key[0].isdigit() or (key[0] in "-(" and len(key) > 1) or key in {"inf", "nan"}
