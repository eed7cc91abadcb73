"""Gradients that are clipped or used while they are those of a scaled loss, or clipped where there are none."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from types import FrameType
from typing import Any

import torch
from torch.amp import grad_scaler
from torch.nn.utils import clip_grad

from gradlint.concrete.calls import Call
from gradlint.concrete.leaf import Leaf
from gradlint.concrete.places import Place
from gradlint.concrete.seen import Seen
from gradlint.concrete.watcher import Known, Operation, Watcher
from gradlint.domain.fault import training_loop as fault

_CLIP = clip_grad.__file__
_SCALER = grad_scaler.__file__
_CLIPS = ("clip_grad_norm_", "clip_grad_value_")
SCALED = "gradlint.scaled"


class Scaling(Watcher):
    """Follows scalers and clipping, by the frames of torch's own functions in Python."""

    files = frozenset({_CLIP, _SCALER})
    sought = (fault.NothingClipped, fault.ClippedAfterStep, fault.ClippedScaled)

    def __init__(self, known: Known) -> None:
        super().__init__(known)
        self._scales = False
        self._clipped: tuple[int, int, int] | None = None
        self._clips: dict[tuple[int, int], Counter[str]] = {}
        self._found: dict[tuple[str, tuple[int, int]], Seen] = {}

    def paused(self) -> None:
        """Know of no frame that clips."""
        self._clipped = None

    def operated(self, it: Operation) -> None:
        """Look at what is done inside of a scaler, or of a function that clips."""
        name = it.caller.f_code.co_filename
        if name == _CLIP:
            frame = _outermost(it.caller)
            key = id(frame), self.training.number, self.training.steps
            if frame is not None and key != self._clipped:
                self._clipped = key
                self._clip(frame.f_locals, it.place)
        elif name == _SCALER and it.caller.f_code.co_name in ("scale", "apply_scale"):
            self._scales = True
            for one in it.tracked:
                node: Any = one.grad_fn
                node.metadata[SCALED] = True
        elif name == _SCALER and it.name == "_amp_foreach_non_finite_check_and_unscale_":
            self._unscale(it.caller.f_locals.get("optimizer"), it.place)

    def backpropagated(self, call: Call, place: Place) -> None:
        """Note whether gradients are those of a scaled loss."""
        if self._scales and call.fills and any(SCALED in way.node.metadata for way in call.ways):
            for one in call.leaves:
                self.training.leaf(one).scaled = True

    def _unscale(self, optimizer: Any, place: Place) -> None:
        for group in getattr(optimizer, "param_groups", ()):
            for one in group["params"]:
                leaf = self.training.leaf(one)
                if leaf.filled is not None and leaf.known and not leaf.scaled and not leaf.unscaled:
                    self._find(Seen(fault.UnscaledWithoutScale, place, {"backward": leaf.filled}))
                leaf.scaled, leaf.unscaled = False, True

    def _clip(self, given: dict[str, Any], place: Place) -> None:
        """Note what a call finds to clip; a bound that is infinite is there to get the norm alone."""
        parameters, bound = given.get("parameters"), given.get("max_norm", given.get("clip_value"))
        if not isinstance(parameters, (list, tuple)) or bound is None or math.isinf(float(bound)):
            return
        leaves = [self.training.leaf(one) for one in parameters if one.grad_fn is None and one.grad is not None]
        said = self._clips.setdefault(place.key, Counter())
        if not leaves:
            plain = bool(parameters) and all(one.grad_fn is not None and not one.retains_grad for one in parameters)
            kind = "non-leaf" if plain else "no gradient" if parameters else "used-up iterator"
            fields: dict[str, object] = {"kind": kind}
            self._find(Seen(fault.NothingClipped, place, fields))
            said[fault.NothingClipped.__name__] += 1
        elif all(leaf.used is not None and leaf.filled is None and leaf.known for leaf in leaves):
            self._find(Seen(fault.ClippedAfterStep, place, {"step": leaves[0].used}))
            said[fault.ClippedAfterStep.__name__] += 1
        elif any(leaf.scaled for leaf in leaves):
            filled = next(leaf.filled for leaf in leaves if leaf.scaled)
            self._find(Seen(fault.ClippedScaled, place, {"backward": filled}))
            said[fault.ClippedScaled.__name__] += 1
        said["calls"] += 1

    def step_begins(self, optimizer: Any, leaves: list[Leaf], place: Place) -> None:
        """Note a step on scaled gradients; an optimizer with a scale of its own divides them itself."""
        scaled = next((leaf for leaf in leaves if leaf.scaled and leaf.filled is not None), None)
        if scaled is not None and not hasattr(optimizer, "grad_scale"):
            self._find(Seen(fault.SteppedScaled, place, {"backward": scaled.filled}))

    def _find(self, seen: Seen) -> None:
        self._found.setdefault((seen.kind.__name__, seen.place.key), seen)

    def seen(self) -> Iterator[Seen]:
        """Yield what is so at each call of a place that clips, and what is so once of the others."""
        for (name, key), seen in self._found.items():
            counted = self._clips.get(key, Counter())
            if name not in counted or counted[name] == counted["calls"]:
                yield seen


def _outermost(frame: FrameType) -> FrameType | None:
    """Return the frame of the function that the program has called to clip."""
    found, one = None, frame
    while one is not None and one.f_code.co_filename in (_CLIP, torch.utils._contextlib.__file__):
        if one.f_code.co_name in _CLIPS:
            found = one
        one = one.f_back  # type: ignore[assignment]
    return found
