"""Shrinking: only what the disagreement needs is left."""

from __future__ import annotations

from .minimise import shrink

SOURCE = """import torch


@torch.no_grad()
def unused(t):
    return t


class Box:
    def keep(self, t):
        print("keep")
        return t


x = 1
if x:
    for i in range(2):
        y = 2
        z = 3
print(z)
"""


def test_statements_and_blocks_go_until_the_condition_would_fail() -> None:
    assert shrink(SOURCE, lambda source: "z = 3" in source).strip() == "z = 3"


def test_the_body_of_a_function_is_never_empty() -> None:
    def holds(source: str) -> bool:
        compile(source, "program.py", "exec")
        return "def keep" in source

    assert shrink(SOURCE, holds).split() == ["class", "Box:", "def", "keep(self,", "t):", "pass"]


def test_nothing_goes_where_everything_is_needed() -> None:
    assert shrink("a = 1\nb = 2\n", lambda source: "a" in source and "b" in source) == "a = 1\nb = 2\n"
