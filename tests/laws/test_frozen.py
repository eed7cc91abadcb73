"""Laws of what states share: nobody can write it."""

from __future__ import annotations

from dataclasses import FrozenInstanceError

import libcst as cst
import pytest

from gradlint.domain.graph import Node
from gradlint.domain.value import Unknown

SHARED = [Node("mul", cst.Name("x"), leaf=3), Unknown("number", syntax=cst.Name("x"))]
FIELDS = [
    (shared, name) for shared in SHARED for kind in type(shared).__mro__ for name in getattr(kind, "__slots__", ())
]


def test_both_have_fields() -> None:
    assert {type(shared).__mro__[-2] for shared, _ in FIELDS} == {Node, Unknown}


@pytest.mark.parametrize(("shared", "name"), FIELDS, ids=lambda part: part if isinstance(part, str) else repr(part))
def test_a_field_is_neither_written_nor_deleted(shared: object, name: str) -> None:
    before = getattr(shared, name)
    with pytest.raises(FrozenInstanceError):
        setattr(shared, name, None)
    with pytest.raises(FrozenInstanceError):
        delattr(shared, name)
    assert getattr(shared, name) is before


@pytest.mark.parametrize("shared", SHARED, ids=repr)
def test_no_field_is_added(shared: object) -> None:
    with pytest.raises((FrozenInstanceError, AttributeError, TypeError)):
        shared.unheard_of = 1  # type: ignore[attr-defined]
