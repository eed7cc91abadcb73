"""The discovery of rules, and what it refuses."""

from __future__ import annotations

import types

import pytest

from gradlint.rules import registry
from gradlint.rules.base import Rule
from gradlint.rules.registry import all_rules, ordered, rules_about
from tests.entrypoints.fakes import LeafInplace, LeafViewInplace


def module(name: str, *classes: type[Rule]) -> types.ModuleType:
    """A file of rules, as if it stood in the package."""
    made = types.ModuleType(f"gradlint.rules.{name}")
    for found in classes:
        copy = type(found.__name__, (found,), {"__module__": made.__name__})
        setattr(made, found.__name__, copy)
    return made


def test_codes_and_names_are_used_once() -> None:
    """Among the real rules, in order; and two that share one are refused."""
    codes = [rule.code for rule in all_rules()]
    assert codes == sorted(set(codes))
    with pytest.raises(RuntimeError, match="`GRD101` is used by two rules: LeafInplace and LeafInplace"):
        ordered([LeafInplace(), LeafInplace()])


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (module("leaf_inplace"), "gradlint/rules/leaf_inplace.py must define exactly one rule, but defines 0"),
        (module("leaf_inplace", LeafInplace, LeafViewInplace), "must define exactly one rule, but defines 2"),
        (
            module("other", LeafInplace),
            "gradlint/rules/other.py defines LeafInplace, named `leaf-inplace`: file, class and name must match",
        ),
    ],
)
def test_a_file_holds_one_rule_of_its_name(made: types.ModuleType, message: str) -> None:
    """A mistake stops the run, and says where."""
    with pytest.raises(RuntimeError, match=message):
        registry._rule_of(made)


def test_a_rule_is_found_by_its_words() -> None:
    """Code, prefix, or name."""
    assert [rule.code for rule in rules_about("invalid-syntax")] == ["GRD001"]
    assert [rule.code for rule in rules_about("GRD0")] == ["GRD001", "GRD002", "GRD003", "GRD004", "GRD005"]
    assert rules_about("no-such-rule") == ()
