"""Detectors hear announcements by the names of their methods: each name is that of a type, and the types agree."""

from __future__ import annotations

import inspect
from collections.abc import Callable

import pytest

from gradlint.detect import ALL
from gradlint.domain.announcement import KINDS as TYPES
from gradlint.domain.announcement import method_of

KINDS = {method_of(kind): kind for kind in TYPES}
METHODS = [
    pytest.param(name, method, id=f"{family.__name__}.{name}")
    for family in ALL
    for name, method in inspect.getmembers(family, inspect.isfunction)
    if name.startswith("on_")
]


@pytest.mark.parametrize(("name", "method"), METHODS)
def test_a_method_hears_the_announcement_it_is_named_after(name: str, method: Callable[..., None]) -> None:
    """A misspelt method would hear nothing."""
    assert inspect.get_annotations(method, eval_str=True)["it"] is KINDS[name]


def test_each_announcement_is_heard() -> None:
    """One that no detector hears is not needed."""
    assert set(KINDS) == {str(parameter.values[0]) for parameter in METHODS}
