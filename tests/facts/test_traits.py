"""The file of traits keeps its schema, and no other file lists operations."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

import gradlint
from gradlint.facts import load
from gradlint.facts.aliases import bare, canonical, is_inplace
from gradlint.facts.names import TENSOR, names_of

PACKAGE = Path(gradlint.__file__).parent

OURS = {"index", "uninitialised"}
"""Operations that the interpreter names itself: a subscript that copies, memory that a constructor takes."""

ENTRIES = [entry for name in load() if (entry := load().find(name)) is not None]
KNOWN = {canonical(entry.name) for entry in ENTRIES} | {
    *OURS,
    *(names_of("torch") or ()),
    *(names_of(TENSOR) or ()),
    *(names_of("torch.nn.init") or ()),
}


def file(name: str) -> Mapping[str, Any]:
    """A data file of the facts."""
    data: Mapping[str, Any] = json.loads(resources.files("gradlint.facts").joinpath(name).read_text(encoding="utf-8"))
    return data


def test_every_name_of_a_trait_is_a_canonical_one() -> None:
    rows = file("traits.json")["traits"]
    wrong = [(trait, name) for trait, names in rows.items() for name in names.split() if canonical(name) != name]
    unknown = [(trait, name) for trait, names in rows.items() for name in names.split() if name not in KNOWN]
    assert wrong == []
    assert unknown == []


def test_names_of_a_trait_stand_in_order() -> None:
    rows = {**file("traits.json")["traits"], **file("traits.json")["methods"]}
    assert [trait for trait, names in rows.items() if names.split() != sorted({*names.split()})] == []


def test_every_trait_has_a_constant() -> None:
    source = (PACKAGE / "facts" / "traits.py").read_text(encoding="utf-8")
    asked = set(re.findall(r'_(?:trait|methods|map)\("(\w+)"\)', source))
    data = file("traits.json")
    assert {*data["traits"], *data["methods"], *data["maps"]} == asked


@pytest.mark.parametrize(
    ("spelled", "one", "shown"),
    [
        ("Tensor.subtract_", "sub", "subtract_"),
        ("subtract", "sub", "subtract"),
        ("Tensor.__isub__", "sub", "__isub__"),
        ("special.expit", "sigmoid", "expit"),
        ("nn.Sigmoid", "sigmoid", "sigmoid"),
        ("nn.LSTM", "nn.LSTM", "nn.LSTM"),
        ("nn.functional.softmax", "softmax", "softmax"),
        ("linalg.norm", "linalg.norm", "linalg.norm"),
        ("nn.functional.unfold", "nn.functional.unfold", "nn.functional.unfold"),
        ("Tensor.unfold", "unfold", "unfold"),
        ("Tensor.zero_", "zero_", "zero_"),
        ("index assignment", "index assignment", "index assignment"),
    ],
)
def test_canonical_and_shown_names(spelled: str, one: str, shown: str) -> None:
    assert (canonical(spelled), bare(spelled)) == (one, shown)


def test_a_canonical_name_is_its_own() -> None:
    assert [entry.name for entry in ENTRIES if canonical(canonical(entry.name)) != canonical(entry.name)] == []


def test_names_that_write_in_place() -> None:
    assert [name for name in ("add_", "Tensor.__iadd__", "nn.functional.relu_") if not is_inplace(name)] == []
    assert [name for name in ("add", "Tensor.__invert__", "Tensor.__int__", "nn.ReLU") if is_inplace(name)] == []
