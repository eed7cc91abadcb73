"""The machine with its hooks in torch, around a block or a whole program."""

from __future__ import annotations

import os
import sys
import weakref
from collections.abc import Callable
from functools import wraps
from threading import get_ident
from typing import Any

import torch
from torch import nn
from torch.nn.modules import module as hooks
from torch.optim import Optimizer
from torch.optim import optimizer as steps
from torch.optim.lr_scheduler import LRScheduler
from torch.optim.swa_utils import AveragedModel

from gradlint.concrete.machine import Machine
from gradlint.concrete.places import Line, Place, Places, Spot
from gradlint.concrete.replaced import Replaced, announcing, cleared, followed, heralded
from gradlint.concrete.schedule import BLOCK, Clock, Sampler, Schedule
from gradlint.concrete.seen import Seen, carried_by
from gradlint.concrete.stack import put, take
from gradlint.concrete.watcher import forget

_FAST = (nn.MultiheadAttention, nn.TransformerEncoderLayer, nn.TransformerEncoder)
"""Modules that compute by other kernels, in evaluation, where no mode is on."""

_running: weakref.WeakSet[Machine] = weakref.WeakSet()


def _forked() -> None:
    """Watch nothing in a forked process."""
    for machine in _running:
        machine.end()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)


def _careful(hook: Callable[..., None]) -> Callable[..., None]:
    """Let no mistake of gradlint's in a hook reach the program."""

    @wraps(hook)
    def guarded(watch: Watch, *given: Any) -> None:
        try:
            hook(watch, *given)
        except Exception as error:
            watch.machine.crashed(error)

    return guarded


class Watch:
    """A watch of one thread: it begins and ends once, and what it has seen is there at any time.

    Between samples nothing of it is left in torch but the hooks of optimizers, which count.
    """

    def __init__(
        self,
        places: Places,
        complain: Callable[[str], None],
        schedule: Schedule | None = None,
        *,
        checksums: bool = False,
        line: Line | None = None,
    ) -> None:
        self.machine = Machine(places, complain, checksums, line)
        self.sampler = Sampler(schedule or Schedule())
        self.machine.training.iterations = lambda sampler=self.sampler: sampler.done  # type: ignore[misc]
        self.clock = Clock()
        self._hooks: list[Any] = []
        self._module_hooks: list[Any] = []
        self._thread = get_ident()
        self._aside = 0
        """In how many blocks the machine is not on the stack: modules, or a step."""
        self._raised: list[Seen] = []
        self._met: set[tuple[int, int]] = set()
        """The places that have made an optimizer, switched a network or grad mode, loaded a state or averaged."""
        self._replaced: list[Replaced] = []
        self._to_clear: tuple[list[Any], Place] | None = None
        """The parameters whose gradients an optimizer is about to set to none, and where."""
        self._has_threads = False
        self.was_paused = False
        """Whether the end came between samples."""

    def begin(self) -> None:
        """Watch this thread from here on."""
        self._hooks = [
            hooks.register_module_parameter_registration_hook(self._registered),
            steps.register_optimizer_step_pre_hook(self._step_begins),
            steps.register_optimizer_step_post_hook(self._step_ended),
        ]
        self._compile: Any = torch.compile
        torch.compile = self._compiling
        self._replaced = [
            Replaced(nn.Module, "train", announcing(nn.Module.train, self._switched)),
            Replaced(nn.Module, "state_dict", followed(nn.Module.state_dict, self._state_taken)),
            Replaced(LRScheduler, "step", heralded(LRScheduler.step, self._scheduler_steps)),
            Replaced(Optimizer, "add_param_group", heralded(Optimizer.add_param_group, self._optimizer_grows)),
            Replaced(torch.no_grad, "__enter__", heralded(torch.no_grad.__enter__, self._comes)),
            Replaced(nn.Module, "load_state_dict", heralded(nn.Module.load_state_dict, self._comes)),
            Replaced(AveragedModel, "update_parameters", heralded(AveragedModel.update_parameters, self._comes)),
        ]
        for one in self._replaced:
            one.put()
        self._clearing = Replaced(Optimizer, "zero_grad", cleared(Optimizer.zero_grad, self._clears, self._cleared))
        _running.add(self.machine)
        if self.sampler.schedule.seconds is not None:
            self.machine.ticked = self._ticked
        self._attach()

    def end(self, error: BaseException | None = None, *, whole: bool = False) -> None:
        """Stop watching; `error` is what has ended the program, and `whole` whether that is over."""
        self.was_paused = self.machine.partial and not (self.machine.on or self.machine.over)
        if self.machine.asked is not None:
            self.machine.guarded(self.machine.asked.ended)
        if isinstance(error, Exception):
            self.machine.guarded(forget, self.machine.watchers)
        if whole and error is None and not self.machine.over:
            self._program_ended()
        self.machine.end()
        self._raised = carried_by(error)
        self._detach()
        for hook in self._hooks:
            hook.remove()
        if torch.compile == self._compiling:
            torch.compile = self._compile
        for one in self._replaced:
            one.take_back()

    @property
    def seen(self) -> list[Seen]:
        """Return all that was seen."""
        return [*self._raised, *self.machine.seen]

    @property
    def scope(self) -> str | None:
        """Return in words how much was watched; None for all."""
        if not self.machine.partial:
            return None
        return f"in the {self.sampler.watched:,} of {self.sampler.done:,} iterations that were watched"

    @property
    def summary(self) -> str:
        """Return in a line how much was watched."""
        machine, training = self.machine, self.machine.training
        said = f"watched {machine.operations:,} operations, {training.number:,} backwards, {training.steps:,} steps"
        return said if self.scope is None else f"{said}, {self.scope}"

    def _attach(self) -> None:
        if not self._module_hooks:
            self._module_hooks = [
                hooks.register_module_forward_pre_hook(self._entered),
                hooks.register_module_forward_hook(self._left, always_call=True),
            ]
            self._clearing.put()
            put(self.machine)

    def _detach(self) -> None:
        """Leave torch, unless the machine is at work, in a backward: it passes calls on until it can leave."""
        if self._module_hooks and (self._aside or take(self.machine)):
            for hook in self._module_hooks:
                hook.remove()
            self._clearing.take_back()
            self._module_hooks, self._aside = [], 0

    def _compiling(self, *args: Any, **kwargs: Any) -> Any:
        self.machine.end("torch.compile is called: what is compiled cannot be watched, and watching ends")
        self._detach()
        return self._compile(*args, **kwargs)

    def _entered(self, module: nn.Module, args: Any) -> None:
        """Note which module is called. Of inner ones there are many: nothing else is done for most."""
        machine = self.machine
        if not machine.on or get_ident() != self._thread:
            return
        inside = machine.inside
        inside.append(module)
        is_inner = len(inside) > 1 and id(module) not in machine.heard_inside and not machine.measures.is_naming
        if not is_inner or self._aside or isinstance(module, _FAST):
            self._meets(module)

    @_careful
    def _meets(self, module: nn.Module) -> None:
        """Tell of a call of a module; step aside where it would compute otherwise with a mode than without one."""
        machine = self.machine
        if machine.measures.is_naming:
            machine.measures.entered(module)
        if self._aside and machine.training.stepping is not None:
            self._return()  # The step of an optimizer has failed, and the program goes on.
        if len(machine.inside) == 1 or id(module) in machine.heard_inside:
            place = machine.places.of(sys._getframe(3))
            if place is not None:
                machine.guarded(machine.tell, "module_entered", module, place)
        if not isinstance(module, _FAST) or module.training or torch.is_grad_enabled():
            return
        if self._aside or take(self.machine):
            self._aside += 1

    def _left(self, module: nn.Module, args: Any, result: Any) -> None:
        inside = self.machine.inside
        if len(inside) > 1 and inside[-1] is module and not self._aside and get_ident() == self._thread:
            inside.pop()
        else:
            self._leaves(module, result)

    @_careful
    def _leaves(self, module: nn.Module, result: Any) -> None:
        if self._aside and isinstance(module, _FAST) and get_ident() == self._thread:
            self._aside -= 1
            if not self._aside:
                put(self.machine)
        inside = self.machine.inside
        if not inside or not self._is_watched:
            return
        while inside and inside.pop() is not module:
            pass
        if not inside and (place := self.machine.places.of(sys._getframe(3))) is not None:
            self.machine.guarded(self.machine.tell, "module_left", module, result, place)

    @_careful
    def _switched(self, module: nn.Module, training: bool) -> None:
        """Tell of a switch of the mode, between samples as well: it decides what is computed in the next one."""
        if self._is_own_thread and not self.machine.over and (place := self.machine.places.of(sys._getframe(3))):
            self._meets_new(place)
            self.machine.tell("mode_switched", module, training, place)

    @_careful
    def _optimizer_grows(self, optimizer: Any) -> None:
        """Tell of an optimizer, between samples as well: whose parameters it holds is asked at the end."""
        if self._is_own_thread and not self.machine.over and (place := self.machine.places.of(sys._getframe(3))):
            self._meets_new(place)
            self.machine.optimizer_made(optimizer, place)

    @_careful
    def _state_taken(self, state: Any) -> None:
        """Tell of a state dict, between samples as well: the network is trained on by then."""
        if self._is_own_thread and not self.machine.over and (place := self.machine.places.of(sys._getframe(3))):
            self.machine.tell("state_taken", state, place)

    @_careful
    def _comes(self, _: Any) -> None:
        """See whether the program comes for the first time to a line that evaluates, loads a state or averages."""
        if self._is_own_thread and not self.machine.over and (place := self.machine.places.of(sys._getframe(3))):
            self._meets_new(place)

    def _meets_new(self, place: Place) -> None:
        """Begin a sample where the program comes to a place for the first time."""
        if place.key in self._met:
            return
        self._met.add(place.key)
        if self.sampler.begins() and not self.machine.on:
            self.machine.resume()
            self._attach()

    def _scheduler_steps(self, scheduler: Any) -> None:
        if self._is_watched and (place := self.machine.places.of(sys._getframe(2))) is not None:
            self.machine.guarded(self.machine.tell, "scheduler_steps", scheduler, place)

    def _return(self) -> None:
        """Be there again after the step of an optimizer."""
        if self._aside:
            self._aside = 0
            put(self.machine)

    @_careful
    def _registered(self, module: nn.Module, name: str, parameter: Any) -> None:
        if self._is_own_thread and (place := self.machine.places.of(sys._getframe(1))) is not None:
            outside = _outside(module, sys._getframe(2))
            self.machine.guarded(self.machine.registered, module, name, parameter, place, outside)

    @_careful
    def _clears(self, optimizer: Any) -> None:
        """Step aside while an optimizer clears its gradients: what becomes of each of them is noted after it."""
        place = self.machine.places.of(sys._getframe(3)) if self._is_watched and self.machine.asked is None else None
        if place is not None and not self._aside and take(self.machine):
            self._aside = 1
            given = [one for group in optimizer.param_groups for one in group["params"] if one.grad is not None]
            self._to_clear = given, place

    @_careful
    def _cleared(self) -> None:
        if self._to_clear is not None:
            (given, place), self._to_clear = self._to_clear, None
            self._return()
            self.machine.guarded(self.machine.training.all_cleared, given, place)

    def _step_begins(self, *given: Any) -> None:
        if self.machine.on:  # Between samples there is nothing but this.
            self._steps(*given)

    @_careful
    def _steps(self, optimizer: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if not self._is_own_thread:
            if not self._has_threads:
                self._has_threads = True
                self.machine.complain("another thread steps an optimizer: only the thread that began is watched")
            return
        if (place := self.machine.places.of(sys._getframe(1))) is None:
            return
        closure = _closure(args, kwargs) is not None
        self.machine.guarded(self.machine.step_begins, optimizer, closure, place)
        if not closure:
            self.machine.guarded(self.machine.measures.step_begins, optimizer)
        if not closure and type(optimizer).__module__.startswith("torch.optim.") and not self._aside:
            self._aside = int(take(self.machine))  # What a step of torch's own writes is noted once, after it.

    def _step_ended(self, optimizer: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if get_ident() == self._thread and (self.machine.on or not self.sampler.skips(optimizer)):
            self._stepped(optimizer, args, kwargs)

    @_careful
    def _stepped(self, optimizer: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if self.machine.on:
            self._return()
            code = getattr(_closure(args, kwargs), "__code__", None)
            closure = None if code is None else Spot(code.co_filename, (code.co_firstlineno, None, None, None))
            self.machine.guarded(self.machine.step_ended, optimizer, closure)
        if self.sampler.ends_iteration(optimizer):
            self._iteration_ended()

    @_careful
    def _program_ended(self) -> None:
        with torch._C.DisableTorchFunction():
            self.machine.tell("program_ended")

    def _iteration_ended(self) -> None:
        """Begin or end a sample, where this iteration is the last one before or in it."""
        machine, was_on = self.machine, self.machine.on
        if was_on:
            machine.guarded(machine.measures.iteration_ended, self.sampler.done)
            machine.guarded(machine.tell, "iteration_ended")
        elif not self.sampler.done % BLOCK:
            machine.tell("iteration_passed", self.sampler.done)
        self.clock.iterations_ended(was_on, self.sampler.count)
        if self.sampler.next_is_watched(was_on) and not machine.over:
            if not was_on:
                machine.resume()
                self._attach()
        elif was_on or self._module_hooks:
            machine.pause()
            self._detach()

    def _ticked(self) -> None:
        if self.sampler.is_late:
            self.machine.pause()

    @property
    def _is_own_thread(self) -> bool:
        return get_ident() == self._thread

    @property
    def _is_watched(self) -> bool:
        return self.machine.on and self._is_own_thread


def _closure(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return the closure among the arguments of a step."""
    return next((one for one in (*args[1:], kwargs.get("closure")) if one is not None), None)


def _outside(module: nn.Module, frame: Any) -> Any:
    """Return the frame in which a module is made: the innermost that is none of its own methods."""
    while frame is not None and frame.f_locals.get("self") is module:
        frame = frame.f_back
    return frame
