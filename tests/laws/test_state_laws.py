"""Laws of the state: forks share nothing that either can change, and dirt tells all that was changed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

import libcst as cst
from hypothesis import given
from hypothesis import strategies as st

from gradlint.domain.state import Frame, State
from gradlint.domain.value import Mapping

SYNTAX = cst.Pass()
ADDRESSES = st.integers(-4, 6)
NAMES = st.sampled_from(("x", "y", 1))
FRAMES = st.sampled_from((1, 2, 3))
RECORDS = st.integers(0, 99)

Step: TypeAlias = "tuple[str, tuple[int | str, ...]]"
STEPS: st.SearchStrategy[Step] = st.one_of(
    st.tuples(st.just("put"), st.tuples(ADDRESSES, RECORDS)),
    st.tuples(st.just("set"), st.tuples(NAMES, RECORDS)),
    st.tuples(st.just("set_in"), st.tuples(FRAMES, NAMES, RECORDS)),
    st.tuples(st.just("drop"), st.tuples(NAMES)),
    st.tuples(st.just("decide"), st.tuples(NAMES, RECORDS)),
    st.tuples(st.just("free"), st.tuples(RECORDS)),
    st.tuples(st.just("go"), st.tuples(FRAMES)),
    st.tuples(st.just("mode"), st.tuples(RECORDS)),
)


@dataclass
class Model:
    """What a state would be if a fork copied everything."""

    heap: dict[object, object] = field(default_factory=dict)
    frames: dict[object, dict[object, object]] = field(default_factory=lambda: {1: {}, 2: {}, 3: {}})
    facts: dict[object, object] = field(default_factory=dict)
    freed: set[object] = field(default_factory=set)
    frame: object = 1
    grad: bool = True

    def copy(self) -> Model:
        """A copy that shares nothing."""
        frames = {frame: dict(names) for frame, names in self.frames.items()}
        return Model(dict(self.heap), frames, dict(self.facts), set(self.freed), self.frame, self.grad)

    def do(self, step: Step) -> None:
        """Change what the step changes."""
        match step:
            case ("put", (address, record)):
                self.heap[address] = record
            case ("set", (name, value)):
                self.frames[self.frame][name] = value
            case ("set_in", (frame, name, value)):
                self.frames[frame][name] = value
            case ("drop", (name,)):
                self.frames[self.frame].pop(name, None)
            case ("decide", (key, truth)):
                self.facts[key] = truth
            case ("free", (node,)):
                self.freed.add(node)
            case ("go", (frame,)):
                self.frame = frame
            case ("mode", (number,)):
                self.grad = bool(int(number) % 2)
            case _:
                raise ValueError(step)


def do(state: State, step: Step) -> None:
    """The same on a state."""
    name, arguments = step
    if name == "free":
        state.free([int(arguments[0])], SYNTAX)
    elif name == "go":
        state.leave(int(arguments[0]))
    elif name == "mode":
        state.grad = bool(int(arguments[0]) % 2)
    else:
        getattr(state, name)(*arguments)


def fresh() -> State:
    """A state with three empty frames."""
    state = State()
    for frame in (3, 2, 1):
        state.enter(frame, Frame({}))
    return state


def seen(state: State) -> Model:
    """Everything that can be asked of a state."""
    assert state.locals is state.frames[state.frame].names
    frames: dict[object, dict[object, object]] = {
        number: dict(frame.names.items()) for number, frame in state.frames.items()
    }
    return Model(dict(state.heap.items()), frames, {**state.facts}, {*state.freed}, state.frame, bool(state.grad))


@given(st.lists(st.tuples(st.integers(0, 5), st.one_of(STEPS, st.just(("fork", ())))), max_size=40))
def test_states_behave_as_if_a_fork_copied_everything(program: list[tuple[int, Step]]) -> None:
    """Neither a parent nor its forks, nor their forks, see what another of them does."""
    states, models = [fresh()], [Model()]
    for which, step in program:
        index = which % len(states)
        if step[0] == "fork":
            states.append(states[index].fork())
            models.append(models[index].copy())
        else:
            do(states[index], step)
            models[index].do(step)
        assert [seen(state) for state in states] == models


@given(st.lists(STEPS, max_size=12), st.lists(STEPS, max_size=12))
def test_dirt_holds_all_that_differs_from_the_fork(before: list[Step], after: list[Step]) -> None:
    state = fresh()
    for step in before:
        do(state, step)
    old = seen(state)
    fork = state.fork()
    for step in after:
        do(fork, step)
    new = seen(fork)
    changed = {address for address in new.heap if new.heap[address] != old.heap.get(address)}
    frames = {frame for frame in new.frames if new.frames[frame] != old.frames[frame]}
    assert changed <= fork.dirty
    assert frames <= fork.dirty_frames


@given(st.lists(STEPS, max_size=12), st.lists(STEPS, max_size=12), st.lists(STEPS, max_size=12))
def test_become_goes_on_as_the_other_and_leaves_forks_alone(
    mine: list[Step], theirs: list[Step], later: list[Step]
) -> None:
    state = fresh()
    other = state.fork()
    for step in mine:
        do(state, step)
    for step in theirs:
        do(other, step)
    earlier, before, goal = state.fork(), seen(state), seen(other)
    state.become(other)
    assert seen(state) == goal
    assert (state.dirty, state.dirty_frames) == (other.dirty, other.dirty_frames)
    for step in later:
        do(state, step)
        goal.do(step)
    assert seen(state) == goal
    assert seen(earlier) == before


@given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from(("escape", "fork", "new"))), max_size=20))
def test_escape_is_monotone_and_older_than_what_is_made_afterwards(program: list[tuple[int, str]]) -> None:
    states = [fresh()]
    for which, what in program:
        state = states[which % len(states)]
        before = state.escaped
        if what == "fork":
            states.append(state.fork())
            assert states[-1].escaped == before
        elif what == "escape":
            made = state.new(Mapping({})).id
            state.escape()
            assert before < made < state.escaped
        else:
            assert state.new(Mapping({})).id > state.escaped


@given(st.lists(STEPS, max_size=10))
def test_a_frame_left_gives_back_the_callers(steps: list[Step]) -> None:
    state = fresh()
    outside = {**state.locals}
    former = state.enter(9, Frame({"argument": 1}))
    assert state.locals == {"argument": 1}
    for step in steps:
        if step[0] in ("set", "drop"):
            do(state, step)
    state.leave(former)
    assert state.locals == outside


def test_an_address_is_never_used_twice() -> None:
    one = fresh()
    other = one.fork()
    made = [state.new(Mapping({})).id for state in (one, other, one, other)]
    assert made == sorted(set(made))
