"""Tries the tests that are written by hand."""

from __future__ import annotations

import ast
import random
from collections.abc import Mapping
from itertools import product
from typing import Any

from gradlint.facts.deciding import Known, value_of
from gradlint.facts.guards import constant_of
from tools.guard_calls import OF_CLASS, called_with, error_of, known_of
from tools.guards_by_hand.written import ByHand

MOST_TRIED = 2_000


def seen(hand: ByHand, defaults: Mapping[str, Known]) -> list[list[str]]:
    """Return tests that are written by hand, each with a call that torch refuses; raise where it takes one."""
    names = [*hand.values]
    chance = random.Random(0)
    every = [*product(*hand.values.values())]
    witnesses: dict[str, list[str]] = {}
    passed = 0
    for chosen in chance.sample(every, min(len(every), MOST_TRIED)):
        given = {name: source for name, source in zip(names, chosen, strict=True) if source}
        call = called_with(hand.path, given, hand.on)
        known = dict(defaults) | {name: known_of(source) for name, source in given.items()}
        true = [(test, said) for test, said in hand.refuses if value_of(_parsed(test), known) is True]
        error, text = error_of(call)
        passed += error is None
        for test, said in true:
            if error is None:
                raise AssertionError(f"{hand.path}: {test}: torch takes {call}")
            if constant_of(_parsed(said)) in text:
                witnesses.setdefault(test, [test, error, said, call])
    missing = [test for test, _ in hand.refuses if test not in witnesses]
    if missing or not passed:
        raise AssertionError(f"{hand.path}: no call shows {missing}, {passed} calls are taken")
    return [witnesses[test] for test, _ in hand.refuses]


def defaults_in(found: Mapping[str, Any], path: str) -> dict[str, Known]:
    """Return the defaults of a function, and of the constructor of the module whose `forward` it is."""
    of_class = path.removesuffix(".forward")
    places = [("", path), *([(OF_CLASS, of_class)] if of_class != path else [])]
    split = [(begin, one.partition("=")) for begin, place in places for one in found.get(place, {"takes": ()})["takes"]]
    return {f"{begin}{name}": ast.literal_eval(value) for begin, (name, _, value) in split if value}


def _parsed(source: str) -> ast.expr:
    return ast.parse(source, mode="eval").body
