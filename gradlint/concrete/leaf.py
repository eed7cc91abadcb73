"""What is known of a leaf of the tape, and of an optimizer."""

from __future__ import annotations

import weakref
from collections import deque
from dataclasses import dataclass, field
from typing import Any

import torch

from gradlint.concrete.places import Place

Tensor = torch.Tensor


@dataclass(eq=False)
class Leaf:
    """A leaf: since its gradient was cleared last, the backward that filled it and the step that used it.

    `dropped` is what was cleared before any step, with the backward. `known` is False where the gradient was
    written by the program itself, so that nothing is said of it until it is cleared. `untouched`: it requires grad,
    and no step has found a gradient. `idle`: how many backwards in a row were cleared that no step has used, the
    last ones of the same place, with the place that has cleared them, an optimizer. `began` is the version of the
    leaf when that began, `version` that of the last. `scaled`: the gradient is that of a scaled loss. `stepped`: an
    optimizer has stepped over it, with a gradient or without. `read`: after a backward, code outside of torch looks
    at the gradient, or may write through `.data`; `looked`: the user's own code does. `held`: an optimizer has been
    given it. `born` numbers the leaves as they come. `random`: it was drawn; `constant`: what has written it last
    fills it with one number. `loaded`: how many backwards there were when it was copied from elsewhere last; -1 if
    it never was. `built` is where the module was made that has registered it. `lost`: something else is said of why
    no gradient reaches it. `hack`: it was made a leaf at a place, after a cut. Of so many gradients that were
    `checked`, so many were all `zeros`. `asked`: the program has read the gradient since the backward.
    """

    tensor: weakref.ref[Tensor]
    made: Place | None = None
    built: Place | None = None
    random: bool = False
    constant: bool = False
    name: str = ""
    filled: Place | None = None
    used: Place | None = None
    dropped: tuple[Place, Place] | None = None
    known: bool = True
    backwards: int = 0
    untouched: bool = True
    since: int = 0
    idle: list[tuple[Place, Place]] = field(default_factory=list)
    unused: deque[tuple[Place, Place]] = field(default_factory=lambda: deque(maxlen=2))
    began: int = 0
    version: int = 0
    stepped: bool = False
    scaled: bool = False
    unscaled: bool = False
    read: bool = False
    looked: bool = False
    held: bool = False
    born: int = 0
    loaded: int = -1
    lost: bool = False
    checked: int = 0
    zeros: int = 0
    asked: bool = False
    hack: tuple[Any, Place] | None = None

    @property
    def is_trained_on(self) -> bool:
        """Return whether a backward has reached it after it was copied from elsewhere."""
        return 0 <= self.loaded < self.backwards


@dataclass
class Steps:
    """An optimizer: where it was `made`, how many of its steps found gradients, and the first that found none.

    So many of its steps were `moving` its parameters, and so many were not, before any or after one: `still`; `idle` is
    the first of those, with its learning rate. `schedule` is where a scheduler of its has stepped last.
    """

    optimizer: weakref.ref[Any]
    made: Place | None = None
    leaves: list[Leaf] = field(default_factory=list)
    useful: int = 0
    empty: Place | None = None
    misplaced: tuple[Place, Place, Place] | None = None
    cleared: tuple[Place, Place] | None = None
    partial: tuple[Place, Place, Place] | None = None
    whole: bool = False
    lost: int = 0
    seen: int = 0
    moving: int = 0
    still: int = 0
    idle: tuple[Place, float | None] | None = None
    schedule: Place | None = None
