"""The machine with its hooks in torch, around a block or a whole program."""

from __future__ import annotations

import functools
import os
import sys
import threading
from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.nn.modules import module as hooks
from torch.optim import optimizer as steps
from torch.overrides import _get_current_function_mode

from gradlint.concrete.machine import Machine
from gradlint.concrete.places import Places, Spot
from gradlint.concrete.seen import Seen, carried_by

_FAST = (nn.MultiheadAttention, nn.TransformerEncoderLayer, nn.TransformerEncoder)
"""Modules that compute by other kernels, in evaluation, where no mode is on."""


class Watch:
    """A watch of one thread: it begins and ends once, and what it has seen is there at any time."""

    def __init__(self, places: Places, complain: Callable[[str], None]) -> None:
        self.machine = Machine(places, complain)
        self._hooks: list[Any] = []
        self._thread = threading.get_ident()
        self._aside = 0
        self._raised: list[Seen] = []

    def begin(self) -> None:
        """Watch this thread from here on."""
        self._hooks = [
            hooks.register_module_parameter_registration_hook(self._registered),
            hooks.register_module_forward_pre_hook(self._entered),
            hooks.register_module_forward_hook(self._left, always_call=True),
            steps.register_optimizer_step_pre_hook(self._step_begins),
            steps.register_optimizer_step_post_hook(self._step_ended),
        ]
        self._compile: Any = torch.compile
        torch.compile = self._compiling
        self._train: Any = nn.Module.train
        nn.Module.train = _announcing(self._train, self._switched)  # type: ignore[method-assign]
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self.machine.end)
        self._enter()

    def end(self, error: BaseException | None = None) -> None:
        """Stop watching; `error` is what has ended the program."""
        self.machine.end()
        self._raised = carried_by(error)
        self._exit()
        for hook in self._hooks:
            hook.remove()
        if torch.compile == self._compiling:
            torch.compile = self._compile
        if getattr(nn.Module.train, "__wrapped__", None) is self._train:
            nn.Module.train = self._train  # type: ignore[method-assign, assignment]

    @property
    def seen(self) -> list[Seen]:
        """Return all that was seen."""
        return [*self._raised, *self.machine.seen]

    @property
    def summary(self) -> str:
        """Return in a line how much was watched."""
        machine, training = self.machine, self.machine.training
        return f"watched {machine.operations} operations, {training.number} backwards, {training.steps} steps"

    def _enter(self) -> None:
        enter: Callable[[], object] = self.machine.__enter__
        enter()

    def _exit(self) -> bool:
        """Leave the mode, if the program has not entered another one on top of it."""
        current: Callable[[], object] = _get_current_function_mode
        if current() is not self.machine:
            return False
        leave: Callable[[None, None, None], object] = self.machine.__exit__
        leave(None, None, None)
        return True

    def _compiling(self, *args: Any, **kwargs: Any) -> Any:
        self.machine.end("torch.compile is called: what is compiled cannot be watched, and watching ends")
        self._exit()
        return self._compile(*args, **kwargs)

    def _entered(self, module: nn.Module, args: Any) -> None:
        """Step aside where a module would compute otherwise with a mode than without one."""
        if self._is_watched:
            inside = self.machine.inside
            inside.append(module)
            if len(inside) == 1 or id(module) in self.machine.noted:
                place = self.machine.places.of(sys._getframe(1))
                if place is not None:
                    self.machine.guarded(self.machine.module_entered, module, place)
        if not isinstance(module, _FAST) or module.training or torch.is_grad_enabled() or not self._is_watched:
            return
        if self._aside or self._exit():
            self._aside += 1

    def _left(self, module: nn.Module, args: Any, result: Any) -> None:
        if self._aside and isinstance(module, _FAST) and threading.get_ident() == self._thread:
            self._aside -= 1
            if not self._aside:
                self._enter()
        if self._is_watched:
            inside = self.machine.inside
            while inside and inside.pop() is not module:
                pass
            if not inside and (place := self.machine.places.of(sys._getframe(1))) is not None:
                self.machine.guarded(self.machine.module_left, result, place)

    def _switched(self, module: nn.Module, training: bool) -> None:
        if self._is_watched and (place := self.machine.places.of(sys._getframe(2))) is not None:
            self.machine.guarded(self.machine.mode_switched, module, training, place)

    def _registered(self, module: nn.Module, name: str, parameter: Any) -> None:
        if self._is_watched and (place := self.machine.places.of(sys._getframe(1))) is not None:
            built = self.machine.places.of(_outside(module, sys._getframe(1)))
            self.machine.guarded(self.machine.training.registered, name, parameter, place, built)

    def _step_begins(self, optimizer: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if self._is_watched and (place := self.machine.places.of(sys._getframe(1))) is not None:
            closure = any(one is not None for one in (*args[1:], kwargs.get("closure")))
            self.machine.guarded(self.machine.step_begins, optimizer, closure, place)

    def _step_ended(self, optimizer: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if self._is_watched:
            given = next((one for one in (*args[1:], kwargs.get("closure")) if one is not None), None)
            code = getattr(given, "__code__", None)
            closure = None if code is None else Spot(code.co_filename, (code.co_firstlineno, None, None, None))
            self.machine.guarded(self.machine.step_ended, optimizer, closure)

    @property
    def _is_watched(self) -> bool:
        return self.machine.on and threading.get_ident() == self._thread


def _outside(module: nn.Module, frame: Any) -> Any:
    """Return the frame in which a module is made: the innermost that is none of its own methods."""
    while frame is not None and frame.f_locals.get("self") is module:
        frame = frame.f_back
    return frame


def _announcing(train: Any, switched: Callable[[nn.Module, bool], None]) -> Any:
    """Return `nn.Module.train`, which `eval` calls, with an announcement of the call from outside of it."""
    inside: list[nn.Module] = []

    @functools.wraps(train)
    def announced(module: nn.Module, mode: bool = True) -> Any:
        if inside:
            return train(module, mode)
        inside.append(module)
        try:
            switched(module, mode)
            return train(module, mode)
        finally:
            inside.pop()

    return announced
