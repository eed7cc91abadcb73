"""Laws of findings: what changes nothing of what a program does changes nothing of what is found in it."""

from __future__ import annotations

import random
import textwrap
from itertools import combinations, permutations

import pytest

from gradlint.check import check_content
from gradlint.settings.config import Config
from tests.harness.lint import findings_of
from tests.laws.observation import BASE, STEPS
from tests.laws.transformation import TRANSFORMATIONS, arms_swapped, moved, under_a_flag
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

SCALED = """\
import torch


def train(loader, model, criterion, optimizer, scaler, flag):
    for x, y in loader:
        optimizer.zero_grad()
        scaler.scale(criterion(model(x), y)).backward()
        if flag:
            {one}
        else:
            {other}
        {after}
        scaler.step(optimizer)
        scaler.update()
"""
STAGES = ("pass", "scaler.unscale_(optimizer)", "scaler.step(optimizer)", "optimizer.step()")
"""What an arm does with the gradients of a scaled loss. Each leaves the scaler at a different stage."""

CASTS = """\
import torch


def main(args, model, teacher, optimizer, loader):
    if args.mixed_precision == "fp16":
        weight_dtype = torch.{one}
    elif args.mixed_precision == "bf16":
        weight_dtype = torch.{other}
    else:
        weight_dtype = torch.{last}
    teacher.to(dtype=weight_dtype)
    for x, y in loader:
        x = x.to(weight_dtype)
        loss = torch.nn.functional.mse_loss(model(x).float(), y.float())
        loss.backward()
        optimizer.zero_grad()
        optimizer.step()
"""
DTYPES = ("float16", "bfloat16", "float32")
CAST = """\
if unknown_precision_{number} == "fp16":
    dtype_{number} = torch.float16
elif unknown_precision_{number} == "bf16":
    dtype_{number} = torch.bfloat16
else:
    dtype_{number} = torch.float32
"""


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
    """A size that differs between the ways is not known behind the branch, so that nothing is said of sizes."""
    alone = {*findings_behind("True", "pass", step), *findings_behind("False", "pass", step)}
    assert {*findings_behind(FLAG, "pass", step)} == {one for one in alone if one[1] != "GRD704"}


@pytest.mark.parametrize("after", ["pass", "scaler.step(optimizer)", "optimizer.step()"])
def test_the_arms_that_use_a_scaler_may_change_places(after: str) -> None:
    """It is unknown which arm runs. After the branch, the later of the two stages counts, whichever arm comes first."""
    broken = {}
    for one, other in permutations(STAGES, 2):
        program = SCALED.format(one=one, other=other, after=after)
        swapped = arms_swapped(program)
        assert swapped is not None
        expected, actual = moved(findings_of(program), swapped.lines), sorted(findings_of(swapped.text))
        if expected != actual:
            broken[one, other] = expected, actual
    assert broken == {}


def test_dtypes_may_change_places() -> None:
    """An option selects the dtype. The fault after the branch is found for every order of the arms."""
    orders = (CASTS.format(one=one, other=other, last=last) for one, other, last in permutations(DTYPES))
    assert {findings_of(program) for program in orders} == {((16, "GRD502"),)}


def test_a_choice_of_dtypes_does_not_split_paths() -> None:
    """Seven options with three dtypes each would be 2187 paths. None is dropped, and the fault after them is found."""
    casts = "".join(CAST.format(number=number) for number in range(7))
    program = f"import torch\n{casts}w = torch.ones(3, dtype=dtype_0, requires_grad=True)\ny = w.exp()\ny += 1\n"
    (checked,) = check_content(f"{program}y.sum().backward()\n", "example.py", Config()).files
    assert checked.give_ups == {}
    assert [finding.code for finding in checked.findings] == ["GRD103"]
