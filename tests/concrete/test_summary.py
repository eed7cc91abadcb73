"""What a run says of its parameters, and a check of what the run has seen."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from gradlint.concrete.measures import MOST, Measures
from gradlint.domain.run import Observed, Run, Series
from gradlint.report.run.modules import modules
from gradlint.report.run.plots import chart, spark
from gradlint.report.run.table import number, percent, table
from tests.concrete.test_command import checked, command

NETWORK = """
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 2))
unused = nn.Linear(3, 1)
with torch.no_grad():
    model[0].bias[:2] = -100.0
optimizer = torch.optim.SGD([*model.parameters(), *unused.parameters()], lr=0.1)
gradients, changes = [], []
for step in range(12):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(torch.randn(8, 4)), torch.randint(0, 2, (8,)))
    loss.backward()
    before = model[2].weight.detach().clone()
    gradients.append(float(model[2].weight.grad.norm()))
    optimizer.step()
    changes.append(float((model[2].weight.detach() - before).norm() / before.norm()))
print(gradients, changes, sep="\\n")
"""
STATIC = """
import torch
w = torch.ones(2, requires_grad=True)
optimizer = torch.optim.SGD([w], lr=0.1)
try:
    w += 1
except RuntimeError:
    pass

def unused():
    v = torch.ones(2, requires_grad=True)
    v += 1

for step in range(9):
    loss = (w * 2).exp().sum()
    loss.backward()
    if step > 20:
        loss.backward()
    optimizer.step()
    late = step > 20 and w.detach().requires_grad_()
    if late is not False: late += 1
"""


def _run(folder: Path, text: str, *options: str) -> tuple[dict[str, Any], str, str]:
    (folder / "a.py").write_text(text)
    ran = command(folder, *options, "--summary", "run.json", "a.py")
    assert ran.returncode == 0, ran.stderr
    return json.loads((folder / "run.json").read_text()), ran.stdout, ran.stderr


def test_parameters_are_measured(tmp_path: Path) -> None:
    """As the program itself would compute it; units without a gradient, and parameters without one."""
    data, printed, said = _run(tmp_path, NETWORK, "--all")
    gradients, changes = (json.loads(line) for line in printed.splitlines())
    series = {one["name"]: one for one in data["parameters"]}
    last = series["2.weight"]
    assert (last["module"], last["layer"], last["shape"], last["elements"]) == ("2", "Linear", [2, 6], 12)
    assert all(math.isclose(one, other, rel_tol=1e-5) for one, other in zip(last["gradients"], gradients, strict=True))
    assert all(math.isclose(one, other, rel_tol=1e-4) for one, other in zip(last["updates"], changes, strict=True))
    first = series["0.weight"]
    assert (first["units"], first["dead"]) == (6, 2) and min(first["zeros"]) >= 2 / 6 - 1e-9
    assert series["parameter 4"]["gradients"] == [None] * 12
    assert data["points"] == list(range(12)) and all(0 < one < 5 for one in data["losses"])
    assert "0 Linear" in said and "2 of 6" in said
    assert (data["iterations"], data["watched"], data["samples"], data["exit_code"]) == (12, 12, 1, 0)


def test_samples_are_summed_up(tmp_path: Path) -> None:
    """The iterations by their numbers in the run."""
    data, _, _ = _run(tmp_path, NETWORK, "--iterations", "2", "--every", "5")
    assert data["points"] == [0, 1, 5, 6, 10, 11] and (data["watched"], data["samples"]) == (6, 3)


def test_a_page_stands_by_itself(tmp_path: Path) -> None:
    """It loads nothing, and names are escaped."""
    (tmp_path / "a.py").write_text(NETWORK)
    assert command(tmp_path, "--summary", "run.html", "a.py").returncode == 0
    page = (tmp_path / "run.html").read_text()
    assert "<svg" in page and "2 of 6" in page and "src=" not in page and "url(" not in page


def test_many_iterations_are_thinned() -> None:
    """So that memory is bounded, and the points stay evenly spaced."""
    layer = nn.Linear(2, 2)
    optimizer, measures = torch.optim.SGD(layer.parameters(), lr=0.0), Measures()
    for at in range(10 * MOST):
        layer(torch.ones(2)).sum().backward()
        measures.step_begins(optimizer)
        measures.step_ended()
        measures.iteration_ended(at)
    spaces = {after - before for before, after in zip(measures.points, measures.points[1:], strict=False)}
    assert len(measures.points) <= MOST and len(spaces) == 1 and measures.failed is None
    first = next(measures.series())
    assert len(first.gradients) == len(measures.points)
    assert all(
        one is not None and one > before
        for one, before in zip(first.gradients[1:], first.gradients, strict=False)
        if before
    )


def test_an_iteration_that_has_not_ended_is_left_out(tmp_path: Path) -> None:
    """Where several optimizers step, the program may end between them."""
    (tmp_path / "a.py").write_text(
        "import torch\nfrom torch import nn\n"
        "one, two = nn.Linear(2, 1), nn.Linear(2, 1)\n"
        "optimizers = [torch.optim.SGD(each.parameters(), lr=0.1) for each in (one, two)]\n"
        "for step in range(7):\n"
        "    optimizers[step % 2].zero_grad()\n"
        "    (one, two)[step % 2](torch.ones(2)).sum().backward()\n"
        "    optimizers[step % 2].step()\n"
    )
    ran = command(tmp_path, "--summary", "run.json", "a.py")
    assert ran.returncode == 0 and "internal error" not in ran.stderr
    summary = json.loads((tmp_path / "run.json").read_text())
    assert {len(one["gradients"]) for one in summary["parameters"]} == {len(summary["points"])}


def test_measuring_draws_no_random_numbers_and_leaves_no_trace() -> None:
    """No version, no gradient, no grad mode changes."""
    layer = nn.Linear(3, 2)
    layer(torch.ones(3)).sum().backward()
    optimizer, measures = torch.optim.Adam(layer.parameters()), Measures()
    state, versions = torch.get_rng_state(), [one._version for one in layer.parameters()]
    measures.step_begins(optimizer)
    measures.step_ended()
    measures.iteration_ended(0)
    assert torch.equal(state, torch.get_rng_state()) and torch.is_grad_enabled()
    assert versions == [one._version for one in layer.parameters()]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64, torch.complex64])
def test_kinds_of_parameters(dtype: torch.dtype) -> None:
    """A norm does not overflow where the elements do not."""
    one = torch.ones(300, dtype=dtype, requires_grad=True)
    one.grad = torch.full_like(one, 10_000).detach()
    optimizer, measures = torch.optim.SGD([one], lr=1e-4), Measures()
    measures.step_begins(optimizer)
    optimizer.step()
    measures.step_ended()
    measures.iteration_ended(0)
    assert measures.failed is None
    (series,) = measures.series()
    assert series.gradients[0] == pytest.approx(10_000 * 300**0.5, rel=0.01) and series.zeros == (0.0,)
    assert series.updates[0] == pytest.approx(1, rel=0.02)


def test_what_cannot_be_measured_ends_the_measuring_alone() -> None:
    """A sparse gradient is left out."""
    table = nn.Embedding(5, 2, sparse=True)
    table(torch.tensor([1])).sum().backward()
    measures = Measures()
    measures.step_begins(torch.optim.SGD(table.parameters(), lr=0.1))
    measures.step_ended()
    measures.iteration_ended(0)
    assert measures.failed is None and next(measures.series()).gradients == (None,)


def test_a_check_says_what_a_run_has_seen(tmp_path: Path) -> None:
    """Seen, and where torch was not called."""
    _run(tmp_path, STATIC)
    ran = checked(tmp_path, "--run", "run.json", "--output-format", "json", "a.py")
    said = {(one["location"]["row"], one["code"]): one["run"]["verdict"] for one in json.loads(ran.stdout)}
    assert said[(12, "GRD101")] == "not run"
    assert said[(16, "GRD501")] == "seen"
    assert said[(18, "GRD204")] == "not run"
    text = checked(tmp_path, "--run", "run.json", "a.py").stdout
    assert "(seen in a run)" in text and "(torch was not called here in 9 watched iterations)" in text
    ran = checked(tmp_path, "--run", "run.json", "--output-format", "sarif", "a.py")
    results = json.loads(ran.stdout)["runs"][0]["results"]
    assert {one["properties"]["run"]["verdict"] for one in results} == {"seen", "not run"}


def test_what_did_not_occur(tmp_path: Path) -> None:
    """A line that has run, at which torch did not raise; of what nobody looked for nothing is said."""
    text = "import torch, sys\nx = torch.ones(2, requires_grad=len(sys.argv) > 5)\n"
    text += (
        "def f(y: torch.Tensor):\n    y = torch.ones(2, requires_grad=True) if len(sys.argv) > 5 else torch.ones(2)\n"
    )
    text += "    y += 1\nf(x)\n"
    _run(tmp_path, text)
    ran = checked(tmp_path, "--run", "run.json", "a.py")
    assert "did not occur in the watched run" in ran.stdout


def test_a_file_that_has_changed_since_is_named(tmp_path: Path) -> None:
    """Nothing is said of its findings."""
    _run(tmp_path, STATIC)
    (tmp_path / "a.py").write_text("\n" + STATIC)
    ran = checked(tmp_path, "--run", "run.json", "a.py")
    assert "warning: a.py has changed since the run of run.json" in ran.stderr and "seen in a run" not in ran.stdout


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "No such file"),
        ("{", "is no JSON"),
        ("[]", "is no summary of a run"),
        ('{"kind": "gradlint run", "version": 0}', "another version"),
        ('{"kind": "gradlint run", "version": 1, "files": {}}', "is damaged"),
    ],
)
def test_a_bad_summary_is_one_line(content: str | None, said: str, tmp_path: Path) -> None:
    """Before anything is checked."""
    (tmp_path / "a.py").write_text("x = 1\n")
    if content is not None:
        (tmp_path / "run.json").write_text(content)
    ran = checked(tmp_path, "--run", "run.json", "a.py")
    assert ran.returncode == 2 and said in ran.stderr and ran.stderr.count("\n") == 1


def test_both_in_one_go(tmp_path: Path) -> None:
    """What was seen comes once, and what only a check finds besides."""
    (tmp_path / "a.py").write_text(STATIC)
    ran = command(tmp_path, "--check", "--output-format", "concise", "a.py")
    assert ran.stderr.count("GRD501") == 1 and ran.stderr.count("(seen in a run)") == 1
    assert "a.py:18" in ran.stderr and "torch was not called here" in ran.stderr


def test_words_and_numbers() -> None:
    """What is not there, not finite, or nearly nothing."""
    assert [number(one) for one in (None, math.nan, math.inf, 0.0, 0.00123456)] == [
        "none",
        "nan",
        "inf",
        "0",
        "0.00123",
    ]
    assert [percent(one) for one in (0.0, 0.001, 0.5, 0.999, 1.0)] == ["0 %", "<1 %", "50 %", ">99 %", "100 %"]
    assert [Observed("not seen", one).said for one in (0, 1, 2000)] == [
        "did not occur in the watched run",
        "did not occur in 1 watched iteration",
        "did not occur in 2,000 watched iterations",
    ]


def test_plots_bear_any_values() -> None:
    """Gaps, zeros, what is not finite, and a single point."""
    for values in ((None, 1.0, math.nan, math.inf, 0.0), (None,) * 5, (1e-9, 1.0, 1e9, 2.0, 3.0), (2.0,) * 5):
        for svg in (chart("loss", range(5), values), spark("norm", values)):
            assert "nan" not in svg and "inf" not in svg.replace("info", "")
    assert "<svg" in chart("loss", [7], [1.0])


def test_of_many_modules_the_table_shows_some() -> None:
    """Those with the most zeros, in the order of the network."""
    parameters = tuple(
        Series(f"{at}.w", f"{at}", "Linear", (2,), 2, (1.0,), (0.1,), (at / 20,), 2, 0) for at in range(20)
    )
    run = Run("a.py", "/", "2", 0, 1, 1, 1, 1, 1, 1, 1.0, points=(0,), losses=(None,), parameters=parameters)
    lines = list(table(run))
    assert len(lines) == 14 and lines[1].split()[0] == "8" and lines[-1].strip() == "and 8 more modules"
    assert len(modules(run)) == 20
