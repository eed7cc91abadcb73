"""Units whose activation is zero for each element of a whole sample: a rectifier lets nothing of them through."""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from typing import Any

import torch
from torch.nn import functional

from gradlint.concrete.watcher import Known, Operation, Watcher

Tensor = torch.Tensor
_RECTIFIERS = frozenset({torch.relu, torch.relu_, Tensor.relu, Tensor.relu_, functional.relu, functional.relu6})
_DEPTH = 3


@dataclass
class _Units:
    """The units of a layer, by its weight: which of them were `active`, and whether `all` were."""

    weight: weakref.ref[Tensor]
    active: Tensor
    all: bool = False


class Activations(Watcher):
    """Looks at what rectifiers give of the outputs of layers, until each unit was active once in the sample."""

    functions = _RECTIFIERS

    def __init__(self, known: Known) -> None:
        super().__init__(known)
        self._layers: dict[int, _Units] = {}
        self._is_over = False

    def paused(self) -> None:
        """Begin anew with the next sample; what was seen in this one stays until then."""
        self._is_over = True

    def operated(self, it: Operation) -> None:
        """Note which units of the layer below are active."""
        if self._is_over:
            self._layers.clear()
            self._is_over = False
        result = it.tracked[0] if it.tracked else None
        weight, axis = (None, 0) if result is None or not result.numel() else _layer_below(result)
        if weight is None or result is None:
            return
        known = self._layers.get(id(weight))
        if known is not None and known.weight() is weight and known.all:
            return
        with torch.no_grad():
            active = result.detach().transpose(0, axis).flatten(1).amax(1) > 0
            if known is not None and known.weight() is weight:
                active |= known.active
        self._layers[id(weight)] = _Units(weakref.ref(weight), active, bool(active.all()))

    def inactive(self, parameter: weakref.ref[Tensor]) -> int | None:
        """Return how many units of the layer of a weight were never active; None where that was not seen.

        Of a tensor there is one reference, which tells it from others after its end as well.
        """
        known = next((one for one in self._layers.values() if one.weight is parameter), None)
        return None if known is None else int((~known.active).sum())


def _layer_below(result: Tensor) -> tuple[Tensor | None, int]:
    """Return the weight of the layer whose output a rectifier was given, and the dimension of its units."""
    node: Any = result.grad_fn
    for _ in range(_DEPTH):
        node = node.next_functions[0][0] if node is not None and node.next_functions else None
        if node is None:
            break
        is_spatial = "Convolution" in type(node).__name__ or "BatchNorm" in type(node).__name__
        axis = 1 if is_spatial and result.dim() > 1 else result.dim() - 1
        for below, _ in node.next_functions:
            if type(below).__name__ == "TBackward0":
                below = below.next_functions[0][0]
            weight = getattr(below, "variable", None)
            least = 1 if "Norm" in type(node).__name__ else 2
            if weight is not None and result.dim() > 1 and weight.dim() >= least and len(weight) == result.shape[axis]:
                return weight, axis
        if len(node.next_functions) > 1:
            break
    return None, 0
