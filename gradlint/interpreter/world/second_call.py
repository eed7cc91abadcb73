"""Methods that nobody calls, called again, with what the first call leaves in their object.

That a training step is called twice in a row is certain; what the caller does in between is not known. So a fault of
the second call counts only where every way through it that runs a backward has the fault, and where nothing in the file
but the methods that were run may change what the object has kept.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import NamedTuple, TypeAlias

import libcst as cst

from gradlint.domain.announcement import CalledAgain, Returned
from gradlint.domain.assumption import Assumption
from gradlint.domain.event import Event, Refusal
from gradlint.domain.graph import Node
from gradlint.domain.state import State
from gradlint.domain.value import Args, Class, Function, Instance, Ref, Unknown, Value
from gradlint.interpreter.libraries.trainers import step_taken
from gradlint.interpreter.machine import Machine, OutOfBudgetError
from gradlint.interpreter.python.binding import with_defaults
from gradlint.interpreter.python.calls import run_body
from gradlint.interpreter.python.classes import find_in_class
from gradlint.interpreter.python.loop import Iterations
from gradlint.interpreter.reachable import Place, all_attributes, contents, held_by
from gradlint.interpreter.torch.backward_call import autograd_backward
from gradlint.interpreter.torch.module_methods import set_training
from gradlint.interpreter.torch.tensor import known_tensor, tensor_at
from gradlint.interpreter.world import guesses
from gradlint.source.lower.syntax import nodes_of, parts, root_of

SHARE = 0.1
"""How much of a file's steps the second calls of one class may use up."""


class Trial(NamedTuple):
    """A class that nobody makes: an object of it as its constructor leaves it, and what its methods did in one call.

    `keeping` leave graphs in the object, each in attributes of these names; `training` run a backward, or clear
    gradients; `writing` is a `forward` that writes in place.
    """

    state: State
    made: Ref
    assumed: tuple[Assumption, ...]
    keeping: tuple[tuple[Function, frozenset[str]], ...]
    training: tuple[Function, ...]
    writing: tuple[Function, ...]


def attributes_kept(before: State, ends: Sequence[State], made: Value) -> frozenset[str]:
    """Return the names of the attributes in which a call left a graph."""
    names: set[str] = set()
    for end in ends:
        roots = ((place, one.root) for place, held in held_by(end, before).items() for one in held)
        places = [place for place, root in roots if isinstance(root, Node) and root.tracked is True]
        if places and isinstance(made, Ref):
            names |= _names(end, made, places)
    return frozenset(names)


def call_again(machine: Machine, trial: Trial, module: cst.Module) -> None:
    """Call the methods of a trial again, and report what the first calls have left."""
    resets = resets_in(module)
    training = [one.code for one in trial.training]
    for method in trial.training:
        others = tuple(
            one
            for one, names in trial.keeping
            if one.code not in training and not _is_reset(names, {one.code.node, method.code.node}, resets)
        )
        _drive(machine, trial, (*others, method), resets, _second_steps)
    forward = next((one for one, _ in trial.keeping if one.code.name == "forward"), None)
    if forward is not None and not trial.training:
        _drive(machine, trial, (forward,), resets, _second_forward)
    if trial.writing and machine.assumes:
        _drive(machine, trial, trial.writing, resets, _backward_of_forward)


Drive = Callable[[Machine, Trial, tuple[Function, ...], State], "tuple[list[Event], list[State]]"]


def _drive(machine: Machine, trial: Trial, methods: tuple[Function, ...], resets: Resets, drive: Drive) -> None:
    try:
        with _apart(machine), machine.assuming():
            machine.assumed = trial.assumed
            start = trial.state.fork()
            events, ends = drive(machine, trial, methods, start)
            ran: set[cst.CSTNode] = {code.node for code in machine.called}
    except OutOfBudgetError:
        return
    if "grad" in resets:
        events = [event for event in events if event.carried != "gradients"]
    kept = [name for end in ends for name in _names(end, trial.made, held_by(end, start))] if events else []
    reset = _is_reset(kept, ran, resets)
    for event in events:
        if event.carried != "graph" or not reset:  # No program makes its network anew between two steps.
            machine.emit(event)


def _second_steps(
    machine: Machine, trial: Trial, methods: tuple[Function, ...], start: State
) -> tuple[list[Event], list[State]]:
    """Call twice the methods that keep graphs, and then the one that runs a backward."""
    calls = Iterations(machine, start, methods[-1].code.node)
    calls.begin()
    ends = _call_all(machine, [start.fork()], trial.made, methods)
    first = _trained(ends, start.trained) or ends
    calls.end(first)
    if not first or any(map(_is_refused, machine.events)):
        return [], []
    seen, mark = len(machine.events), max(end.trained for end in first)
    calls.begin()
    ends = _call_all(machine, [end.fork() for end in first], trial.made, methods)
    second = _trained(ends, mark) or (ends if mark == start.trained else [])
    calls.end(second)
    if not second:
        return [], []
    calls.over(second, bounded=True)
    raised = all(None in end.freed.values() for end in second)
    found = [event for event in machine.events[seen:] if event.carried and (raised or not _is_refused(event))]
    return found, first + second


def _is_refused(event: Event) -> bool:
    """Return whether torch refuses what a call before has left."""
    return event.carried is not None and isinstance(event, Refusal)


def _second_forward(
    machine: Machine, trial: Trial, methods: tuple[Function, ...], start: State
) -> tuple[list[Event], list[State]]:
    """Call `forward` twice: its result may hang on the graph that the call before has left in the module."""
    first = _call_all(machine, [start.fork()], trial.made, methods)
    ends = [(end, _call_all(machine, [end.fork()], trial.made, methods)) for end in first]
    seen = len(machine.events)
    machine.announce(start, CalledAgain(methods[-1].code.node, ends))
    found = [event for event in machine.events[seen:] if event.carried]
    return found, [*first, *(end for _, after in ends for end in after)]


def _backward_of_forward(
    machine: Machine, trial: Trial, methods: tuple[Function, ...], start: State
) -> tuple[list[Event], list[State]]:
    """Call `forward` in training and backpropagate its results: torch may refuse what it writes in place."""
    method = methods[0]
    owner = _name_of(start, trial.made)
    machine.assume(Assumption("use", owner, "trained: what its `forward` returns is backpropagated", method.code.node))
    set_training(start, trial.made, True)
    args = with_defaults(machine, method, Args((trial.made,)))
    before, backwards = start.fork(), machine.backwards
    ends = run_body(machine, start, method, args, method.code.node)
    if machine.backwards > backwards:
        return [], []  # It trains itself.
    refused: list[Event] = []
    by_options: list[Event] = []
    raised = True
    for end, value in ends:
        held = [one for one in contents(end, (value,)) if known_tensor(machine, end, one) is not None]
        roots = tuple(one for one in held if isinstance(one, Ref) and tensor_at(end, one).grad is True)
        if not roots:
            return [], []
        seen = len(machine.events)
        autograd_backward(machine, end, Args((roots, tuple(Unknown() for _ in roots))), method.code.node)
        found = [event for event in machine.events[seen:] if isinstance(event, Refusal)]
        refused += found
        if None not in end.freed.values():
            raised = False
        elif _is_chosen(before, end, trial.made):
            by_options += found
    if raised or not by_options:
        return refused if raised else [], []
    option = Assumption("option", owner, "", method.code.node)
    return [replace(event, assumptions=(*machine.assumed, option)) for event in by_options], []


def _is_chosen(start: State, end: State, made: Ref) -> bool:
    """Return whether a path is taken by the options of an object alone: by what its constructor kept and did not use.

    An option that the constructor itself looks at may have made the object another one.
    """
    record = start.at(made, Instance)
    init = find_in_class(start, record.cls, "__init__")
    kept = _only_kept(init.code.node) if isinstance(init, Function) else frozenset()
    options = {value for name, value in record.attrs.items() if isinstance(value, Unknown) and name in kept}
    new = end.facts.keys() - start.facts.keys()
    tests = {_tested(key) for key in new if isinstance(key, Unknown)}
    forks = sum(type(key) is int for key in new)
    return options.issuperset(tests) and 0 < forks <= len(tests)


def _only_kept(init: cst.CSTNode) -> frozenset[str]:
    """Return the attributes that a constructor sets to one of its parameters, of which it makes no other use."""
    found = list(nodes_of(init))
    named = Counter(one.value for one in found if isinstance(one, cst.Name))
    kept: set[str] = set()
    for one in found:
        target = one.targets[0].target if isinstance(one, cst.Assign) else None
        if isinstance(one, cst.Assign) and isinstance(target, cst.Attribute) and isinstance(one.value, cst.Name):
            given, name = one.value.value, target.attr.value
            if named[given] == 2 + (given == name):  # The parameter, its use, and perhaps the name of the attribute.
                kept.add(name)
    return frozenset(kept)


def _tested(test: Unknown) -> Unknown:
    """Return what a test asks about: the other side of a comparison with a constant, what `not` is before."""
    while test.key is not None:
        other = test.key[1] if len(test.key) > 1 else None
        following = test.negated or other
        if not isinstance(following, Unknown):
            break
        test = following
    return test


def _call_all(machine: Machine, states: list[State], made: Ref, methods: tuple[Function, ...]) -> list[State]:
    """Call each method with arguments that are not known; a framework does what it does with the result."""
    for method in methods:
        states = _call(machine, states, made, method)
    return states


def _call(machine: Machine, states: list[State], made: Ref, method: Function) -> list[State]:
    after: list[State] = []
    for state in states:
        region = machine.open(state)
        ended = run_body(machine, state, method, with_defaults(machine, method, Args((made,))), method.code.node)
        for end, value in ended:
            step_taken(machine, end, method, made, value)
            machine.announce(end, Returned(method.code.node, True, value))
        ends = machine.join([end for end, _ in ended])
        machine.close(ends, region)
        after.extend(ends)
    return after


def _name_of(state: State, made: Ref) -> str:
    """Return the name of an object's class."""
    cls = state.at(made, Instance).cls
    record = state.heap.get(cls.id) if isinstance(cls, Ref) else None
    return record.code.name if isinstance(record, Class) else "the module"


def _trained(ends: list[State], since: int) -> list[State]:
    """Return the ways on which a backward was run."""
    return [end for end in ends if end.trained > since]


@contextmanager
def _apart(machine: Machine) -> Iterator[None]:
    """Run aside: nothing that is done or left undone in the block counts elsewhere."""
    kept = {name: getattr(machine, name) for name in _PER_RUN}
    facts = [(one, one.set_aside()) for one in machine.listeners]
    machine.events, machine.exits, machine.stack, machine.called, machine.iterations = [], [], [], set(), []
    machine.escaped = {}
    machine.doubtful, machine.passed = [], set()
    machine.give_ups, machine.frozen, machine.optimized = Counter(), {}, set(machine.optimized)
    machine.limit = max(machine.limit, machine.budget - int(SHARE * machine.steps))
    try:
        yield
    finally:
        for name, value in kept.items():
            setattr(machine, name, value)
        for one, former in facts:
            one.resume(former)


_PER_RUN = (
    *("events", "exits", "stack", "called", "iterations", "escaped", "doubtful", "passed", "give_ups"),
    *("frozen", "optimized", "limit", "backwards", "expected", "foreign_limit"),
)


def _names(state: State, made: Ref, places: Iterable[Place]) -> set[str]:
    """Return the names of the attributes that some places are, or that hold them."""
    owners = _owners(state, made)
    names: set[str] = set()
    for place in places:
        if place[0] == "attr":
            names.add(str(place[2]))
        elif place[0] != "name":
            names |= owners.get(place[1], set())
    return names


def _is_reset(names: Iterable[str], ran: set[cst.CSTNode], resets: Resets) -> bool:
    """Return whether a function that was not run may change what the attributes hold."""
    others = {function for name in names for function in resets.get(name, ())} - ran
    return any(not isinstance(one, cst.FunctionDef) or one.name.value != "__init__" for one in others)


def _owners(state: State, made: Ref) -> dict[object, set[str]]:
    """Return by address the names of the attributes through which an object holds something."""
    found: dict[object, set[str]] = {made.id: {""}}
    for owner in contents(state, (made,), all_attributes):
        record = state.heap.get(owner.id) if isinstance(owner, Ref) else None
        for name, value in record.attrs.items() if isinstance(record, Instance) else ():
            for held in contents(state, (value,)):
                if isinstance(held, Ref):
                    found.setdefault(held.id, set()).add(name)
    return found


# Who in a file may empty, replace or detach an attribute: any object's, by the name alone.

_GROWING = frozenset({"append", "appendleft", "extend", "add", "insert", "copy", "index", "count", "items", "values"})
"""Methods of containers that leave what is in them."""

_READING = frozenset(
    {
        *("len", "sum", "zip", "enumerate", "print", "list", "tuple", "max", "min", "float", "int", "bool", "str"),
        *("isinstance", "range", "reversed", "sorted", "iter", "any", "all", "hasattr", "getattr"),
        *("torch", "np", "numpy", "math", "F", "nn"),
    }
)
"""Functions, or the libraries that they are of, which do not change what they are given."""

Resets: TypeAlias = "dict[str, set[cst.CSTNode | None]]"
"""By the name of an attribute, the functions that may change what it holds otherwise than by adding to it.

None stands for the top level. Who clears gradients, by whatever means, changes `grad`.
"""


def resets_in(module: cst.Module) -> Resets:
    """Return what the functions of a file may reset."""
    found: Resets = {}
    stack: list[tuple[cst.CSTNode, cst.CSTNode | None]] = [(module, None)]
    while stack:
        node, function = stack.pop()
        kind = type(node)
        if kind is cst.FunctionDef:
            function = node
        if kind in _RESETTING:
            for name in _reset_by(node):
                found.setdefault(name, set()).add(function)
        stack.extend([(part, function) for part in parts(node)])
    return found


_RESETTING = frozenset(
    {cst.Call, cst.AssignTarget, cst.AugAssign, cst.AnnAssign, cst.For, cst.Del, cst.AsName, cst.SimpleString}
)


def _reset_by(node: cst.CSTNode) -> Iterator[str]:
    """Yield the names of the attributes that one piece of syntax may reset."""
    if isinstance(node, cst.Call):
        yield from _by_call(node)
    elif isinstance(node, (cst.AssignTarget, cst.AugAssign, cst.AnnAssign, cst.For, cst.Del)):
        yield from _written(node.target)
    elif isinstance(node, cst.AsName):
        yield from _written(node.name)
    elif isinstance(node, cst.SimpleString) and (text := node.raw_value).isidentifier():
        yield text  # setattr(self, "memory", ...)


def _by_call(node: cst.Call) -> Iterator[str]:
    func = node.func
    if isinstance(func, cst.Attribute) and func.attr.value not in _GROWING:
        if func.attr.value in guesses.CLEARING:
            yield "grad"
        owner = func.value
        while isinstance(owner, cst.Attribute):
            yield owner.attr.value
            owner = owner.value
    if root_of(func) not in _READING:
        for arg in node.args:
            yield from _written(arg.value)


def _written(target: cst.BaseExpression) -> Iterator[str]:
    if isinstance(target, (cst.Tuple, cst.List)):
        for element in target.elements:
            yield from _written(element.value)
    elif isinstance(target, cst.Subscript):
        yield from _written(target.value)
    elif isinstance(target, cst.Attribute):
        yield target.attr.value
