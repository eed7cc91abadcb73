"""The join of what two paths have learnt: facts of both, and those of one side that last beyond it."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import compress
from operator import is_, is_not
from typing import TypeAlias

from gradlint.domain.state import SOME, LastingFact, OneSided, PathFact
from gradlint.domain.value import Unknown


def joined_facts(
    ours: dict[object, object], theirs: dict[object, object], groups: tuple[_Groups, _Groups]
) -> dict[object, object]:
    """Return what is known after the join of two paths; `groups` are what `State.some` gives of each."""
    found = dict(compress(ours.items(), map(is_, ours.values(), map(theirs.get, ours))))
    here, there = apart_in(ours, theirs), apart_in(theirs, ours)
    found.update(lasting_of(ours, theirs, here))
    found.update(lasting_of(theirs, ours, there))
    if some := _some(_chosen(ours, theirs, here), _chosen(theirs, ours, there), *groups):
        found[SOME] = some
    return found


def apart_in(facts: dict[object, object], others: dict[object, object]) -> list[object]:
    """Return the keys of the facts for which the other path has others, or none."""
    return list(compress(facts, map(is_not, facts.values(), map(others.get, facts))))


def lasting_of(
    facts: dict[object, object], others: dict[object, object], keys: Iterable[object]
) -> dict[object, object]:
    """Return the facts of one path that last beyond its join with another, for the keys that tell them apart.

    Each is kept with the tests that were decided otherwise on the other path: they tell on which side it holds.
    """
    found: dict[object, object] = {}
    for key in keys:
        fact, other = facts[key], others.get(key)
        if not isinstance(key, LastingFact) or fact is None:
            continue
        if other is not None and (isinstance(fact, OneSided) or isinstance(other, OneSided)):
            continue
        former = fact.decided if isinstance(fact, OneSided) else ()
        decided = [(test, truth) for test, truth in facts.items() if isinstance(truth, bool)]
        apart = [one for one in decided if others.get(one[0]) is not one[1] and not isinstance(one[0], (PathFact, int))]
        fact = fact.fact if isinstance(fact, OneSided) else fact
        found[key] = OneSided(fact, tuple(dict.fromkeys((*former, *apart))), other)
    return found


_Test: TypeAlias = "tuple[Unknown, bool]"
"""A test, and how it came out."""

_Groups: TypeAlias = "tuple[frozenset[_Test], ...]"
MOST_GROUPS = 4
"""How many groups of tests a path remembers, of which one has come out as it says."""


def _some(here: _Test | None, there: _Test | None, own_groups: _Groups, other_groups: _Groups) -> _Groups:
    """Return the groups of tests of which one has come out so on both paths, as in `if a: ... elif b: ...`.

    Where neither a nor b holds, neither path was taken; after `if a and b: raise` not both do. `here` and `there` are
    what came out so on one path alone.
    """
    found = [group for group in own_groups if group in other_groups]
    made = [frozenset({here, there})] if here is not None and there is not None else []
    for groups, other in ((own_groups, there), (other_groups, here)):
        made += [group | {other} for group in groups if other is not None]
    # Of those that were found none says both of a test: it would not have been kept when it was made.
    found += [group for group in made if not any((test, not truth) in group for test, truth in group)]
    return tuple(dict.fromkeys(found))[:MOST_GROUPS]


def _chosen(facts: dict[object, object], others: dict[object, object], keys: Iterable[object]) -> _Test | None:
    """Return the first test that tells one path from the other, at best one that the other has not come to."""
    tests = [(key, truth) for key in keys if isinstance(key, Unknown) and isinstance(truth := facts[key], bool)]
    return next((one for one in tests if one[0] not in others), tests[0] if tests else None)
