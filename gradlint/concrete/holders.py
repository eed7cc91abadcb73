"""Who holds a graph: a variable, an attribute or a container, by its path from the frames of the program."""

from __future__ import annotations

import ast
import sys
from collections import deque
from collections.abc import Collection, Iterator
from itertools import islice
from types import FrameType, ModuleType
from typing import Any, NamedTuple

import torch

from gradlint.concrete.places import Place, Spot
from gradlint.concrete.tape import LIFE, label_of
from gradlint.concrete.written import nodes_of, own_frames, spot_of
from gradlint.facts.aliases import canonical
from gradlint.facts.traits import JOINS, UPDATES

_DEPTH = 3
_ENOUGH = 3
"""Who holds the graphs of so many iterations, or a container with so many, holds them all."""
_NODES = 20_000
_GROWS = UPDATES | JOINS
"""What makes a value of the last iteration and the next one."""
_ITEMS = 64


class Holder(NamedTuple):
    """What holds graphs of several iterations: its path, where it grows, and whether it is a container."""

    path: str
    place: Place | Spot
    listed: bool


def holder_of(lives: Collection[int]) -> Holder | None:
    """Search the frames of the program, the innermost first, for what holds the graphs of these lives, by their ids."""
    for frame in own_frames(sys._getframe(1)):
        for name, value in list(frame.f_locals.items()):
            found = None if name.startswith("__") else _held(name, value, lives, frame, _DEPTH, set())
            if found is not None:
                return found
    return None


def _held(
    path: str, value: Any, lives: Collection[int], frame: FrameType, depth: int, known: set[int]
) -> Holder | None:
    if isinstance(value, torch.Tensor):
        return _summed(path, value, lives)
    if depth == 0 or id(value) in known or isinstance(value, (str, bytes, int, float, type, ModuleType)):
        return None
    known.add(id(value))
    items = list(items_of(value))
    tensors = [one for _, one in items[-_ITEMS:] if isinstance(one, torch.Tensor) and one.grad_fn is not None]
    reached = [_reached(one.grad_fn, lives) for one in tensors]
    if len(tensors) >= _ENOUGH and len(set().union(*reached)) >= _ENOUGH:
        single = next((one for one in reached if len(one) >= _ENOUGH), None)
        label = label_of(tensors[-1].grad_fn)
        if single is None and label is not None:
            return Holder(path, _grown(path, frame) or label.place, True)
    for name, one in items:
        found = _held(path + name, one, lives, frame, depth - 1, known)
        if found is not None:
            return found
    return None


def items_of(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield what an object holds, each with its part of the path."""
    if isinstance(value, dict):
        yield from ((f"[{key!r}]", one) for key, one in islice(list(value.items()), _ITEMS * 4))
    elif isinstance(value, (list, tuple, deque)):
        yield from ((f"[{place}]", one) for place, one in enumerate(list(value)[-_ITEMS * 4 :]))
    elif hasattr(value, "__dict__") and not callable(value):
        yield from ((f".{name}", one) for name, one in list(vars(value).items()))


def _summed(path: str, tensor: torch.Tensor, lives: Collection[int]) -> Holder | None:
    """Return where a tensor becomes the sum of values of several iterations; None if it is no such sum."""
    node: Any = tensor.grad_fn
    if node is None or len(_reached(node, lives)) < _ENOUGH:
        return None
    while node is not None:
        held = [one for below, _ in node.next_functions if (one := _reached(below, lives))]
        label = label_of(node)
        if len(held) > 1 or (len(held) == 1 and LIFE in node.metadata):
            return Holder(path, label.place, False) if label is not None and canonical(label.op) in _GROWS else None
        node = next((below for below, _ in node.next_functions if len(_reached(below, lives)) >= _ENOUGH), None)
    return None


def _reached(last: Any, lives: Collection[int]) -> set[int]:
    """Return which of the lives a node keeps alive."""
    found: set[int] = set()
    stack: list[Any] = [last] if last is not None else []
    known: set[Any] = set()
    while stack and len(known) < _NODES and len(found) < _ENOUGH:
        node = stack.pop()
        if node in known:
            continue
        known.add(node)
        life = node.metadata.get(LIFE)
        if id(life) in lives:
            found.add(id(life))
        stack += [one for one, _ in node.next_functions if one is not None]
    return found


def _grown(path: str, frame: FrameType) -> Spot | None:
    """Return the call in the file of the frame that adds to a list of this path."""
    name = frame.f_code.co_filename
    for node in nodes_of(name):
        is_call = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
        if is_call and node.func.attr in ("append", "extend", "insert") and ast.unparse(node.func.value) == path:  # type: ignore[attr-defined]
            return spot_of(name, node)  # type: ignore[arg-type]
        if isinstance(node, ast.AugAssign) and ast.unparse(node.target) == path:
            return spot_of(name, node)
    return None
