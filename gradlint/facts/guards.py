"""The values that torch's own Python functions refuse: the tests after which they raise, and what they take.

`python -m tools.measure_guards` reads the tests out of torch's source, as expressions over the parameters, and keeps
those that it has seen raise. `facts.deciding` decides them over what is known of a call's arguments.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any, NamedTuple

from gradlint.facts.deciding import OPEN, Known


class Guard(NamedTuple):
    """A test over the parameters after which a function raises an `error`; `message` is the expression of its text.

    `call` is one that torch was seen to refuse for it, in Python. `by_hand`: it was not read out of torch's source.
    """

    test: ast.expr
    error: str
    message: ast.expr
    call: str
    by_hand: bool = False


class Guarded(NamedTuple):
    """A function or class of torch: its parameters in order, with the defaults that are constants, and its guards.

    `optional`: the parameters that have a default, constant or not; `keyword_only` those that have no position.
    `is_native`: torch takes the arguments in C++, perhaps by other names, too. `packs`: the last parameter is a tuple,
    or all that is given by position from there on.
    """

    parameters: tuple[str, ...]
    defaults: Mapping[str, Known]
    optional: frozenset[str]
    keyword_only: frozenset[str]
    guards: tuple[Guard, ...]
    is_native: bool = False
    packs: bool = False


_BY_HAND = "refuses_by_hand"
_REFUSES = ("refuses", _BY_HAND)


@cache
def _data() -> Mapping[str, Any]:
    text = resources.files(__package__).joinpath("guards.json").read_text(encoding="utf-8")
    return json.loads(text)  # type: ignore[no-any-return]


@cache
def guarded(path: str) -> Guarded | None:
    """Return what is known of a function or class of torch; None for one that is not written in Python.

    >>> [ast.unparse(one.test) for one in guarded("torch.nn.functional.dropout").guards]
    ['p < 0.0 or p > 1.0']
    """
    found = _data().get(path)
    if found is None:
        return None
    names, defaults = [], {}
    optional, keyword_only = set(), set()
    star = False
    for spelled in found["takes"]:
        name, given, default = spelled.partition("=")
        if name == "*":
            star = True
            continue
        names.append(name)
        if star:
            keyword_only.add(name)
        if given:
            optional.add(name)
            defaults[name] = ast.literal_eval(default) if default else OPEN
    guards = tuple(
        Guard(_parsed(test), error, _parsed(message), call, key == _BY_HAND)
        for key in _REFUSES
        for test, error, message, call in found.get(key, ())
    )
    native, packs = found.get("native", False), bool(names) and names[-1].startswith("*")
    names = [name.removeprefix("*") for name in names]
    return Guarded(tuple(names), defaults, frozenset(optional), frozenset(keyword_only), guards, native, packs)


@cache
def said() -> tuple[str, ...]:
    """Return of the text of each error the longest part that is the same in all calls.

    >>> {"Invalid learning rate: ", "Nesterov momentum requires a momentum and zero dampening"} <= set(said())
    True
    """
    refused = (one for found in _data().values() for key in _REFUSES for one in found.get(key, ()))
    texts = (_parsed(message) for _, _, message, _ in refused)
    return tuple(dict.fromkeys(one for text in texts if (one := constant_of(text))))


def constant_of(text: ast.expr) -> str:
    """Return the longest part of a text that is the same in all calls."""
    parts = text.values if isinstance(text, ast.JoinedStr) else [text]
    texts = [part.value for part in parts if isinstance(part, ast.Constant) and isinstance(part.value, str)]
    return max(texts, key=len, default="")


def _parsed(source: str) -> ast.expr:
    return ast.parse(source, mode="eval").body
