"""What torch keeps for backward while a program runs: which line changed it, and what the gradient should be.

Saved tensors are packed with a copy of their values. Backward through the copies gives the gradient that the
program's forward pass asked for; a difference to the plain run is a silent mistake. With hooks torch does not
compare versions, so a `Witness` compares them itself and knows the lines that ran in between.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import torch
from torch.overrides import TorchFunctionMode


class Packed:
    """A saved tensor: an alias that sees later writes, and the state at the time it was saved."""

    def __init__(self, tensor: torch.Tensor) -> None:
        self.alias = tensor
        self.version = tensor._version
        self.copy = tensor.detach().clone()
        self.written: list[int] = []
        self._seen = self.version
        self._last = self.copy

    def changed_since_last_look(self) -> bool:
        """Tell whether the version or the values moved since the last call."""
        if self.alias._version == self._seen and _same(self.alias, self._last):
            return False
        self._seen, self._last = self.alias._version, self.alias.detach().clone()
        return True


class Stale(Exception):  # noqa: N818 - it is a stop, raised where torch would raise, not an error of ours
    """Backward met a saved tensor whose version moved on; `lines` are the program's lines that moved it."""

    def __init__(self, lines: tuple[int, ...]) -> None:
        super().__init__("saved tensor modified")
        self.lines = lines


def _same(left: torch.Tensor, right: torch.Tensor) -> bool:
    return left.shape == right.shape and bool(torch.allclose(left, right, equal_nan=True))


class Witness:
    """Watches one run of the program `filename`.

    `changed` tells whether backward used a value that had changed, `lines` who changed it.
    """

    def __init__(self, filename: str, stop_when_stale: bool) -> None:
        self.lines: set[int] = set()
        self.changed = False
        self._filename = filename
        self._stop = stop_when_stale
        self._live: weakref.WeakSet[Packed] = weakref.WeakSet()
        self._line = 0

    def _pack(self, tensor: torch.Tensor) -> Packed:
        packed = Packed(tensor)
        self._live.add(packed)
        return packed

    def _unpack(self, packed: Packed) -> torch.Tensor:
        if self._stop and packed.alias._version != packed.version:
            self._look()
            raise Stale(tuple(packed.written))
        if not _same(packed.alias, packed.copy):
            self.changed = True
            self.lines.update(packed.written)
        return packed.copy

    def _look(self) -> None:
        for packed in list(self._live):
            if packed.changed_since_last_look():
                packed.written.append(self._line)

    def _trace(self, frame: FrameType, event: str, _: object) -> Any:
        if frame.f_code.co_filename != self._filename:
            return None
        self._look()
        if event != "return":
            self._line = frame.f_lineno
        return self._trace

    @contextmanager
    def watching(self, lines: bool) -> Iterator[None]:
        """Copy what is saved; with `lines`, also look after every line of the program."""
        before = sys.gettrace()
        with torch.autograd.graph.saved_tensors_hooks(self._pack, self._unpack):
            if lines:
                sys.settrace(self._trace)
            try:
                yield
            finally:
                sys.settrace(before)


class Delicate(TorchFunctionMode):
    """Collects the lines that write to memory of parts from one call, or of tensors whose elements overlap.

    Torch refuses such a write at once, or finds it out when the parts are used or gradients flow back.
    """

    def __init__(self, filename: str) -> None:
        super().__init__()
        self.lines: set[int] = set()
        self._filename = filename
        self._watched: list[tuple[torch.Tensor, int]] = []
        self._line = 0

    def __torch_function__(
        self, func: Callable[..., Any], _: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Watch what comes out of a call if it is delicate."""
        result = func(*args, **(kwargs or {}))
        for tensor in result if isinstance(result, (list, tuple)) else [result]:
            if isinstance(tensor, torch.Tensor) and not tensor.is_inference():
                many = isinstance(result, (list, tuple)) and tensor._is_view()
                if many or _overlaps(tensor):
                    self._watched.append((tensor, tensor._version))
        return result

    def _trace(self, frame: FrameType, event: str, _: object) -> Any:
        if frame.f_code.co_filename != self._filename:
            return None
        with torch._C.DisableTorchFunction():
            for index, (tensor, version) in enumerate(self._watched):
                if tensor._version != version:
                    self.lines.add(self._line)
                    self._watched[index] = (tensor, tensor._version)
        if event != "return":
            self._line = frame.f_lineno
        return self._trace

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Watch a run of the program."""
        before = sys.gettrace()
        with self:
            sys.settrace(self._trace)
            try:
                yield
            finally:
                sys.settrace(before)


def _overlaps(tensor: torch.Tensor) -> bool:
    if tensor.layout != torch.strided:
        return False
    return any(step == 0 and size > 1 for step, size in zip(tensor.stride(), tensor.shape, strict=True))


class Gradients:
    """Records the gradients of every backward and grad call, in order."""

    def __init__(self) -> None:
        self.values: list[torch.Tensor] = []

    @contextmanager
    def recording(self) -> Iterator[None]:
        """Listen to the entry of the autograd engine."""
        original = torch.autograd.graph._engine_run_backward

        def run(roots: Any, *arguments: Any, **options: Any) -> Any:
            leaves = _leaves(roots)
            result = original(roots, *arguments, **options)
            found = [leaf.grad for leaf in leaves] + list(result or ())
            # A transform's values mean nothing once it is left.
            plain = [
                one for one in found if one is not None and not torch._C._functorch.is_functorch_wrapped_tensor(one)
            ]
            self.values += [gradient.detach().clone() for gradient in plain]
            return result

        try:
            _set_engine(run)
            yield
        finally:
            _set_engine(original)

    def same_as(self, other: Gradients) -> bool:
        """Tell whether both runs found the same gradients."""
        return len(self.values) == len(other.values) and all(map(_same, self.values, other.values))

    def finite(self) -> bool:
        """Tell whether all gradients are finite."""
        return all(bool(torch.isfinite(value).all()) for value in self.values)


def _set_engine(run: Callable[..., Any]) -> None:
    """Both modules hold a name of their own for the entry of the engine."""
    for module in (torch.autograd, torch.autograd.graph):
        setattr(module, "_engine_run_backward", run)  # noqa: B010 - the name is private, mypy knows no assignment


def _leaves(roots: Any) -> list[torch.Tensor]:
    """Return the leaves below the roots, in a fixed order."""
    queue: list[Any] = [root.grad_fn for root in roots if isinstance(root, torch.Tensor)]
    seen: dict[Any, None] = {}
    while queue:
        node = queue.pop()
        if node is None or node in seen:
            continue
        seen[node] = None
        queue += [following for following, _ in node.next_functions]
    return [node.variable for node in seen if hasattr(node, "variable")]
