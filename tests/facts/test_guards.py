"""The arguments that torch's Python functions refuse: each call that was measured is one that torch refuses."""

from __future__ import annotations

import warnings
from importlib import import_module

import pytest

from gradlint.facts.guards import _data, guarded

torch = pytest.importorskip("torch")


def test_torch_refuses_the_calls_that_were_measured() -> None:
    """Each guard has a call, which raises the error of the guard."""
    complaints: list[tuple[str, Exception | None]] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for path in _data():
            known = guarded(path)
            assert known is not None
            if path.startswith("torch.nn.utils._per_sample_grad."):
                import_module("torch.nn.utils._per_sample_grad")  # Torch itself imports it late.
            for guard in known.guards:
                try:
                    eval(guard.call, {"torch": torch})
                except Exception as error:
                    if type(error).__name__ != guard.error:
                        complaints.append((guard.call, error))
                else:
                    complaints.append((guard.call, None))
    assert complaints == []
