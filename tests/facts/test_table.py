"""The shipped table keeps its schema; torch is not needed to say so."""

from __future__ import annotations

import re
from importlib import resources

import pytest

from gradlint.facts import Cond, Entry, MustMay, Row, Sum, Value, alias_of, load, resolve

TABLE = load()
OUTPUT = re.compile(r">(\d+|\*)?")
VALUES = [
    "views", "writes", "hidden_writes", "requires_grad", "requires_grad_anyway", "raises_if_requires_grad",
    "no_derivative", "silent_wrong", "size", "scalar", "dtype", "result", "parameters", "buffers",
]  # fmt: skip
PER_INPUT = ["saved", "copies", "freed", "zero", "no_gradient"]


def values_of(row: Row) -> list[Value]:
    found = [getattr(row, name) for name in VALUES]
    return found + [value for name in PER_INPUT for value in getattr(row, name).values()]


def row_of(name: str) -> Row:
    """The row of a name that the table has."""
    entry = TABLE.find(name)
    assert entry is not None
    return entry.row


def leaves(value: Value) -> list[MustMay]:
    if isinstance(value, MustMay):
        return [value]
    parts = value.parts if isinstance(value, Sum) else (*value.cases.values(), value.default)
    return [leaf for part in parts for leaf in leaves(part)]


def flags(value: Value) -> set[str]:
    if isinstance(value, MustMay):
        return set()
    parts = value.parts if isinstance(value, Sum) else (*value.cases.values(), value.default)
    return {flag for part in parts for flag in flags(part)} | ({value.flag} if isinstance(value, Cond) else set())


@pytest.fixture(scope="module")
def entries() -> list[Entry]:
    """The entry of each name."""
    return [entry for name in TABLE if (entry := TABLE.find(name)) is not None]


def test_every_name_has_an_entry(entries: list[Entry]) -> None:
    assert [entry.name for entry in entries] == list(TABLE)
    assert len(entries) > 1500


def test_must_is_part_of_may(entries: list[Entry]) -> None:
    wrong = [e.name for e in entries for value in values_of(e.row) for leaf in leaves(value) if leaf.must - leaf.may]
    assert wrong == []


def test_facts_speak_of_arguments_by_the_names_of_the_signature(entries: list[Entry]) -> None:
    wrong = []
    for entry in entries:
        signature = entry.row.forward if entry.row.is_module else entry.sig
        known = {p.name for overload in signature.overloads for p in overload}
        spoken = {label for name in PER_INPUT for label in getattr(entry.row, name)}
        spoken |= {label for value in entry.row.saved.values() for leaf in leaves(value) for label in leaf.may}
        spoken |= {alias_of(label).of for leaf in leaves(entry.row.views) for label in leaf.may}
        named = {label for label in spoken if not OUTPUT.fullmatch(label) and label[:2] not in ("p.", "b.")}
        wrong += [(entry.name, label) for label in named - known]
    assert wrong == []


def test_tests_are_on_arguments_of_the_signature(entries: list[Entry]) -> None:
    wrong = []
    for entry in entries:
        known = {p.name for overload in entry.sig.overloads for p in overload}
        known |= {f"forward.{p.name}" for overload in entry.row.forward.overloads for p in overload}
        asked = {flag for value in values_of(entry.row) for flag in flags(value) if not flag.startswith("@")}
        wrong += [(entry.name, flag) for flag in asked - known - {"training"}]
    assert wrong == []


def test_labels_of_outputs(entries: list[Entry]) -> None:
    found = {
        label
        for e in entries
        for name in ("requires_grad", "scalar")
        for leaf in leaves(getattr(e.row, name))
        for label in leaf.may
    }
    assert [label for label in found if not OUTPUT.fullmatch(label)] == []


def test_calls_without_optional_arguments_are_decided() -> None:
    plain = {
        "nn.functional.relu": {">"},
        "nn.ReLU": {">"},
        "exp": {">"},
        "sigmoid": {">"},
        "Tensor.tanh": {">"},
    }
    assert {name: set(resolve(row_of(name).saved["input"], {}).must) for name in plain} == plain


def test_dtypes_and_classes() -> None:
    kinds = {name: TABLE.dtypes[name] for name in ("float32", "long", "bool", "cfloat", "half", "uint8")}
    assert kinds == {
        "float32": "float",
        "long": "int",
        "bool": "bool",
        "cfloat": "complex",
        "half": "float",
        "uint8": "int",
    }
    assert {"device", "Size", "dtype", "no_grad"} <= TABLE.plain


def test_the_table_is_small() -> None:
    size = len(resources.files("gradlint.facts").joinpath("torch.json").read_bytes())
    assert size < 600_000
