"""What is watched of a run, and that what nobody saw is not taken for what did not happen."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn, overrides
from torch.nn.modules import module as hooks
from torch.overrides import TorchFunctionMode
from torch.utils._device import DeviceContext

from gradlint.concrete.measures import Measures
from gradlint.concrete.places import Places
from gradlint.concrete.schedule import Sampler, Schedule
from gradlint.concrete.watching import Watch
from tests.concrete.running import codes_at, watched

_modes: Callable[[], list[TorchFunctionMode]] = overrides._get_current_function_mode_stack

HEAD = "import torch\nfrom torch import nn\nmodel = nn.Linear(4, 2)\n"
HEAD += "optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)\nx = torch.randn(8, 4)\n"
LOOP = HEAD + "for step in range(20):\n    optimizer.zero_grad()\n    loss = model(x).pow(2).mean()\n"
LOOP += "    {body}\n    optimizer.step()\n"
FEW = Schedule(iterations=2, every=5)


def _order(schedule: Schedule, names: str) -> list[int]:
    """Return which iterations are watched while optimizers step in this order."""
    sampler, on, watched = Sampler(schedule), True, []
    optimizers = {name: object() for name in names}
    for name in names:
        if sampler.ends_iteration(optimizers[name]):
            if on:
                watched.append(sampler.done)
            on = sampler.next_is_watched(on)
    return watched


def test_samples_come_every_so_many_iterations() -> None:
    """Without `every` there is the first one only; without anything all are watched."""
    assert _order(FEW, "a" * 12) == [0, 1, 5, 6, 10, 11]
    assert _order(Schedule(iterations=2), "a" * 12) == [0, 1]
    assert _order(Schedule(), "aaa") == [0, 1, 2]
    assert _order(Schedule(seconds=0.0), "aaa") == [0]


def test_an_iteration_ends_with_one_of_several_optimizers() -> None:
    """So that a sample holds a step of each."""
    sampler, (a, b) = Sampler(FEW), (object(), object())
    assert [sampler.ends_iteration(one) for one in (a, b, a, b, a, b)] == [True, False, False, True, False, True]
    sampler = Sampler(FEW)
    assert [sampler.ends_iteration(one) for one in (a, a, a, b, a, a, a)] == [*[True] * 3, *[False] * 2, *[True] * 2]


def test_nothing_is_left_in_torch_between_samples() -> None:
    """No mode and no hook of modules; the program's own modes stay in their order."""

    class Mode(TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return func(*args, **kwargs or {})

    layer, plain = nn.Linear(2, 2), torch.optim.Optimizer.zero_grad
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
    watch, mode = Watch(Places(), print, Schedule(iterations=1, every=3)), Mode()

    def step() -> list[TorchFunctionMode]:
        layer(torch.ones(2)).sum().backward()
        optimizer.step()
        return _modes()

    watch.begin()
    device = DeviceContext("cpu")
    with device, mode:
        assert step() == [device, mode]
        assert not hooks._global_forward_pre_hooks and not hooks._global_forward_hooks
        assert torch.optim.Optimizer.zero_grad is plain
        step()
        assert step() == [device, watch.machine, mode] and hooks._global_forward_pre_hooks
    assert _modes() == [watch.machine]
    assert step() == []
    watch.end()
    assert watch.scope == "in the 2 of 4 iterations that were watched"


def test_iterations_between_samples_are_counted_in_blocks() -> None:
    """One in sixteen is told of, and the one before each sample; with several optimizers, each."""
    sampler, one, told = Sampler(Schedule(iterations=2, every=50)), object(), []
    for _ in range(102):
        if not sampler.skips(one):
            assert sampler.ends_iteration(one)
            told.append(sampler.done)
            sampler.next_is_watched(sampler.done % 50 < 2)
    assert told == [0, 1, 16, 32, 48, 49, 50, 51, 64, 80, 96, 99, 100, 101]
    assert (sampler.done, sampler.watched, sampler.samples) == (102, 6, 3)


@pytest.mark.parametrize("given", ["", "set_to_none=True", "False", "*()"])
@pytest.mark.parametrize("wrong", [False, True])
def test_an_optimizer_clears_once_for_all(given: str, wrong: bool, tmp_path: Path) -> None:
    """What `zero_grad` does is known of it as a whole, and of one of the program's own, which calls that."""
    text = LOOP.replace("zero_grad()", f"zero_grad({given})").format(
        body="loss.backward(); optimizer.zero_grad()" if wrong else "loss.backward()"
    )
    if given.startswith("*"):
        own = "class Own(torch.optim.SGD):\n    def zero_grad(self):\n        super().zero_grad()\n\n"
        text = text.replace("torch.optim.SGD(", "Own(").replace("model =", f"{own}model =")
    found = watched(text, tmp_path)
    assert {code for code, _ in codes_at(found)} == ({"GRD502", "GRD519"} if wrong else set())


@pytest.mark.parametrize(
    "body",
    [
        "loss.backward()",
        "loss.backward() if step % 5 > 1 else model(x).detach()",
        "(loss if step % 5 == 1 else model(x)[:, :1].pow(2).mean()).backward()",
        "loss.backward(); optimizer.zero_grad() if step % 5 == 3 else None",
    ],
)
def test_what_was_not_seen_is_not_said_of_the_run(body: str, tmp_path: Path) -> None:
    """A finding about what did not happen names the iterations of which it is true."""
    found = watched(LOOP.format(body=body), tmp_path, schedule=FEW)
    assert found.error is None and found.complaints == []
    assert all(one.message.startswith("in the 8 of 20 iterations that were watched, ") for one in found.findings)


def test_what_a_gap_hides_is_no_finding(tmp_path: Path) -> None:
    """Gradients that were cleared, graphs that were made and values that were cut while nobody watched."""
    cleared = HEAD + "for step in range(20):\n    model(x).pow(2).mean().backward()\n    optimizer.step()\n"
    cleared += "    if step % 5 in (1, 2, 3, 4):\n        optimizer.zero_grad()\n"
    found = watched(cleared, tmp_path, schedule=FEW)
    assert codes_at(found) == {("GRD501", 7)}, "the first and the second iteration of a sample are both seen"
    found = watched(cleared.replace("in (1, 2, 3, 4)", "!= 1"), tmp_path, schedule=FEW)
    assert found.findings == (), "between the second and the third nobody watches"


WAITS = HEAD + "critic, kept = nn.Linear(4, 2), []\nother = torch.optim.SGD(critic.parameters(), lr=0.1)\n"
WAITS += "for step in range(20):\n    kept.append(model(x).pow(2).mean())\n    other.zero_grad()\n"
WAITS += "    critic(x).pow(2).mean().backward()\n    other.step()\n"
SWITCHES = HEAD + "model = nn.Sequential(model, nn.Dropout(0.5))\nfor step in range(24):\n    optimizer.zero_grad()\n"
SWITCHES += "    if step % 12 == 4:\n        model.eval()\n        with torch.no_grad():\n            model(x)\n"
SWITCHES += "    {back}\n    model(x).pow(2).mean().backward()\n    optimizer.step()\n"


def test_graphs_that_wait_for_a_backward_are_no_leak(tmp_path: Path) -> None:
    """Where the watching pauses, a backward may come that nobody sees: then nothing is said of them."""
    some = Schedule(iterations=8, every=None)
    back = "    if step in (12, 19):\n        sum(kept).backward()\n        kept = []\n"
    assert codes_at(watched(WAITS, tmp_path)) == {("GRD512", 9)}, "and no backward comes at all"
    assert watched(WAITS + back, tmp_path).findings == ()
    assert watched(WAITS + back, tmp_path, schedule=some).findings == ()
    assert watched(WAITS + back, tmp_path, schedule=Schedule(iterations=8, every=14)).findings == ()


def test_switches_of_the_mode_are_heard_of_between_samples(tmp_path: Path) -> None:
    """And a sample begins with the first one at each place, as with an evaluation and with an optimizer."""
    few = Schedule(iterations=2, every=None)
    for schedule in (None, few):
        found = watched(SWITCHES.format(back=""), tmp_path, schedule=schedule)
        assert {code for code, _ in codes_at(found)} == {"GRD517"}
        assert watched(SWITCHES.format(back="model.train()"), tmp_path, schedule=schedule).findings == ()


SECOND = LOOP.format(body="loss.backward()") + "other = nn.Linear(4, 2)\n"
SECOND += "{second} = torch.optim.SGD(other.parameters(), lr=0.1)\nfor step in range(20):\n"
SECOND += "    other(x).pow(2).mean().backward()\n    {second}.step()\n    {second}.zero_grad()\n"
EVALUATED = LOOP.format(body="loss.backward()").replace("model = nn.Linear(4, 2)", "model = nn.BatchNorm1d(4)")
EVALUATED += "{evaluate}\nwith torch.no_grad():\n    for part in torch.randn(4, 8, 4):\n        model(part)\n"


def test_a_sample_begins_with_what_comes_for_the_first_time(tmp_path: Path) -> None:
    """An optimizer that is made, and grad mode that is switched off, after the first sample has ended."""
    few = Schedule(iterations=2, every=None)
    assert watched(SECOND.format(second="optimizer"), tmp_path, schedule=few).findings == ()
    wrong = SECOND.format(second="later").replace("    later.zero_grad()\n", "")
    assert codes_at(watched(wrong, tmp_path, schedule=few)) == {("GRD501", 14)}
    assert watched(EVALUATED.format(evaluate="model.eval()"), tmp_path, schedule=few).findings == ()
    assert codes_at(watched(EVALUATED.format(evaluate=""), tmp_path, schedule=few)) == {("GRD522", 14)}


def test_the_first_value_that_is_not_finite_is_the_first_of_those_watched(tmp_path: Path) -> None:
    """Others may have come before, unseen."""
    found = watched(LOOP.format(body="loss = loss + (step >= 4) * (x[0, 0] * 0).log(); loss.backward()"), tmp_path)
    assert [one.code for one in found.findings] == ["GRD408"] and "iterations" not in found.findings[0].message
    body = "loss = loss + (step >= 4) * (loss * 0).log(); loss.backward()"
    found = watched(LOOP.format(body=body), tmp_path, schedule=FEW)
    assert [one.code for one in found.findings] == ["GRD408"]
    assert found.findings[0].message.startswith("in the 8 of 20 iterations that were watched, ")


def test_an_error_between_samples_has_no_wrong_ends(tmp_path: Path) -> None:
    """A node that was made unseen is not the operation of a line that was seen."""
    text = HEAD + "kept = None\nfor step in range(20):\n    optimizer.zero_grad()\n    loss = model(x).pow(2).mean()\n"
    text += "    if step == 5:\n        loss = loss + kept\n    loss.backward()\n    optimizer.step()\n"
    text += "    if step == 3:\n        kept = model.weight.pow(2).sum()\n"
    found = watched(text, tmp_path, schedule=FEW)
    assert isinstance(found.error, RuntimeError)
    assert not any("saved it" in note for note in getattr(found.error, "__notes__", ()))


def test_a_time_limit_ends_the_watching(tmp_path: Path) -> None:
    """Also of a program that takes no steps."""
    text = "import torch\nx = torch.ones(2)\nfor _ in range(1000):\n    x = x * 1\n"
    found = watched(text, tmp_path, schedule=Schedule(seconds=0.0))
    assert found.complaints == [] and found.operations == 256


@pytest.mark.parametrize("name", ["entered", "iteration_ended"])
def test_a_mistake_in_a_hook_ends_the_watching(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With one line, and the program goes on."""

    def crash(*_: object) -> None:
        raise LookupError("our own")

    monkeypatch.setattr(Measures, name, crash)
    found = watched(LOOP.format(body="loss.backward()"), tmp_path)
    assert found.error is None and len(found.complaints) == 1
    assert "internal error: LookupError: our own" in found.complaints[0]
    assert _modes() == []
