"""Tests before which torch raises that its Python source does not show, written by hand: one file for each family."""

from __future__ import annotations

from tools.guards_by_hand.elements import ELEMENTS
from tools.guards_by_hand.images import IMAGES
from tools.guards_by_hand.layers import LAYERS
from tools.guards_by_hand.lists import LISTS
from tools.guards_by_hand.losses import LOSSES
from tools.guards_by_hand.operations import OPERATIONS
from tools.guards_by_hand.sequences import SEQUENCES
from tools.guards_by_hand.training import TRAINING
from tools.guards_by_hand.written import ByHand

__all__ = ["BY_HAND", "ByHand"]

BY_HAND: tuple[ByHand, ...] = (*LOSSES, *LAYERS, *SEQUENCES, *TRAINING, *ELEMENTS, *LISTS, *IMAGES, *OPERATIONS)
