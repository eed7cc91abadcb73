"""Loops: two iterations, so that the second sees what the first leaves, and a third where a backward was run.

Where the items are few and known, each has its iteration.

A loop over something unknown is taken at least once, for loops over data are. What it counted is unknown after it.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Sequence as Paths

import libcst as cst

from gradlint.domain.announcement import IterationBegan, IterationEnded, LoopBegan, LoopEnded
from gradlint.domain.graph import DATA, Node, fresh_number
from gradlint.domain.likeness import origin_of_data
from gradlint.domain.state import CHOSEN, State, fresh_address
from gradlint.domain.value import Instance, NoGradient, Ref, Sequence, Suspended, Tensor, Unknown, Value
from gradlint.interpreter.escape import escape, origins
from gradlint.interpreter.machine import Exit, Machine, Region, splitting_each
from gradlint.interpreter.python.attribute import loosen
from gradlint.interpreter.python.branch import assume, truth
from gradlint.interpreter.python.calls import suspended_at
from gradlint.interpreter.python.counters import count_on, ended, last_of, next_position, nth, place_of
from gradlint.interpreter.python.generators import drive
from gradlint.interpreter.python.iteration import PART, data_of, items_of, supposed_data
from gradlint.interpreter.python.operators import symbolic
from gradlint.interpreter.python.widen import Sizes, are_settings, forget_assigned, open_gathered, sizes, widen
from gradlint.interpreter.torch.tensor import SUMMARY
from gradlint.interpreter.torch.transform.levels import refuses_test
from gradlint.source.core import Block, Const, For, While

ITERATIONS = 2
EXACT = 8
"""Loops over this many known items or fewer are run item by item."""

MANY = 64
"""Loops over tensors that are all known, such as the parameters of a model, are run item by item up to here."""


class Iterations:
    """One run of a loop, as it is announced. `before` is a copy of the state before it, which nobody changes.

    `former` is what `widen` compares the last iteration with. `like`: all others go as those that were run.
    """

    def __init__(self, machine: Machine, before: State, node: cst.CSTNode) -> None:
        self.machine = machine
        self.before = before
        self.node = node
        self.number = fresh_number()
        self.former: Sizes | None = {}
        self.like = False
        machine.announce(before, LoopBegan(node, self.number))

    def begin(self, paths: Paths[State] = ()) -> None:
        """Begin an iteration on these paths."""
        self.former = sizes(self.before, paths)
        since = fresh_number()
        self.machine.iterations.append(since)
        self.machine.announce(self.before, IterationBegan(self.node, self.number, since))

    def end(self, paths: Paths[State]) -> None:
        """End the iteration on these paths."""
        self.machine.iterations.pop()
        self.machine.announce(self.before, IterationEnded(self.node, self.number, paths))

    def over(self, paths: Paths[State], *, bounded: bool, listed: bool = False) -> None:
        """End the loop after its last iteration."""
        self.machine.announce(self.before, LoopEnded(self.node, self.number, paths, bounded, listed))


def run_for(machine: Machine, state: State, instr: For) -> list[State]:
    """for item in iterable: body"""
    machine.budget -= 1
    iterable = machine.read(state, instr.iterable)
    if isinstance(iterable, Ref) and suspended_at(state, iterable) is not None:
        return _consume(machine, state, instr, iterable)
    origin = data_of(machine, getattr(instr.node, "iter", None), instr.node)
    if origin is None:
        iterable = supposed_data(machine, iterable, instr.node)
        origin = origin_of_data(iterable)
    items = items_of(machine, state, iterable, instr.node)
    if items.kind == "generator" and any(one.live for one in origins(state, items.items)):
        # Its items are made between the iterations, after whatever the body has done by then.
        items = Sequence((), open=True)
    exact = not items.open and len(items.items) <= _limit(state, items)
    items_taken: list[Value] = list(items.items) if exact else _two(machine, state, items)
    if isinstance(iterable, Unknown) and iterable.origin is not None:
        items_taken[0] = Unknown(None, iterable.origin, (PART, iterable))
    region = machine.open(state)
    before = state.fork()
    live, broken = [state], []
    done: list[State] = []
    last = last_of(items_taken[-1]) if items_taken else None
    if last is not None and isinstance(first := items_taken[0], int):
        runs = symbolic(machine, ">", last.after, first, instr.node)  # `range(n)` has an item where `n > 0`.
        if truth(state, runs) is False:
            items_taken = []
        else:
            assume(state, runs, True)
    backwards, more = machine.backwards, False
    summary = not exact and _stands_for_all(state, items)
    iterations = Iterations(machine, before, instr.node)
    while items_taken:
        item = items_taken.pop(0)
        item = item if origin is None else as_data(item, origin)
        iterations.begin(live)
        for other in live:
            other.set(instr.item, item)
        live, left = _iterate(machine, live, instr.body)
        broken.extend(left)
        iterations.end(live)
        live = ended(live, item, last, done)
        if not live:
            break
        if not exact and instr.counters:
            count_on(before, live, instr.counters)
        if summary and len(live) == 1 and not live[0].undecided_since(iterations.number):
            iterations.like = True
            break  # It stands for all, and all went the same way.
        if not items_taken and not exact and not more and machine.backwards > backwards:
            # What a backward left in the second iteration shows in the third: a state carried over, then a step.
            items_taken.append(_like(machine, live[0], item))
            more = True
    live = machine.join(live + done)
    if not exact:
        for other in live + broken:
            _spread_gradients(before, other, items.items)
            _spread_flags(before, other, items.items)
            _spread_objects(before, other, items.items)
    written = isinstance(getattr(instr.node, "iter", None), (cst.List, cst.Tuple))
    listed = exact and (written or _are_objects(state, iterable, items))
    iterations.over(live, bounded=listed or _counted(state, iterable, items, exact), listed=listed)
    if are_settings(state, items):
        iterations.former = None
    return _leave(machine, instr, region, live, broken, None if exact else iterations)


def _spread_gradients(before: State, after: State, items: tuple[Value, ...]) -> None:
    """Let the gradients of parameters that a loop was not run over be what those of the first ones have become."""
    first, rest = items[:ITERATIONS], items[ITERATIONS:]
    changed = [_gradient_after(before, after, one) for item in first for one in _tensors_in(after, item)]
    if not changed or any(one is None for one in changed):
        return
    absent = all(isinstance(one, NoGradient) for one in changed)
    for ref in (one for item in rest for one in _tensors_in(after, item)):
        record = after.at(ref, Tensor)
        value = NoGradient(record.syntax, fresh_address()) if absent else Unknown()
        after.put(ref.id, record._replace(accumulated=value))


def _spread_flags(before: State, after: State, items: tuple[Value, ...]) -> None:
    """Let the parameters that a loop was not run over require grad, or not, as those do whose flags it has set."""
    first = [one for item in items[:ITERATIONS] for one in _tensors_in(before, item)]
    flags = {after.at(one, Tensor).grad for one in first}
    if all(before.at(one, Tensor).grad is after.at(one, Tensor).grad for one in first):
        return
    flag = flags.pop() if len(flags) == 1 else None
    for ref in (one for item in items[ITERATIONS:] for one in _tensors_in(after, item)):
        record = after.at(ref, Tensor)
        if record.leaf is True:
            after.put(ref.id, record._replace(grad=flag))


def _spread_objects(before: State, after: State, items: tuple[Value, ...]) -> None:
    """Let what the loop did to the first objects be done to the others: changed unseen, or held by another object."""
    first = {one for item in items[:ITERATIONS] for one in _instances_in(before, item)}
    rest = [one for item in items[ITERATIONS:] for one in _instances_in(after, item)]
    if not rest:
        return
    if any(after.at(one, Instance).module.loose and not before.at(one, Instance).module.loose for one in first):
        for one in rest:
            loosen(after, one, after.at(one, Instance))
    for address, record in list(after.heap.items()):
        former = before.heap.get(address)
        if not isinstance(record, Instance) or not isinstance(former, Instance) or record is former:
            continue
        held = (value for name, value in record.attrs.items() if former.attrs.get(name) is not value)
        if any(type(value) is Ref and value in first for value in held):
            for one in rest:
                record = record.with_unnamed(one)
            after.put(address, record)


def _instances_in(state: State, item: Value) -> Iterator[Ref]:
    """Yield the objects that an item is, or has beside a number or a name."""
    for one in item if type(item) is tuple else (item,):
        if isinstance(one, Ref) and _is_instance(state, one):
            yield one


def _gradient_after(before: State, after: State, ref: Ref) -> Value:
    """Return the gradient of a tensor, if it was replaced or written to; None otherwise."""
    former, record = before.heap.get(ref.id), after.at(ref, Tensor)
    if not isinstance(former, Tensor) or former.accumulated != record.accumulated:
        return record.accumulated
    kept = after.heap.get(record.accumulated.id) if isinstance(record.accumulated, Ref) else None
    same = not isinstance(kept, Tensor) or before.writes(kept.counter) == after.writes(kept.counter)
    return None if same else record.accumulated


def _tensors_in(state: State, item: Value) -> Iterator[Ref]:
    """Yield the tensors that an item is, or has beside a name."""
    for one in item if type(item) is tuple else (item,):
        if isinstance(one, Ref) and isinstance(state.heap.get(one.id), Tensor):
            yield one


def _stands_for_all(state: State, items: Sequence) -> bool:
    """Return whether the only item that is known stands for all: for the parameters of a network that is not shown."""
    record = state.heap.get(items.items[0].id) if len(items.items) == 1 and isinstance(items.items[0], Ref) else None
    return isinstance(record, Tensor) and SUMMARY in record.tags


def _leave(
    machine: Machine,
    instr: For | While,
    region: Region,
    live: list[State],
    broken: list[State],
    loop: Iterations | None,
) -> list[State]:
    """Run the `else` of a loop, and join what broke out; all is widened since it began, but for an exact loop."""
    if loop is not None:
        for state in live + broken:
            widen(loop.before, state, loop.former)
            if not loop.like:
                open_gathered(state, instr.body)
            if loop.former is None:
                forget_assigned(loop.before, state, instr.body)
    after = machine.join(machine.run(instr.orelse, live) + broken)
    machine.close(after, region)
    for state in after if len(after) > 1 else ():
        state.decide(CHOSEN, fresh_number())
    return after


def _consume(machine: Machine, state: State, instr: For, generator: Ref) -> list[State]:
    """Run a loop over a generator: an iteration at each `yield`, as often as the generator's own loops are taken."""
    start = state.heap[generator.id]
    numbered = isinstance(start, Suspended) and start.start is not None
    region = machine.open(state)
    before = state.fork()
    iterations = Iterations(machine, before, instr.node)
    numbers: list[Value] = [start.start if isinstance(start, Suspended) else None]

    def step(states: list[State], items: list[Value]) -> list[State]:
        iterations.begin(states)
        number = numbers[-1]
        numbers.append(next_position(number))
        for one, item in zip(states, items, strict=True):
            one.set(instr.item, (number, item) if numbered else item)
        live, left = _iterate(machine, states, instr.body)
        machine.exits.extend(Exit("break", one) for one in left)
        iterations.end(live)
        return live

    ended, broken = drive(machine, state, generator, step)
    live = [end for end, _ in ended]
    iterations.over(live, bounded=True)
    return _leave(machine, instr, region, live, broken, iterations)


def _counted(state: State, iterable: Value, items: Sequence, exact: bool) -> bool:
    """Return whether the program bounds a loop: so many numbers, modules, or a few tensors, rather than data."""
    first = items.items[0] if items.items else None
    few = exact and not (type(first) is tuple and len(items.items) > ITERATIONS)
    numbers = type(iterable) is tuple and isinstance(first, int)
    return few or numbers or (isinstance(first, Ref) and _is_instance(state, first))


def _are_objects(state: State, iterable: Value, items: Sequence) -> bool:
    """Return whether a loop goes over what the program lists, such as pairs of networks and optimizers.

    There are no more. What it gathers in something that the loop around it makes anew does not grow.
    """
    first = items.items[0] if items.items else None
    if type(iterable) is tuple and first is not None and not isinstance(first, int):
        return True
    parts = first if type(first) is tuple else (first,)
    return any(isinstance(part, Ref) and _is_instance(state, part) for part in parts)


def _is_instance(state: State, value: Ref) -> bool:
    """Return whether a value is an object, such as a module."""
    return isinstance(state.heap.get(value.id), Instance)


def _limit(state: State, items: Sequence) -> int:
    first = items.items[0] if items.items else None
    if type(first) is tuple and len(first) == 2:
        first = first[1]  # A parameter and its name.
    if isinstance(first, Ref) and isinstance(state[first], (Tensor, Instance)):
        return MANY
    return EXACT


def as_data(value: Value, origin: Node) -> Value:
    """Return what of a value is not known as data."""
    if type(value) is tuple:
        return tuple(as_data(one, origin) for one in value)
    bare = isinstance(value, Unknown) and value.origin is None and value.kind is None and value.key is None
    return Unknown(None, origin, None, origin.syntax) if bare else value


def _two(machine: Machine, state: State, items: Sequence) -> list[Value]:
    known = list(items.items[:ITERATIONS])
    if len(items.items) > ITERATIONS and type(second := known[-1]) is int:
        # What happens in every fourth iteration happens in none of the first two.
        rest = items.items[ITERATIONS:]
        known[-1] = nth(second, upwards=second >= 0 and all(type(one) is int and one > second for one in rest))
    escape(machine, state, items.items[ITERATIONS:])
    while len(known) < ITERATIONS:
        known.append(_like(machine, state, known[-1]) if known else Unknown())
    return known


def _like(machine: Machine, state: State, item: Value) -> Value:
    """Return the item of a further iteration: like the last, but never its graph, nor its number, a second time."""
    if type(item) is tuple:
        return tuple(_like(machine, state, part) for part in item)
    if type(item) is int or place_of(item) is not None:
        return next_position(item)
    if isinstance(item, Unknown) and item.origin is not None and item.origin.op == DATA:
        return Unknown(None, item.origin, None, item.syntax)
    is_object = isinstance(item, Ref) and _is_instance(state, item)
    if isinstance(item, Unknown) or is_object or any(one.live for one in origins(state, (item,))):
        return Unknown()
    return item


def _iterate(machine: Machine, states: list[State], body: Block) -> tuple[list[State], list[State]]:
    """Run one iteration: the states that go on to the next, and those that broke out."""
    first_exit = len(machine.exits)
    live = machine.run(body, states)
    exits = machine.exits[first_exit:]
    machine.exits[first_exit:] = [exit for exit in exits if exit.kind not in ("continue", "break")]
    live.extend(exit.state for exit in exits if exit.kind == "continue")
    return machine.join(live), [exit.state for exit in exits if exit.kind == "break"]


def run_while(machine: Machine, state: State, instr: While) -> list[State]:
    """while test: body"""
    region = machine.open(state)
    before = state.fork()
    live, done, broken = [state], [], []
    exact = True
    backwards = machine.backwards
    iterations = Iterations(machine, before, instr.node)
    for iteration in range(EXACT + 2):
        live, ended, unsure = _heads(machine, live, instr, iteration)
        done.extend(ended)
        exact = exact and not unsure
        enough = ITERATIONS + (machine.backwards > backwards)
        if not live or (iteration >= enough and (not exact or _endless(instr))):
            exact = exact and not live
            break
        exact = exact and iteration < EXACT
        if iteration and (not exact or _endless(instr)):
            count_on(before, live, instr.counters)
        iterations.begin(live)
        live, left = _iterate(machine, live, instr.body)
        broken.extend(left)
        iterations.end(live)
    iterations.over(live, bounded=exact)
    ended = [] if _endless(instr) else live + done
    return _leave(machine, instr, region, ended, broken, None if exact else iterations)


def _endless(instr: While) -> bool:
    return isinstance(instr.test, Const) and bool(instr.test.value)


def _heads(
    machine: Machine, states: list[State], instr: While, iteration: int
) -> tuple[list[State], list[State], bool]:
    """Test each state; return those that go into the body, those that are done, and whether any was unsure."""
    taken: list[State] = []
    done: list[State] = []
    unsure = False
    for state in machine.run(instr.head, states):
        test = machine.read(state, instr.test)
        if machine.transforms:
            refuses_test(machine, state, test, getattr(instr.node, "test", instr.node))
        known = truth(state, test)
        if known is False:
            done.append(state)
            continue
        if known is None:
            unsure = True
            if iteration <= ITERATIONS:
                assume(state, test, True)
        taken.append(state)
    return taken, done, unsure


splitting_each(For, run_for)
splitting_each(While, run_while)
