"""Sums over the bits of memory, which tell whether it has changed. Nothing is copied that has no strides."""

from __future__ import annotations

from typing import TypeAlias

import torch

Checksum: TypeAlias = tuple[int, int]
_INTEGERS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


def checksum(tensor: torch.Tensor) -> Checksum | None:
    """Return the sums of both halves of a tensor, as integers; None where its memory cannot be read."""
    try:
        with torch.no_grad():
            bits = tensor.detach()
            if bits.is_complex():
                bits = torch.view_as_real(bits)
            bits = bits.view(_INTEGERS[bits.element_size()]).reshape(-1)
            half = bits.numel() // 2
            return int(bits[:half].sum()), int(bits[half:].sum())
    except (RuntimeError, NotImplementedError, KeyError):
        return None  # Sparse, quantised, on the meta device, of a transform of torch.func.
