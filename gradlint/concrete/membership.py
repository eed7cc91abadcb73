"""Which parameters of the networks that are called no optimizer holds."""

from __future__ import annotations

import ast
import sys
import weakref
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import torch
from torch import nn

from gradlint.concrete.calls import Call
from gradlint.concrete.leaf import Leaf
from gradlint.concrete.places import Place, Spot
from gradlint.concrete.seen import Seen
from gradlint.concrete.tape import label_of, leaves_of, nodes_below
from gradlint.concrete.watcher import Known, Operation, Watcher
from gradlint.concrete.written import nodes_of, own_frames, spot_of
from gradlint.domain.event import Event
from gradlint.domain.fault import modules as modules_fault
from gradlint.domain.fault import optimizers as fault
from gradlint.domain.fault.training_loop import StateDictAlias

_MODULE = nn.modules.module.__file__
_LOOKS = 3
"""How often the attributes of a network are looked at: the first calls, and the first steps after them."""


class Optimized(NamedTuple):
    """An optimizer, where it was made, and how many leaves there were by then."""

    place: Place
    born: int


class Taken(NamedTuple):
    """Where a state dict was taken last, its first tensor, when that was, and whether it was loaded since."""

    place: Place
    first: weakref.ref[torch.Tensor]
    since: int
    is_loaded: bool = False


class Candidate(NamedTuple):
    """What is wrong if, at the end, no optimizer holds the `leaf`, and a backward reaches it."""

    kind: type[Event]
    place: Place
    fields: Mapping[str, object]
    leaf: Leaf


class Membership(Watcher):
    """Compares the parameters of networks with those of the optimizers."""

    files = frozenset({_MODULE})
    sought = (
        modules_fault.ModuleInContainer,
        modules_fault.ParameterInContainer,
        modules_fault.TensorNotParameter,
        fault.ConstantsInOptimizer,
    )

    def __init__(self, known: Known) -> None:
        super().__init__(known)
        self._made: weakref.WeakKeyDictionary[Any, Optimized] = weakref.WeakKeyDictionary()
        self._constants: dict[tuple[int, int], tuple[Place, Place, bool]] = {}
        self._networks: weakref.WeakKeyDictionary[nn.Module, int] = weakref.WeakKeyDictionary()
        self._held: dict[int, tuple[weakref.ref[nn.Module], str, Leaf]] = {}
        self._candidates: dict[tuple[str, tuple[int, int]], Candidate] = {}
        self._known = 0
        self._aliases: dict[tuple[int, int], Seen] = {}
        self._states: dict[tuple[int, int], Taken] = {}
        self._outlived: set[tuple[int, int]] = set()
        """The lines whose state dict was there after a later step, not loaded, when they made another one."""
        self._reached: dict[tuple[int, int], int] = {}
        self._looked: Counter[tuple[int, int]] = Counter()
        """How often a network was looked at in a step of an optimizer, by their ids."""
        self._after: dict[tuple[int, int], Place] = {}
        """The backwards, each with where an optimizer of named parameters was made that steps after it."""

    def operated(self, it: Operation) -> None:
        """Look at what `load_state_dict` copies into a parameter: nothing, if that is the memory of the parameter."""
        if it.func is not torch.Tensor.copy_ or len(it.args) < 2:
            return
        to, given = it.args[:2]
        loaded = self.training.leaf(to)
        loaded.loaded = loaded.backwards
        if not isinstance(given, torch.Tensor) or to.data_ptr() != given.data_ptr() or not to.numel():
            return
        taken = next((one for one in self._states.values() if one.first() is given), None)
        if taken is not None:
            self._states[taken.place.key] = taken._replace(is_loaded=True)
            if self._now > taken.since or taken.place.key in self._outlived:
                self._aliases.setdefault(taken.place.key, Seen(StateDictAlias, taken.place, {"loaded": it.place}))

    @property
    def _now(self) -> int:
        """Return a number that grows with each step, also with those that nobody has watched."""
        return self.training.steps + self.training.iterations()

    def state_taken(self, state: Any, place: Place) -> None:
        """Note the first parameter of a state dict."""
        known = self._states.get(place.key)
        if not isinstance(state, dict):
            return
        if known is not None and known.first() is not None and known.since < self._now and not known.is_loaded:
            self._outlived.add(place.key)
        first = next((one for one in state.values() if isinstance(one, torch.Tensor)), None)
        if first is not None and (known is None or known.since < self._now):
            self._states[place.key] = Taken(place, weakref.ref(first), self._now)

    def backpropagated(self, call: Call, place: Place) -> None:
        """Look at networks again where a backward reaches more than the one before it: some of them was frozen."""
        if call.fills and self._reached.get(place.key, len(call.leaves)) < len(call.leaves):
            self._looked.clear()
        self._reached[place.key] = len(call.leaves)

    def optimizer_made(self, optimizer: Any, place: Place) -> None:
        """Note an optimizer; it has no parameters yet."""
        self._made[optimizer] = Optimized(place, self.training.born)

    def module_entered(self, module: nn.Module, place: Place) -> None:
        """Look at the attributes of a network that the program calls, and at calls of what stands in containers."""
        if len(self.inside) > 1:
            if id(module) in self._held:
                self._called(module, place)
            return
        looked = self._networks.get(module, 0)
        if looked < _LOOKS:
            self._networks[module] = looked + 1
            own = {id(one) for one in module.parameters()}
            for part in module.modules():
                self.training.hooked |= bool(part._backward_hooks or part._backward_pre_hooks)
                for name, value in list(vars(part).items()):
                    if not name.startswith("_"):
                        self._attribute(part, name, value, own)

    def _attribute(self, owner: nn.Module, name: str, value: Any, own: set[int], depth: int = 1) -> None:
        if isinstance(value, torch.Tensor):
            self._tensor(name, value, own)
            return
        inside = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
        for one in inside:
            if depth and isinstance(one, (dict, list, tuple)):
                self._attribute(owner, name, one, own, depth - 1)
            elif isinstance(one, nn.Module):
                for leaf in one.parameters():
                    if leaf.requires_grad and id(leaf) not in own:
                        self.inner.add(id(one))
                        self._held[id(one)] = weakref.ref(one), name, self.training.leaf(leaf)
                        break
            elif isinstance(one, nn.Parameter) and one.requires_grad and id(one) not in own:
                leaf_, made = self.training.leaf(one), self.training.origin(one)
                if made is not None:
                    fields = {"name": name, "made": made}
                    self._note(Candidate(modules_fault.ParameterInContainer, made, fields, leaf_))

    def _tensor(self, name: str, value: torch.Tensor, own: set[int]) -> None:
        """Look at a tensor that is an attribute: a leaf that is no parameter, or a value computed from one."""
        if not value.requires_grad:
            return
        if value.grad_fn is None:
            made = self.training.origin(value)
            if made is not None and not isinstance(value, nn.Parameter):
                fields = {"name": name, "made": made}
                self._note(Candidate(modules_fault.TensorNotParameter, made, fields, self.training.leaf(value)))
            return
        label = label_of(value.grad_fn)
        leaves = [one for one in leaves_of(nodes_below([value.grad_fn])) if isinstance(one, nn.Parameter)]
        if label is not None and len(leaves) == 1 and id(leaves[0]) not in own:
            fields = {"name": name, "made": label.place}
            self._note(Candidate(modules_fault.ParameterMoved, label.place, fields, self.training.leaf(leaves[0])))

    def _called(self, module: nn.Module, place: Place) -> None:
        found, name, leaf = self._held[id(module)]
        made = leaf.built or leaf.made
        if found() is module and torch.is_grad_enabled() and made is not None:
            fields = {"name": name, "made": made, "called": place}
            self._note(Candidate(modules_fault.ModuleInContainer, made, fields, leaf))

    def _note(self, candidate: Candidate) -> None:
        self._candidates.setdefault((candidate.kind.__name__, candidate.place.key), candidate)

    def step_begins(self, optimizer: Any, leaves: list[Leaf], place: Place) -> None:
        """Look for parameters that the optimizer should hold, and does not."""
        if len(self._made) != self._known:
            self._known = len(self._made)
            for one in list(self._made):
                for group in one.param_groups:
                    for parameter in group["params"]:
                        self.training.leaf(parameter).held = True
        for leaf in leaves:
            leaf.held = True
        parameters = [one for group in optimizer.param_groups for one in group["params"]]
        made = self._made.get(optimizer)
        if made is None:
            return
        constant = all(not one.requires_grad and one.grad is None for one in parameters) and bool(parameters)
        _, step, so_far = self._constants.get(made.place.key, (made.place, place, True))
        self._constants[made.place.key] = made.place, step, constant and so_far
        held = {id(one) for one in parameters}
        trained = any(leaf.name for leaf in leaves)
        for network in list(self._networks):
            key = id(network), id(optimizer)
            self._looked[key] += 1
            if self._looked[key] <= _LOOKS:
                self._late(network, held, made, place, trained)
        self._looked[0, id(optimizer)] += 1
        if trained and self._looked[0, id(optimizer)] == _LOOKS:
            self._loose(made)
        filled = next((leaf.filled for leaf in leaves if leaf.filled is not None), None)
        if filled is not None and trained:
            self._after.setdefault(filled.key, made.place)

    def _late(self, network: nn.Module, held: set[int], made: Optimized, place: Place, trained: bool) -> None:
        """Note parameters of a network, partly held by an optimizer, that have come after it.

        Of a network of which it holds none, something is said only if it trains another one.
        """
        parameters = list(network.parameters())
        if not any(id(one) in held for one in parameters):
            first = next((one for one in parameters if one.requires_grad), None)
            if first is not None and trained:
                self._forgotten(first, made)
            return
        for part in network.modules():
            own = [one for one in part.parameters() if one.requires_grad]
            if own and not any(self.training.leaf(one).held for one in own):
                self._forgotten(own[0], made)
                break
            direct = [one for one in part.parameters(recurse=False) if one.requires_grad]
            direct = [one for one in direct if not self.training.leaf(one).held]
            if direct and not type(part).__module__.startswith("torch."):
                self._forgotten(direct[0], made, random=False)
                break
        for one in parameters:
            leaf = self.training.leaf(one)
            if one.requires_grad and id(one) not in held and leaf.born > made.born and leaf.made is not None:
                fields = {"made": leaf.made, "step": place}
                self._note(Candidate(fault.ParameterTooLate, made.place, fields, leaf))
                return

    def _loose(self, made: Optimized) -> None:
        """Note parameters of no module, in variables or of `self`, that each backward gives gradients."""
        loose = [leaf for leaf in self.training.leaves() if leaf.filled and leaf.backwards >= _LOOKS and not leaf.name]
        for frame in own_frames(sys._getframe(1)) if loose else ():
            variables = dict(frame.f_locals)
            owner = variables.get("self")
            more = {} if owner is None or isinstance(owner, nn.Module) else getattr(owner, "__dict__", {})
            for name, value in (variables | {f"self.{name}": one for name, one in more.items()}).items():
                leaf = self.training.leaf(value) if isinstance(value, nn.Parameter) else None
                spot = None if leaf not in loose else _assigned(name, frame.f_code.co_filename)
                if leaf is not None and spot is not None:
                    fields = {"made": spot, "backward": leaf.filled}
                    self._note(Candidate(fault.ParameterForgotten, made.place, fields, leaf))

    def _forgotten(self, parameter: nn.Parameter, made: Optimized, random: bool = True) -> None:
        """Note a network, or a part of one, with weights, random ones or others, that get gradients now."""
        leaf = self.training.leaf(parameter)
        where = leaf.built or leaf.made
        is_fresh = leaf.random or (not random and leaf.loaded < 0)
        if leaf.filled and where is not None and is_fresh and leaf.since == self.training.steps:
            fields = {"made": where, "backward": leaf.filled}
            self._note(Candidate(fault.NetworkForgotten, made.place, fields, leaf))

    def seen(self) -> Iterator[Seen]:
        """Yield what is still so at the end."""
        yield from self._aliases.values()
        for made, step, constant in self._constants.values():
            if constant:
                yield Seen(fault.ConstantsInOptimizer, made, {"step": step})
        found = [one for one in self._candidates.values() if _is_forgotten(one.leaf)]
        for one in {(one.kind, one.leaf): one for one in reversed(found or list(self._alone()))}.values():
            yield Seen(one.kind, one.place, one.fields)

    def _alone(self) -> Iterator[Candidate]:
        """Yield a parameter of a module that the program never calls itself, such as a `ParameterDict`."""
        for leaf in self.training.leaves():
            made, where = self._after.get(leaf.filled.key) if leaf.filled else None, leaf.built or leaf.made
            is_fresh = leaf.name and leaf.loaded < 0 and leaf.backwards >= _LOOKS
            if made is not None and where is not None and is_fresh and _is_forgotten(leaf):
                yield Candidate(fault.NetworkForgotten, made, {"made": where, "backward": leaf.filled}, leaf)
                return


def _is_forgotten(leaf: Leaf) -> bool:
    """Return whether a leaf gets gradients, and nothing uses them."""
    return leaf.backwards > 0 and not (leaf.held or leaf.is_trained_on or leaf.read or leaf.stepped)


def _assigned(name: str, filename: str) -> Spot | None:
    """Return the only call of a file of which a name is the result."""
    found = [
        node.value
        for node in nodes_of(filename)
        if isinstance(node, ast.Assign) and any(ast.unparse(one) == name for one in node.targets)
    ]
    return spot_of(filename, found[0]) if len(found) == 1 and isinstance(found[0], ast.Call) else None
