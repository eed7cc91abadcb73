"""The first value that is not finite: the operation that makes it, forward or backward, and what it was given.

Operations with a pole, or with an infinite slope, are looked at when they run; all else when a loss or a gradient is
not finite: then the saved tensors of the tape tell. Gradients are looked at where a backward runs through such an
operation, and by each step.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator
from typing import Any, Literal, NamedTuple

import torch

from gradlint.concrete.calls import Call
from gradlint.concrete.leaf import Leaf
from gradlint.concrete.places import Place
from gradlint.concrete.scaling import SCALED
from gradlint.concrete.seen import Seen
from gradlint.concrete.tape import Way, label_of, saved
from gradlint.concrete.watcher import Known, Operation, Watcher
from gradlint.domain.fault.numerics import MaskedSingularity, NonfiniteGradient, NonfiniteValue, SingularPoint
from gradlint.facts import traits

_SUSPECT = "gradlint.suspect"
_NAMES = traits.POLES | traits.ROOTS | traits.SINGULAR_AT_ONE | {"exp", "expm1", "div", "true_divide", "pow", "logit"}
_METHODS = ("__truediv__", "__rtruediv__", "__rdiv__", "__div__", "__pow__", "__rpow__")
_FUNCTIONS = frozenset(
    getattr(owner, name) for owner in (torch, torch.Tensor) for name in (*_NAMES, *_METHODS) if hasattr(owner, name)
)
_MASKS: dict[str, Literal["where", "masked_fill", "masked_select", "nan_to_num", "product", "subscript"]] = {
    "where": "where",
    "masked_fill": "masked_fill",
    "masked_select": "masked_select",
    "nan_to_num": "nan_to_num",
    "mul": "product",
    "index": "subscript",
}
_STEPS = 20
_EVERY = 10
"""Gradients are looked at by the first steps of an optimizer, and then by one in so many."""


class Suspect(NamedTuple):
    """An operation whose value, or whose slope where it was computed, is not finite; `given` says what it got."""

    op: str
    place: Place
    value: str
    given: str
    hooks: dict[str, bool]


class Nonfinite(Watcher):
    """Looks for the first value that is not finite. What follows from it is nothing new."""

    functions = _FUNCTIONS

    def __init__(self, known: Known) -> None:
        super().__init__(known)
        self._found: Seen | None = None
        self._suspects = 0
        self._watched: list[tuple[Way, Suspect, Any]] = []
        self._steps = 0

    def paused(self) -> None:
        """Leave the nodes of a backward that is under way."""
        for _, _, handle in self._watched:
            handle.remove()
        self._watched = []

    def operated(self, it: Operation) -> None:
        """Look at the result of an operation that may make infinity of a finite number."""
        if self._found is not None or not it.tracked:
            return
        result, node = it.tracked[0].detach(), it.tracked[0].grad_fn
        if node is None or not result.is_floating_point() or not result.numel():
            return
        if result.device.type == "cpu":  # The program does not wait for another device.
            with contextlib.suppress(RuntimeError):  # No value is known of a tensor of `vmap`.
                self._look(it, result, node)

    def _look(self, it: Operation, result: torch.Tensor, node: Any) -> None:
        name, value = it.name.strip("_"), ""
        if not math.isfinite(float(result.sum())) and not bool(result.isfinite().all()):
            value = "NaN" if bool(result.isnan().any()) else "infinity"
            if not all(bool(one.detach().isfinite().all()) for one in it.given if one.is_floating_point()):
                return
        elif not _is_steep(name, it, result):
            return
        self._suspects += 1
        given = "; ".join(_range(one) for one in it.given if one.is_floating_point())
        node.metadata[_SUSPECT] = Suspect(name, it.place, value, given, {})

    def backward_begins(self, call: Call, place: Place) -> None:
        """Look at the loss; and watch the operations of its graph whose slope is infinite."""
        self._watched = []
        if self._found is not None:
            return
        root = next((one for one in call.roots if one.is_floating_point() and one.numel() == 1), None)
        number = 0.0 if root is None else _number(root.detach())
        node: Any = None if root is None else root.grad_fn
        allowed = node is not None and SCALED in node.metadata and not math.isnan(number)
        if not math.isfinite(number) and not allowed:
            self._found = self._first(call, number, place)
            return
        suspects, self._suspects = self._suspects, 0
        for way in call.ways if suspects else ():
            one = way.node.metadata.get(_SUSPECT)
            if isinstance(one, Suspect):
                self._watched.append((way, one, way.node.register_hook(_noting(one.hooks))))

    def backpropagated(self, call: Call, place: Place) -> None:
        """See whether one of the watched operations has made a gradient that is not finite."""
        for _, _, handle in self._watched:
            handle.remove()
        for way, one, _ in self._watched if self._found is None else ():
            if one.hooks.get("makes"):
                self._found = self._of_slope(way, one, call, place)
        self._watched = []

    def _of_slope(self, way: Way, one: Suspect, call: Call, place: Place) -> Seen:
        """Return what is said of an operation whose gradient is not finite: its value may be masked away."""
        if one.hooks.get("masked"):
            above = [other.label for other in call.ways if other.label and way.label and other.label.op in _MASKS]
            masks = sorted((label.number, label) for label in above if label.number > (way.label or label).number)
            if masks:
                label = masks[0][1]
                fields = {"op": one.op, "mask": label.place, "by": _MASKS[label.op]}
                return Seen(MaskedSingularity, one.place, fields)
        if one.op in traits.ROOTS | traits.POLES:
            node = next((below for below, _ in way.node.next_functions if below is not None), None)
            label_ = None if node is None else label_of(node)
            origin = one.place if label_ is None else label_.place
            fields = {"op": one.op, "origin": origin, "kind": "seen", "slope": "infinite"}
            return Seen(SingularPoint, one.place, fields)
        return Seen(NonfiniteGradient, one.place, {"op": one.op, "given": one.given, "backward": place, "leaf": None})

    def _first(self, call: Call, number: float, place: Place) -> Seen:
        """Return the operation that made the first value that is not finite, as far as it can be told."""
        value = "NaN" if math.isnan(number) else "infinity"
        known = [way for way in call.ways if way.label is not None]
        suspects = [
            (way.label.number, one)
            for way in known
            if way.label is not None and isinstance(one := way.node.metadata.get(_SUSPECT), Suspect) and one.value
        ]
        if suspects:
            one = min(suspects, key=lambda pair: pair[0])[1]
            fields: dict[str, object] = {"op": one.op, "value": one.value, "given": one.given, "loss": place}
            return Seen(NonfiniteValue, one.place, fields)
        for way in sorted(known, key=lambda way: way.label.number if way.label else 0):
            for name, read in saved(way.node):
                label, given = way.label, _broken(read)
                if not given or label is None:
                    continue
                below = [label_of(node) for node, _ in way.node.next_functions if node is not None]
                makers = [one for one in below if one is not None and one.number < label.number]
                if name != "result" and makers:
                    label, given = max(makers, key=lambda one: one.number), ""
                elif name == "result":
                    given = ""
                fields = {"op": label.op, "value": value, "given": given, "loss": place}
                return Seen(NonfiniteValue, label.place, fields)
        return Seen(NonfiniteValue, place, {"op": "", "value": value, "given": "", "loss": place})

    def step_begins(self, optimizer: Any, leaves: list[Leaf], place: Place) -> None:
        """Look at the gradients."""
        self._steps += 1
        if self._found is not None or (self._steps > _STEPS and self._steps % _EVERY):
            return
        for leaf in leaves:
            tensor = leaf.tensor()
            grad = None if tensor is None else tensor.grad
            if grad is None or grad.layout is not torch.strided or leaf.filled is None:
                continue
            grad = grad.detach()
            norm = float(grad.sum())
            leaf.checked += 1
            if norm == 0 and not bool(grad.any()):
                leaf.zeros += 1
                self.training.zeros += 1
            if not math.isfinite(norm) and not bool(grad.isfinite().all()) and not leaf.unscaled:
                fields = {"op": "", "given": "", "backward": place, "leaf": leaf.made}
                self._found = Seen(NonfiniteGradient, leaf.filled, fields)
                return

    def seen(self) -> Iterator[Seen]:
        """Yield what came first."""
        if self._found is not None:
            yield self._found


def _number(tensor: torch.Tensor) -> float:
    """Return the value of a tensor of one element; zero for one of `vmap`, of which none is known."""
    try:
        return float(tensor)
    except RuntimeError:
        return 0.0


def _is_steep(name: str, it: Operation, result: torch.Tensor) -> bool:
    """Return whether the slope of an operation is infinite at one of its finite values."""
    if name in traits.SINGULAR_AT_ONE:
        return bool((it.given[0].detach().abs() == 1).any())
    exponent = it.args[1] if name == "pow" and len(it.args) > 1 else None
    if name == "sqrt" or (isinstance(exponent, float) and 0 < exponent < 1):
        return not bool(result.all())
    return False


def _noting(into: dict[str, bool]) -> Callable[[Any, Any], None]:
    """Return a hook that notes whether a node makes a gradient that is not finite of one that is."""

    def note(inputs: tuple[torch.Tensor | None, ...], outputs: tuple[torch.Tensor | None, ...]) -> None:
        with torch._C.DisableTorchFunction():
            given = [one.detach() for one in outputs if one is not None]
            made = [one.detach() for one in inputs if one is not None]
            broken = [one for one in made if not bool(one.isfinite().all())]
            into["makes"] = bool(broken) and all(bool(one.isfinite().all()) for one in given)
            if into["makes"] and broken[0].shape == given[0].shape:
                into["masked"] = not bool(given[0][~broken[0].isfinite()].any())

    return note


def _broken(read: Callable[[], object]) -> str:
    """Return the range of a saved tensor that is not finite; an empty text for another, or where torch refuses it."""
    try:
        value = read()
    except RuntimeError:
        return ""
    if not isinstance(value, torch.Tensor) or not value.is_floating_point() or not value.numel():
        return ""
    return "" if bool(value.isfinite().all()) else _range(value.detach())


def _range(tensor: torch.Tensor) -> str:
    """Return between which numbers the values of a tensor lie."""
    value = tensor.detach()
    kept = value[value.isfinite()]
    low, high = (float(kept.min()), float(kept.max())) if kept.numel() else (math.nan, math.nan)
    lost = value.numel() - kept.numel()
    shape = "x".join(map(str, value.shape)) or "one element"
    return f"{shape} from {low:.3g} to {high:.3g}" + (f", {lost} not finite" if lost else "")
