"""Names that mislead: second ones of what should be a copy, and a flag that modules do not have."""

from __future__ import annotations

import ast
import sys
import weakref
from collections.abc import Iterator
from types import FrameType

import torch
from torch import nn

from gradlint.concrete.places import Place, Spot
from gradlint.concrete.seen import Seen
from gradlint.concrete.watcher import Known, Operation, Watcher
from gradlint.concrete.written import nodes_of, own_frames, spot_of, value_of
from gradlint.domain.fault.modules import ModuleFlag, NetworkAlias
from gradlint.domain.fault.tensors import MethodOverwritten
from gradlint.domain.fault.training_loop import ParameterMinusItself

_MODULE = nn.modules.module.__file__
_FLAG = "requires_grad"
_METHOD = "requires_grad_"
_AVERAGES = frozenset({torch.Tensor.lerp_, torch.Tensor.add_, torch.Tensor.copy_})
"""By these, an average takes over a part of what a network has."""
_DIFFERENCES = frozenset({torch.Tensor.sub, torch.Tensor.__sub__, torch.sub, torch.subtract, torch.Tensor.subtract})


class Names(Watcher):
    """Looks at what a network loads or averages, at differences of parameters, and at the attributes of networks."""

    files = frozenset({_MODULE})
    functions = _AVERAGES | _DIFFERENCES

    def __init__(self, known: Known) -> None:
        super().__init__(known)
        self._looked: set[tuple[int, int]] = set()
        self._networks: weakref.WeakSet[nn.Module] = weakref.WeakSet()
        self._found: dict[tuple[int, int], Seen] = {}

    def operated(self, it: Operation) -> None:
        """Look at a parameter and what it is copied from or compared with: that may be itself.

        What loads a state dict does so with one after the other, of which the first is enough.
        """
        if it.func in _DIFFERENCES:
            self._difference(it)
        elif it.func not in _AVERAGES or it.place.key in self._looked or len(it.args) < 2:
            return
        else:
            self._looked.add(it.place.key)
            to, given = it.args[:2]
            if isinstance(given, torch.Tensor) and to.numel() and to.data_ptr() == given.data_ptr():
                if it.caller.f_code.co_filename == _MODULE:
                    self._alias(it)
                elif given.shape == to.shape and (parameter := _parameter(to, it.caller)) is not None:
                    self._second_name(it, parameter)

    def _difference(self, it: Operation) -> None:
        """Find a parameter less itself, or less a value of its own memory that was taken before the last step."""
        parameter = next((one for one in it.given if isinstance(one, nn.Parameter)), None)
        if parameter is None or len(it.given) != 2 or not it.tracked or not parameter.numel():
            return
        one, other = it.given
        cut = self.cut(other if one is parameter else one)
        is_kept = cut is not None and cut.kind in ("detach", "data") and cut.steps < self.training.steps
        if one is other or (is_kept and one.data_ptr() == other.data_ptr() and one.stride() == other.stride()):
            made = self.training.origin(parameter)
            self._found.setdefault(it.place.key, Seen(ParameterMinusItself, it.place, {"parameter": made}))

    def _second_name(self, it: Operation, parameter: nn.Parameter) -> None:
        """Find where the network of a parameter, which is averaged with itself, got its second name, if it has one."""
        for frame in own_frames(it.caller):
            for node in nodes_of(frame.f_code.co_filename):
                target = node.targets[0] if isinstance(node, ast.Assign) else None
                if not isinstance(node, ast.Assign) or not isinstance(target, (ast.Name, ast.Attribute)):
                    continue
                network = value_of(node.value, frame)
                own = list(network.parameters()) if isinstance(network, nn.Module) else []
                if any(one is parameter for one in own) and value_of(target, frame) is network:
                    spot = spot_of(frame.f_code.co_filename, node)
                    fields = {"one": ast.unparse(node.value), "other": ast.unparse(target), "apart": it.place}
                    self._found.setdefault(spot.key, Seen(NetworkAlias, spot, fields))
                    return
        same = {"one": "", "other": "", "apart": it.place}
        self._found.setdefault(it.place.key, Seen(NetworkAlias, it.place, same))

    def _alias(self, it: Operation) -> None:
        """Find where a network got the other of the names by which a line loads its own state."""
        frame = next((one for one in own_frames(it.caller) if one.f_code is it.place.code), None)
        loads = it.place.call
        if frame is None or loads is None or not isinstance(loads.func, ast.Attribute):
            return
        call = loads.args[0] if loads.args else None
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
            return
        one, other = loads.func.value, call.func.value
        network = value_of(one, frame)
        names = {ast.unparse(one), ast.unparse(other)}
        if len(names) < 2 or not isinstance(network, nn.Module) or value_of(other, frame) is not network:
            return
        made = [
            node
            for node in nodes_of(it.place.filename)
            if isinstance(node, ast.Assign) and names == {*map(ast.unparse, node.targets), ast.unparse(node.value)}
        ]
        if len(made) == 1:
            spot = spot_of(it.place.filename, made[0])
            fields = {"one": ast.unparse(one), "other": ast.unparse(other), "apart": it.place}
            self._found.setdefault(spot.key, Seen(NetworkAlias, spot, fields))

    def module_entered(self, module: nn.Module, place: Place) -> None:
        """Look once at the parts of a network."""
        if len(self.inside) > 1 or module in self._networks:
            return
        self._networks.add(module)
        for part in module.modules():
            if isinstance(vars(part).get(_FLAG), bool) and not _reads_flag(type(part)):
                spot = self._set(part, _FLAG)
                if spot is not None:
                    self._found.setdefault(spot.key, Seen(ModuleFlag, spot, {"name": _FLAG, "owner": "module"}))
            owners: list[nn.Module | torch.Tensor] = [part, *part.parameters(recurse=False)]
            for one in owners:
                spot = self._set(one, _METHOD) if isinstance(vars(one).get(_METHOD), bool) else None
                if spot is not None:
                    owner = "module" if one is part else "tensor"
                    self._found.setdefault(spot.key, Seen(MethodOverwritten, spot, {"owner": owner}))

    def _set(self, part: nn.Module | torch.Tensor, name: str) -> Spot | None:
        """Return where an attribute was set: by its owner in a frame, or by the only line that is left.

        Where torch was called at a line, that has set the flag of a tensor.
        """
        left: set[Spot] = set()
        for frame in own_frames(sys._getframe(1)):
            file = frame.f_code.co_filename
            rows = {place.row for place in self.places.visited if place.filename == file}
            for node in nodes_of(file):
                if not isinstance(node, ast.Assign):
                    continue
                for target in node.targets:
                    if isinstance(target, ast.Attribute) and target.attr == name and node.lineno not in rows:
                        if value_of(target.value, frame) is part:
                            return spot_of(file, node)
                        left.add(spot_of(file, node))
        return left.pop() if len(left) == 1 else None

    def seen(self) -> Iterator[Seen]:
        """Yield what was found."""
        yield from self._found.values()


def _parameter(tensor: torch.Tensor, frame: FrameType | None) -> nn.Parameter | None:
    """Return the parameter whose memory a tensor has, among the variables of a frame and of those outside of it."""
    while frame is not None:
        own = [one for one in frame.f_locals.values() if type(one) is nn.Parameter and one.shape == tensor.shape]
        found = next((one for one in own if one.data_ptr() == tensor.data_ptr()), None)
        if found is not None:
            return found
        frame = frame.f_back
    return None


def _reads_flag(cls: type) -> bool:
    """Return whether a class that is none of torch's has a method that names the flag: it may have one of its own."""
    own = (one for one in cls.__mro__ if not one.__module__.startswith("torch."))
    codes = (getattr(value, "__code__", None) for one in own for value in vars(one).values())
    return any(code is not None and _FLAG in code.co_names for code in codes)
