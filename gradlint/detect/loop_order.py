"""The order of a training loop: backward, step, zero_grad, and where clipping and scheduling stand."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import libcst as cst

from gradlint.detect import gradient_use as use
from gradlint.detect.detector import Detector
from gradlint.detect.gradient_use import (
    Cleared,
    ClearedAt,
    Early,
    EarlyStep,
    Order,
    ThrownAway,
    Unused,
    UnusedOf,
    Used,
    order_of,
)
from gradlint.domain import announcement
from gradlint.domain.assumption import Assumption
from gradlint.domain.fault import training_loop as fault
from gradlint.domain.graph import fresh_number
from gradlint.domain.state import PathFact, State
from gradlint.domain.value import Bound, External, Function, Instance, Ref, Tensor, Unknown, Value
from gradlint.domain.walk import inputs, is_reachable
from gradlint.interpreter.escape import gives_loss
from gradlint.interpreter.reachable import all_attributes, contents
from gradlint.interpreter.torch.parameters import has_own_step, is_module, parameters_of
from gradlint.interpreter.torch.tensor import HIDDEN, NOT_SHOWN, SUMMARY, known_tensor, tensor_at
from gradlint.interpreter.world import guesses
from gradlint.source.lower.syntax import called_name, nodes_of

_SILENT = frozenset({"ReduceLROnPlateau", "SequentialLR", "ChainedScheduler"})
"""Schedulers that do not complain of a step before the optimizer's (measured), or step others."""

_UNSHOWN = frozenset({SUMMARY, HIDDEN, NOT_SHOWN})
"""The tags of leaves that stand for the parameters of a network that is not shown."""


class Given(PathFact):
    """The key of what may have filled gradients of any parameters.

    That is the call of something unknown that was given some, or a backward through something unknown.
    """


@dataclass
class Steps:
    """What is known of a run, by the addresses of optimizers and of leaves that the program updates by hand.

    `stepping` are all of these, `by_hand` how many of those leaves a place has updated. `cleared_in`: in how many
    loops, at the most, gradients were cleared. `late`: steps that found no gradient, with the backward that filled them
    later. `busy`: of which something unknown may have used gradients, in which iteration at the latest. `full`: the
    iterations in which a step of an optimizer may have found gradients, by both. `clips`: the iteration in which a call
    clips gradients at the latest, `vain`: the first in which it finds none. `loops`: the run of a loop that an
    iteration belongs to. `clearing`: where gradients were cleared last, by optimizer. `wasted`: a backward whose
    gradients are cleared unused, and where, by optimizer. `empty`: the first iteration in which a step of an optimizer
    found no gradients after a zero_grad, or since it was made, by both. `stepped`: the optimizers that step anywhere,
    or may, and `steps` where they do. `owners`: by optimizer, the name of the object one of whose methods gives its
    parameters. `ran`: the optimizers that have stepped. `nth`: the step on one side of a fork
    where a remainder is tested, by the optimizer and the fork's number. `entered` and `trained`: the last iterations in
    which a network was called, and a backward run; -1 is outside of all loops, and -2 means never.
    """

    stepping: list[int] = field(default_factory=list)
    by_hand: Counter[cst.CSTNode] = field(default_factory=Counter)
    cleared_in: dict[int, int] = field(default_factory=dict)
    late: dict[cst.CSTNode, tuple[int, cst.CSTNode, int]] = field(default_factory=dict)
    busy: dict[int, int] = field(default_factory=dict)
    full: dict[tuple[int, cst.CSTNode], set[int]] = field(default_factory=dict)
    clips: dict[cst.CSTNode, int] = field(default_factory=dict)
    vain: dict[cst.CSTNode, int] = field(default_factory=dict)
    loops: dict[int, int] = field(default_factory=dict)
    bodies: dict[int, cst.CSTNode] = field(default_factory=dict)
    clearing: dict[int, cst.CSTNode] = field(default_factory=dict)
    wasted: dict[int, tuple[cst.CSTNode, cst.CSTNode]] = field(default_factory=dict)
    empty: dict[tuple[int, cst.CSTNode], int] = field(default_factory=dict)
    stepped: set[int] = field(default_factory=set)
    owners: dict[int, str] = field(default_factory=dict)
    steps: set[cst.CSTNode] = field(default_factory=set)
    ran: set[int] = field(default_factory=set)
    nth: dict[tuple[int, int], cst.CSTNode] = field(default_factory=dict)
    entered: int = -2
    trained: int = -2


class LoopOrderDetector(Detector[Steps]):
    """Follows the gradients of each optimizer from the backward that fills them to the step that uses them."""

    def aside(self) -> Steps:
        """Know the optimizers that were made."""
        now = self.facts
        return Steps(list(now.stepping), Counter(now.by_hand))

    # Optimizers.

    def on_optimizer_made(self, state: State, it: announcement.OptimizerMade) -> None:
        """Begin without gradients; an optimizer of the program's own class may do more than step."""
        record = state[it.optimizer]
        if isinstance(record, Instance) and (isinstance(record.cls, External) or has_own_step(state, it.optimizer)):
            self.facts.stepping.append(it.optimizer.id)
            if isinstance(it.node, cst.Call) and it.node.args:
                self.facts.owners[it.optimizer.id] = _owner_of(it.node.args[0].value)
            use.enter(state, it.optimizer.id, Order(made=(fresh_number(), ())))

    def on_parameters_taken(self, state: State, it: announcement.ParametersTaken) -> None:
        """Note the gradients that the parameters of a new optimizer have."""
        order = order_of(state, it.optimizer.id)
        if order is not None and order.made is not None:
            held = (*use.params_of(state, it.optimizer.id), *it.parameters)
            made = order.made[0], use.gradients_of(state, held)
            use.enter(state, it.optimizer.id, order._replace(made=made))

    def on_optimizer_supposed(self, state: State, it: announcement.OptimizerSupposed) -> None:
        """Watch it, though nothing is known of what has happened to the gradients of its parameters.

        One of which no parameter is in sight may be stepped by whoever gave it.
        """
        self.facts.stepping.append(it.optimizer.id)
        params = (state.heap.get(one.id) for one in use.params_of(state, it.optimizer.id))
        if any(isinstance(one, Tensor) and NOT_SHOWN in one.tags for one in params):
            self.facts.stepped.add(it.optimizer.id)

    def on_gradients_invalidated(self, state: State, it: announcement.GradientsInvalidated) -> None:
        """Forget what is known of all optimizers."""
        use.forget_all(state)
        self._use(state)

    def on_escaped(self, state: State, it: announcement.Escaped) -> None:
        """Take something unknown that is given an optimizer to step, and one that is given parameters to clear them."""
        owner = "" if it.values else _owner_of(it.node)
        if not self.machine.program.may_backpropagate or not (it.values or owner in self.facts.owners.values()):
            return
        reached = _reached(state, it.values)
        held = {one: {one, *(param.id for param in use.params_of(state, one))} for one in self.facts.stepping}
        owned = {one for one in held if owner and owner == self.facts.owners.get(one)}
        given = [one for one in held if one in owned or not held[one].isdisjoint(reached)]
        name = called_name(it.node)
        looks = self.machine.assumes and (
            guesses.only_looks(name)
            or any(code.name == "forward" for code in self.machine.stack)  # A network computes, and trains nothing.
            or _is_of_network(state, it, name)
            or self._is_method_of_holder(state, it, name)
            or self._makes_scheduler(state, it.node)
            or (reached.isdisjoint(held) and gives_loss(self.machine, state, it.node))
        )
        records = (state.heap.get(address) for address in reached)
        if not looks and any(isinstance(one, Tensor) and one.parameter for one in records):
            state.decide(Given(), it.node)
        if not given:
            return
        if looks:
            role = "a function that neither clears gradients nor steps"
            self.machine.assume(Assumption("name", name, role, it.node))
            return
        self._use(state)
        self._busy(given)
        self.facts.stepped.update(reached.intersection(given))
        for optimizer in given:
            if order_of(state, optimizer) is not None:
                use.enter(state, optimizer, None)

    def _makes_scheduler(self, state: State, node: cst.CSTNode) -> bool:
        """Return whether the file uses what an unknown call gives as a learning rate scheduler."""
        made = self.machine.program.fragment_at(state).made.get(node)
        return made is not None and made.role == "a learning rate scheduler"

    def _is_method_of_holder(self, state: State, it: announcement.Escaped, name: str) -> bool:
        """Return whether optimizers reach an unknown method by its object alone, and its name speaks of no training."""
        receiver, *others = it.values or (None,)
        key = receiver.key if isinstance(receiver, Unknown) else None
        if key is not None and key[0] == "attr" and isinstance(key[1], Ref):
            receiver = key[1]  # As `self.losses.append(...)`, where nothing is known of the list.
        record = state.heap.get(receiver.id) if isinstance(receiver, Ref) else None
        is_method = isinstance(it.node, cst.Call) and isinstance(it.node.func, cst.Attribute)
        if not is_method or not isinstance(record, Instance) or not isinstance(record.cls, Ref):
            return False
        if is_module(state, receiver) or guesses.may_train(name):
            return False
        return _reached(state, others).isdisjoint(self.facts.stepping)

    def on_graphs_shared(self, state: State, it: announcement.GraphsShared) -> None:
        """Take something unknown that is given a loss to backpropagate it, if its name says so."""
        live = (node for node in it.graphs if node.leaf is None and node.tracked is not False)
        if self.facts.stepping and guesses.may_backpropagate(called_name(it.node)) and any(live):
            self._busy(self.facts.stepping)

    def on_gradient_read(self, state: State, it: announcement.GradientRead) -> None:
        """Count all gradients as used: the program may keep what it reads, and use it later."""
        self._use(state)

    def _busy(self, optimizers: Iterable[int]) -> None:
        self.facts.busy.update(dict.fromkeys(optimizers, self._iteration()))

    def _use(self, state: State, by: int | None = None) -> None:
        """Count all gradients as used, or those of the parameters that one optimizer is known to hold."""
        taken = set() if by is None else {param.id for param in use.params_of(state, by)}
        for optimizer in self.facts.stepping:
            unused = state.facts.get(UnusedOf(optimizer))
            if isinstance(unused, Unused):
                own = {param.id for param in use.params_of(state, optimizer)}
                kept = bool(taken) and taken.isdisjoint(own)
                state.decide(UnusedOf(optimizer), unused._replace(alone=False) if kept else None)

    def _let_step(self, state: State) -> None:
        self._use(state)
        self._busy(self.facts.stepping)
        self.facts.stepped.update(self.facts.stepping)
        for optimizer in self.facts.stepping:
            if order_of(state, optimizer) is not None:
                use.enter(state, optimizer, None)

    # Gradients are filled.

    def on_module_entered(self, state: State, it: announcement.ModuleEntered) -> None:
        """Note in which iteration a network was called whose result may be backpropagated."""
        iteration = self._iteration()
        if state.grad is not False and self.facts.entered != iteration and parameters_of(state, it.module)[0]:
            self.facts.entered = iteration

    def on_backpropagated(self, state: State, it: announcement.Backpropagated) -> None:
        """Note for each optimizer whether the backward fills gradients of its parameters."""
        if it.raised:
            return
        self.facts.trained = self._iteration()
        certain = {one.leaf for one in it.certain if one.leaf is not None and (it.only is None or one.leaf in it.only)}
        possible = {one.leaf for one in it.possible.values() if one.leaf is not None}
        others = any(one.op in ("call", "input") for one in it.possible.values())
        if others:
            state.decide(Given(), it.node)
        for optimizer in self.facts.stepping:
            params = use.params_of(state, optimizer)
            if any(param.id in certain for param in params):
                order = order_of(state, optimizer)
                if not self._is_shared(state, optimizer):
                    self._note_late(optimizer, order, it.node)
                use.enter(state, optimizer, _filled(state, order, certain, it.node))
                state.decide(UnusedOf(optimizer), Unused(it.node, fresh_number(), self._iteration()))
            elif others or any(param.id in possible for param in params):
                use.enter(state, optimizer, None)

    def _is_shared(self, state: State, optimizer: int) -> bool:
        """Return whether another optimizer holds some of the parameters of one, and may use their gradients."""
        own = {param.id for param in use.params_of(state, optimizer)}
        others = (use.params_of(state, one) for one in self.facts.stepping if one != optimizer)
        return any(param.id in own for params in others for param in params)

    def _note_late(self, optimizer: int, order: Order | None, backward: cst.CSTNode) -> None:
        if order is not None and order.idle is not None and order.used is None:
            self.facts.late.setdefault(order.idle, (optimizer, backward, self._iteration()))

    # Gradients are used.

    def on_gradients_used(self, state: State, it: announcement.GradientsUsed) -> None:
        """Judge a step: at once, after a closure of the program, or after something that is not known."""
        if it.closure is None:
            self._step(state, it.optimizer.id, it.node)
            return
        if not it.walked:
            self._judge_closure(state, it)
        if isinstance(it.closure, Function):
            self._busy((it.optimizer.id,))
            self._step(state, it.optimizer.id, it.node)
        else:
            self._let_step(state)

    def _judge_closure(self, state: State, it: announcement.GradientsUsed) -> None:
        """Report a closure whose loss nothing has backpropagated: the step finds no new gradients."""
        function = it.closure.function if isinstance(it.closure, Bound) else it.closure
        loss, order = known_tensor(self.machine, state, it.loss), order_of(state, it.optimizer.id)
        if not isinstance(function, Function) or loss is None or order is None or order.filled is not None:
            return
        root = tensor_at(state, loss).node
        if loss.id in self.machine.escaped:
            return  # Something unknown, as an engine, may have backpropagated it.
        if root.leaf is None and root.tracked is True and root.id not in state.freed and root.id not in state.spent:
            self.report(fault.ClosureWithoutBackward(it.node, closure=function.code.node))

    def on_leaf_written(self, state: State, it: announcement.LeafWritten) -> None:
        """Take an update by hand for a step, if the leaf's own gradient is part of what is written.

        What an optimizer trains is moved along its gradient for other ends, as by an attack on the network.
        """
        if any(param.id == it.leaf for one, held in self._holding(state) if one != it.leaf for param in held):
            return
        record = state.heap.get(it.leaf)
        gradient = record.accumulated if isinstance(record, Tensor) and record.grad is True else None
        kept = state.heap.get(gradient.id) if isinstance(gradient, Ref) else None
        if not isinstance(kept, Tensor) or not is_reachable(kept.node, [edge.node for edge in it.sources], inputs):
            return
        if it.leaf not in self.facts.stepping:
            if self.facts.by_hand[it.node] == use.WATCHED:
                return
            self.facts.by_hand[it.node] += 1
            self.facts.stepping.append(it.leaf)
        self._step(state, it.leaf, it.node)

    def _step(self, state: State, optimizer: int, node: cst.CSTNode) -> None:
        order = order_of(state, optimizer)
        early = state.facts.get(EarlyStep(optimizer))
        if isinstance(early, Early):
            # A loop of its own makes up for epochs that a former run has trained.
            if tuple(self.machine.iterations[: len(early.iterations)]) == early.iterations:
                self.report(fault.SchedulerBeforeOptimizer(early.node))
            state.decide(EarlyStep(optimizer), None)
        params = use.params_of(state, optimizer)
        new = bool(params) and self._is_new(state, order, params)
        nothing = new or all(use.is_empty(state, param) for param in params)
        if order is None or not nothing or not (new or all(use.was_cleared(state, param) for param in params)):
            self.facts.full.setdefault((optimizer, node), set()).add(self._iteration())
        elif order.wiped is None and (new or self._cleared_since_backward(state, optimizer)):
            self.facts.empty.setdefault((optimizer, node), self._iteration())
        self.facts.stepped.add(optimizer)
        self.facts.ran.add(optimizer)
        self.facts.steps.add(node)
        if order is not None:
            self._judge_mixed(state, optimizer, order)
        chosen = self._note_forks(state, optimizer, node)
        self._judge_loop(state, optimizer, node)
        self._use(state, optimizer)
        used = None if nothing else use.used_now(state, params, node)
        if order is not None and not nothing and (order.wiped is not None or chosen):
            # They were set by hand, as for all whose names a table has; or another path drops them by choice.
            self.machine.passes((order.filled if order.wiped is None else order.wiped[1], node))
        if order is not None and order.wiped is not None and nothing:
            if self._cleared_since_backward(state, optimizer):
                self._judge_wiped(order, *order.wiped, node)
            use.enter(state, optimizer, Order(idle=order.idle, stepped=True))
        elif used is not None:
            use.enter(state, optimizer, Order(used=used, stepped=True))
        elif order is not None:
            idle = node if nothing and order.filled is None else order.idle
            use.enter(state, optimizer, order._replace(filled=None, idle=idle, stepped=True))

    def _is_new(self, state: State, order: Order | None, params: Sequence[Ref]) -> bool:
        """Return whether nothing has been backpropagated since an optimizer was made, though a network was called."""
        if order is None or order.made is None or order.made[0] < state.trained:
            return False
        if order.made[1] != use.gradients_of(state, params):
            return False  # They were set by hand.
        before = state.trained and not all(use.is_empty(state, param) for param in params)
        computed = self.facts.entered >= self._iteration() and (self.machine.iterations or self.machine.stack)
        return not before and bool(computed)

    def _cleared_since_backward(self, state: State, optimizer: int) -> bool:
        cleared = state.facts.get(ClearedAt(optimizer))
        return isinstance(cleared, int) and cleared > state.trained

    def _judge_mixed(self, state: State, optimizer: int, order: Order) -> None:
        """Report a step that uses the mixture, unless others may have cleared it, as a discriminator may."""
        if order.mixed is None:
            return
        backward, used = order.mixed
        apart = state.undecided_since(min(one.gradient.id for one in used.gradients))
        if apart and self.facts.cleared_in.get(optimizer, -1) >= len(self.machine.iterations):
            return  # It steps in some iterations and clears in some, which may be the same ones.
        if any(use.is_sum(state, one) for one in used.gradients):
            self.report(fault.ZeroGradMissing(backward, step=used.step))

    def _note_forks(self, state: State, optimizer: int, step: cst.CSTNode) -> bool:
        """Note a step that counts iterations; return whether any other test since the backward was open."""
        unused = state.facts.get(UnusedOf(optimizer))
        if not isinstance(unused, Unused):
            return False
        forks = use.forks_since(state, unused.since)
        if forks and unused.alone and use.is_remainder(forks[-1].test):
            self.facts.nth[optimizer, forks[-1].number] = step
        return not all(use.is_remainder(one.test) for one in forks)

    def _judge_loop(self, state: State, optimizer: int, step: cst.CSTNode) -> None:
        """Report a loop of which the step after it uses the last iteration alone."""
        cleared, unused = state.facts.get(ThrownAway(optimizer)), state.facts.get(UnusedOf(optimizer))
        if (
            not isinstance(cleared, Cleared)
            or not isinstance(unused, Unused)
            or not unused.alone
            or cleared.backward is not unused.backward
        ):
            return
        if cleared.loop not in map(self.facts.loops.get, self.machine.iterations):
            self.report(fault.AccumulationCleared(cleared.node, cleared.backward, step))

    def _judge_wiped(self, order: Order, zero: cst.CSTNode, backward: cst.CSTNode, step: cst.CSTNode) -> None:
        if order.idle is step:
            self.report(fault.StepBeforeBackward(step, backward, cleared=zero))
        else:
            self.report(fault.ZeroGradMisplaced(zero, backward, step), unless=(backward, step))

    # Gradients are cleared.

    def on_gradients_cleared(self, state: State, it: announcement.GradientsCleared) -> None:
        """Note the optimizers all of whose parameters are cleared.

        A network that is not shown may be that of any optimizer, unless it has parameters that one is known to hold.
        """
        state.decide(Given(), None)
        cleared = {param.id for param in it.parameters}
        holding = list(self._holding(state))
        for optimizer, held in holding:
            if all(param.id in cleared for param in held):
                self._wipe(state, optimizer, it.node)
        is_shown = any(not state.at(param, Tensor).tags & _UNSHOWN for param in it.parameters)
        if not is_shown and all(cleared.isdisjoint(param.id for param in held) for _, held in holding):
            use.forget_orders(state)

    def on_gradient_dropped(self, state: State, it: announcement.GradientDropped) -> None:
        """Count the last of an optimizer's parameters as clearing them all, where the others are clear.

        One that stands for several may be some of them, where their names are asked for.
        """
        several = state.at(it.parameter, Tensor).tags & {SUMMARY, NOT_SHOWN}
        if several and self.machine.iterations and state.undecided_since(self.machine.iterations[-1]):
            return
        for optimizer, held in self._holding(state):
            if held[-1] == it.parameter and all(use.is_empty(state, one) for one in held):
                self._wipe(state, optimizer, it.node)

    def _holding(self, state: State) -> Iterator[tuple[int, tuple[Ref, ...]]]:
        """Yield all that step and hold parameters, with these."""
        for optimizer in self.facts.stepping:
            held = use.params_of(state, optimizer)
            if held:
                yield optimizer, held

    def _wipe(self, state: State, optimizer: int, node: cst.CSTNode) -> None:
        depths = self.facts.cleared_in
        depths[optimizer] = max(depths.get(optimizer, -1), len(self.machine.iterations))
        order = order_of(state, optimizer) or Order(stepped=None)
        unused = state.facts.get(UnusedOf(optimizer))
        self.facts.clearing[optimizer] = node
        if order.filled is not None and isinstance(unused, Unused):
            if unused.alone:
                self._judge_accumulation(state, optimizer, unused, node)
            if self.machine.iterations:
                self._note_waste(state, optimizer, unused, node)
        state.decide(ClearedAt(optimizer), fresh_number())
        wiped = (node, order.filled) if order.filled is not None else order.wiped
        use.enter(state, optimizer, Order(wiped=wiped, idle=order.idle, stepped=order.stepped))

    def on_returned(self, state: State, it: announcement.Returned) -> None:
        """Note what a method has cleared and filled: called again, it clears what no step has used.

        Called again, a step of it that finds no gradients never does. An optimizer that is returned may be stepped.
        """
        self._busy(_reached(state, (it.value,)).intersection(self.facts.stepping))
        if self.machine.iterations:
            self._judge_empty(self.facts.entered)  # It has computed something that might be backpropagated,
            self._judge_vain(self.facts.trained)  # or has backpropagated itself.
        for optimizer, node in self.facts.clearing.items() if it.method else ():
            unused, cleared = state.facts.get(UnusedOf(optimizer)), state.facts.get(ClearedAt(optimizer))
            own = isinstance(unused, Unused) and called_name(unused.backward).endswith("backward")  # A framework steps.
            if own and isinstance(unused, Unused) and isinstance(cleared, int) and cleared < unused.since:
                self._note_waste(state, optimizer, unused, node)

    def _note_waste(self, state: State, optimizer: int, unused: Unused, node: cst.CSTNode) -> None:
        """Note gradients that are cleared unused, unless another optimizer holds the parameters, and may step."""
        if unused.alone or not self._is_shared(state, optimizer):
            self.facts.wasted.setdefault(optimizer, (unused.backward, node))

    def _judge_accumulation(self, state: State, optimizer: int, unused: Unused, node: cst.CSTNode) -> None:
        """Report gradients cleared on the side of a fork that makes no step, by what every iteration comes to."""
        iteration = self._iteration()
        loop = self.facts.loops.get(iteration)
        forks = use.forks_since(state, unused.since)
        if not forks and iteration != unused.iteration and loop is not None:
            same = loop == self.facts.loops.get(unused.iteration)
            state.decide(ThrownAway(optimizer), Cleared(unused.backward, node, loop) if same else None)
        if iteration == unused.iteration:
            forks = forks[-1:]  # What follows the test of the step does not follow another one.
        elif loop != self.facts.loops.get(unused.iteration) or use.forks_since(state, iteration):
            return
        for fork in forks:
            step = self.facts.nth.get((optimizer, fork.number))
            if step is not None:
                self.report(fault.AccumulationCleared(node, unused.backward, step))

    def on_iteration_began(self, state: State, it: announcement.IterationBegan) -> None:
        """Note which loop it belongs to."""
        self.facts.loops[it.since] = it.loop
        self.facts.bodies[it.since] = it.node

    def _iteration(self) -> int:
        return self.machine.iterations[-1] if self.machine.iterations else 0

    def _is_busy(self, optimizer: int, iteration: int) -> bool:
        """Return whether a step in an iteration, or later, may have found gradients: those before it are not known."""
        return self.facts.busy.get(optimizer, -1) >= iteration or any(
            max(iterations) >= iteration for (one, _), iterations in self.facts.full.items() if one == optimizer
        )

    def _finds_nothing(self, optimizer: int, step: cst.CSTNode, iteration: int) -> bool:
        """Return whether a step never finds gradients; one on another way through the same loop may find some."""
        if self.facts.busy.get(optimizer, -1) >= iteration or (optimizer, step) in self.facts.full:
            return False
        others = [one for (held, _), one in self.facts.full.items() if held == optimizer and max(one) >= iteration]
        loop = self.facts.bodies.get(iteration)
        beside = loop is not None and any(self.facts.bodies.get(one) is loop for found in others for one in found)
        return beside or not others

    # Schedulers, clipping.

    def on_scheduled(self, state: State, it: announcement.Scheduled) -> None:
        """Note a scheduler's step: it is too early if its optimizer has not stepped so far, and does so later.

        torch skips nothing where the number of the epoch is given.
        """
        if not isinstance(it.optimizer, Ref) or it.epoch or it.path.rpartition(".")[2] in _SILENT:
            return
        order = order_of(state, it.optimizer.id)
        key = EarlyStep(it.optimizer.id)
        stepped = None if order is None else order.stepped
        if stepped is None:  # What may have stepped it is not in sight.
            stepped = it.optimizer.id in self.facts.ran
        if stepped is False and key not in state.facts:
            state.decide(key, Early(it.node, tuple(self.machine.iterations)))

    def on_clipped(self, state: State, it: announcement.Clipped) -> None:
        """Report gradients that are clipped and are not there, or used already.

        Measured: torch warns of a used-up iterator, and clips nothing. A bound of infinity only asks for the norm.
        """
        if it.used_up:
            self.report(fault.NothingClipped(it.node, "used-up iterator"))
        if not it.parameters or (isinstance(it.bound, float) and it.bound == float("inf")):
            return
        records = [state[param] for param in it.parameters]
        if any(isinstance(one, Tensor) and one.leaf is False and one.retains is False for one in records):
            self.report(fault.NothingClipped(it.node, "non-leaf"))
        elif all(use.is_empty(state, param) for param in it.parameters):
            if it.whole and not self.machine.expected and state.facts.get(Given()) is None:
                self.facts.vain.setdefault(it.node, self._iteration())
        else:
            self.facts.clips[it.node] = self._iteration()
            self._judge_clipped(state, it)

    def _judge_clipped(self, state: State, it: announcement.Clipped) -> None:
        given = {param.id for param in it.parameters}
        for optimizer in self.facts.stepping:
            order = order_of(state, optimizer)
            if order is None or not any(param.id in given for param in use.params_of(state, optimizer)):
                continue
            if order.used is not None and any(one.leaf in given for one in use.untouched(state, order.used)):
                self.report(fault.ClippedAfterStep(it.node, step=order.used.step))

    # The end.

    def on_run_ended(self, state: State, it: announcement.RunEnded) -> None:
        """Report the steps before the backward, if none comes after it, and clipping before any backward."""
        for step, (optimizer, backward, iteration) in self.facts.late.items():
            if not self._is_busy(optimizer, iteration) and it.complete:
                self.report(fault.StepBeforeBackward(step, backward))
        self._judge_unfinished(it.complete)
        self._judge_vain(math.inf if self.machine.backwards else -1)

    def _judge_vain(self, until: float) -> None:
        """Report clipping that finds no gradients in iterations up to one."""
        for clip, iteration in self.facts.vain.items():
            if self.facts.clips.get(clip, -1) < iteration <= until:
                self.report(fault.NothingClipped(clip, "no gradient"))

    def _judge_unfinished(self, complete: bool) -> None:
        """Report the optimizers that never step, and those that only step where there are no gradients.

        What was not run matters only if the text has a backward, or a step.
        """
        if complete or not self._names_backward:
            self._judge_empty(math.inf)
        for optimizer, (backward, cleared) in self.facts.wasted.items():
            if optimizer not in self.facts.stepped and not self._may_step_elsewhere:
                self.report(fault.StepMissing(backward, cleared))

    def _judge_empty(self, until: float) -> None:
        """Report steps that find no gradients in iterations up to one, nor later."""
        late = {optimizer for optimizer, *_ in self.facts.late.values()}
        for (optimizer, step), iteration in self.facts.empty.items():
            if optimizer not in late and iteration <= until and self._finds_nothing(optimizer, step, iteration):
                self.report(fault.BackwardMissing(step))

    @cached_property
    def _names_backward(self) -> bool:
        """Return whether a name of the file speaks of a backward, run or not; a text may."""
        if not any("backward" in word for word in self.machine.program.source.words):
            return False
        found = nodes_of(self.machine.program.nowhere)
        return any(type(one) is cst.Name and "backward" in one.value for one in found)

    @cached_property
    def _may_step_elsewhere(self) -> bool:
        """Return whether the file has a step that was not run, and may be an optimizer's: of what is no scheduler's."""
        ran = {one.func for one in self.facts.steps if isinstance(one, cst.Call)}
        named = (one for one in nodes_of(self.machine.program.nowhere) if isinstance(one, cst.Attribute))
        return not all(_is_scheduler(one.value) for one in named if one.attr.value == "step" and one not in ran)


def _reached(state: State, values: Iterable[Value]) -> set[int]:
    return {one.id for one in contents(state, values, all_attributes, calls=True) if isinstance(one, Ref)}


def _is_scheduler(node: cst.CSTNode) -> bool:
    return guesses.steps_no_parameters(_last_name(node))


def _last_name(node: cst.CSTNode) -> str:
    node = node.func if isinstance(node, cst.Call) else node  # As of `LambdaLR(...).step`.
    name = node.attr if isinstance(node, cst.Attribute) else node
    return name.value if isinstance(name, cst.Name) else ""


def _owner_of(call: cst.CSTNode) -> str:
    """Return the name of the object a method of which is called: `model` for `self.model.parameters()`."""
    return _last_name(call.func.value) if isinstance(call, cst.Call) and isinstance(call.func, cst.Attribute) else ""


def _is_of_network(state: State, it: announcement.Escaped, name: str) -> bool:
    """Return whether an unknown method of a network is called whose name speaks of no gradients."""
    if not it.values:
        return not guesses.may_train(name)
    receiver = it.values[0]
    method = isinstance(it.node, cst.Call) and isinstance(it.node.func, cst.Attribute) and isinstance(receiver, Ref)
    return method and is_module(state, receiver) and not guesses.may_backpropagate(name) and "zero" not in name


def _filled(state: State, order: Order | None, certain: set[int], node: cst.CSTNode) -> Order:
    """Return what is known of an optimizer once a backward has filled gradients of its parameters."""
    if order is None:
        return Order(filled=node, stepped=None)
    mixed = order.mixed or _mixed(state, order.used, certain, node)
    return Order(filled=node, mixed=mixed, idle=order.idle, stepped=order.stepped)


def _mixed(state: State, used: Used | None, certain: set[int], node: cst.CSTNode) -> tuple[cst.CSTNode, Used] | None:
    """Return the backward that adds to gradients which a step has used and nothing has cleared."""
    if used is None:
        return None
    kept = tuple(one for one in used.gradients if one.leaf in certain and use.is_sum(state, one))
    return (node, Used(used.step, kept)) if kept else None
