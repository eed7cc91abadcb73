"""Who holds a graph: a variable, an attribute or a container, by its path from the frames of the program."""

from __future__ import annotations

import ast
import gc
import re
import sys
from collections import deque
from collections.abc import Callable, Hashable, Iterator, Mapping
from itertools import islice
from types import FunctionType, ModuleType
from typing import Any, NamedTuple, TypeAlias

import torch
from torch import nn

from gradlint.concrete.calls import tensors_in
from gradlint.concrete.places import Place, Spot
from gradlint.concrete.tape import label_of, node_of
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
PLAIN = (str, bytes, int, float, type, ModuleType, torch.optim.Optimizer)
"""Values in which nothing is looked for."""
_KEYS = re.compile(r"\[[^\[\]]*\]")
_ENDS = (".item", ".detach", ".tolist", ".numpy")
_ADDS = ("append", "appendleft", "extend", "insert")


Key: TypeAlias = Callable[[Any], Hashable | None]
"""Tells of a node to which of the graphs that are looked for it belongs; None for any other."""


class Holder(NamedTuple):
    """What holds graphs of several iterations: its path, where it grows, and whether it is a container.

    `node` is one of a graph; who keeps the holder leaves it out, since it would keep the graph alive.
    """

    path: str
    place: Place | Spot
    listed: bool
    node: Any


def holder_of(key: Key, *, below: bool = False, carried: bool = False, shallow: bool = False) -> Holder | None:
    """Search the frames of the program, the innermost first, for what holds graphs of several iterations.

    A sum may also stand `below` the last operation of what is held. A value may also be `carried` from one iteration
    to the next, and be no sum. A `shallow` search is for containers alone, by the last nodes of what is in them.
    """
    known: set[int] = set()
    for frame in own_frames(sys._getframe(1)):
        found = _Search(key, below, carried, shallow, frame.f_code.co_filename, known).within(frame.f_locals)
        if found is not None:
            return found
    return None


def unfinished_holder_of(key: Key) -> Holder | None:
    """Return the list that a comprehension is making, if it holds graphs of several iterations: no variable has it."""
    for frame in own_frames(sys._getframe(1)):
        name, place = frame.f_code.co_filename, Place(frame.f_code, frame.f_lasti)
        lists = [node for node in nodes_of(name) if isinstance(node, ast.ListComp) and _encloses(node, place.range)]
        for made in gc.get_objects() if lists else ():
            if type(made) is not list or len(made) < _ENOUGH or not isinstance(made[-1], torch.Tensor):
                continue
            nodes = [node for one in made if isinstance(one, torch.Tensor) and (node := node_of(one)) is not None]
            if len({key(node) for node in nodes} - {None}) >= _ENOUGH:
                return Holder("", spot_of(name, lists[-1]), True, nodes[0])
    return None


def _encloses(node: ast.expr, inner: tuple[int, int | None, int | None, int | None]) -> bool:
    """Return whether an instruction of this range belongs to a node."""
    row, end, start, stop = inner
    first, last = (node.lineno, node.col_offset), (node.end_lineno or row, node.end_col_offset or 0)
    if start is None or stop is None:
        return first[0] <= row <= last[0]
    return first <= (row, start) and (end or row, stop) <= last


def held_at_the_end(key: Key) -> Holder | None:
    """Search the variables of the program itself, once it is over."""
    variables = vars(sys.modules["__main__"])
    return _Search(key, True, False, False, str(variables.get("__file__")), set()).within(variables)


class _Search(NamedTuple):
    """A search in the variables of a frame of a file; `known` are the ids of what it has looked at."""

    key: Key
    below: bool
    carried: bool
    shallow: bool
    filename: str
    known: set[int]

    def within(self, variables: Mapping[str, Any]) -> Holder | None:
        """Return what holds the graphs at or below one of the variables."""
        for name, value in list(variables.items()):
            found = None if name.startswith("__") else self._held(name, value, _DEPTH)
            if found is not None:
                return found
        return None

    def _held(self, path: str, value: Any, depth: int, owner: type | None = None) -> Holder | None:
        """Return what holds the graphs at or below a value, the innermost that holds several; `owner` has it."""
        if isinstance(value, torch.Tensor):
            return None if self.shallow else self._summed(path, value)
        is_listed = isinstance(value, (list, tuple, dict, deque))
        inner = owner if is_listed else type(value)
        if depth == 0 and not is_listed:
            return None
        if id(value) in self.known or isinstance(value, PLAIN) or is_ours(value):
            return None
        self.known.add(id(value))
        items = list(items_of(value))
        within = tensors_in(one for _, one in items[-_ITEMS:])
        nodes = [node for one in islice(within, _ITEMS * 4) if (node := node_of(one)) is not None]
        reached = [self._reached(one) for one in nodes] if len(nodes) >= _ENOUGH else []
        if reached and len(set().union(*reached)) >= _ENOUGH:
            single = next((one for one in reached if len(one) >= _ENOUGH), None)
            label = label_of(nodes[-1])
            if single is None:
                whole = next((one for one in self._below(path, items, depth, inner) if one.listed), None)
                place = grown(path, self.filename, owner) or (None if label is None else label.place)
                return whole or (None if place is None else Holder(path, place, True, nodes[0]))
        return next(self._below(path, items, depth, inner), None)

    def _below(self, path: str, items: list[tuple[str, Any]], depth: int, owner: type | None) -> Iterator[Holder]:
        """Yield what holds the graphs among the items of a value."""
        for name, one in items if depth else ():
            found = self._held(path + name, one, depth - 1, owner)
            if found is not None:
                yield found

    def _summed(self, path: str, tensor: torch.Tensor) -> Holder | None:
        """Return where a tensor becomes the sum of values of several iterations; None if it is no such sum."""
        node = node_of(tensor)
        if node is None or len(self._reached(node)) < _ENOUGH:
            return None
        if self.carried:
            label = label_of(node)
            return None if label is None else Holder(path, label.place, False, node)
        while node is not None:
            held = [one for one, _ in node.next_functions if self._reached(one)]
            label = label_of(node)
            if len(held) > 1 or (len(held) == 1 and self.key(node) is not None):
                if label is not None and canonical(label.op) in _GROWS:
                    return Holder(path, label.place, False, node)
                if not self.below:
                    return None
            node = next((one for one, _ in node.next_functions if len(self._reached(one)) >= _ENOUGH), None)
        return None

    def _reached(self, last: Any) -> set[Hashable]:
        """Return which of the graphs a node keeps alive."""
        if self.shallow:
            return {self.key(last)} - {None}
        found: set[Hashable] = set()
        stack: list[Any] = [last] if last is not None else []
        known: set[Any] = set()
        while stack and len(known) < _NODES and len(found) < _ENOUGH:
            node = stack.pop()
            if node in known:
                continue
            known.add(node)
            key = self.key(node)
            if key is not None:
                found.add(key)
            stack += [one for one, _ in node.next_functions if one is not None]
        return found


def is_ours(value: Any) -> bool:
    """Return whether a value is an object of gradlint's own, as `gradlint.watch()` gives one to a program."""
    return type(value).__module__.startswith("gradlint.")


def items_of(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield what an object holds, each with its part of the path."""
    if isinstance(value, dict):
        pairs = islice(list(value.items()), _ITEMS * 4)  # No code of the program runs: its own keys are not printed.
        yield from ((f"[{key!r}]" if type(key) in (str, int) else "[...]", one) for key, one in pairs)
    elif isinstance(value, (list, tuple, deque)):
        yield from ((f"[{place}]", one) for place, one in enumerate(list(value)[-_ITEMS * 4 :]))
    elif isinstance(value, FunctionType):
        cells = zip(value.__code__.co_freevars, value.__closure__ or (), strict=False)
        yield from ((f".{name}", cell.cell_contents) for name, cell in cells if not _is_empty(cell))
    elif hasattr(value, "__dict__") and not callable(value):
        yield from ((f".{name}", one) for name, one in list(vars(value).items()))
    elif isinstance(value, nn.Module):
        yield from ((f".{name}", one) for name, one in list(vars(value).items()) if not name.startswith("_"))
        yield from ((f".{name}", one) for name, one in value.named_buffers())


def _is_empty(cell: Any) -> bool:
    """Return whether nothing has been assigned to a variable of a closure yet."""
    try:
        return cell.cell_contents is None
    except ValueError:
        return True


def grown(path: str, filename: str, owner: type | None) -> Spot | None:
    """Return what adds to a list of this path in a file: by the path, with other keys, or in the class that has it."""
    grows = list(_growing(filename))
    masked = _KEYS.sub("[]", path)
    found = [node for node, target in grows if ast.unparse(target) == path]
    found = [node for node in found if not _is_plain(node)] or found
    found = found or [node for node, target in grows if _KEYS.sub("[]", ast.unparse(target)) == masked]
    methods = () if found or owner is None else (one for one in vars(owner).values() if isinstance(one, FunctionType))
    method = next(iter(methods), None)
    if owner is not None and method is not None:
        filename = method.__code__.co_filename
        rows = {
            row
            for node in nodes_of(filename)
            if isinstance(node, ast.ClassDef) and node.name in {one.__name__ for one in owner.__mro__}
            for row in range(node.lineno, (node.end_lineno or node.lineno) + 1)
        }
        found = [
            node
            for node, target in _growing(filename)
            if node.lineno in rows and _KEYS.sub("[]", ast.unparse(target)) == f"self.{masked.rpartition('.')[2]}"
        ]
    return spot_of(filename, found[0]) if found else None


def _is_plain(node: ast.AST) -> bool:
    """Return whether what is added to a container is a number, or has no graph."""
    given = node.args[-1] if isinstance(node, ast.Call) and node.args else getattr(node, "value", None)
    name = ast.unparse(given.func) if isinstance(given, ast.Call) else ""
    return isinstance(given, ast.Constant) or name in ("float", "int") or name.endswith(_ENDS)


def _growing(filename: str) -> Iterator[tuple[ast.expr | ast.stmt, ast.expr]]:
    """Yield the nodes of a file by which containers grow, or else are made, each with the container."""
    made: list[tuple[ast.expr | ast.stmt, ast.expr]] = []
    for node in nodes_of(filename):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _ADDS:
            yield node, node.func.value
        elif isinstance(node, ast.AugAssign):
            yield node, node.target
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript):
            yield node, node.targets[0].value
        elif isinstance(node, ast.Assign) and _continues(node):
            yield node, node.targets[0]
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.ListComp):
            made.append((node.value, node.targets[0]))
        elif isinstance(node, ast.Assign) and _is_made(node.value):
            made.append((node, node.targets[0]))
    yield from made


def _is_made(value: ast.expr) -> bool:
    """Return whether an expression makes a list that is not empty, or joins some."""
    return bool(getattr(value, "elts", ())) or isinstance(value, ast.BinOp)


def _continues(node: ast.Assign) -> bool:
    """Return whether a list is made of what a variable is, and more, and assigned to it."""
    name = ast.unparse(node.targets[0])
    is_joined = isinstance(node.value, (ast.List, ast.Tuple, ast.BinOp))
    return is_joined and any(isinstance(one, ast.expr) and ast.unparse(one) == name for one in ast.walk(node.value))
