"""Guesses from names: word by word, the same for the check and for confirmation."""

from __future__ import annotations

import pytest

from gradlint.interpreter.world import guesses


@pytest.mark.parametrize("name", ["model", "netG", "unet", "my_model", "generator", "policy", "semantic_model"])
def test_networks_are_known_by_name(name: str) -> None:
    """`ema` in `semantic` is no word."""
    assert guesses.is_network(name)


@pytest.mark.parametrize("name", ["ema_model", "netG_ema", "target_net", "teacher_model", "old_policy_net"])
def test_networks_that_are_kept_are_not_trained(name: str) -> None:
    """Whatever the order of the words."""
    assert guesses.is_kept(name)
    assert not guesses.is_network(name)


@pytest.mark.parametrize("name", ["refine_net", "unfolded_model", "semantic_model", "threshold_net"])
def test_a_word_inside_a_word_says_nothing(name: str) -> None:
    """`ref`, `old`, `ema` and `old` again."""
    assert not guesses.is_kept(name)


@pytest.mark.parametrize("name", ["optimizer", "opt", "optD", "optimizerG", "gen_opt", "optim"])
def test_optimizers_are_known_by_name(name: str) -> None:
    """By one of their words."""
    assert guesses.is_optimizer(name)


@pytest.mark.parametrize("name", ["options", "optional", "x", "copter"])
def test_what_only_begins_alike_is_no_optimizer(name: str) -> None:
    """A word is compared whole."""
    assert not guesses.is_optimizer(name)


@pytest.mark.parametrize(("name", "kind"), [("lr", "float"), ("batch_size", "int"), ("use_amp", "bool")])
def test_made_up_values_fit_the_name(name: str, kind: str) -> None:
    """Rates, counts and flags."""
    assert guesses.kinds(name) == (kind,)
