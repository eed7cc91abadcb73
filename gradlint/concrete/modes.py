"""Training and evaluation mode: networks that are trained in evaluation, or evaluated in training mode."""

from __future__ import annotations

import ast
import weakref
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from types import FrameType
from typing import Any

import torch
from torch import nn
from torch.nn import functional
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.modules.dropout import _DropoutNd

from gradlint.concrete import losses
from gradlint.concrete.calls import Call
from gradlint.concrete.leaf import Leaf
from gradlint.concrete.places import Place
from gradlint.concrete.seen import Seen
from gradlint.concrete.watcher import Known, Operation, Watcher
from gradlint.domain.fault.modules import DropoutAlwaysOn
from gradlint.domain.fault.training_loop import EvalModeMissing, TrainModeMissing

_DROPOUTS = frozenset(
    {functional.dropout, functional.dropout1d, functional.dropout2d, functional.dropout3d, functional.alpha_dropout}
)
_DISPATCH = (torch.overrides.__file__, functional.__file__)
_LOSSES = frozenset(getattr(functional, name) for name in losses.WATCHED)
_APART = 2
"""So many steps lie at least between two evaluations: what is done after each may be meant for the training itself."""
_MANY = 3
"""So many calls in a row under `no_grad` are an evaluation: a GAN makes one false batch so, and trains on it."""


@dataclass
class Network:
    """A module that the program calls itself.

    `varies`: it computes otherwise in training than in evaluation.
    `evaluated` and `trained` are where the program has switched it last, `steps` how many steps there were by then.
    `turned`: `train()` was called of it, and not of a module around it alone, which leaves a part in evaluation mode.
    `looked`: it was called since, under `no_grad`, in evaluation mode. `stepped` is how
    many steps it was trained by, in training mode; `backward` a backward in evaluation mode.
    """

    module: weakref.ref[nn.Module]
    leaf: Leaf
    varies: bool
    evaluated: Place | None = None
    trained: Place | None = None
    steps: int = -1
    stepped: int = 0
    last: int = -1
    turned: bool = False
    looked: bool = False
    wrong: int = 0
    backward: Place | None = None


@dataclass
class Runs:
    """Calls in a row at a place, in training mode and without a graph, since the last backward or step."""

    network: Network
    since: tuple[int, int]
    number: int = 0
    most: int = 0


class Modes(Watcher):
    """Follows the mode of the networks that the program calls."""

    functions = _DROPOUTS | _LOSSES

    def __init__(self, known: Known) -> None:
        super().__init__(known)
        self._networks: weakref.WeakKeyDictionary[nn.Module, Network | None] = weakref.WeakKeyDictionary()
        self._kept: list[Network] = []
        self._switches: weakref.WeakKeyDictionary[nn.Module, tuple[bool, Place, int]] = weakref.WeakKeyDictionary()
        self._called: list[tuple[Network, bool]] = []
        self._runs: dict[tuple[int, int], tuple[Place, Runs]] = {}
        self._found: dict[tuple[str, tuple[int, int]], Seen] = {}
        self._modes: dict[tuple[int, int], str] = {}
        self._evaluated: tuple[Network, Place] | None = None
        """The network that was called last without a graph while it is trained, in training mode."""
        self._measured: dict[tuple[int, int], tuple[Network, Place, list[int]]] = {}
        """Where such a network was called, with the steps by which a loss of it was computed without a graph."""

    def paused(self) -> None:
        """Forget what was called, and what has led to it; switches are heard of between samples as well."""
        self._called.clear()
        for network in self._kept:
            network.backward = None
        for _, runs in self._runs.values():
            runs.number = 0

    def mode_switched(self, module: nn.Module, training: bool, place: Place) -> None:
        """Note a switch of a module with parts; one of a single layer is meant for that layer."""
        self._switches[module] = training, place, self.training.steps
        if next(module.children(), None) is None:
            return
        for part in module.modules():
            network = self._networks.get(part)
            if network is not None:
                network.steps = self.training.steps
                if training:
                    network.trained, network.evaluated = place, None
                    network.turned = network.turned or part is module
                else:
                    network.evaluated, network.looked = place, False

    def module_entered(self, module: nn.Module, place: Place) -> None:
        """Look at the mode of a network that the program calls."""
        if len(self.inside) > 1:
            return
        network = self._network(module)
        if network is None:
            return
        if torch.is_grad_enabled():
            self._called.append((network, module.training))
        elif not module.training:
            network.looked = True
        elif (trained := self._trained(network)).stepped and network.steps <= trained.last:
            now = self.training.number, self.training.steps
            _, runs = self._runs.setdefault(place.key, (place, Runs(network, now)))
            runs.number = runs.number + 1 if runs.since == now else 1
            runs.since, runs.most = now, max(runs.most, runs.number)
            self._evaluated = network, place

    def _trained(self, network: Network) -> Network:
        """Return a network that is trained, of which this one is a part; itself if it is none."""
        module = network.module()
        around = () if network.stepped else (one for one in self._kept if one.stepped and one.module() is not None)
        parts = (one for one in around if any(part is module for part in one.module().modules()))  # type: ignore[union-attr]
        return next(parts, network)

    def operated(self, it: Operation) -> None:
        """Look at dropout that the program calls itself: it follows the mode of the module, or is not given any.

        Look also at losses of what a network computes without a graph: they are an evaluation of it.
        """
        if it.func in _LOSSES:
            outside = not self.inside or self._networks.get(self.inside[0]) is None
            if self._evaluated is not None and outside and not torch.is_grad_enabled():
                measured, place = self._evaluated
                known = self._measured.setdefault(place.key, (measured, place, []))[2]
                if not known or known[-1] != self.training.steps:
                    known.append(self.training.steps)
                self._evaluated = None
            return
        if not self.inside or not it.kwargs.get("p"):
            return
        network, module, training = self._networks.get(self.inside[0]), self.inside[-1], it.kwargs.get("training")
        if training is module.training and network is not None and not network.varies:
            network.varies = self._mode_of(it) == "given"
        elif training and not module.training and self._mode_of(it) == "left out":
            self._find(Seen(DropoutAlwaysOn, it.place, {"made": False}))

    def _mode_of(self, it: Operation) -> str:
        """Return how the mode of a call of dropout is written; that of a package is taken to be given."""
        if it.place.key not in self._modes:
            outside: FrameType | None = it.caller
            while outside is not None and outside.f_code.co_filename in _DISPATCH:
                outside = outside.f_back
            call, mode = it.place.call, "given"
            if outside is not None and outside.f_code is it.place.code:
                named = {} if call is None else {one.arg: one.value for one in call.keywords}
                value = named.get("training", call.args[2] if call is not None and len(call.args) > 2 else None)
                if call is None or isinstance(value, ast.Constant):
                    mode = "fixed"
                elif value is None and None not in named:
                    mode = "left out"
            self._modes[it.place.key] = mode
        return self._modes[it.place.key]

    def _network(self, module: nn.Module) -> Network | None:
        if module not in self._networks:
            parameters = list(module.parameters())
            first = next((one for one in parameters if one.requires_grad), parameters[0] if parameters else None)
            known = self._switches.get(module)
            if first is None:
                self._networks[module] = None
                return None
            network = Network(weakref.ref(module), self.training.leaf(first), _has_two_modes(module))
            if known is not None and not known[0] and next(module.children(), None) is not None:
                network.evaluated = known[1]
            self._networks[module] = network
            self._kept.append(network)
        return self._networks[module]

    def backpropagated(self, call: Call, place: Place) -> None:
        """Note that networks were trained, each in the mode in which it was called last."""
        for network, mode in self._called:
            if mode or network.leaf.filled != place:
                continue
            network.backward = place

    def step_begins(self, optimizer: Any, leaves: list[Leaf], place: Place) -> None:
        """Count the steps of networks, by the mode in which they were called."""
        own = {id(leaf) for leaf in leaves}
        for network, mode in self._called:
            if id(network.leaf) not in own or network.leaf.filled is None or network.last == self.training.steps:
                continue
            network.last = self.training.steps
            if mode:
                network.stepped += 1
            elif network.evaluated is not None and network.backward is not None:
                if not network.stepped and not network.looked and not network.turned:
                    continue  # It is trained in evaluation mode from the beginning on: that is meant.
                network.wrong += 1
                if network.wrong >= 2 and network.varies:
                    fields = {"backward": network.backward, "trained": network.trained}
                    self._find(Seen(TrainModeMissing, network.evaluated, fields))
        self._called = [(one, mode) for one, mode in self._called if id(one.leaf) not in own]

    def _find(self, seen: Seen) -> None:
        self._found.setdefault((seen.kind.__name__, seen.place.key), seen)

    def seen(self) -> Iterator[Seen]:
        """Yield what was found on the way, and the evaluations in training mode."""
        yield from self._found.values()
        for network, place, steps in self._measured.values():
            rare = all(other - one >= _APART for one, other in pairwise(steps))
            if network.varies and len(steps) > 1 and rare:
                yield Seen(EvalModeMissing, place, {"loop": None, "measured": True})
        for place, runs in self._runs.values():
            now = self.training.number, self.training.steps
            if not runs.network.varies:
                continue
            if runs.most >= _MANY or (runs.number > 1 and runs.since == now):
                yield Seen(EvalModeMissing, place, {"loop": None})


def _has_two_modes(module: nn.Module) -> bool:
    """Return whether a part of a module drops values, or normalises by the batch in training mode alone."""
    return any(
        (isinstance(part, _DropoutNd) and part.p > 0)
        or (isinstance(part, _BatchNorm) and part.track_running_stats)
        or (isinstance(part, (nn.RNNBase, nn.MultiheadAttention)) and part.dropout > 0)
        for part in module.modules()
    )
