"""Guesses from names: word by word, the same for the check and for confirmation."""

from __future__ import annotations

from pathlib import Path

import pytest

from gradlint import check_paths
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


@pytest.mark.parametrize("name", ["model_class", "net_cls", "feed_forward_generator", "data_generator"])
def test_what_makes_networks_or_yields_data_is_none(name: str) -> None:
    """A class is called for a network, and a generator of batches for data."""
    assert not guesses.is_network(name)


@pytest.mark.parametrize("name", ["refine_net", "unfolded_model", "semantic_model", "threshold_net"])
def test_a_word_inside_a_word_says_nothing(name: str) -> None:
    """`ref`, `old`, `ema` and `old` again."""
    assert not guesses.is_kept(name)


@pytest.mark.parametrize(("name", "expected"), [("obs", True), ("next_obs", True), ("log_probs", False)])
def test_observations_are_inputs_and_probabilities_none(name: str, expected: bool) -> None:
    """`probs` ends with `obs`."""
    assert guesses.is_input(name) is expected


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


NETWORK = """
from torch import nn

class Block(nn.Module):
    def __init__(self, wide):
        super().__init__()
        self.wide = nn.Linear(2, 2)
        if wide:
            self.wide2 = nn.Linear(2, 2)

    def forward(self, x):
        return self.wide(x) + self.wide2(x)
"""
USER = """
import torch
from network import Block

def run(x):
    return Block(False)(x).sum().backward()
"""


def test_a_name_that_the_class_sets_elsewhere_is_no_slip(tmp_path: Path) -> None:
    """Whether it is set is for the program to know."""
    (tmp_path / "network.py").write_text(NETWORK, encoding="utf-8")
    user = tmp_path / "user.py"
    user.write_text(USER, encoding="utf-8")
    assert check_paths([user]).findings == ()
    user.write_text(USER.replace("(False)(x)", "(False).forwrad(x)"), encoding="utf-8")
    assert [one.code for one in check_paths([user]).findings] == ["GRD801"]
