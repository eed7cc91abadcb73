"""The machine itself: a `TorchFunctionMode` under which the program runs.

Each call of torch by the program comes through `__torch_function__`. It is passed on as it is. Afterwards the tape gets
a label, a write is noted with the version that it led to, and a tensor that has left the graph with the place where.
The program's tensors are only read, and none is kept alive.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable, Iterable, Mapping
from types import MethodWrapperType
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from gradlint.concrete import losses
from gradlint.concrete.accesses import ACCESSES, DATA_READ, DATA_SET, FLAG_SET, GRAD_READ, GRAD_SET
from gradlint.concrete.asked import Asked
from gradlint.concrete.blame import Blame
from gradlint.concrete.calls import Call, tensors_in
from gradlint.concrete.custom import Custom
from gradlint.concrete.cuts import Cut
from gradlint.concrete.exits import Exits
from gradlint.concrete.hidden import Hidden, writes
from gradlint.concrete.measures import Measures
from gradlint.concrete.operations import CONSTANTS, PLAIN, draws, look, name_of, requires_grad, versions
from gradlint.concrete.places import Line, Place, Places, Spot
from gradlint.concrete.seen import ATTRIBUTE, Seen
from gradlint.concrete.stack import depth
from gradlint.concrete.tape import LABEL, Label, mark_freed, sequence_number
from gradlint.concrete.training import Training
from gradlint.concrete.watcher import ANNOUNCED, Known, Operation, Watcher, forget, hearing
from gradlint.concrete.watchers import WATCHERS
from gradlint.concrete.writes import Writes, memories_of, memory_of

Tensor = torch.Tensor

_LOSSES = {getattr(torch.nn.functional, name): name for name in losses.WATCHED}
_SET_GRAD_ENABLED = torch._C._set_grad_enabled
_BACKWARDS = {torch.Tensor.backward, torch.autograd.backward, torch.autograd.grad}
_PROFILER = {torch.ops.profiler._record_function_enter_new, torch.ops.profiler._record_function_exit._RecordFunction}
_APART = {_SET_GRAD_ENABLED, *_BACKWARDS, *_PROFILER}
_HOOKS: Any = getattr(torch._C._autograd, "_top_saved_tensors_default_hooks", None)
"""Returns the hooks that pack what is saved, if there are any; they may compute it again when it is read."""
_OPTIM = torch.optim.__path__[0]
_TORCH = torch.__path__[0]
_TICK = 0xFF


class Machine(TorchFunctionMode):
    """Watches one thread. `complain` says in one line why watching has ended."""

    def __init__(
        self, places: Places, complain: Callable[[str], None], checksums: bool = False, line: Line | None = None
    ) -> None:
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
        self.complain = complain
        self._number = 0
        self.writes = Writes()
        self.training = Training()
        self.exits = Exits(places, self.training)
        self.measures = Measures()
        self.ticked: Callable[[], None] = lambda: None
        """Called once in a while, for programs that take no steps."""
        self.losses: dict[tuple[int, int], losses.Given] = {}
        self.inside: list[Any] = []
        self.heard_inside: set[int] = set()
        known = Known(self.training, self.exits.of, self.inside, self.heard_inside, places)
        self.hidden = Hidden(known, checksums)
        self.custom = Custom(known)
        self.watchers: list[Watcher] = [*(one(known) for one in WATCHERS), self.hidden, self.custom]
        self.asked = None if line is None else Asked(known, line, self.writes, lambda: self._since)
        self.watchers += [] if self.asked is None else [self.asked]
        self._functions = frozenset().union(*(one.functions for one in self.watchers))
        self._files = frozenset().union(*(one.files for one in self.watchers))
        self._hearing = {method: hearing(self.watchers, method) for method in ANNOUNCED}
        self._optimizers: weakref.WeakSet[Any] = weakref.WeakSet()
        self.blame = Blame(self.writes, self.training, self.exits.of)

    @property
    def seen(self) -> list[Seen]:
        """Return what was seen so far, apart from what an exception carries."""
        heard: list[Seen] = []
        for one in self.watchers:
            try:
                heard += one.seen()
            except Exception as error:
                self.complain(f"internal error: {type(error).__name__}: {error}; {type(one).__name__} reports nothing")
        return [*heard, *self.training.seen(), *losses.seen(self.losses.values())]

    def end(self, why: str | None = None) -> None:
        """Watch nothing from here on. The mode stays where it is, and passes on."""
        self.on = False
        if not self.over:
            self.over = True
            if why is not None:
                self.complain(why)

    def pause(self) -> None:
        """Watch nothing until `resume`."""
        self.on = False
        self.partial = True
        self.inside.clear()
        forget(self.watchers)

    def resume(self) -> None:
        """Watch again; what may have changed unseen is known no more."""
        self.on = not self.over
        self._since = sequence_number()
        self.exits.clear()
        self.writes.clear()
        self.training.resume()

    def guarded(self, act: Callable[..., object], *given: Any) -> None:
        """Observe. A mistake of gradlint's ends the watching, and never the program."""
        if self.on:
            with torch._C.DisableTorchFunction():
                self.noted(act, *given)

    def noted(self, act: Callable[..., object], *given: Any) -> None:
        """Observe a call of torch of which no other mode and no class of tensors of the program's hears."""
        try:
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
        caller = sys._getframe(1)
        if self.asked is not None:
            self.guarded(self.asked.comes, caller)
        if func in _APART:
            return self._apart(func, args, kwargs, caller)
        if self.training.stepping is not None and caller.f_code.co_filename.startswith(_OPTIM):
            return func(*args, **kwargs)  # What a step of torch's own writes is noted once, after it.
        if type(func) is MethodWrapperType:
            result = func(*args, **kwargs)
            if func in ACCESSES and (func != GRAD_READ or not caller.f_code.co_filename.startswith(_TORCH)):
                self._property(func, args, result, caller)
            return result
        given: list[Tensor] = []
        before: list[int] = []
        observe = self.noted if types in PLAIN and not depth() else self.guarded
        observe(look, args, kwargs, given, before)
        if self.hidden.aliases and writes(func):
            self.guarded(self.hidden.may_write, given, self._number, self.places.of(caller))
        try:
            result = func(*args, **kwargs)
        except Exception as error:
            self.guarded(self._refused, error, func, args, caller)
            raise
        if self.on:
            observe(self._operated, func, args, kwargs, given, before, result, caller)
        if self.asked is not None:
            self.guarded(self.asked.called, given, result, caller)
        return result

    def _apart(self, func: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any], caller: Any) -> Any:
        """Pass on a call that is no operation: of the grad mode, of the engine, or of the profiler in each step."""
        if func in _BACKWARDS:
            return self._backward(func, args, kwargs, caller)
        if func is _SET_GRAD_ENABLED:
            self.guarded(self.exits.grad_mode, bool(args[0]), caller)
        return func(*args, **kwargs)

    def _property(self, access: Any, args: tuple[Any, ...], result: Any, caller: Any) -> None:
        """Look at an access to a property of a tensor, after it."""
        if access == GRAD_READ:
            self.guarded(self._gradient_read, args[0], result, caller)
        elif access == GRAD_SET:
            self.guarded(self._gradient_set, args[0], caller)
        elif access == DATA_READ:
            self.guarded(self.exits.note, None, args, result, caller)
            self.guarded(self._noticed, args[0], caller)
            self.guarded(self.hidden.data_read, result, args[0])
        elif access == DATA_SET:
            self.guarded(self.hidden.data_set, args[0], self._number, self.places.of(caller))
            self.guarded(self.training.stepped_by_hand, args[:1], self.places.of(caller))
        elif access == FLAG_SET:
            self.guarded(self._flagged, args[0], args[1], caller)

    def tell(self, method: str, *given: Any) -> None:
        """Tell the watchers of what happens, by the method that hears of it."""
        for hear in self._hearing[method]:
            hear(*given)

    def registered(self, module: Any, name: str, parameter: Any, place: Place, outside: Any) -> None:
        """Tell of a parameter that a module registers, which was made in the frame `outside`."""
        built = self.places.of(outside)
        self.training.registered(name, parameter, place, built)
        if isinstance(parameter, Tensor) and built is not None:
            file = outside.f_code.co_filename
            is_own = file == built.filename or file.startswith(_TORCH)
            self.tell("registered", module, parameter, built if is_own else None)

    def _gradient_set(self, leaf: Tensor, caller: Any) -> None:
        place = self.places.of(caller)
        if place is not None:
            self.training.cleared(leaf, place, caller.f_code.co_filename)

    def _gradient_read(self, tensor: Tensor, gradient: Tensor | None, caller: Any) -> None:
        """Tell of a gradient that code outside of torch looks at."""
        self._noticed(tensor, caller)
        place = self.places.of(caller)
        if place is not None and place.code is caller.f_code:
            self.training.looked_at()
            self.tell("gradient_read", tensor, gradient, place)

    def _noticed(self, tensor: Tensor, caller: Any) -> None:
        """Note that code outside of torch looks at the gradient of a leaf, or may write past its version counter."""
        if tensor.requires_grad and tensor.grad_fn is None:
            leaf = self.training.leaf(tensor)
            leaf.read = leaf.read or leaf.backwards > 0
            leaf.looked = leaf.looked or (leaf.read and self.places.is_own(caller.f_code.co_filename))

    def _flagged(self, tensor: Tensor, flag: bool, caller: Any) -> None:
        """Note a leaf that is made of a value that has lost its graph."""
        place = self.places.of(caller)
        cut = self.exits.of(tensor) if flag else None
        if cut is not None and place is not None and not tensor.is_inference():
            self.training.leaf(tensor).hack = cut, place

    def optimizer_made(self, optimizer: Any, place: Place) -> None:
        """Note an optimizer that is given its first parameters, between samples as well."""
        if optimizer not in self._optimizers:
            self._optimizers.add(optimizer)
            self.training.optimizer_made(optimizer, place)
            self.tell("optimizer_made", optimizer, place)

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
        if not self.operations & _TICK:
            self.ticked()
        place = self.places.of(caller)
        if place is None:
            return
        made = [result] if isinstance(result, Tensor) else list(tensors_in((result,)))
        after = versions(given) if before else before
        if after != before:
            self._written(func, given, before, after, place, caller)
            made += [one for one, old, new in zip(given, before, after, strict=True) if old != new]
        tracked = [one for one in made if requires_grad(one)]
        if func in self._functions or caller.f_code.co_filename in self._files:
            operation = Operation(func, name_of(func), args, kwargs, given, made, tracked, place, caller)
            for watcher in self.watchers:
                if func in watcher.functions or caller.f_code.co_filename in watcher.files:
                    watcher.operated(operation)
        if not tracked:
            left = self.exits.note(func, args, result, caller)
            if left is not None:
                self.blame.leaves(left, self.training.number)
            return
        self._number += 1
        node = tracked[0].grad_fn
        if node is None:
            self.training.made(tracked[0], place)
            if func is torch.tensor:
                self.exits.rewrap(given, tracked[0], place)
            if func in (torch.tensor, Tensor.requires_grad_):
                self._flagged(tracked[0], True, caller)
            return
        reads = memories_of([*given, *made])
        calls = () if self.asked is None else self.asked.calls(caller)
        label = Label(name_of(func), place, self._number, reads, self.exits.among(given, args), calls)
        for one in tracked:
            own: Any = one.grad_fn
            if own is None:
                continue
            metadata = own.metadata
            if LABEL in metadata and after == before and any(one is other for other in given):
                continue  # `contiguous` may return what it was given: that was made before.
            metadata[LABEL] = label
        self.hidden.graph = True
        packed = _HOOKS is not None and _HOOKS(True) is not None
        if packed or self.hidden.sums:
            self.hidden.labelled(tracked, packed)
        if self.custom.wrote:
            self.custom.labelled()
        if func in _LOSSES:
            losses.note(self.losses, _LOSSES[func], place, args)

    def _written(
        self, func: Any, given: list[Tensor], before: list[int], after: list[int], place: Place, caller: Any
    ) -> None:
        name = name_of(func)
        written = [one for one, old, new in zip(given, before, after, strict=True) if old != new]
        for one in written:
            if requires_grad(one) and one.grad_fn is None:
                leaf = self.training.leaf(one)
                leaf.random = leaf.random or draws(func, name)
                leaf.loaded = leaf.backwards if name == "copy_" else leaf.loaded
                leaf.constant = name in CONSTANTS
            if (key := memory_of(one)) is not None:
                self.writes.note(key, name, place)
        self.training.written(self.hidden.sources_of(written), name, place, caller.f_code.co_filename)
        self.hidden.written(written)
        self.custom.written(written, place, caller)

    def step_begins(self, optimizer: Any, closure: bool, place: Place) -> None:
        """Look at the gradients that an optimizer is about to use."""
        leaves = self.training.step_begins(optimizer, closure, place)
        if not closure:
            self.tell("step_begins", optimizer, leaves, place)

    def step_ended(self, optimizer: Any, closure: Spot | None = None) -> None:
        """Note that an optimizer has written its parameters; of a step with a closure, watchers hear both here."""
        if (begun := self.training.closed(optimizer)) is not None:
            self.tell("step_begins", optimizer, *begun)
        place = self.training.step_ended(optimizer, closure)
        self.measures.step_ended()
        if place is not None:
            self.training.measured(optimizer, self.measures.moved, place)
            self.tell("step_ended", optimizer, place)
            given = [one for group in optimizer.param_groups for one in group["params"] if one.grad is not None]
            self.writes.stepped(memories_of(given), place)

    def _refused(self, error: Exception, func: Any, args: Any, caller: Any) -> None:
        place = self.places.of(caller)
        if place is not None:
            if func in _LOSSES:
                losses.note(self.losses, _LOSSES[func], place, args)
            self.blame.operation(error, name_of(func), list(tensors_in(args)), place)
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
                self.guarded(self.tell, "backward_failed", found[0], place)
                self.guarded(self._raised, error, place)
            raise
        if found:
            self.guarded(self._backpropagated, found[0], place, result)
        return result

    def _prepare(self, func: Any, args: Any, kwargs: Mapping[str, Any], place: Place, found: list[Any]) -> None:
        found.append(Call.of(func, args, kwargs, self._since))
        self.tell("backward_begins", found[0], place)

    def _backpropagated(self, call: Call, place: Place, result: Any) -> None:
        if not call.fills:
            leaves = tuple(self.training.leaf(one) for one in call.leaves)
            for one in tensors_in((result,)):
                if not one.requires_grad:
                    self.exits.keep(one, Cut("grad", "grad", place, self.training.steps, leaves))
        self.training.number += 1
        if not call.retains:
            mark_freed(call.ways, place)
        if call.fills:
            self.training.backpropagated(call.leaves, place)
            self.measures.backpropagated(call.roots)
        self.tell("backpropagated", call, place)
