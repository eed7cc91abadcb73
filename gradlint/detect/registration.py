"""What a module holds and does not register: plain tensors, containers, modules that are made on the way."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import TypeAlias

import libcst as cst

from gradlint.detect.detector import Detector
from gradlint.detect.optimizers import MembershipDetector
from gradlint.domain.announcement import AttributeSet, ModuleEntered, ModuleMade, Operated, OptimizerMade
from gradlint.domain.event import Fault
from gradlint.domain.fault import modules as faults
from gradlint.domain.state import State
from gradlint.domain.value import External, Instance, Mapping, Ref, Sequence, Tensor, Value, is_unnamed
from gradlint.facts.aliases import canonical
from gradlint.facts.traits import FACTORIES, RANDOM
from gradlint.interpreter.python.classes import find_in_class
from gradlint.interpreter.reachable import items_in
from gradlint.interpreter.torch.parameters import (
    is_module,
    leaf_records_of,
    modules_of,
    parameters_of,
    running_method_of,
)
from gradlint.source.lower.syntax import called_name, parts

_OWN_REGISTRY = ("parameters", "named_parameters", "modules", "named_modules", "children", "__setattr__")
"""A class that defines one of these says itself what its parameters are."""

Placed: TypeAlias = dict[tuple[int, str], cst.CSTNode]
"""Where an attribute of an object got its container, by address and name."""


class RegistrationDetector(Detector[Placed]):
    """Looks for what torch does not find among the parameters of a module; whether it is trained shows at the end."""

    def on_attribute_set(self, state: State, it: AttributeSet) -> None:
        """Look at containers, and at tensors that are no parameters, as attributes of a module."""
        if not isinstance(it.value, Ref) or not isinstance(it.owner, Ref) or not is_module(state, it.owner):
            return
        new = state.heap.get(it.value.id)
        if isinstance(new, (Sequence, Mapping)):
            self.facts[it.owner.id, it.name] = it.node
        elif isinstance(new, Tensor) and not new.parameter and self._is_running("__init__"):
            if new.leaf is not True:
                self._judge_computed(state, new, it)
            elif new.node.leaf == it.value.id and _is_made_to_train(new) and not self.machine.expected:
                self._doubt_plain(new, it)

    def _is_running(self, name: str, depth: int = 0) -> bool:
        """Return whether a method of this name runs, at this depth of calls at most if one is given."""
        return any(code.name == name for code in self.machine.stack[-depth:])

    def _doubt_plain(self, leaf: Tensor, it: AttributeSet) -> None:
        """Suspect a leaf that a module has, or has a result of, under a name that torch does not know of."""
        assert leaf.node.leaf is not None
        self._doubt({leaf.node.leaf}, faults.TensorNotParameter(it.node, it.name, leaf.node.syntax), used=True)

    def _doubt(self, leaves: Iterable[int], fault: Fault, *, used: bool = False) -> None:
        """Report a fault if no optimizer ever holds these leaves; with `used`, and if a gradient may arrive at one."""
        self.other(MembershipDetector).add(leaves, fault, used=used)

    def _judge_computed(self, state: State, record: Tensor, it: AttributeSet) -> None:
        """Report the result of an operation on a parameter that nothing else holds: torch registers neither."""
        value = getattr(it.node, "value", None)
        is_moved = called_name(record.node.syntax) in _MOVES
        if not isinstance(value, cst.CSTNode) or not (record.node.tracked or is_moved):
            return
        calls = set(_calls(value))
        for leaf in leaf_records_of(state, record.node):
            made = leaf.node.syntax
            if made in calls and leaf.parameter:
                self.report(faults.ParameterMoved(it.node, it.name, made))
                return
            plain = made in calls and made not in self.other(MembershipDetector).facts.offered and not is_moved
            if plain and _is_made_to_train(leaf):
                self._doubt_plain(leaf, it)
                return

    # Modules that are called and not registered.

    def on_module_entered(self, state: State, it: ModuleEntered) -> None:
        """Look at a module that a method of another calls while gradients are recorded."""
        owner = running_method_of(state)
        if state.grad is not True or self.machine.expected or owner is None:
            return
        if owner.id >= it.module.id or not is_module(state, owner):
            return
        record = state.at(owner, Instance)
        if record.module.loose or not is_module(state, it.module):
            return
        # The attribute whose plain list, tuple or dict holds the module.
        name = next((name for name, value in record.attrs.items() if it.module in items_in(state, value)), None)
        if name is not None:
            self._judge_contained(state, owner, record, name, it)
        elif (
            self._is_running("forward", 2)
            and it.module.id > state.frame
            and not _is_registered(state, owner, it.module)
        ):
            self._judge_built(state, it)

    def on_operated(self, state: State, it: Operated) -> None:
        """Suspect a weight that `forward` draws itself, to require grad, and gives a function as its weight."""
        owner = running_method_of(state)
        if owner is None or not self._is_running("forward", 1) or not is_module(state, owner):
            return
        for label, ref, _ in it.inputs:
            record = None if label != "weight" or ref is None or ref.id < state.frame else state.at(ref, Tensor)
            if record is not None and record.leaf is True and _is_made_to_train(record) and record.node.leaf:
                self._doubt([record.node.leaf], faults.WeightMadeInForward(record.node.syntax, it.node), used=True)

    def _judge_contained(self, state: State, owner: Ref, record: Instance, name: str, it: ModuleEntered) -> None:
        trained = _trained(state, it.module)
        is_open = any(module.open for _, module in modules_of(state, it.module))
        if _has_registry(state, record) or is_open or not trained or _is_registered(state, owner, it.module):
            return
        if any(_is_open_list(one) for _, one in modules_of(state, owner)):
            return  # A loop lists parameters, and was followed over the first ones alone.
        made = state.at(it.module, Instance)
        place = self.facts.get((owner.id, name)) or made.syntax or it.node
        self._doubt(trained, faults.ModuleInContainer(place, name, made.syntax, it.node))

    def on_module_made(self, state: State, it: ModuleMade) -> None:
        """Look at the containers of a module that nobody but gradlint has made."""
        self._judge_containers(state, it.module)

    def on_optimizer_made(self, state: State, it: OptimizerMade) -> None:
        """Look at the containers of the modules that are to be trained."""
        for module in self.other(MembershipDetector).sources_in(state, it.given):
            self._judge_containers(state, module)

    def _judge_containers(self, state: State, root: Ref) -> None:
        """Suspect parameters in a plain container of a module, if they get gradients and no optimizer holds them."""
        for owner, record in list(modules_of(state, root)):
            if _has_registry(state, record) or record.module.loose:
                continue
            for name, value in record.attrs.items():
                leaves = [one for one in items_in(state, value) if _is_parameter(state, one)]
                fresh = [one.id for one in leaves if isinstance(one, Ref) and one.id > owner.id]
                whole = fresh and len(fresh) == len(leaves) and not is_unnamed(name)
                if whole and not any(one.id in fresh for _, one in parameters_of(state, owner)[0]):
                    self._doubt_listed(state, owner, name, fresh)

    def _doubt_listed(self, state: State, owner: Ref, name: str, leaves: list[int]) -> None:
        made = state.heap[leaves[0]]
        assert isinstance(made, Tensor)
        place = self.facts.get((owner.id, name)) or made.node.syntax
        self._doubt(leaves, faults.ParameterInContainer(place, name, made.node.syntax), used=True)

    def _judge_built(self, state: State, it: ModuleEntered) -> None:
        """Suspect a module whose weights are new at each call; weights that the program writes are a fixed filter.

        A slice of a registered container is a new module around weights that are there already, and a copy has the
        values of what it was copied from.
        """
        trained = frozenset(leaf for leaf in _trained(state, it.module) if leaf > state.frame)
        record = state.at(it.module, Instance)
        if trained and record.syntax is not None and not record.open and not _is_filled(state, record, trained):
            random = any(_is_random(state, part, trained) for _, part in modules_of(state, it.module))
            self._doubt(trained, faults.ModuleBuiltInForward(record.syntax, it.node, random))


def _is_random(state: State, layer: Instance, weights: Collection[int]) -> bool:
    """Return whether a layer has weights of its own that are drawn; torch's normalizations begin with ones and zeros.

    A class of the program draws them where it makes them, or has them computed from what it is given.
    """
    own = [value for value in layer.attrs.values() if isinstance(value, Ref) and value.id in weights]
    if isinstance(layer.cls, External):
        return bool(own) and "Norm" not in layer.cls.path
    calls = {call for value in own for call in _calls(state.at(value, Tensor).node.syntax)}
    made = (one.node for one in state.heap.values() if isinstance(one, Tensor) and one.node.syntax in calls)
    return any(canonical(node.op) in RANDOM for node in made)


_MAKING = FACTORIES | {"normal", "FloatTensor", "Tensor"}


def _is_made_to_train(record: Tensor) -> bool:
    """Return whether a leaf is made as a parameter is, from sizes or constants: one that holds data is an input."""
    made = record.node.syntax
    if record.grad is not True:
        return False
    names = {call.func.attr.value for call in _calls(made) if isinstance(call.func, cst.Attribute)}
    names |= {call.func.value for call in _calls(made) if isinstance(call.func, cst.Name)}
    if names & _MAKING:
        return True
    return "tensor" in names and record.shape is not None and all(isinstance(size, int) for size in record.shape)


def _calls(node: cst.CSTNode) -> Iterator[cst.Call]:
    if isinstance(node, cst.Call):
        yield node
    for child in parts(node):
        yield from _calls(child)


_MOVES = frozenset({"to", "cuda"})
"""Calls that move a tensor to a device, so that it is another tensor on all devices but one."""


def _has_registry(state: State, record: Instance) -> bool:
    """Return whether the class of a module says itself what its parameters are."""
    return isinstance(record.cls, Ref) and any(find_in_class(state, record.cls, one) for one in _OWN_REGISTRY)


def _is_registered(state: State, owner: Ref, ref: Ref) -> bool:
    return any(module == ref for module, _ in modules_of(state, owner))


def _is_open_list(record: Instance) -> bool:
    """Return whether a module is torch's list of parameters, and may hold others than are known."""
    return record.open and isinstance(record.cls, External) and record.cls.path == "torch.nn.ParameterList"


def _is_parameter(state: State, value: Value) -> bool:
    record = state.heap.get(value.id) if isinstance(value, Ref) else None
    return isinstance(record, Tensor) and record.parameter and record.grad is True


def _trained(state: State, ref: Ref) -> frozenset[int]:
    """Return the parameters of a module that require grad."""
    found = (state.heap[parameter.id] for _, parameter in parameters_of(state, ref)[0])
    return frozenset(one.node.leaf for one in found if isinstance(one, Tensor) and one.grad and one.node.leaf)


def _is_filled(state: State, record: Instance, leaves: frozenset[int]) -> bool:
    """Return whether a module has been copied from another, or the program has put values of its own into it."""
    for leaf in leaves:
        tensor = state.at(Ref(leaf), Tensor)
        if any(edge.cut == "copy" for edge in tensor.node.edges):
            return True
        if state.writes(tensor.counter) or state.writes(tensor.memory):
            return True
    of_torch = not isinstance(record.cls, Ref)
    own = (value for value in record.attrs.values() if isinstance(value, Ref) and value.id in leaves)
    return of_torch and any(getattr(state.heap[value.id], "syntax", None) is not record.syntax for value in own)
