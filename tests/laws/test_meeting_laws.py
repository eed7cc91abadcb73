"""Laws of meeting: a met state knows what both knew, and states that autograd can tell apart do not meet."""

from __future__ import annotations

import random
from itertools import combinations, permutations

import pytest

from tests.laws.observation import STEPS, Paths

VIEWS = ("a = b[:2]", "a = b.view(3, 1)")
HALF_SEEN = ("y.retain_grad()", "net.eval()", "with torch.inference_mode():\n    a = torch.ones(3)")
"""Steps that change what a meeting does not look at yet; the last two tests of this file say what should hold."""

LOOKED_AT = tuple(step for step in STEPS if step not in HALF_SEEN)
PATHS = Paths()
BEHIND = {step: PATHS.path(step) for step in STEPS}
MEETING_PASS = [step for step in LOOKED_AT if PATHS.join(BEHIND["pass"], BEHIND[step]) is not None]
"""The steps behind which a state can still meet one in which nothing was done."""


def holds(general: object, special: object) -> bool:
    """Whether what is known of a merged value is true of the value on one path; unknown is true of all."""
    if general is None or (isinstance(general, tuple) and general[:1] == ("unknown",)):
        return True
    if isinstance(general, tuple) and general[:1] == ("size",):
        many = special == ("size", True) or (isinstance(special, int) and special >= 2)
        return many or not general[1]
    if isinstance(general, tuple) and isinstance(special, tuple) and general[:1] == special[:1] == ("dtype",):
        return bool(general[1] >= special[1])
    if isinstance(general, tuple) and isinstance(special, tuple):
        return len(general) == len(special) and all(map(holds, general, special))
    if isinstance(general, dict) and isinstance(special, dict):
        # A key that one path alone has is unknown, and so true.
        return all(holds(general[key], special[key]) for key in general.keys() & special.keys())
    if isinstance(general, frozenset) and isinstance(special, frozenset):
        return general <= special
    return type(general) is type(special) and general == special


@pytest.mark.parametrize("step", STEPS)
def test_a_state_meets_its_own_fork_in_itself(step: str) -> None:
    state = BEHIND[step]
    met = PATHS.join(state, state)
    assert met is not None
    assert PATHS.sees(met) == PATHS.sees(state)


@pytest.mark.parametrize("step", [step for step in STEPS if step not in VIEWS])
def test_two_paths_of_the_same_steps_meet_up_to_renaming(step: str) -> None:
    met = PATHS.join(BEHIND[step], PATHS.path(step))
    assert met is not None
    assert PATHS.sees(met) == PATHS.sees(BEHIND[step])


def test_which_states_meet_does_not_depend_on_their_order() -> None:
    for one, other in combinations(STEPS, 2):
        left, right = BEHIND[one], BEHIND[other]
        assert (PATHS.join(left, right) is None) == (PATHS.join(right, left) is None), (one, other)


def test_meeting_is_commutative_in_what_autograd_sees() -> None:
    seen = 0
    for one, other in combinations(LOOKED_AT, 2):
        met, turned = PATHS.join(BEHIND[one], BEHIND[other]), PATHS.join(BEHIND[other], BEHIND[one])
        if met is not None and turned is not None:
            seen += 1
            assert PATHS.sees(met) == PATHS.sees(turned), (one, other)
    assert seen > 30


def test_meeting_is_associative_in_what_autograd_sees() -> None:
    choose = random.Random(7)
    for one, two, three in [choose.sample(MEETING_PASS, 3) for _ in range(400)]:
        early, late = PATHS.join(BEHIND[one], BEHIND[two]), PATHS.join(BEHIND[two], BEHIND[three])
        if early is None or late is None:
            continue
        left, right = PATHS.join(early, BEHIND[three]), PATHS.join(BEHIND[one], late)
        assert (left is None) == (right is None), (one, two, three)
        if left is not None and right is not None:
            assert PATHS.sees(left) == PATHS.sees(right), (one, two, three)


def test_many_steps_leave_states_that_meet() -> None:
    """Laws of meeting say little where nothing meets."""
    assert len(MEETING_PASS) > 10


def test_what_a_met_state_knows_holds_on_both_paths() -> None:
    for one, other in permutations(LOOKED_AT, 2):
        met = PATHS.join(BEHIND[one], BEHIND[other])
        for step in (one, other) if met is not None else ():
            assert met is not None
            known, true = PATHS.sees(met, identities=False), PATHS.sees(BEHIND[step], identities=False)
            assert holds(known, true), (one, other, step)


def test_meeting_changes_neither_of_the_two() -> None:
    for one, other in combinations(STEPS, 2):
        before = PATHS.sees(BEHIND[one]), PATHS.sees(BEHIND[other])
        PATHS.join(BEHIND[one], BEHIND[other])
        assert (PATHS.sees(BEHIND[one]), PATHS.sees(BEHIND[other])) == before


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param("pass", "torch.set_grad_enabled(False)", id="grad mode"),
        pytest.param("y = w * 3", "y = y.detach()", id="tracked or not"),
        pytest.param("y = w + 3", "y = w * 3", id="another operation"),
        pytest.param("pass", "y = w * 3", id="a graph before the fork, and one after it"),
        pytest.param("y = w * 3", "with torch.no_grad():\n    y = w * 2", id="recorded or not"),
        pytest.param("pass", "b.add_(1)", id="a watched version counter"),
        pytest.param("pass", "z.mul_(2)", id="a watched result"),
        pytest.param("pass", "w.requires_grad_(False)", id="a leaf that requires grad, and one that does not"),
        pytest.param("pass", "w = torch.ones(3, requires_grad=True)", id="another leaf"),
        pytest.param("pass", "a = w * 2", id="data and a result"),
        pytest.param("pass", "t = w + 1", id="a graph on one path only"),
        pytest.param("pass", "z.sum().backward()", id="freed or not"),
        pytest.param("pass", "w.grad = torch.ones(3)", id="a gradient on one path only"),
        pytest.param("pass", "items.append(a)", id="a list of another length that holds tensors"),
        pytest.param("items = [w, a]", "items = [a, w]", id="a list in another order"),
        pytest.param("table['key'] = n", "table['key'] = w", id="a number and a tensor"),
    ],
)
def test_states_that_autograd_can_tell_apart_do_not_meet(one: str, other: str) -> None:
    assert PATHS.join(BEHIND[one], BEHIND[other]) is None
    assert PATHS.join(BEHIND[other], BEHIND[one]) is None


@pytest.mark.parametrize(
    ("one", "other", "name", "seen"),
    [
        ("n = 2", "pass", "n", ("unknown", "number")),
        ("n = 2", "n = n + 1", "n", 2),
        ("s = 'two'", "pass", "s", ("unknown", None)),
        ("s = 'two'", "s = None", "s", ("unknown", None)),
        ("t = 1", "pass", "t", ("unknown", None)),
        ("n = z.sum().item()", "n = z.sum().item()", "n", ("unknown", "number")),
    ],
)
def test_numbers_and_strings_that_differ_become_unknown(one: str, other: str, name: str, seen: object) -> None:
    met = PATHS.join(BEHIND[one], BEHIND[other])
    assert met is not None
    assert PATHS.sees(met)[name] == seen


def test_a_test_that_came_out_differently_is_open_again() -> None:
    left, right = PATHS.path("pass"), PATHS.path("pass")
    left.decide("both", True)
    right.decide("both", True)
    left.decide("one", True)
    right.decide("one", False)
    met = PATHS.join(left, right)
    assert met is not None
    assert met.facts.get("both") is True
    assert "one" not in met.facts


def test_escape_and_dirt_are_those_of_both() -> None:
    left, right = PATHS.path("n = 2"), PATHS.path("table['other'] = 1")
    right.escape()
    met = PATHS.join(left, right)
    assert met is not None
    assert met.escaped == right.escaped > left.escaped
    assert left.dirty | right.dirty <= met.dirty
    assert left.dirty_frames | right.dirty_frames <= met.dirty_frames


@pytest.mark.parametrize("step", VIEWS)
def test_a_view_taken_on_both_paths_stays_one(step: str) -> None:
    met = PATHS.join(BEHIND[step], PATHS.path(step))
    assert met is not None
    assert PATHS.sees(met) == PATHS.sees(BEHIND[step])


@pytest.mark.parametrize("step", HALF_SEEN)
def test_what_a_meeting_does_not_look_at_is_not_claimed(step: str) -> None:
    met, turned = PATHS.join(BEHIND["pass"], BEHIND[step]), PATHS.join(BEHIND[step], BEHIND["pass"])
    if met is None or turned is None:
        assert met is turned
    else:
        assert PATHS.sees(met) == PATHS.sees(turned)
