"""The stack of torch's function modes: how a mode comes onto it, and leaves it, whatever the program has put there."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import overrides
from torch.overrides import TorchFunctionMode
from torch.utils._device import DeviceContext

_push: Callable[[TorchFunctionMode], None] = overrides._push_mode
_pop: Callable[[], TorchFunctionMode] = overrides._pop_mode
depth: Callable[[], int] = torch._C._len_torch_function_stack
"""Returns how many modes are on the stack: a mode that is at work is not."""


def put(mode: TorchFunctionMode) -> None:
    """Put a mode below those of the program, so that each of them still leaves by itself.

    A default device stays at the bottom, where torch expects it.
    """
    above = _taken()
    if above and isinstance(above[-1], DeviceContext):
        _push(above.pop())
    _put([mode, *above[::-1]])


def take(mode: TorchFunctionMode) -> bool:
    """Take a mode away from where it is; return whether it was there: while it acts, it is not."""
    above = _taken()
    _put([one for one in above[::-1] if one is not mode])
    return any(one is mode for one in above)


def _taken() -> list[TorchFunctionMode]:
    return [_pop() for _ in range(depth())]


def _put(modes: list[TorchFunctionMode]) -> None:
    for mode in modes:
        _push(mode)
