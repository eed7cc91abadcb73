"""Reveals are put behind what binds or writes a name, and the rest of a program stays as it is."""

from __future__ import annotations

import pytest

from tests.harness.instrument import revealing


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("a = 1\n", "a = 1\nreveal(a)\n"),
        ("a = b = 1\n", "a = b = 1\nreveal(a)\nreveal(b)\n"),
        ("(a, *b) = c\n", "a, *b = c\nreveal(a)\nreveal(b)\n"),
        ("a[0] = 1\n", "a[0] = 1\nreveal(a)\n"),
        ("a += 1\n", "a += 1\nreveal(a)\n"),
        ("a.add_(1)\n", "a.add_(1)\nreveal(a)\n"),
        ("a[0].add_(1)\n", "a[0].add_(1)\nreveal(a)\n"),
        ("a.b = 1\n", "a.b = 1\n"),
        ("print(a)\n", "print(a)\n"),
        ("if a:\n    b = 1\n", "if a:\n    b = 1\n    reveal(b)\n"),
        ("class A:\n    b = 1\n", "class A:\n    b = 1\n"),
        (
            "class A:\n\n    def f(self):\n        b = 1\n",
            "class A:\n\n    def f(self):\n        b = 1\n        reveal(b)\n",
        ),
    ],
)
def test_what_is_bound_is_revealed(code: str, expected: str) -> None:
    """In the order of the targets, behind the statement."""
    assert revealing(code) == expected
