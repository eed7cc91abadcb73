"""From observations to a value: what is constant, what hangs on an argument, what stays open."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from gradlint.facts import UNKNOWN, resolve
from gradlint.facts.table import decode_value
from tools.facts.agree import flags_of
from tools.facts.fit import Seen, fit, has_common
from tools.facts.probes import Record


def seen(*cases: tuple[dict[str, str], str]) -> list[Seen]:
    return [Seen(flags, frozenset(labels.split())) for flags, labels in cases]


def test_what_always_holds_needs_no_test() -> None:
    assert fit(seen(({"p": "1"}, "input >"), ({"p": "2"}, "> input"))) == "> input"


def test_a_flag_decides() -> None:
    found = fit(seen(*[({"inplace": "False"}, ">")] * 2, *[({"inplace": "True"}, "input")] * 2))
    rest = {"?": "", "must": "", "may": "> input"}
    assert found == {"?": "inplace", "False": ">", "True": "input", "*": rest}


def test_a_branch_that_was_seen_once_decides_nothing() -> None:
    found = fit(seen(*[({"inplace": "False"}, ">")] * 3, ({"inplace": "True"}, "input")))
    assert found == {"?": "", "must": "", "may": "> input"}


def test_flags_of_no_design_need_more_calls() -> None:
    few = seen(*[({"size": "None"}, ">")] * 2, *[({"size": "T"}, "")] * 2)
    assert fit(few) == {"?": "", "must": "", "may": ">"}
    assert fit(few * 2) == {"?": "size", "None": ">", "T": "", "*": {"?": "", "must": "", "may": ">"}}


def test_numbers_are_one_case_but_for_special_ones() -> None:
    calls = seen(*[({"exponent": n}, "input") for n in ("3", "2.5", "4", "7")], *[({"exponent": "0"}, "")] * 2)
    rest = {"?": "", "must": "", "may": "input"}
    assert fit(calls) == {"?": "exponent", "0": "", "N": "input", "*": rest}


def test_labels_hang_on_arguments_of_their_own() -> None:
    calls = seen(
        *[
            (
                {"affine": a, "track_running_stats": t},
                ("w " if a == "True" else "") + ("r" if t == "True" else ""),
            )
            for a in ("True", "False")
            for t in ("True", "False")
        ]
        * 2
    )
    by_affine = {"?": "affine", "False": "", "True": "w", "*": {"?": "", "must": "", "may": "w"}}
    by_tracking = {
        "?": "track_running_stats",
        "False": "",
        "True": "r",
        "*": {"?": "", "must": "", "may": "r"},
    }
    found = fit(calls)
    assert isinstance(found, list)
    assert sorted(found, key=str) == sorted([by_affine, by_tracking], key=str)


def test_of_rules_those_that_always_hold_are_kept() -> None:
    calls = seen(({}, "same:x bcast"), ({}, "same:x"), ({}, "same:x numel:x"))
    assert fit(calls, has_common) == "same:x"


FLAGS = st.fixed_dictionaries(
    {
        "inplace": st.sampled_from(["True", "False"]),
        "dim": st.sampled_from(["-", "None", "0", "1"]),
        "p": st.sampled_from(["0", "1", "2", "0.5", "inf"]),
        "other": st.sampled_from(["T", "2.0", "0.5"]),
    }
)
LABELS = st.frozensets(st.sampled_from(["input", "other", ">", ">1"]))


@settings(deadline=None)
@given(st.lists(st.builds(Seen, FLAGS, LABELS), min_size=1, max_size=30))
def test_every_observation_lies_inside_the_value(calls: list[Seen]) -> None:
    value = decode_value(fit(calls))
    for call in calls:
        found = resolve(value, flags_of(Record("op", call.flags)))
        assert found.must <= call.labels <= found.may


@settings(deadline=None)
@given(st.lists(st.builds(Seen, FLAGS, LABELS), min_size=1, max_size=30))
def test_knowing_less_decides_less(calls: list[Seen]) -> None:
    value = decode_value(fit(calls))
    unknown = resolve(value, dict.fromkeys(("inplace", "dim", "p", "other"), UNKNOWN))
    for call in calls:
        known = resolve(value, flags_of(Record("op", call.flags)))
        assert unknown.must <= known.must and known.may <= unknown.may
