"""Tests before which torch raises that no Python source shows: written by hand, and each seen to raise.

A test stands here where torch raises in C++, or where its source says it in a way that `tools.read_guards` does not
follow. `python -m tools.measure_guards` tries the values given here: wherever a test is true, torch must raise an error
with the words of the message.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class ByHand(NamedTuple):
    """What a function, or the `forward` of a module, refuses: tests with the expressions of their messages.

    `values`: sources of values to try for each parameter. `takes`: the parameters of what has no signature that says
    them. `on`: the source of an object whose method the path names.
    """

    path: str
    values: Mapping[str, tuple[str, ...]]
    refuses: tuple[tuple[str, str], ...]
    takes: tuple[str, ...] = ()
    on: str = ""


def ones(*shapes: tuple[int, ...]) -> tuple[str, ...]:
    """Return the sources of tensors of these shapes."""
    return tuple([f"torch.ones({shape})" for shape in shapes])


def whole(*shapes: tuple[int, ...]) -> tuple[str, ...]:
    """Return the sources of tensors of integers."""
    return tuple([f"torch.ones({shape}, dtype=torch.int64)" for shape in shapes])
