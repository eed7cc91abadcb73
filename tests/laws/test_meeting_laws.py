"""Laws of meeting: a met state knows what both knew, and states that autograd can tell apart do not meet."""

from __future__ import annotations

from itertools import combinations, permutations

import pytest

from tests.laws.observation import STEPS, Paths

REBOUND = tuple(step for step in STEPS if step.startswith("a = "))
"""Steps that bind another tensor to a name that holds data."""

KEPT = tuple(step for step in STEPS if step not in REBOUND)
PATHS = Paths()
BEHIND = {step: PATHS.path(step) for step in STEPS}


def without_kinds(seen: object) -> object:
    """What is seen, with every unknown alike."""
    if isinstance(seen, tuple):
        return ("unknown",) if seen[:1] == ("unknown",) else tuple(map(without_kinds, seen))
    if isinstance(seen, dict):
        return {key: without_kinds(value) for key, value in seen.items()}
    return seen


def holds(general: object, special: object) -> bool:
    """Whether what is known of a merged value is true of the value on one path; unknown is true of all."""
    if general is None or without_kinds(general) == ("unknown",):
        return True
    if isinstance(general, tuple) and isinstance(special, tuple):
        return len(general) == len(special) and all(map(holds, general, special))
    if isinstance(general, dict) and isinstance(special, dict):
        # A key that one path alone has is unknown, and so true.
        return all(holds(general[key], special[key]) for key in general.keys() & special.keys())
    return type(general) is type(special) and general == special


@pytest.mark.parametrize("step", STEPS)
def test_a_state_meets_its_own_fork_in_itself(step: str) -> None:
    state = BEHIND[step]
    met = PATHS.meet(state, state)
    assert met is not None
    assert PATHS.sees(met) == PATHS.sees(state)


@pytest.mark.parametrize("step", STEPS)
def test_two_paths_of_the_same_steps_meet_up_to_renaming(step: str) -> None:
    met = PATHS.meet(BEHIND[step], PATHS.path(step))
    assert met is not None
    assert PATHS.sees(met) == PATHS.sees(BEHIND[step])


@pytest.mark.parametrize(("one", "other"), combinations(STEPS, 2))
def test_which_states_meet_does_not_depend_on_their_order(one: str, other: str) -> None:
    left, right = BEHIND[one], BEHIND[other]
    assert (PATHS.meet(left, right) is None) == (PATHS.meet(right, left) is None)


@pytest.mark.parametrize(("one", "other"), combinations(KEPT, 2))
def test_meeting_is_commutative_in_what_autograd_sees(one: str, other: str) -> None:
    met, turned = PATHS.meet(BEHIND[one], BEHIND[other]), PATHS.meet(BEHIND[other], BEHIND[one])
    if met is not None and turned is not None:
        assert PATHS.sees(met) == PATHS.sees(turned)


def test_meeting_is_associative_in_what_autograd_sees() -> None:
    """Kinds of unknowns apart: that a number is one may be forgotten sooner or later."""
    seen = 0
    for one, two, three in permutations(KEPT, 3):
        early, late = PATHS.meet(BEHIND[one], BEHIND[two]), PATHS.meet(BEHIND[two], BEHIND[three])
        if early is None or late is None:
            continue
        left, right = PATHS.meet(early, BEHIND[three]), PATHS.meet(BEHIND[one], late)
        assert (left is None) == (right is None), (one, two, three)
        if left is not None and right is not None:
            seen += 1
            assert without_kinds(PATHS.sees(left)) == without_kinds(PATHS.sees(right)), (one, two, three)
    assert seen > 100


@pytest.mark.parametrize(("one", "other"), permutations(KEPT, 2))
def test_what_a_met_state_knows_holds_on_both_paths(one: str, other: str) -> None:
    met = PATHS.meet(BEHIND[one], BEHIND[other])
    if met is not None:
        assert holds(PATHS.sees(met), PATHS.sees(BEHIND[one]))
        assert holds(PATHS.sees(met), PATHS.sees(BEHIND[other]))


def test_meeting_changes_neither_of_the_two() -> None:
    for one, other in combinations(STEPS, 2):
        before = PATHS.sees(BEHIND[one]), PATHS.sees(BEHIND[other])
        PATHS.meet(BEHIND[one], BEHIND[other])
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
    assert PATHS.meet(BEHIND[one], BEHIND[other]) is None
    assert PATHS.meet(BEHIND[other], BEHIND[one]) is None


@pytest.mark.parametrize(
    ("one", "other", "name", "kind"),
    [
        ("n = 2", "pass", "n", "number"),
        ("n = 2", "n = n + 1", "n", None),
        ("s = 'two'", "pass", "s", None),
        ("s = 'two'", "s = None", "s", None),
        ("t = 1", "pass", "t", None),
    ],
)
def test_numbers_and_strings_that_differ_become_unknown(one: str, other: str, name: str, kind: str | None) -> None:
    met = PATHS.meet(BEHIND[one], BEHIND[other])
    assert met is not None
    seen = PATHS.sees(met)[name]
    if one == "n = 2" and other != "pass":
        # Both say 2: nothing differs.
        assert seen == 2
    else:
        assert seen == ("unknown", kind)


def test_a_test_that_came_out_differently_is_open_again() -> None:
    left, right = PATHS.path("pass"), PATHS.path("pass")
    left.decide("both", True)
    right.decide("both", True)
    left.decide("one", True)
    right.decide("one", False)
    met = PATHS.meet(left, right)
    assert met is not None
    assert met.facts.get("both") is True
    assert "one" not in met.facts


def test_escape_and_dirt_are_those_of_both() -> None:
    left, right = PATHS.path("a.add_(1)"), PATHS.path("table['other'] = 1")
    right.escape()
    met = PATHS.meet(left, right)
    assert met is not None
    assert met.escaped == right.escaped > left.escaped
    assert left.dirty | right.dirty <= met.dirty
    assert left.dirty_frames | right.dirty_frames <= met.dirty_frames


@pytest.mark.xfail(strict=True, reason="of data rebound on one path, what the left path knows is kept")
@pytest.mark.parametrize("step", ["a = torch.zeros(4)", "a = torch.ones(3).double()", "a = a + 1"])
def test_data_rebound_on_one_path_meets_in_what_holds_on_both(step: str) -> None:
    met, turned = PATHS.meet(BEHIND["pass"], BEHIND[step]), PATHS.meet(BEHIND[step], BEHIND["pass"])
    assert met is not None
    assert turned is not None
    assert PATHS.sees(met) == PATHS.sees(turned)


@pytest.mark.xfail(strict=True, reason="a number beside an unknown number is forgotten to be one")
def test_kinds_of_unknowns_meet_in_any_order() -> None:
    one, two = PATHS.path("n = 2"), PATHS.path("n = 3")
    early, late = PATHS.meet(one, two), PATHS.meet(two, two)
    assert early is not None
    assert late is not None
    left, right = PATHS.meet(early, two), PATHS.meet(one, late)
    assert left is not None
    assert right is not None
    assert PATHS.sees(left) == PATHS.sees(right)
