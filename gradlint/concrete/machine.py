"""The machine itself: a `TorchFunctionMode` under which the program runs.

Each call of torch by the program comes through `__torch_function__`. It is passed on as it is. Afterwards the tape gets
a label, a write is noted with the version that it led to, and a tensor that has left the graph with the place where.
Nothing is computed on the program's tensors, and none is kept alive.
"""

from __future__ import annotations

import inspect
import sys
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from types import MethodWrapperType
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from gradlint.concrete import losses
from gradlint.concrete.blame import Blame
from gradlint.concrete.calls import Call, tensors_in
from gradlint.concrete.cuts import Cut, cut_of
from gradlint.concrete.places import Place, Places, Spot
from gradlint.concrete.seen import Seen
from gradlint.concrete.tape import LABEL, Label, leaves_of, mark_freed, nodes_below
from gradlint.concrete.training import Training
from gradlint.concrete.watcher import Known, Operation, Watcher, hearing
from gradlint.concrete.watchers import WATCHERS
from gradlint.concrete.writes import Writes, memory_of

Tensor = torch.Tensor

_GRAD: Any = inspect.getattr_static(Tensor, "grad")
_REQUIRES_GRAD: Any = inspect.getattr_static(Tensor, "requires_grad")
_IS_LEAF: Any = inspect.getattr_static(Tensor, "is_leaf")
_DATA: Any = inspect.getattr_static(Tensor, "data")
_PROPERTIES = {_GRAD, _REQUIRES_GRAD, _IS_LEAF, _DATA}
_BACKWARDS = {torch.Tensor.backward, torch.autograd.backward}
_LOSSES = {getattr(torch.nn.functional, name): name for name in losses.WATCHED}
_SET_GRAD_ENABLED = torch._C._set_grad_enabled
_ARRAYS: set[Any] = {Tensor.numpy, Tensor.__array__}
_EXITS: set[Any] = {Tensor.item, Tensor.__float__, Tensor.__int__, Tensor.tolist, *_ARRAYS}
_DRAWS = frozenset({"uniform_", "normal_", "trunc_normal_"})
_NUMBERS = 64
"""So many numbers that were tensors are remembered."""
_DISTRIBUTIONS = torch.distributions.__path__[0]
_OPTIM = torch.optim.__path__[0]
_TORCH = torch.__path__[0]


class Machine(TorchFunctionMode):
    """Watches one thread. `complain` says in one line why watching has ended."""

    def __init__(self, places: Places, complain: Callable[[str], None]) -> None:
        super().__init__()
        self.places = places
        self.on = True
        self.operations = 0
        self._complain = complain
        self._number = 0
        self._off: Place | None = None
        self._draws = False
        self._times: dict[tuple[int, int], int] = {}
        self._exits: OrderedDict[int, tuple[float, Cut]] = OrderedDict()
        self.writes = Writes()
        self._cuts: dict[int, tuple[weakref.ref[Tensor], Cut]] = {}
        self.training = Training()
        self.losses: dict[tuple[int, int], losses.Given] = {}
        self.inside: list[Any] = []
        self.noted: set[int] = set()
        known = Known(self.training, self.cut, self.inside, self.noted)
        self.watchers: list[Watcher] = [one(known) for one in WATCHERS]
        self._functions = frozenset().union(*(one.functions for one in self.watchers))
        self._files = frozenset().union(*(one.files for one in self.watchers))
        self._on_backward = hearing(self.watchers, "backward_begins")
        self._on_backpropagated = hearing(self.watchers, "backpropagated")
        self._on_step = hearing(self.watchers, "step_begins")
        self._on_stepped = hearing(self.watchers, "step_ended")
        self._on_optimizer = hearing(self.watchers, "optimizer_made")
        self._on_entered = hearing(self.watchers, "module_entered")
        self._on_left = hearing(self.watchers, "module_left")
        self._on_mode = hearing(self.watchers, "mode_switched")
        self._optimizers: weakref.WeakSet[Any] = weakref.WeakSet()
        self.blame = Blame(self.writes, self.training, self.cut)

    @property
    def seen(self) -> list[Seen]:
        """Return what was seen so far, apart from what an exception carries."""
        heard: list[Seen] = []
        for one in self.watchers:
            try:
                heard += one.seen()
            except Exception as error:
                self._complain(f"internal error: {type(error).__name__}: {error}; {type(one).__name__} reports nothing")
        return [*heard, *self.training.seen(), *losses.seen(self.losses.values())]

    def end(self, why: str | None = None) -> None:
        """Watch nothing from here on. The mode stays where it is, and passes on."""
        if self.on:
            self.on = False
            if why is not None:
                self._complain(why)

    def guarded(self, act: Callable[..., None], *given: Any) -> None:
        """Observe. A mistake of gradlint's ends the watching, and never the program."""
        if not self.on:
            return
        try:
            with torch._C.DisableTorchFunction():
                act(*given)
        except Exception as error:
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
        caller = sys._getframe(1)
        if self.training.stepping is not None and caller.f_code.co_filename.startswith(_OPTIM):
            return func(*args, **kwargs)  # What a step of torch's own writes is noted once, after it.
        if type(func) is MethodWrapperType:
            result = func(*args, **kwargs)
            if func.__self__ in _PROPERTIES:
                self._property(func.__self__, func.__name__ == "__set__", args, result, caller)
            return result
        if func is _SET_GRAD_ENABLED:
            self._off = None if args[0] else self.places.of(caller)
            self._draws = _is_below(caller, _DISTRIBUTIONS)
            return func(*args, **kwargs)
        if func in _BACKWARDS or func is torch.autograd.grad:
            return self._backward(func, args, kwargs, caller)
        given: list[Tensor] = []
        before: list[int] = []
        self.guarded(self._begins, args, kwargs, given, before)
        try:
            result = func(*args, **kwargs)
        except RuntimeError as error:
            self.guarded(self._refused, error, func, args, caller)
            raise
        self.guarded(self._operated, func, args, kwargs, given, before, result, caller)
        return result

    def _begins(self, args: Any, kwargs: Mapping[str, Any], given: list[Tensor], before: list[int]) -> None:
        given += tensors_in((*args, *kwargs.values()))
        before += _versions(given)

    def _property(self, which: Any, writes: bool, args: tuple[Any, ...], result: Any, caller: Any) -> None:
        if which is _GRAD and writes:
            self.guarded(self._gradient_set, args[0], caller)
        elif which is _GRAD and not caller.f_code.co_filename.startswith(_TORCH):
            self.guarded(self._gradient_read, args[0])
        elif which is _DATA and not writes:
            self.guarded(self._cut, "data", args, result, caller)
            self.guarded(self._gradient_read, args[0])
        elif which is _REQUIRES_GRAD and writes and args[1] is True:
            self.guarded(self._flagged, args[0], caller)
        elif which is _IS_LEAF and caller.f_code.co_name == "add_param_group":
            self.guarded(self._optimizer_made, caller)

    def module_entered(self, module: Any, place: Place) -> None:
        """Tell of a call of a module."""
        for hear in self._on_entered:
            hear(module, place)

    def module_left(self, result: Any, place: Place) -> None:
        """Tell of the end of a call of an outermost module."""
        for hear in self._on_left:
            hear(result, place)

    def mode_switched(self, module: Any, training: bool, place: Place) -> None:
        """Tell of `train()` or `eval()`."""
        for hear in self._on_mode:
            hear(module, training, place)

    def _gradient_set(self, leaf: Tensor, caller: Any) -> None:
        place = self.places.of(caller)
        if place is not None:
            self.training.cleared(leaf, place, caller.f_code.co_filename)

    def _gradient_read(self, leaf: Tensor) -> None:
        """Note that code outside of torch looks at a gradient, or may write past the version counter."""
        if leaf.requires_grad and leaf.grad_fn is None:
            self.training.leaf(leaf).read = True

    def _flagged(self, tensor: Tensor, caller: Any) -> None:
        """Note a leaf that is made of a value that has lost its graph."""
        cut, place = self.cut(tensor), self.places.of(caller)
        if cut is not None and place is not None and not tensor.is_inference():
            self.training.leaf(tensor).hack = cut, place

    def _optimizer_made(self, caller: Any) -> None:
        optimizer, place = caller.f_locals.get("self"), self.places.of(caller)
        if isinstance(optimizer, torch.optim.Optimizer) and place is not None and optimizer not in self._optimizers:
            self._optimizers.add(optimizer)
            for hear in self._on_optimizer:
                hear(optimizer, place)

    def _operated(
        self,
        func: Any,
        args: Any,
        kwargs: Mapping[str, Any],
        given: list[Tensor],
        before: list[int],
        result: Any,
        caller: Any,
    ) -> None:
        self.operations += 1
        place = self.places.of(caller)
        if place is None:
            return
        made = [result] if isinstance(result, Tensor) else list(tensors_in((result,)))
        after = _versions(given)
        if before and after != before:
            self._written(func, given, before, after, place, caller)
            made += [one for one, old, new in zip(given, before, after, strict=True) if old != new]
        tracked = [one for one in made if _requires_grad(one)]
        file = caller.f_code.co_filename
        if func in self._functions or file in self._files:
            self._tell(Operation(func, _name(func), args, kwargs, given, made, tracked, place, caller))
        if not tracked:
            self._cut(None, args, result, caller, func)
            return
        self._number += 1
        node = tracked[0].grad_fn
        if node is None:
            self.training.made(tracked[0], place)
            if func is Tensor.requires_grad_:
                self._flagged(tracked[0], caller)
            return
        reads = tuple(key for one in (*given, *made) if (key := memory_of(one)) is not None)
        label = Label(_name(func), place, self._number, reads, self._cuts_among(given, args))
        for one in tracked:
            own: Any = one.grad_fn
            if own is None:
                continue
            metadata = own.metadata
            if LABEL in metadata and after == before and any(one is other for other in given):
                continue  # `contiguous` may return what it was given: that was made before.
            metadata[LABEL] = label
        if func in _LOSSES:
            losses.note(self.losses, _LOSSES[func], place, args)

    def _tell(self, it: Operation) -> None:
        for one in self.watchers:
            if it.func in one.functions or it.caller.f_code.co_filename in one.files:
                one.operated(it)

    def _written(
        self, func: Any, given: list[Tensor], before: list[int], after: list[int], place: Place, caller: Any
    ) -> None:
        name = _name(func)
        written = [one for one, old, new in zip(given, before, after, strict=True) if old != new]
        for one in written:
            if _requires_grad(one) and one.grad_fn is None:
                leaf = self.training.leaf(one)
                leaf.random, leaf.loaded = leaf.random or _draws(func, name), leaf.loaded or name == "copy_"
            key = memory_of(one)
            if key is not None:
                self.writes.note(key, name, place)
        self.training.written(written, name, place, caller.f_code.co_filename)

    def _cut(self, kind: str | None, args: Any, result: Any, caller: Any, func: Any = None) -> None:
        """Note where a tensor without a graph was computed from one that has some."""
        if not isinstance(result, Tensor):
            if func in _EXITS and isinstance(args[0], Tensor):
                self._exit(func, args[0], result, caller)
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
                if self._draws:
                    inherited = inherited._replace(kind="sample", op="sample")
            if inherited is not None:
                inherited = self._completed(inherited, source)
        if inherited is not None and not any(one is result for one in given):
            self.keep_cut(result, inherited)

    def keep_cut(self, result: Tensor, cut: Cut) -> None:
        """Remember where a tensor has lost its graph, for as long as it lives."""
        key, cuts = id(result), self._cuts
        cuts[key] = weakref.ref(result, lambda _: cuts.pop(key, None)), cut

    def _completed(self, cut: Cut, source: Tensor) -> Cut:
        """Add the leaves before a cut, of the first two at its place: nothing here may cost much."""
        times = self._times[cut.place.key] = self._times.get(cut.place.key, 0) + 1
        if times > 2:
            return cut._replace(steps=self.training.steps)
        found = [source] if source.grad_fn is None else leaves_of(nodes_below([source.grad_fn]))
        return cut._replace(steps=self.training.steps, leaves=tuple(self.training.leaf(one) for one in found))

    def _cuts_among(self, given: list[Tensor], args: Any) -> tuple[Cut, ...]:
        """Return where values that an operation was given have left the graph, numbers among them."""
        found = [cut for one in given if not _requires_grad(one) and (cut := self.cut(one)) is not None]
        for one in args if self._exits else ():
            if type(one) is float and (known := self._exits.get(id(one))) is not None:
                found.append(known[1])
        self.training.cuts += len(found)
        return tuple(found)

    def _exit(self, func: Any, source: Tensor, result: Any, caller: Any) -> None:
        """Note a value that becomes a number or an array: nobody sees what is made of an array."""
        place = self.places.of(caller)
        before = self.cut(source)
        if place is None or not (before or _requires_grad(source)):
            return
        kind = "numpy" if func in _ARRAYS else "item"
        cut = before or self._completed(Cut(kind, _name(func).strip("_"), place), source)
        cut = cut._replace(kind=kind, op=_name(func).strip("_"), place=place)
        self.blame.leaves(cut, self.training.number)
        if type(result) is float:
            self._exits[id(result)] = result, cut
            if len(self._exits) > _NUMBERS:
                self._exits.popitem(last=False)

    def step_begins(self, optimizer: Any, closure: bool, place: Place) -> None:
        """Look at the gradients that an optimizer is about to use."""
        leaves = self.training.step_begins(optimizer, closure, place)
        for hear in self._on_step if not closure else ():
            hear(optimizer, leaves, place)

    def step_ended(self, optimizer: Any, closure: Spot | None = None) -> None:
        """Note that an optimizer has written its parameters."""
        place = self.training.step_ended(optimizer, closure)
        for hear in self._on_stepped if place is not None else ():
            hear(optimizer, place)
        for group in optimizer.param_groups if place is not None else ():
            for one in group["params"]:
                key = memory_of(one) if one.grad is not None else None
                if key is not None and place is not None:
                    self.writes.note(key, "optimizer.step", place)

    def cut(self, tensor: Tensor) -> Cut | None:
        """Return where a tensor has lost its graph."""
        found = self._cuts.get(id(tensor))
        return found[1] if found is not None and found[0]() is tensor else None

    def _refused(self, error: RuntimeError, func: Any, args: Any, caller: Any) -> None:
        place = self.places.of(caller)
        if place is not None:
            if func in _LOSSES:
                losses.note(self.losses, _LOSSES[func], place, args)
            self.blame.operation(error, _name(func), list(tensors_in(args)), place)

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
            raise
        if found:
            self.guarded(self._backpropagated, found[0], place, result)
        return result

    def _prepare(self, func: Any, args: Any, kwargs: Mapping[str, Any], place: Place, found: list[Any]) -> None:
        found.append(Call.of(func, args, kwargs))
        for hear in self._on_backward:
            hear(found[0], place)

    def _backpropagated(self, call: Call, place: Place, result: Any) -> None:
        if not call.fills:
            leaves = tuple(self.training.leaf(one) for one in call.leaves)
            for one in tensors_in((result,)):
                if not one.requires_grad:
                    self.keep_cut(one, Cut("grad", "grad", place, self.training.steps, leaves))
        self.training.number += 1
        if not call.retains:
            mark_freed(call.ways, place)
        if call.fills:
            self.training.backpropagated(call.leaves, place)
        for hear in self._on_backpropagated:
            hear(call, place)


def _is_below(frame: Any, folder: str, depth: int = 4) -> bool:
    """Return whether one of the next frames stands in a folder."""
    for _ in range(depth):
        if frame is None:
            return False
        if frame.f_code.co_filename.startswith(folder):
            return True
        frame = frame.f_back
    return False


def _requires_grad(tensor: Tensor) -> bool:
    """Return the flag; torch raises where it would have to rebase a view that it does not.

    A view made under `no_grad` bears the flag of its base, and has no graph.
    """
    try:
        if not tensor.requires_grad:
            return False
        return tensor.grad_fn is not None or (
            tensor.is_leaf and (tensor._base is None or not tensor._base.requires_grad)
        )
    except RuntimeError:
        return False


def _versions(tensors: list[Tensor]) -> list[int]:
    """Return the version counters; a tensor of inference mode has none."""
    return [-1 if one.is_inference() else one._version for one in tensors]


def _name(func: Any) -> str:
    """Return how an operation is called: `exp`, `add_`, `index assignment`; `nn.functional.relu`."""
    name: str = getattr(func, "__name__", type(func).__name__)
    if getattr(func, "__module__", None) == "torch.nn.functional":
        return f"nn.functional.{name}"
    return _NAMES.get(name, name)


def _draws(func: Any, name: str) -> bool:
    """Return whether an operation fills a tensor with random numbers: one of its own, or of `torch.nn.init`."""
    initialises = getattr(func, "__module__", None) == "torch.nn.init" and name not in ("constant_", "zeros_", "ones_")
    return initialises or name in _DRAWS


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
