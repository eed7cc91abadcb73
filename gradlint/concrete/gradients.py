"""Gradients that are none: read where torch keeps none, or given as memory that nobody has written."""

from __future__ import annotations

import ast
import weakref
from collections.abc import Iterator
from typing import Any

import torch

from gradlint.concrete.calls import Call
from gradlint.concrete.checksums import Checksum, checksum
from gradlint.concrete.places import Place
from gradlint.concrete.seen import Seen
from gradlint.concrete.tape import label_of
from gradlint.concrete.watcher import Known, Operation, Watcher
from gradlint.concrete.written import nodes_of
from gradlint.domain.fault.backward import GradientUninitialised, NonleafGradRead
from gradlint.facts.traits import UNFILLED

Tensor = torch.Tensor
_MOST = 1_000_000
"""Memory of more elements is no gradient that is given; reading it would take all its pages."""

_HOOKS: frozenset[Any] = frozenset({Tensor.register_hook, Tensor.register_post_accumulate_grad_hook})


class Gradients(Watcher):
    """Looks at the gradients that the program reads, and at those that it gives to a backward."""

    functions = _HOOKS | {
        getattr(owner, name) for owner in (torch, Tensor) for name in UNFILLED if hasattr(owner, name)
    }

    def __init__(self, known: Known) -> None:
        super().__init__(known)
        self._taken: dict[int, tuple[weakref.ref[Tensor], Place, Checksum | None]] = {}
        self._reads: dict[tuple[int, int], tuple[Place, Place | None]] = {}
        self._known: set[tuple[int, int]] = set()
        self._found: dict[tuple[int, int], Seen] = {}

    def operated(self, it: Operation) -> None:
        """Note memory that the program takes itself, with what stands in it, and hooks that see gradients."""
        if it.func in _HOOKS:
            self.training.hooked = True
        taken = self._taken
        for one in it.made if it.place.code is it.caller.f_code else ():
            if one.numel() <= _MOST:
                key = id(one)
                reference = weakref.ref(one, lambda _, key=key: taken.pop(key, None))  # type: ignore[misc]
                taken[key] = reference, it.place, checksum(one)

    def backward_begins(self, call: Call, place: Place) -> None:
        """Look for memory among the gradients that nobody has written since it was taken."""
        for one in call.gradients:
            reference, taken, before = self._taken.get(id(one), (None, None, None))
            if reference is None or reference() is not one or before is None or not one.numel():
                continue
            if not one.is_inference() and not one._version and checksum(one) == before:
                fields = {"taken": taken, "scaled": False}
                self._found.setdefault(place.key, Seen(GradientUninitialised, place, fields))

    def gradient_read(self, tensor: Tensor, gradient: Tensor | None, place: Place) -> None:
        """Note where the program reads the gradient of a result, and where it reads others: it is not always none."""
        if gradient is not None and tensor.grad_fn is None:
            self.training.leaf(tensor).asked = True
        if gradient is not None or tensor.grad_fn is None or tensor.retains_grad:
            self._known.add(place.key)
        else:
            label = label_of(tensor.grad_fn)
            self._reads.setdefault(place.key, (place, None if label is None else label.place))

    def seen(self) -> Iterator[Seen]:
        """Yield the gradients that are none at each read, unless the program asks whether there is one."""
        yield from self._found.values()
        for key, (place, made) in self._reads.items():
            if key not in self._known and not _asks(place):
                yield Seen(NonleafGradRead, place, {"made": made})


def _asks(place: Place) -> bool:
    """Return whether a file compares what is read at a place with None, or the name that it is assigned to."""
    nodes = list(nodes_of(place.filename))
    read = next((node for node in nodes if isinstance(node, ast.expr) and _range(node) == place.range), None)
    if read is None:
        return True
    names = {ast.unparse(read)}
    for node in nodes:
        if isinstance(node, ast.Assign) and _holds(node.value, read):
            names |= {ast.unparse(one) for one in node.targets}
        elif isinstance(node, ast.NamedExpr) and _holds(node.value, read):
            names.add(node.target.id)
    for node in nodes:
        if isinstance(node, ast.Compare) and isinstance(node.ops[0], (ast.Is, ast.IsNot, ast.Eq, ast.NotEq)):
            if ast.unparse(node.left) in names:
                return True
        elif isinstance(node, (ast.If, ast.While, ast.IfExp, ast.Assert)) and ast.unparse(node.test) in names:
            return True
    return False


def _holds(outer: ast.AST, inner: ast.AST) -> bool:
    return any(node is inner for node in ast.walk(outer))


def _range(node: ast.expr) -> tuple[int, int | None, int | None, int | None]:
    return node.lineno, node.end_lineno, node.col_offset, node.end_col_offset
