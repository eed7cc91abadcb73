"""A graph that an optimizer's step has made stale."""

from __future__ import annotations

from ..networks import batch, model, optimizer
from ..pieces import backward, finish, leaf, loss
from ..program import Program, Var
from .registry import fault, legal


def _shared_forward(p: Program) -> tuple[str, str, Var]:
    """Write a model, its optimizer and the result of its forward pass."""
    m = model(p)
    o = optimizer(p, f"{m}.parameters()")
    x = batch(p, 4)
    return o, str(m), p.tensor((3, 2), "{m}({x})", "out", "pred", "features", "logits", m=m, x=x)


@fault("stale-graph", 3)
def step_between_backwards(p: Program) -> None:
    """The optimizer steps between two backward calls through one forward pass."""
    o, _, out = _shared_forward(p)
    first, second = loss(p, out), loss(p, out)
    p.line(
        p.pick("{l}.backward(retain_graph=True)", "{o}.zero_grad()\n{l}.backward(retain_graph=True)"),
        o=o,
        l=first,
    )
    p.line("{o}.step()", o=o)
    p.line("{o}.zero_grad()" if p.chance(0.5) else "pass", o=o)
    backward(p, second)
    p.line("{o}.step()", o=o)


@fault("stale-graph", 2)
def gan_with_stale_graph(p: Program) -> None:
    """The discriminator steps, then the generator's loss goes back through the old discriminator."""
    _gan(p, recompute=False)


def _gan(p: Program, *, recompute: bool) -> None:
    g, d = (
        model(p, 3, 4, "gen", "G", "generator", "netG"),
        model(p, 4, 1, "disc", "D", "discriminator", "netD"),
    )
    og, od = (
        optimizer(p, f"{g}.parameters()", "opt_g", "optimizer_G", "g_opt"),
        optimizer(p, f"{d}.parameters()", "opt_d", "optimizer_D", "d_opt"),
    )
    with p.block(
        p.pick(
            "for step in range(2):",
            "for epoch in range(2):",
            "for real in [{t}.randn(3, 4), {t}.randn(3, 4)]:",
        )
    ):
        p.line("fake = {g}({t}.randn(3, 3))", g=g)
        p.line("score_fake = {d}({f})", d=d, f="fake.detach()" if recompute else "fake")
        p.line(
            "loss_d = {e}",
            e=p.text(
                p.pick(
                    "score_fake.mean() - {d}({t}.randn(3, 4)).mean()",
                    "{F}.softplus(score_fake).mean() + {F}.softplus(-{d}({t}.randn(3, 4))).mean()",
                ),
                d=d,
            ),
        )
        p.line(
            "{o}.zero_grad()\nloss_d.backward({r})\n{o}.step()",
            o=od,
            r="" if recompute else "retain_graph=True",
        )
        if recompute:
            p.line("score_fake = {d}(fake)", d=d)
        p.line(p.pick("loss_g = -score_fake.mean()", "loss_g = {F}.softplus(-score_fake).mean()"))
        p.line("{o}.zero_grad()\nloss_g.backward()\n{o}.step()", o=og)


@fault("stale-graph")
def retained_state(p: Program) -> None:
    """A recurrent state is carried over a step with retain_graph."""
    cell, o, h = _recurrent(p)
    with p.block(p.pick("for step in range(3):", "for x in {t}.randn(3, 2, 4):")):
        p.line("{h} = {c}({t}.randn(2, 4), {h})", h=h, c=cell)
        p.line(
            "loss = {h}.pow(2).mean()\n{o}.zero_grad()\nloss.backward(retain_graph=True)\n{o}.step()",
            h=h,
            o=o,
        )


def _recurrent(p: Program) -> tuple[str, str, str]:
    kind = p.pick("{nn}.RNNCell(4, 4)", "{nn}.GRUCell(4, 4)", "class")
    if kind == "class":
        name = p.fresh("Cell", "Recurrent", "Memory")
        p.define(
            (
                "class {c}({nn}.Module):\n"
                "    def __init__(self):\n"
                "        super().__init__()\n"
                "        self.i = {nn}.Linear(4, 4)\n"
                "        self.h = {nn}.Linear(4, 4)\n\n"
                "    def forward(self, x, h):\n"
                "        return {t}.tanh(self.i(x) + self.h(h))"
            ),
            c=name,
        )
        kind = f"{name}()"
    cell = p.let(kind, "cell", "rnn", "model")
    o = optimizer(p, f"{cell}.parameters()")
    return cell, o, p.let("{t}.zeros(2, 4)", "h", "hidden", "state")


@fault("stale-graph")
def actor_critic(p: Program) -> None:
    """Two losses share an encoder, whose optimizer steps in between."""
    shared = model(p, 4, 5, "encoder", "body", "trunk")
    actor, critic = (
        p.let("{nn}.Linear(5, 2)", "actor", "pi"),
        p.let("{nn}.Linear(5, 1)", "critic", "value_head"),
    )
    oa = optimizer(p, f"list({shared}.parameters()) + list({actor}.parameters())", "opt_actor")
    oc = optimizer(p, f"list({shared}.parameters()) + list({critic}.parameters())", "opt_critic")
    p.line("feats = {s}({t}.randn(3, 4))", s=shared)
    p.line(
        ("actor_loss = {F}.log_softmax({a}(feats), dim=-1)[:, 0].mean()\ncritic_loss = {c}(feats).pow(2).mean()"),
        a=actor,
        c=critic,
    )
    p.line("{o}.zero_grad()\nactor_loss.backward(retain_graph=True)\n{o}.step()", o=oa)
    p.line("{o}.zero_grad()\ncritic_loss.backward()\n{o}.step()", o=oc)


@fault("stale-graph")
def penalty_computed_once(p: Program) -> None:
    """A regularisation term is computed before the loop and used after steps."""
    w = leaf(p, p.pick((3,), (4,)))
    o = optimizer(p, f"[{w}]")
    p.line("penalty = ({w} ** 2).sum()", w=w)
    with p.block("for _ in range(2):"):
        p.line(
            ("loss = ({w} - 1).abs().sum() + penalty\n{o}.zero_grad()\nloss.backward(retain_graph=True)\n{o}.step()"),
            w=w,
            o=o,
        )


@legal("stale-graph", 2)
def forward_again(p: Program) -> None:
    """The forward pass is repeated after the step."""
    o, m, out = _shared_forward(p)
    p.line("{o}.zero_grad()", o=o)
    finish(p, out)
    p.line("{o}.step()\n{o}.zero_grad()", o=o)
    finish(p, p.tensor((3, 2), "{m}({t}.randn(3, 4))", "again", "out_again", m=m))
    p.line("{o}.step()", o=o)


@legal("stale-graph", 2)
def gan_done_right(p: Program) -> None:
    """The generator's loss goes through a new forward pass of the discriminator."""
    _gan(p, recompute=True)


@legal("stale-graph")
def both_backwards_before_the_step(p: Program) -> None:
    """Both losses go backward before the optimizer steps."""
    o, _, out = _shared_forward(p)
    first, second = loss(p, out), loss(p, out)
    p.line("{o}.zero_grad()\n{a}.backward(retain_graph=True)\n{b}.backward()\n{o}.step()", o=o, a=first, b=second)


@legal("stale-graph")
def detached_state(p: Program) -> None:
    """A recurrent state is detached before the next turn."""
    cell, o, h = _recurrent(p)
    with p.block("for step in range(3):"):
        p.line("{h} = {c}({t}.randn(2, 4), {h})", h=h, c=cell)
        p.line("loss = {h}.pow(2).mean()\n{o}.zero_grad()\nloss.backward()\n{o}.step()", h=h, o=o)
        p.line(p.pick("{h} = {h}.detach()", "{h}.detach_()", "{h} = {h}.data", "{h} = {h}.detach().clone()"), h=h)


@legal("stale-graph")
def steps_of_another_module(p: Program) -> None:
    """The step changes only parameters that the second loss does not need."""
    first, second = model(p, 4, 2), model(p, 4, 2)
    o = optimizer(p, f"{first}.parameters()")
    x = batch(p, 4)
    p.line("a = {m}({x}).pow(2).mean()\nb = {n}({x}).pow(2).mean()", m=first, n=second, x=x)
    p.line("{o}.zero_grad()\na.backward()\n{o}.step()\nb.backward()", o=o)


@legal("stale-graph")
def single_layer(p: Program) -> None:
    """The weight of a first layer is not needed for its own gradient."""
    m = p.let("{nn}.Linear(4, 2)", "fc", "model", "layer")
    o = optimizer(p, f"{m}.parameters()")
    x = batch(p, 4)
    p.line("out = {m}({x})\nfirst = out.sum()\nsecond = out.pow(2).mean()", m=m, x=x)
    p.line("{o}.zero_grad()\nfirst.backward(retain_graph=True)\n{o}.step()\nsecond.backward()", o=o)
