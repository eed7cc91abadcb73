"""Deciding the tests of a value by what is known of a call."""

from __future__ import annotations

import pytest

from gradlint.facts import UNKNOWN, Alias, Cond, MustMay, Sum, Value, alias_of, resolve, resolve_flag
from gradlint.facts.table import decode_row, decode_signature, decode_value

A = MustMay(frozenset({"a"}), frozenset({"a"}))
B = MustMay(frozenset({"b"}), frozenset({"b"}))
NONE = MustMay(frozenset(), frozenset())
EITHER = MustMay(frozenset(), frozenset({"a", "b"}))
BY_OTHER = Cond("other", {"T": A, "N": B, "2": NONE, "-": A}, EITHER)
BY_MODE = Cond("reduction", {"'mean'": A, "-": A, "'none'": B}, EITHER)


@pytest.mark.parametrize(
    ("value", "flags", "expected"),
    [
        (A, {}, A),
        (BY_OTHER, {"other": "T"}, A),
        (BY_OTHER, {"other": 0.5}, B),
        (BY_OTHER, {"other": 2}, NONE),
        (BY_OTHER, {}, A),
        (BY_OTHER, {"other": "N"}, MustMay(frozenset(), frozenset({"b"}))),
        (BY_OTHER, {"other": UNKNOWN}, EITHER),
        (BY_OTHER, {"other": None}, EITHER),
        (BY_MODE, {"reduction": "none"}, B),
        (BY_MODE, {"reduction": "'none'"}, B),
        (BY_MODE, {"reduction": "other"}, EITHER),
        (Cond("@contiguous", {"yes": A, "no": B}, EITHER), {}, EITHER),
        (Cond("@contiguous", {"yes": A, "no": B}, EITHER), {"@contiguous": "yes"}, A),
        (Cond("dtype", {"torch.float64": A}, B), {"dtype": "torch.float64"}, A),
        (Cond("p", {"inf": A, "N": B}, EITHER), {"p": float("inf")}, A),
        (Cond("p", {"inf": A, "N": B}, EITHER), {"p": -1}, B),
        (Cond("x", {"True": BY_OTHER}, NONE), {"x": True, "other": "T"}, A),
        (Sum((A, BY_MODE)), {"reduction": "none"}, MustMay(frozenset("ab"), frozenset("ab"))),
        (Sum((A, BY_MODE)), {"reduction": UNKNOWN}, MustMay(frozenset("a"), frozenset("ab"))),
    ],
)
def test_resolve(value: Value, flags: dict[str, object], expected: object) -> None:
    assert resolve(value, flags) == expected


def test_flag_is_undecided_only_while_its_argument_is() -> None:
    value = decode_value({"?": "training", "True": "yes", "False": "", "*": {"?": "", "must": "", "may": "yes"}})
    answers = [resolve_flag(value, {"training": given}) for given in (True, False, UNKNOWN)]
    assert answers == [True, False, None]


def test_alias_labels() -> None:
    labels = [">same:input", ">0view:input!multi", ">share:self/nover", ">*view:tensor!overlap"]
    assert [alias_of(label) for label in labels] == [
        Alias(">", "same", "input", True, False, False, False),
        Alias(">0", "view", "input", True, True, False, False),
        Alias(">", "share", "self", False, False, False, False),
        Alias(">*", "view", "tensor", True, False, True, False),
    ]


def test_a_broken_alias_is_an_error() -> None:
    with pytest.raises(ValueError, match="is no alias"):
        alias_of(">unlike:input")


def test_signature() -> None:
    first, second = decode_signature("input~#,dim=-1,*,out~=None|*size,keepdim=?").overloads
    described = [(p.name, p.tensor, p.number, p.default, p.keyword_only, p.variadic) for p in (*first, *second)]
    assert described == [
        ("input", True, True, False, False, False),
        ("dim", False, False, True, False, False),
        ("out", True, False, True, True, False),
        ("size", False, False, False, False, True),
        ("keepdim", False, False, True, False, False),
    ]
    assert [repr(p.constant) for p in (*first, *second)] == [
        "NO_CONSTANT",
        "-1",
        "None",
        "NO_CONSTANT",
        "NO_CONSTANT",
    ]


def test_a_row_that_says_nothing_has_one_result_with_a_graph() -> None:
    row = decode_row({})
    assert set(resolve(row.requires_grad, {}).must) == {">"}
    assert set(resolve(row.result, {}).must) == {"Tensor"}


def test_scalar_outputs() -> None:
    row = decode_row({"l": {"?": "dim", "-": ">", "N": "", "*": {"?": "", "must": "", "may": ">"}}})
    found = [resolve(row.scalar, flags) for flags in ({}, {"dim": 0}, {"dim": UNKNOWN})]
    assert [(">" in one.must, ">" in one.may) for one in found] == [(True, True), (False, False), (False, True)]
