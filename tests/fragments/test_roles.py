"""Loops over networks, optimizers and losses that are not shown: each way to get them, with each mistake and without.

To a reader the roles are plain: one optimizer, one loss, one loop. What each mistake does under torch is shown by the
examples of its rule.
"""

from __future__ import annotations

import textwrap

import pytest

from gradlint import check_source

ADAM = "optim = torch.optim.Adam(net.parameters())"
WAYS = [
    (ADAM, "net(x)"),
    (ADAM, "fn(net(x))"),
    (ADAM, "fn(net, x)"),
    (ADAM, "diffusion.losses(net, x)['loss'].mean()"),
    (ADAM, "net.losses(x)['loss']"),
    (ADAM, "net.head.loss(x)"),
    (ADAM, "diffusion(x)"),
    ("optim = torch.optim.Adam(get().parameters())", "diffusion(x)"),
    ("optim = torch.optim.Adam(unet.get().parameters())", "unet(x)"),
    ("optim = torch.optim.Adam(get(cfg))", "unet(x)"),
    ("optim = torch.optim.Adam(list(unet.a.parameters()) + list(unet.b.parameters()))", "unet(x)"),
    ("optim = torch.optim.Adam(net.get_params(1.0))", "net(x)"),
    ("optim = torch.optim.Adam([unet.token])", "unet(x)"),
    ("optim = getattr(torch.optim, cfg.name)(net.parameters())", "net(x)"),
    ("optim = get(net)", "net(x)"),
    (f"{ADAM}; net, optim, loader = get(net, optim, loader)", "net(x)"),
    ("net, optim = get(cfg)", "crit(net(x))"),
    ("net, diffusion = get(cfg); optim = torch.optim.Adam(net.parameters())", "diffusion.losses(net, x)['l'].mean()"),
    ("unet = get(cfg); optim = torch.optim.Adam([{'params': unet.a.parameters()}])", "fn(x)"),
]

RIGHT = {
    "zero_grad first": "optim.zero_grad(); loss = LOSS; loss.backward(); optim.step()",
    "zero_grad last": "loss = LOSS; loss.backward(); optim.step(); optim.zero_grad()",
    "network zero_grad": "net.zero_grad(); unet.zero_grad(); loss = LOSS; loss.backward(); optim.step()",
    "own clearing": "get.clear_grads(net, optim); loss = LOSS; loss.backward(); optim.step()",
    "clipped": "optim.zero_grad(); loss = LOSS; loss.backward(); clip(net.parameters(), 1.0); optim.step()",
    "scaled": "optim.zero_grad(); loss = LOSS; scaler.scale(loss).backward(); scaler.step(optim); scaler.update()",
    "logged": "optim.zero_grad(); loss = LOSS; loss.backward(); optim.step(); total += loss.item()",
    "from a dict": "optim.zero_grad(); d = LOSS; d['loss'].backward(); optim.step()",
}

WRONG = {
    "no zero_grad": ("loss = LOSS; loss.backward(); optim.step()", {"GRD501"}),
    "no backward": ("optim.zero_grad(); loss = LOSS; optim.step()", {"GRD503", "GRD520"}),
    "step first": ("optim.zero_grad(); loss = LOSS; optim.step(); loss.backward()", {"GRD502", "GRD503"}),
    "cleared between": ("loss = LOSS; loss.backward(); optim.zero_grad(); optim.step()", {"GRD502"}),
    "a number": ("optim.zero_grad(); loss = (LOSS).item(); loss.backward(); optim.step()", {"GRD304"}),
    "detached": ("optim.zero_grad(); loss = (LOSS).detach(); loss.backward(); optim.step()", {"GRD309", "GRD205"}),
    "a copy": ("optim.zero_grad(); loss = torch.tensor(LOSS); loss.backward(); optim.step()", {"GRD303", "GRD205"}),
    "a sum of graphs": ("optim.zero_grad(); loss = LOSS; loss.backward(); optim.step(); total += loss", {"GRD510"}),
    "no update": (
        "optim.zero_grad(); loss = LOSS; scaler.scale(loss).backward(); scaler.step(optim)",
        {"GRD505"},
    ),
}


def _codes(made: str, loss: str, body: str) -> set[str]:
    lines = textwrap.indent("\n".join(one.strip() for one in body.replace("LOSS", loss).split(";")), " " * 8)
    source = (
        "import torch\nfrom torch.nn.utils import clip_grad_norm_ as clip\n\n\n"
        "def train(net, loader, fn, diffusion, get, unet, cfg, crit, scaler):\n"
        f"    {made}; total = 0\n    for x in loader:\n{lines}\n"
    )
    return {finding.code for finding in check_source(source)}


@pytest.mark.parametrize("idiom", RIGHT)
@pytest.mark.parametrize(("made", "loss"), WAYS)
def test_right_loops_are_silent(made: str, loss: str, idiom: str) -> None:
    """Whatever the network and the loss come from."""
    assert _codes(made, loss, RIGHT[idiom]) == set()


@pytest.mark.parametrize("mistake", WRONG)
@pytest.mark.parametrize(("made", "loss"), WAYS)
def test_mistakes_are_found(made: str, loss: str, mistake: str) -> None:
    """In a loop whose roles a reader sees."""
    body, codes = WRONG[mistake]
    assert _codes(made, loss, body) & codes
