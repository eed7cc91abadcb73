"""One sandbox for all tests that ask torch."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator

import pytest

from gradlint.confirm.prove import Prover
from gradlint.confirm.run.sandbox import Sandbox
from gradlint.rules.registry import all_rules


@pytest.fixture(scope="session")
def sandboxed() -> Iterator[Sandbox]:
    """A sandbox for all."""
    if importlib.util.find_spec("torch") is None:
        pytest.skip("torch is not installed, and nothing else can say what torch does")
    with Sandbox() as sandbox:
        yield sandbox


@pytest.fixture(scope="session")
def prover(sandboxed: Sandbox) -> Prover:
    """A prover that knows what confirms each rule, and cuts its proofs down."""
    return Prover(sandboxed, _patterns())


@pytest.fixture(scope="session")
def quick_prover(sandboxed: Sandbox) -> Prover:
    """One that gives its proofs as they are found."""
    return Prover(sandboxed, _patterns(), shrink=False)


def _patterns() -> dict[str, str]:
    return {rule.code: rule.error for rule in all_rules() if rule.error is not None}
