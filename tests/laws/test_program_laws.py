"""Laws of findings: what changes nothing of what a program does changes nothing of what is found in it."""

from __future__ import annotations

import random
import textwrap
from itertools import combinations

import pytest

from tests.harness.lint import findings_of
from tests.laws.observation import BASE, STEPS
from tests.laws.transformation import TRANSFORMATIONS, moved, under_a_flag
from tests.torch_agrees.generate import generate

SEEDS = range(50_000, 50_040)
PROGRAMS = {seed: generate(seed).source for seed in SEEDS}

TAIL = """\
c = a.contiguous()
c.add_(1)
(w * a).sum().backward()
k.sum().backward()
z.sum().backward()
y.sum().backward()
"""
"""What may fail behind a branch, depending on what its two ways did."""

FLAG = "unknown_flag_of_the_run"
ALIASES = ("a = b", "a = b[:2]", "a = b.view(3, 1)")
_ALIKE = [step for step in STEPS if step not in (*ALIASES, "with torch.inference_mode():\n    a = torch.ones(3)")]
PAIRS = random.Random(11).sample(list(combinations(_ALIKE, 2)), 90)


def test_the_programs_have_findings_and_lack_them() -> None:
    """Laws of findings say little of programs without any."""
    found = sum(bool(findings_of(program)) for program in PROGRAMS.values())
    assert 12 <= found <= 36


@pytest.mark.parametrize("transformation", TRANSFORMATIONS)
def test_what_means_the_same_has_the_same_findings(transformation: str) -> None:
    """Renamed variables, other import aliases, a `main` around the whole, dead statements between."""
    broken: dict[int, object] = {}
    judged = 0
    for seed, program in PROGRAMS.items():
        changed = TRANSFORMATIONS[transformation](program)
        if changed is None:
            continue
        judged += 1
        expected, actual = moved(findings_of(program), changed.lines), sorted(findings_of(changed.text))
        if expected != actual:
            broken[seed] = expected, actual
    assert broken == {}
    assert judged > 30


@pytest.mark.parametrize("transformation", TRANSFORMATIONS)
def test_each_change_changes_the_texts(transformation: str) -> None:
    """A change that left programs as they are would keep every law."""
    changes = [TRANSFORMATIONS[transformation](program) for program in PROGRAMS.values()]
    assert sum(change is not None and change.text not in PROGRAMS.values() for change in changes) > 30


def back(text: str, lines: dict[int, int]) -> list[tuple[int, str]]:
    """The findings of a changed program at the lines of the old one."""
    old = {line: number for number, line in lines.items()}
    return sorted((old[line], code) for line, code in findings_of(text))


def test_a_statement_under_an_unknown_flag_may_stand_in_either_branch() -> None:
    broken: dict[int, object] = {}
    for seed, program in PROGRAMS.items():
        one, other = under_a_flag(program, seed, first=True), under_a_flag(program, seed, first=False)
        if one is not None and other is not None and back(*one) != back(*other):
            broken[seed] = back(*one), back(*other)
    assert broken == {}


def findings_behind(condition: str, one: str, other: str) -> list[tuple[str, str]]:
    """The findings of a program in which a condition decides between two steps, by the text of their line."""
    then, orelse = (textwrap.indent(step, "    ") for step in (one, other))
    program = f"{BASE}if {condition}:\n{then}\nelse:\n{orelse}\n{TAIL}"
    lines = program.split("\n")
    return sorted((lines[row - 1].strip(), code) for row, code in findings_of(program))


def test_the_branches_of_an_unknown_flag_may_change_places() -> None:
    broken = {}
    for one, other in PAIRS:
        found = findings_behind(FLAG, one, other)
        turned = findings_behind(FLAG, other, one)
        if found != turned:
            broken[one, other] = found, turned
    assert broken == {}


def test_branches_have_the_findings_of_their_ways_and_no_others() -> None:
    broken = {}
    for one, other in PAIRS:
        found = {*findings_behind(FLAG, one, other)}
        alone = {*findings_behind("True", one, other), *findings_behind("False", one, other)}
        if found != alone:
            broken[one, other] = found ^ alone
    assert broken == {}


@pytest.mark.parametrize("step", ALIASES)
def test_an_alias_on_one_way_gives_no_findings_that_neither_way_has(step: str) -> None:
    """Some are missed: behind the branch it is forgotten that the two share their memory."""
    alone = {*findings_behind("True", "pass", step), *findings_behind("False", "pass", step)}
    assert {*findings_behind(FLAG, "pass", step)} <= alone


@pytest.mark.parametrize("step", ALIASES)
def test_an_alias_on_one_way_is_remembered(step: str) -> None:
    alone = {*findings_behind("True", "pass", step), *findings_behind("False", "pass", step)}
    assert {*findings_behind(FLAG, "pass", step)} == alone
