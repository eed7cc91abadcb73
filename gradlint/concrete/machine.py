"""The machine itself: a `TorchFunctionMode` under which the program runs.

Each call of torch by the program comes through `__torch_function__`. It is passed on as it is. Afterwards the tape gets
a label, a write is noted with the version that it led to, and a tensor that has left the graph with the place where.
Nothing is computed on the program's tensors, and none is kept alive.
"""

from __future__ import annotations

import inspect
import sys
import weakref
from collections.abc import Callable, Iterable, Mapping
from types import MethodWrapperType
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from gradlint.concrete import losses
from gradlint.concrete.blame import Blame
from gradlint.concrete.calls import Call, tensors_in
from gradlint.concrete.cuts import Cut, cut_of
from gradlint.concrete.measures import Measures
from gradlint.concrete.places import Place, Places
from gradlint.concrete.seen import ATTRIBUTE, Seen
from gradlint.concrete.tape import LABEL, Label, mark_freed, sequence_number
from gradlint.concrete.training import Training
from gradlint.concrete.writes import Writes

Tensor = torch.Tensor

_GRAD: Any = inspect.getattr_static(Tensor, "grad")
_DATA: Any = inspect.getattr_static(Tensor, "data")
_LOSSES = {getattr(torch.nn.functional, name): name for name in losses.WATCHED}
_SET_GRAD_ENABLED = torch._C._set_grad_enabled
_BACKWARDS = {torch.Tensor.backward, torch.autograd.backward, torch.autograd.grad}
_PROFILER = {torch.ops.profiler._record_function_enter_new, torch.ops.profiler._record_function_exit._RecordFunction}
_APART = {_SET_GRAD_ENABLED, *_BACKWARDS, *_PROFILER}
_EXITS = {Tensor.item, Tensor.__float__, Tensor.__int__, Tensor.tolist}
_OPTIM = torch.optim.__path__[0]
_TICK = 0xFF


def _nothing() -> None:
    """Do nothing."""


class Machine(TorchFunctionMode):
    """Watches one thread. `complain` says in one line why watching has ended."""

    def __init__(self, places: Places, complain: Callable[[str], None]) -> None:
        super().__init__()
        self.places = places
        self.on = True
        self.over = False
        self.partial = False
        """Whether some of the program has run unwatched: what nobody saw may have happened then."""
        self.operations = 0
        self._since = 0
        self.met: dict[object, Seen] = {}
        """What exceptions carry, those that the program has caught as well."""
        self.failed: set[Place] = set()
        self._complain = complain
        self._number = 0
        self._off: Place | None = None
        self.writes = Writes()
        self._cuts: dict[int, tuple[weakref.ref[Tensor], Cut]] = {}
        self.training = Training()
        self.measures = Measures()
        self.ticked: Callable[[], None] = _nothing
        """Called once in a while, for programs that take no steps."""
        self.losses: dict[tuple[int, int], losses.Given] = {}
        self.blame = Blame(self.writes, self.training, self.cut)

    @property
    def seen(self) -> list[Seen]:
        """Return what was seen so far, apart from what an exception carries."""
        return [*self.training.seen(), *losses.seen(self.losses.values())]

    def end(self, why: str | None = None) -> None:
        """Watch nothing from here on. The mode stays where it is, and passes on."""
        self.on = False
        if not self.over:
            self.over = True
            if why is not None:
                self._complain(why)

    def pause(self) -> None:
        """Watch nothing until `resume`."""
        self.on = False
        self.partial = True

    def resume(self) -> None:
        """Watch again; what may have changed unseen is known no more."""
        self.on = not self.over
        self._since = sequence_number()
        self._off = None
        self._cuts.clear()
        self.writes.clear()
        self.training.resume()

    def guarded(self, act: Callable[..., None], *given: Any) -> None:
        """Observe. A mistake of gradlint's ends the watching, and never the program."""
        if not self.on:
            return
        try:
            with torch._C.DisableTorchFunction():
                act(*given)
        except Exception as error:
            self.crashed(error)

    def crashed(self, error: Exception) -> None:
        """End the watching for a mistake of gradlint's, and say where it is."""
        trace = error.__traceback__
        while trace is not None and trace.tb_next is not None:
            trace = trace.tb_next
        where = "" if trace is None else f" ({trace.tb_frame.f_code.co_filename}, line {trace.tb_lineno})"
        self.end(f"internal error: {type(error).__name__}: {error}{where}; watching ends, the program goes on")

    def __torch_function__(
        self, func: Any, types: Iterable[type], args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        """Pass a call on, and look at what it did."""
        kwargs = kwargs or {}
        if not self.on:
            return func(*args, **kwargs)
        if type(func) is MethodWrapperType:
            result = func(*args, **kwargs)
            owner = func.__self__
            if owner is _GRAD and func.__name__ == "__set__":
                self.guarded(self._gradient_set, args[0])
            elif owner is _DATA and func.__name__ == "__get__":
                self.guarded(self._cut, "data", args, result, sys._getframe(1))
            return result
        caller = sys._getframe(1)
        if func in _APART:
            return self._apart(func, args, kwargs, caller)
        if self.training.stepping is not None and caller.f_code.co_filename.startswith(_OPTIM):
            return func(*args, **kwargs)  # What a step of torch's own writes is noted once, after it.
        given: list[Tensor] = []
        before: list[int] = []
        self.guarded(_look, args, kwargs, given, before)
        try:
            result = func(*args, **kwargs)
        except Exception as error:
            self.guarded(self._refused, error, func, args, caller)
            raise
        self.guarded(self._operated, func, args, given, before, result, caller)
        return result

    def _apart(self, func: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any], caller: Any) -> Any:
        """Pass on a call that is no operation: of the grad mode, of the engine, or of the profiler in each step."""
        if func in _BACKWARDS:
            return self._backward(func, args, kwargs, caller)
        if func is _SET_GRAD_ENABLED:
            self._off = None if args[0] else self.places.of(caller)
        return func(*args, **kwargs)

    def _gradient_set(self, leaf: Tensor) -> None:
        place = self.places.of(sys._getframe(2))
        if place is not None:
            self.training.cleared(leaf, place)

    def _operated(self, func: Any, args: Any, given: list[Tensor], before: list[int], result: Any, caller: Any) -> None:
        self.operations += 1
        if not self.operations & _TICK:
            self.ticked()
        place = self.places.of(caller)
        if place is None:
            return
        made = [result] if isinstance(result, Tensor) else list(tensors_in((result,)))
        if before:
            after = _versions(given)
            if after != before:
                self._written(func, given, before, after, place, caller)
                made += [one for one, old, new in zip(given, before, after, strict=True) if old != new]
        tracked = [one for one in made if _requires_grad(one)]
        if not tracked:
            self._cut(None, args, result, caller, func)
            return
        self._number += 1
        node = tracked[0].grad_fn
        if node is None:
            self.training.made(tracked[0], place)
            return
        reads = tuple(key for one in (*given, *made) if (key := _memory(one)) is not None)
        label = Label(_name(func), place, self._number, reads)
        for one in tracked:
            own: Any = one.grad_fn
            if own is not None:
                own.metadata[LABEL] = label
        if func in _LOSSES:
            losses.note(self.losses, _LOSSES[func], place, args)

    def _written(
        self, func: Any, given: list[Tensor], before: list[int], after: list[int], place: Place, caller: Any
    ) -> None:
        name = _name(func)
        written = [one for one, old, new in zip(given, before, after, strict=True) if old != new]
        for one in written:
            key = _memory(one)
            if key is not None:
                self.writes.note(key, name, place)
        self.training.written(written, name, place, caller.f_code.co_filename)

    def _cut(self, kind: str | None, args: Any, result: Any, caller: Any, func: Any = None) -> None:
        """Note where a tensor without a graph was computed from one that has some."""
        if not isinstance(result, Tensor):
            if isinstance(result, (int, float)) and func in _EXITS and any(map(_requires_grad, args[:1])):
                self.blame.exit = self.places.of(caller)
            return
        if _requires_grad(result):
            return
        given = list(tensors_in(args))
        inherited = next((cut for one in given if (cut := self.cut(one)) is not None), None)
        if inherited is None:
            source = next((one for one in given if _requires_grad(one)), None)
            place = self.places.of(caller) if source is not None else None
            if place is None or source is None:
                return
            inherited = cut_of(kind, _name(func) if func is not None else "data", source, result, place)
            if inherited is not None and inherited.kind == "no_grad" and self._off is not None:
                inherited = inherited._replace(place=self._off)
        if inherited is not None and not any(one is result for one in given):
            key, cuts = id(result), self._cuts
            cuts[key] = weakref.ref(result, lambda _: cuts.pop(key, None)), inherited

    def step_ended(self, optimizer: Any) -> None:
        """Note that an optimizer has written its parameters."""
        place = self.training.step_ended(optimizer)
        self.measures.step_ended()
        for group in optimizer.param_groups if place is not None else ():
            for one in group["params"]:
                key = _memory(one) if one.grad is not None else None
                if key is not None and place is not None:
                    self.writes.note(key, "optimizer.step", place)

    def cut(self, tensor: Tensor) -> Cut | None:
        """Return where a tensor has lost its graph."""
        found = self._cuts.get(id(tensor))
        return found[1] if found is not None and found[0]() is tensor else None

    def _refused(self, error: Exception, func: Any, args: Any, caller: Any) -> None:
        place = self.places.of(caller)
        if place is not None:
            if func in _LOSSES:
                losses.note(self.losses, _LOSSES[func], place, args)
            self.blame.operation(error, _name(func), list(tensors_in(args)), place)
            self._raised(error, place)

    def _raised(self, error: Exception, place: Place) -> None:
        """Note where torch has raised, and what is known of it: the program may catch it."""
        self.failed.add(place)
        seen = getattr(error, ATTRIBUTE, None)
        if isinstance(seen, Seen):
            self.met[seen.key] = seen

    def _backward(self, func: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any], caller: Any) -> Any:
        place = self.places.of(caller)
        found: list[Any] = []
        if place is not None:
            self.guarded(self._prepare, func, args, kwargs, place, found)
        try:
            result = func(*args, **kwargs)
        except RuntimeError as error:
            if place is not None and found:
                self.guarded(self.blame.backward, error, found[0], place)
                self.guarded(self._raised, error, place)
            raise
        if found:
            self.guarded(self._backpropagated, found[0], place)
        return result

    def _prepare(self, func: Any, args: Any, kwargs: Mapping[str, Any], place: Place, found: list[Any]) -> None:
        found.append(Call.of(func, args, kwargs, self._since))

    def _backpropagated(self, call: Call, place: Place) -> None:
        self.training.number += 1
        if not call.retains:
            mark_freed(call.ways, place)
        if call.fills:
            self.training.backpropagated(call.leaves, place)
            self.measures.backpropagated(call.roots)


def _requires_grad(tensor: Tensor) -> bool:
    """Return the flag; torch raises where it would have to rebase a view that it does not."""
    try:
        return tensor.requires_grad and (tensor.grad_fn is not None or tensor.is_leaf)
    except RuntimeError:
        return False


def _look(args: tuple[Any, ...], kwargs: Mapping[str, Any], given: list[Tensor], before: list[int]) -> None:
    """Note the tensors among arguments, and their versions."""
    for one in args:
        if isinstance(one, Tensor):
            given.append(one)
        elif isinstance(one, (list, tuple, dict)):
            given += tensors_in((one,))
    if kwargs:
        given += tensors_in(kwargs.values())
    before += _versions(given)


def _versions(tensors: list[Tensor]) -> list[int]:
    """Return the version counters; a tensor of inference mode has none."""
    try:
        return [one._version for one in tensors]
    except RuntimeError:
        return [-1 if one.is_inference() else one._version for one in tensors]


def _memory(tensor: Tensor) -> tuple[int, int] | None:
    """Return the storage of a tensor, and its version; None for one without a storage."""
    try:
        return tensor.untyped_storage()._cdata, tensor._version
    except (NotImplementedError, RuntimeError):
        return None  # Sparse, of inference mode, of a transform of torch.func, or of a class of the program's own.


def _name(func: Any) -> str:
    """Return how an operation is called: `exp`, `add_`, `index assignment`; `nn.functional.relu`."""
    name: str = getattr(func, "__name__", type(func).__name__)
    if getattr(func, "__module__", None) == "torch.nn.functional":
        return f"nn.functional.{name}"
    return _NAMES.get(name, name)


_NAMES = {
    "__setitem__": "index assignment",
    "__getitem__": "index",
    "__rsub__": "sub",
    "rsub": "sub",
    "__rpow__": "pow",
    "__rdiv__": "div",
    "__rtruediv__": "div",
    "__matmul__": "matmul",
    "__rmatmul__": "matmul",
    "true_divide": "div",
}
