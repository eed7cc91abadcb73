"""Parameters that get gradients and that no optimizer holds: late ones, used-up iterators, forgotten networks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass, field
from typing import NamedTuple

import libcst as cst

from gradlint.detect.detector import Detector
from gradlint.domain import announcement
from gradlint.domain.event import Fault
from gradlint.domain.fault import optimizers as faults
from gradlint.domain.graph import fresh_number
from gradlint.domain.state import State
from gradlint.domain.value import Instance, Mapping, Ref, Sequence, Tensor, Value
from gradlint.domain.walk import inputs, leaves, reachable
from gradlint.facts.aliases import canonical
from gradlint.facts.traits import INITIALISES
from gradlint.interpreter.escape import origins
from gradlint.interpreter.python.iteration import is_used_up
from gradlint.interpreter.reachable import contents, is_alive
from gradlint.interpreter.torch.backward import walk
from gradlint.interpreter.torch.parameters import is_module, members_of, modules_of, optimizer_state, parameters_of
from gradlint.interpreter.torch.tensor import SUMMARY, is_absent, tensor_at
from gradlint.source.lower.syntax import called_name


class Candidate(NamedTuple):
    """A fault, if none of these leaves is ever held by an optimizer.

    `used`: it is one only if a gradient may arrive at one of them, and the program does nothing with it by hand.
    `unless`: and if no loss depends on one of these. `vague`: that no optimizer holds these leaves may have a reason,
    which another fault names.
    """

    leaves: frozenset[int]
    fault: Fault
    used: bool = False
    unless: frozenset[int] = frozenset()
    vague: bool = False


@dataclass
class Membership:
    """The leaves of a program, by address, and what becomes of them on any path.

    `off`: when they were frozen last. `reached`: a gradient may flow to them, from a backward or from what a method
    returns. `cut_off`: a loss depends on them, and no gradient arrives. `fed`: certainly given a gradient, by which
    backward. `handled`: the program asks for their gradients itself, or gives them to something unknown; modules and
    other objects that escape stand here, too. `imported`: the leaves of networks of libraries, which others have
    trained. `judged`: looked at already. `unknown_holder`: some optimizer holds
    parameters that are not known, and not those of a module. `listed`: the module whose parameters an iterator gives,
    or whose state a dict. `sources`: the modules all of whose parameters an optimizer was given. `replaced`: what
    stands in the place of a module that was part of another. `missed`: leaves that an optimizer was seen to miss, by
    the memory their values stand in. `offered`: where leaves were made of which an optimizer was given no more than
    what was computed from them. `used_up`: an optimizer was given a used-up iterator.
    """

    off: dict[int, int] = field(default_factory=dict)
    reached: set[int] = field(default_factory=set)
    cut_off: set[int] = field(default_factory=set)
    fed: dict[int, cst.CSTNode] = field(default_factory=dict)
    handled: set[int] = field(default_factory=set)
    imported: set[int] = field(default_factory=set)
    judged: set[int] = field(default_factory=set)
    unknown_holder: bool = False
    listed: dict[int, Ref] = field(default_factory=dict)
    sources: dict[int, tuple[Ref, ...]] = field(default_factory=dict)
    replaced: dict[int, Ref] = field(default_factory=dict)
    missed: dict[int, int] = field(default_factory=dict)
    offered: set[cst.CSTNode] = field(default_factory=set)
    used_up: bool = False
    candidates: list[Candidate] = field(default_factory=list)

    def copy(self) -> Membership:
        """Return the same, to go on from without changing this."""
        fresh = Membership()
        for name, value in vars(self).items():
            setattr(fresh, name, value if isinstance(value, bool) else value.copy())
        return fresh

    def verdicts(self, held: Set[int]) -> Iterator[Fault]:
        """Yield the candidates that nothing dispels; leaves that one fault explains need no second one.

        `held` are the leaves that some optimizer was given.
        """
        explained: set[int] = set()
        for one in sorted(self.candidates, key=lambda one: one.vague):
            if not self._dispelled(one, held) and not (one.vague and one.leaves & explained):
                explained |= one.leaves
                yield one.fault

    def _dispelled(self, one: Candidate, held: Set[int]) -> bool:
        if one.leaves & held or one.unless & (self.reached | self.cut_off):
            return True
        left = self.unknown_holder or bool(one.leaves & self.handled)
        return one.used and (left or not (one.leaves & self.reached) - self.imported)


class MembershipDetector(Detector[Membership]):
    """Knows which parameters optimizers hold, and looks at each step for others that have a gradient."""

    def aside(self) -> Membership:
        """Go on with what is known."""
        return self.facts.copy()

    # What others ask.

    def add(self, leaves: Iterable[int], fault: Fault, *, used: bool = False) -> None:
        """Report a fault at the end, if no optimizer holds these leaves by then.

        With `used`, only if a gradient may arrive at one of them that the program does not handle itself.
        """
        self.facts.candidates.append(Candidate(frozenset(leaves), fault, used))

    def source_of(self, value: Value) -> Ref | None:
        """Return the module whose parameters an iterator gives, or whose state dict a value is."""
        return self.facts.listed.get(value.id) if isinstance(value, Ref) else None

    def sources_in(self, state: State, given: Value) -> tuple[Ref, ...]:
        """Return the modules all of whose parameters are given, in lists or groups."""
        found = (self.source_of(value) for value in _lists(state, given, 3))
        return tuple(module for module in found if module is not None)

    def verdicts(self) -> list[Fault]:
        """Return what is a fault because no optimizer holds some leaves, as far as the run has gone."""
        return list(self.facts.verdicts(self.machine.optimized))

    @property
    def misses(self) -> bool:
        """Whether an optimizer holds the wrong parameters, which explains those that are not trained."""
        return self.facts.used_up or any(isinstance(fault, faults.OptimizerMisses) for fault in self.verdicts())

    # What optimizers are given.

    def on_parameters_listed(self, state: State, it: announcement.ParametersListed) -> None:
        """Remember whose parameters an iterator gives."""
        self.facts.listed[it.made.id] = it.module

    def on_state_dict_taken(self, state: State, it: announcement.StateDictTaken) -> None:
        """Remember whose parameters a dict holds."""
        if isinstance(it.owner, Ref) and is_module(state, it.owner):
            self.facts.listed[it.made.id] = it.owner

    def on_optimizer_made(self, state: State, it: announcement.OptimizerMade) -> None:
        """Note the modules that an optimizer is to train, and groups that are given nothing any more."""
        self.facts.sources[it.optimizer.id] = self.sources_in(state, it.given)
        self.facts.unknown_holder |= it.open or self._holds_unknown(state, it.given)
        if any(value != it.given and is_used_up(state, value) for value in _lists(state, it.given, 3)):
            self.report(faults.IteratorUsedUp(it.node))
            self.facts.used_up |= not self.machine.expected

    def _holds_unknown(self, state: State, given: Value) -> bool:
        """Return whether a list of parameters may hold others than those of modules that are known."""
        open_lists = (value for value in _lists(state, given, 3) if getattr(state[value], "open", False))
        return any(value.id not in self.facts.listed for value in open_lists) or not isinstance(given, (Ref, tuple))

    def on_optimizer_supposed(self, state: State, it: announcement.OptimizerSupposed) -> None:
        """Note that some optimizer may hold anything."""
        self.facts.unknown_holder = True

    def on_parameters_taken(self, state: State, it: announcement.ParametersTaken) -> None:
        """Remember the leaves of which an optimizer is given a result, which torch refuses."""
        for record in (tensor_at(state, parameter) for parameter in it.parameters):
            if record.leaf is False and record.retains is False:
                self.facts.offered |= {leaf.syntax for leaf in leaves([record.node], inputs)}

    def on_requires_grad_set(self, state: State, it: announcement.RequiresGradSet) -> None:
        """Suspect what is switched on: a parameter that an optimizer has left out, or the copy of one that it holds."""
        leaf = state.heap.get(it.tensor.id)
        if isinstance(leaf, Tensor) and not leaf.parameter and it.wanted is True and leaf.node.edges:
            self._doubt_copy(state, it, leaf)
        if it.wanted is False:
            self.facts.off[it.tensor.id] = fresh_number()
        later = [one for one in self.facts.sources if one > self.facts.off.get(it.tensor.id, it.tensor.id)]
        if not later or it.wanted is not True or not isinstance(leaf, Tensor) or leaf.grad is not False:
            return
        made = state.heap.get(later[-1])
        if leaf.parameter and isinstance(made, Instance):
            fault = faults.ParameterUnfrozen(it.node, leaf.node.syntax, made.syntax)
            self.add({it.tensor.id}, fault, used=True)

    def _doubt_copy(self, state: State, it: announcement.RequiresGradSet, copy: Tensor) -> None:
        """Suspect a leaf that was computed from one leaf alone, which an optimizer holds."""
        held = {one.id for optimizer in self.facts.sources for one in members_of(state, Ref(optimizer))}
        found = [node for node in reachable([copy.node], inputs) if node.leaf is not None]
        if len(found) == 1 and found[0].leaf in held:
            self.add({it.tensor.id}, faults.LeafReplaced(it.node, found[0].syntax), used=True)

    # What becomes of parameters.

    def on_backpropagated(self, state: State, it: announcement.Backpropagated) -> None:
        """Note the leaves to which gradients flow."""
        certain = {node.leaf for node in it.certain}
        for node in it.possible.values():
            record = state.heap.get(node.leaf) if node.leaf is not None else None
            if node.leaf is None or not isinstance(record, Tensor) or record.grad is not True:
                continue
            if it.only is None or node.leaf in it.only:
                self.facts.reached.add(node.leaf)
                if node.leaf in certain:
                    self.facts.fed[node.leaf] = it.node

    def on_returned(self, state: State, it: announcement.Returned) -> None:
        """Count the leaves that a method's result was computed from as reached: its caller may backpropagate it."""
        if it.method and self.facts.candidates:
            nodes = walk(origins(state, (it.value,))).possible.values()
            self.facts.reached |= {node.leaf for node in nodes if node.leaf is not None}

    def on_gradient_read(self, state: State, it: announcement.GradientRead) -> None:
        """Note the leaf as handled: the program does with its gradient what it likes."""
        if it.tensor is not None and not it.warned:
            self.facts.handled.add(it.tensor.id)

    def on_gradients_asked(self, state: State, it: announcement.GradientsAsked) -> None:
        """Note the leaves as handled: the program does with their gradients what it likes."""
        self.facts.handled |= {tensor.id for tensor in it.inputs}

    def on_escaped(self, state: State, it: announcement.Escaped) -> None:
        """Note as handled what something unknown is given, in lists too: it may train it or give it to an optimizer."""
        self.facts.handled |= {value.id for value in contents(state, it.values) if isinstance(value, Ref)}

    def on_network_imported(self, state: State, it: announcement.NetworkImported) -> None:
        """Note a network that others have trained: nobody forgot it."""
        self.facts.imported.add(it.leaf.id)

    def on_network_supposed(self, state: State, it: announcement.NetworkSupposed) -> None:
        """Note that of a network which is only not shown nobody knows that others have trained it."""
        self.facts.imported.difference_update(leaf.id for leaf in it.leaves)

    def on_written(self, state: State, it: announcement.Written) -> None:
        """Note as handled a network that the program itself gives its values: the target network of another."""
        leaf = self.facts.missed.get(tensor_at(state, it.tensor).memory) if self.facts.missed else None
        if leaf is not None:
            self.facts.handled.add(leaf)

    def on_attribute_set(self, state: State, it: announcement.AttributeSet) -> None:
        """Remember the module that takes the place of another."""
        owner = state.heap.get(it.owner.id) if isinstance(it.owner, Ref) else None
        if not isinstance(owner, Instance) or not is_module(state, it.owner) or owner.module.loose:
            return
        former, value = owner.attrs.get(it.name), it.value
        are_modules = is_module(state, former) and is_module(state, value)
        if are_modules and isinstance(former, Ref) and isinstance(value, Ref):
            self.facts.replaced[former.id] = value

    # What a step leaves out.

    def on_stepped(self, state: State, it: announcement.Stepped) -> None:
        """Look for parameters that have a gradient by now, and that this optimizer, and any other, does not hold."""
        optimizer = state.at(it.optimizer, Instance)
        if optimizer.syntax is None or self.machine.expected:
            return
        own = frozenset(parameter.id for parameter in it.parameters)
        self._judge_late(state, it, own, optimizer.syntax)
        fed = self.facts.fed
        others = [leaf for leaf in fed if leaf not in own and leaf not in self.facts.judged]
        if others and _trains_network(state, own):
            idle = all(_has_no_gradient(state, leaf) for leaf in own)
            fed_own = set() if idle else {fed[leaf] for leaf in own if leaf in fed}
            # Another optimizer trains what it holds.
            shared = self._is_shared(state, it.optimizer, own)
            elsewhere = shared or (idle and not own.isdisjoint(self.facts.reached))
            for leaf in others:
                if _has_gradient(state, leaf) and (fed[leaf] in fed_own or not fed_own or shared):
                    unless = frozenset[int]() if fed_own or elsewhere else own
                    self._judge_missed(state, leaf, unless, optimizer.syntax, elsewhere or _has_twin(state, leaf, own))

    def _is_shared(self, state: State, optimizer: Ref, own: frozenset[int]) -> bool:
        """Return whether another optimizer was given the same parameters."""
        others = (members_of(state, Ref(one)) for one in self.facts.sources if one != optimizer.id)
        return any(parameter.id in own for parameters in others for parameter in parameters)

    def _judge_late(self, state: State, it: announcement.Stepped, own: frozenset[int], made: cst.CSTNode) -> None:
        """Suspect the parameters that a module got after it was given to the optimizer.

        A part of a network that is not shown is looked at after that, and was there before.
        """
        if optimizer_state(state.at(it.optimizer, Instance)).open:
            return
        for module in self.facts.sources.get(it.optimizer.id, ()):
            for leaf in sorted(self._fed_of(state, module) - own - self.facts.judged):
                self.facts.judged.add(leaf)
                record = tensor_at(state, Ref(leaf))
                if SUMMARY not in record.tags:
                    self.add((leaf,), faults.ParameterTooLate(made, record.node.syntax, it.node))

    def _fed_of(self, state: State, module: Ref) -> set[int]:
        """Return the parameters of a module that have a gradient, or of the one that has been put in its place."""
        fed = _fed(state, module)
        successor = self.facts.replaced.get(module.id)
        return fed if fed or successor is None else _fed(state, successor)

    def _judge_missed(self, state: State, leaf: int, own: frozenset[int], made: cst.CSTNode, meant: bool) -> None:
        """Suspect a network with a gradient and no optimizer, if it is fresh and nothing else is done with it.

        `meant`: something tells that it was to be trained, though not all of it is known.
        """
        facts = self.facts
        facts.judged.add(leaf)
        root = _root(state, leaf)
        if root is None:
            self._judge_bare(state, leaf, own, made)
            return
        found, is_open = parameters_of(state, root)
        leaves = {parameter.id for _, parameter in found}
        facts.judged |= leaves
        record = state.at(root, Instance)
        if record.syntax is None or (is_open and (own or not meant)) or not _is_fresh(state, root, leaves):
            return
        facts.missed.update((tensor_at(state, Ref(one)).memory, one) for one in leaves)
        fault = faults.NetworkForgotten(made, record.syntax, facts.fed[leaf])
        others = {module.id for module, _ in modules_of(state, root)} | set(_holders(state, root))
        facts.candidates.append(Candidate(frozenset(leaves | others), fault, used=True, unless=own, vague=True))

    def _judge_bare(self, state: State, leaf: int, own: frozenset[int], made: cst.CSTNode) -> None:
        """Suspect a parameter of no module that gets a gradient with others, if nothing is done with it by hand."""
        record = tensor_at(state, Ref(leaf))
        if own or not record.parameter or record.syntax is None or not _is_initial(state, record):
            return
        if not is_alive(state, leaf):
            return  # What was computed from it has its name, of which another rule tells.
        fault = faults.ParameterForgotten(made, record.syntax, self.facts.fed[leaf])
        leaves = frozenset({leaf, *_holders(state, Ref(leaf))})
        self.facts.candidates.append(Candidate(leaves, fault, used=True, vague=True))

    def on_run_ended(self, state: State, it: announcement.RunEnded) -> None:
        """Report what nothing has dispelled."""
        for fault in self.verdicts():
            self.report(fault)


def _lists(state: State, value: Value, depth: int) -> Iterator[Ref]:
    """Yield the lists and iterators in what an optimizer is given: itself, or those of its groups."""
    items: tuple[Value, ...] = value if type(value) is tuple else ()
    if isinstance(value, Ref):
        record = state.heap.get(value.id)
        if isinstance(record, Sequence):
            yield value
            items = record.items
        elif isinstance(record, Mapping):
            items = (record.items.get("params"),)
    if depth:
        for item in items:
            if type(item) is tuple or isinstance(item, Ref):
                yield from _lists(state, item, depth - 1)


def _trains_network(state: State, own: frozenset[int]) -> bool:
    """Return whether an optimizer holds parameters of a module; if only an input, the networks are means to it."""
    for leaf in sorted(own)[:1]:
        record = state.heap.get(leaf)
        if isinstance(record, Tensor) and record.parameter:
            return _root(state, leaf) is not None
    return False


def _fed(state: State, module: Ref) -> set[int]:
    """Return the parameters of a module that have a gradient; those of a placeholder may get theirs later."""
    record = state.heap.get(module.id)
    if not isinstance(record, Instance) or record.module.torn is not None:
        return set()
    return {parameter.id for _, parameter in parameters_of(state, module)[0] if _has_gradient(state, parameter.id)}


def _has_twin(state: State, leaf: int, own: Iterable[int]) -> bool:
    """Return whether a network was made by the same function or class as one with some of these parameters."""
    one, *others = _roots(state, (leaf, *own))
    makers = {called_name(state.at(root, Instance).syntax) for root in others if root is not None}
    return one is not None and called_name(state.at(one, Instance).syntax) in makers - {""}


def _has_gradient(state: State, leaf: int) -> bool:
    record = state.heap.get(leaf)
    return isinstance(record, Tensor) and record.grad is True and isinstance(record.accumulated, Ref)


def _has_no_gradient(state: State, leaf: int) -> bool:
    record = state.heap.get(leaf)
    return isinstance(record, Tensor) and is_absent(state, Ref(leaf), record.accumulated)


def _root(state: State, leaf: int) -> Ref | None:
    """Return the outermost module that a parameter is registered in."""
    return _roots(state, (leaf,))[0]


def _roots(state: State, leaves: Iterable[int]) -> list[Ref | None]:
    """Return the outermost modules that some parameters are registered in."""
    above: dict[int, int] = {}
    for address, record in state.heap.items():
        if isinstance(record, Instance) and is_module(state, Ref(address)):
            above.update((value.id, address) for value in record.values() if isinstance(value, Ref))
    return [_top(above, leaf) for leaf in leaves]


def _top(above: dict[int, int], leaf: int) -> Ref | None:
    seen = {leaf}
    at = leaf
    while at in above and above[at] not in seen:
        at = above[at]
        seen.add(at)
    return None if at == leaf else Ref(at)


def _holders(state: State, root: Ref) -> Iterator[int]:
    """Yield the objects that have a module for an attribute: who is given them is given the module."""
    for address, record in state.heap.items():
        if isinstance(record, Instance) and root in record.values():
            yield address


def _is_fresh(state: State, root: Ref, leaves: set[int]) -> bool:
    """Return whether a network is as torch made it, to be trained: not copied, loaded, frozen or evaluated."""
    for _, record in modules_of(state, root):
        if called_name(record.syntax) in ("deepcopy", "copy") or record.module.training is not True:
            return False
    records = (tensor_at(state, Ref(leaf)) for leaf in leaves)
    return all(record.grad is True and _is_initial(state, record) for record in records)


def _is_initial(state: State, record: Tensor) -> bool:
    """Return whether a parameter has its first values."""
    writes = (*state.writes(record.counter), *state.writes(record.memory))
    return all(canonical(write.op) in _INITIALISE for write in writes)


_INITIALISE = INITIALISES | {"reset_parameters"}
"""Writes that give a parameter its first values; others may load a trained network, or train it by hand."""
