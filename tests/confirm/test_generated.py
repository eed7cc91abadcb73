"""Generated programs before the gate, some of them before the walls; `python -m tests.confirm.generated` makes more."""

from __future__ import annotations

import functools
import random
import warnings

import pytest

from gradlint.confirm.gate.admit import admit
from gradlint.confirm.run.sandbox import Sandbox
from tests.confirm.generated import ALIASES, HARMS, Harm, admitted, attack, harm_in, reaching, slipped

ATTACKS, WALKS, RUNS = 1500, 800, 12


@functools.cache
def walks() -> list[str]:
    """The walks that the gate lets through."""
    return admitted(WALKS, 0)


def test_the_same_seed_gives_the_same_programs() -> None:
    """And they are of many kinds."""
    programs = [attack(random.Random(seed)) for seed in range(200)]
    assert programs == [attack(random.Random(seed)) for seed in range(200)]
    assert len(set(programs)) > 190


def test_each_program_is_one() -> None:
    """What Python cannot parse would be refused for no merit of the gate."""
    for harm in HARMS:
        for alias in ALIASES:
            compile(harm_in(harm, alias), "<attack>", "exec")
    assert slipped(1, 0) == []


def test_a_harmless_value_passes_under_each_alias() -> None:
    """So it is the value for which an attack is refused."""
    for alias in ALIASES:
        assert admit(harm_in(Harm("torch.ones(1)"), alias)) == [], alias


def test_the_gate_refuses_every_attack() -> None:
    """Under each alias and disguise."""
    assert slipped(ATTACKS, 0) == []


def test_the_second_reading_has_no_doubt_of_what_the_gate_lets_through() -> None:
    """By other means it comes to the same."""
    pytest.importorskip("torch", reason="torch is not installed, and nothing else can say what its names are")
    from gradlint.confirm.worker.reread import Reader

    programs = walks()
    assert len(programs) > WALKS / 20
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        reader = Reader()
    assert [text for text in programs if reader.doubt(text) is not None] == []


def test_what_the_gate_lets_through_reaches_nothing(sandboxed: Sandbox) -> None:
    """No wall, and no function that is not known."""
    found, ends = reaching(sandboxed, walks()[:RUNS])
    assert found == []
    assert ends["finished"] > RUNS / 3
