"""Mistakes of which torch says nothing, each beside a program that looks alike and is right."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.concrete.running import codes_at, watched

LOOP = """\
import torch

torch.manual_seed(0)
model, other = nn.Linear(4, 1), nn.Linear(4, 1)
optimizer = torch.optim.SGD([*model.parameters(), *other.parameters()], lr=0.1)
kept, logs, total = [], [], 0.0
for x in torch.randn(8, 16, 4):
    first, second = model(x).pow(2).mean(), other(x).abs().mean()
    {loss}
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    {after}
"""


@pytest.mark.parametrize(
    ("loss", "after", "codes"),
    [
        ("loss = first + second", "pass", set()),
        ("loss = first + 0.5 * second.detach() + second", "pass", set()),
        ("loss = first + second - second.detach()", "pass", set()),
        ("loss = first + second + (first + second.detach()).tanh().detach()", "pass", {"GRD309"}),
        ("loss = first * second.item() + second", "pass", set()),
        ("loss = first + second + torch.tensor(second.item())", "pass", {"GRD304"}),
        ("loss = first + second", "total = total + torch.stack([first, second])", {"GRD510"}),
        ("loss = first + second", "total = total + torch.stack([first, second]).detach()", set()),
        ("loss = first + second", "logs.append({'loss': (first, second)})", {"GRD510"}),
        ("loss = first + second", "logs.append({'loss': (first.item(), second.detach())})", set()),
        ("loss = first + second", "logs = [first, second, loss]", set()),
        ("loss = first + second", "total = 0.9 * total + 0.1 * model.weight", {"GRD510"}),
        ("loss = first + second", "kept.append(model.weight.sum()); len(kept) == 8 and sum(kept).backward()", set()),
    ],
)
def test_constant_terms_and_kept_graphs(loss: str, after: str, codes: set[str], tmp_path: Path) -> None:
    """A term that is constant in each loss, and graphs of several iterations that no backward uses."""
    found = watched(LOOP.format(loss=loss, after=after), tmp_path)
    assert {code for code, _ in codes_at(found)} - {"GRD308", "GRD501", "GRD502", "GRD518"} == codes
    assert found.error is None and found.complaints == []


BY_HAND = """\
import torch

torch.manual_seed(0)
model = nn.Linear(4, 1)
for x in torch.randn(5, 8, 4):
    loss = model(x).pow(2).mean()
    loss.backward()
    for p in model.parameters():
        {update}
    {clear}
"""


@pytest.mark.parametrize(
    "update",
    [
        "p.data -= 0.1 * p.grad",
        "p.data = p.data - 0.1 * p.grad.data",
        "p.data.add_(p.grad, alpha=-0.1)",
        "torch.no_grad()(lambda: p.sub_(0.1 * p.grad))()",
    ],
)
@pytest.mark.parametrize(
    ("clear", "codes"),
    [
        ("pass", {"GRD501"}),
        ("model.zero_grad()", set()),
        ("model.weight.grad = model.bias.grad = None", set()),
        ("model.weight.grad.data.zero_(); model.bias.grad.detach().zero_()", set()),
        ("model.weight.grad.mul_(0.9); model.bias.grad.mul_(0.9)", set()),
    ],
)
def test_steps_by_hand(update: str, clear: str, codes: set[str], tmp_path: Path) -> None:
    """A write by the gradient is a step; momentum by hand is none of the gradients that are used twice."""
    found = watched(BY_HAND.format(update=update, clear=clear), tmp_path)
    assert {code for code, _ in codes_at(found)} == codes and found.complaints == []


SCHEDULED = """\
import torch

torch.manual_seed(0)
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr={lr})
scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: {factor})
for x in torch.randn(8, 8, 4):
    loss = model(x).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    scheduler.step()
"""


@pytest.mark.parametrize(
    ("lr", "factor", "rows"),
    [
        ("0.1", "1.0", []),
        ("0.1", "min(1.0, step / 4)", []),
        ("0.1", "max(0.0, 1 - step / 7)", []),
        ("0.1", "max(0.0, 1 - step / 4)", [12]),
        ("0.1", "min(1, step // 1000)", [12]),
        ("1e-14", "1.0", [11]),
    ],
)
def test_steps_without_effect(lr: str, factor: str, rows: list[int], tmp_path: Path) -> None:
    """A warm-up may begin with zero, and a schedule end with one step of it."""
    found = watched(SCHEDULED.format(lr=lr, factor=factor), tmp_path)
    assert codes_at(found) == {("GRD523", row) for row in rows}


BACKWARD_LEFT_OUT = """\
import torch

torch.manual_seed(0)
actor, log_scale = nn.Linear(4, 1), torch.zeros(1, requires_grad=True)
one, other = torch.optim.SGD(actor.parameters(), lr=0.1), torch.optim.SGD([log_scale], lr=0.1)
for x in torch.randn(5, 8, 4):
    scale = log_scale.exp().item()
    loss = (scale * actor(x)).pow(2).mean()
    one.zero_grad()
    loss.backward()
    one.step()
    scale_loss = (log_scale * (actor(x).detach().mean() + 1)).sum()
    other.zero_grad()
    {backward}
    other.step()
"""


def test_a_loss_that_waits_for_its_backward(tmp_path: Path) -> None:
    """It is the missing backward, and not the number in another loss."""
    wrong = watched(BACKWARD_LEFT_OUT.format(backward="pass"), tmp_path)
    right = watched(BACKWARD_LEFT_OUT.format(backward="scale_loss.backward()"), tmp_path)
    assert codes_at(wrong) == {("GRD520", 15)} and codes_at(right) == set()


def test_a_view_that_torch_knows_no_more(tmp_path: Path) -> None:
    """It is no reason to end the watching when the frames are searched."""
    views = "a, b = (model.weight * 2).unbind(1)[:2]; torch.no_grad()(a.add_)(1)"
    found = watched(LOOP.format(loss="loss = first + second", after=views), tmp_path)
    assert found.complaints == []


def test_what_has_held_graphs_is_not_kept_alive(tmp_path: Path) -> None:
    """The finding stays, and the graphs go with the list."""
    found = watched(LOOP.format(loss="loss = first + second", after="logs.append(loss)") + KEPT, tmp_path)
    assert {code for code, _ in codes_at(found)} == {"GRD510"} and found.names["alive"] is False


KEPT = """\
import gc, weakref
class Mark:
    pass
mark = Mark()
logs[0].grad_fn.metadata["mark"] = mark
reference = weakref.ref(mark)
del mark, loss, first, second
logs.clear()
gc.collect()
alive = reference() is not None
"""
