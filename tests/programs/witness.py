"""Observe a program while it runs: its modules, optimizers, steps, warnings, and the locals of its functions.

The expressions that show a silent defect ask a `Witness`, because most programs keep everything in `main()`.
"""

from __future__ import annotations

import math
import sys
import types
import warnings
from collections import Counter
from collections.abc import Callable
from typing import Any

import torch
from torch.optim import Optimizer
from torch.optim.optimizer import register_optimizer_step_pre_hook

Node = torch.autograd.graph.Node


class Witness:
    """What happened in one run, asked afterwards."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._locals: dict[str, types.SimpleNamespace] = {}
        self._calls: Counter[str] = Counter()
        self._modules: list[torch.nn.Module] = []
        self._warnings: list[warnings.WarningMessage] = []
        self.optimizers: list[Optimizer] = []
        self._initial: dict[torch.Tensor, torch.Tensor] = {}
        self._received: Counter[torch.Tensor] = Counter()
        self._carried: dict[tuple[int, torch.Tensor], bool] = {}
        self.steps = 0
        self.stale_steps = 0
        self.empty_steps = 0
        self.nan_steps = 0
        self.largest_norm = 0.0

    def install(self, caught: list[warnings.WarningMessage]) -> None:
        """Start to observe this process; there is no way back, so call it in a child process."""
        self._warnings = caught
        _after(torch.nn.Module, "__init__", self._modules.append)
        _after(Optimizer, "__init__", self.optimizers.append)
        _after(Optimizer, "add_param_group", self._watch_parameters)
        register_optimizer_step_pre_hook(self._before_step)
        sys.settrace(self._trace)

    # Questions

    def module(self, name: str, index: int = -1) -> Any:
        """The module of the class `name` that was made last, or as the `index`-th."""
        return self.modules(name)[index]

    def modules(self, name: str) -> list[torch.nn.Module]:
        """All modules of the class `name` in the order of their making."""
        return [module for module in self._modules if type(module).__name__ == name]

    def returned(self, function: str) -> Any:
        """The local names of the function as they stood when it last returned; `<module>` for the file."""
        return self._locals[function]

    def calls(self, function: str) -> int:
        """How often a function of the program returned."""
        return self._calls[function]

    def moved(self, tensor: torch.Tensor) -> bool:
        """Whether a parameter differs from its value when its first optimizer was made."""
        return tensor in self._initial and not torch.equal(self._initial[tensor], tensor.detach())

    def received(self, tensor: torch.Tensor) -> int:
        """How many gradients flowed into a parameter of an optimizer."""
        return self._received[tensor]

    def starved(self, module: torch.nn.Module) -> list[str]:
        """The parameters of a module that never changed under an optimizer."""
        return [name for name, parameter in module.named_parameters() if not self.moved(parameter)]

    def warned(self, text: str) -> bool:
        """Whether a warning contained `text`."""
        return any(text in str(message.message) for message in self._warnings)

    def user_warnings(self) -> list[str]:
        """The texts of all warnings of the class UserWarning itself."""
        return [str(message.message) for message in self._warnings if message.category is UserWarning]

    # Observation

    def _trace(self, frame: types.FrameType, event: str, _: Any) -> Any:
        if not frame.f_code.co_filename.startswith(self._folder):
            return None
        frame.f_trace_lines = False
        return self._trace_return

    def _trace_return(self, frame: types.FrameType, event: str, _: Any) -> Any:
        if event == "return":
            name = frame.f_code.co_name
            self._calls[name] += 1
            self._locals[name] = types.SimpleNamespace(**frame.f_locals)
        return self._trace_return

    def _watch_parameters(self, optimizer: Optimizer) -> None:
        """Called for each group of parameters: those of the first group come before the others exist."""
        for parameter in optimizer.param_groups[-1]["params"]:
            self._initial.setdefault(parameter, parameter.detach().clone())
            if parameter.requires_grad:
                hook = self._gradient_hook(optimizer, parameter)
                parameter.register_hook(hook)

    def _gradient_hook(self, optimizer: Optimizer, parameter: torch.Tensor) -> Callable[[torch.Tensor], None]:
        """Called before a gradient is added: what stands in `.grad` then comes from an earlier backward."""
        key = (id(optimizer), parameter)

        def hook(_: torch.Tensor) -> None:
            self._received[parameter] += 1
            left_over = parameter.grad is not None and bool(parameter.grad.ne(0).any())
            # The first gradient after a step meets what is left from before it; an empty .grad clears it.
            self._carried[key] = left_over and self._carried.get(key, True)

        return hook

    def _before_step(self, optimizer: Optimizer, args: Any, kwargs: Any) -> None:
        gradients = [p.grad for p in _parameters(optimizer) if p.grad is not None]
        carried = [self._carried.pop((id(optimizer), p), False) for p in _parameters(optimizer)]
        self.steps += 1
        self.stale_steps += any(carried)
        with torch.no_grad():
            norm = math.sqrt(sum(float(gradient.pow(2).sum()) for gradient in gradients))
        self.empty_steps += norm == 0.0
        self.nan_steps += math.isnan(norm)
        self.largest_norm = max(self.largest_norm, norm)


def graph_size(root: torch.Tensor) -> int:
    """The number of tape nodes that a value keeps alive; 0 for one without a graph."""
    seen: set[Node] = set()
    todo = [root.grad_fn] if isinstance(root, torch.Tensor) and root.grad_fn is not None else []
    while todo:
        node = todo.pop()
        if node not in seen:
            seen.add(node)
            todo.extend(following for following, _ in node.next_functions if following is not None)
    return len(seen)


def _parameters(optimizer: Optimizer) -> list[torch.Tensor]:
    return [parameter for group in optimizer.param_groups for parameter in group["params"]]


def _after(owner: type, name: str, notice: Callable[[Any], None]) -> None:
    """Call `notice(self)` after each call of the method `name` of `owner`."""
    original = getattr(owner, name)

    def observed(self: Any, *args: Any, **kwargs: Any) -> None:
        original(self, *args, **kwargs)
        notice(self)

    setattr(owner, name, observed)
