"""The inputs that were made to hurt are what their rows say, and one that ends in an error is over its bar."""

from __future__ import annotations

import pytest

from benchmarks import bounds


def test_a_row_is_measured() -> None:
    """In a process of its own, whose output is kept."""
    (row,) = (row for row in bounds.rows() if row.name == "100,000 arrays in TOML")
    seconds, megabytes, code, said = bounds.measure(row)
    assert seconds > 0 and megabytes > 1 and code == 2 and said.endswith("is nested too deeply to be read")


@pytest.mark.parametrize(
    ("measured", "over"),
    [
        ((1.9, 299.0, 1, "a.py:1:1: GRD002 too long"), 0),
        ((2.1, 40.0, 0, ""), 1),
        ((0.1, 301.0, 0, ""), 1),
        ((0.1, 40.0, 2, "gradlint: internal error in a.py: KeyError"), 1),
        ((0.1, 40.0, 2, "gradlint: internal error in a.py: KeyError\na.py:1:1: GRD101"), 1),
        ((0.1, 40.0, 1, "Traceback (most recent call last):\nKeyError: 1"), 1),
        ((0.1, 40.0, -24, ""), 1),
    ],
)
def test_what_is_over(monkeypatch: pytest.MonkeyPatch, measured: tuple[float, float, int, str], over: int) -> None:
    """Time, memory, a crash, a signal."""
    monkeypatch.setattr(bounds, "measure", lambda row: measured)
    assert bounds.main(["arrays in TOML"]) == over
