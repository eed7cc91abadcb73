"""One sandbox for all tests that ask torch."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator

import pytest

from gradlint.confirm.prove import Prover
from gradlint.confirm.sandbox import Sandbox
from gradlint.rules.registry import all_rules


@pytest.fixture(scope="session")
def prover() -> Iterator[Prover]:
    """A prover that knows what confirms each rule."""
    if importlib.util.find_spec("torch") is None:
        pytest.skip("torch is not installed, and nothing else can say what torch does")
    with Sandbox() as sandbox:
        yield Prover(sandbox, {rule.code: rule.error for rule in all_rules() if rule.error is not None})
