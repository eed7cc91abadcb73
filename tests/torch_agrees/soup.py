"""Programs without a plot: a few tensors, and one thing after another done to them.

Scenarios know what they are about. Here writes, views, backward calls, grad modes, modules, custom functions, hooks and
checkpoints come together by chance, so that rules are tried on combinations nobody thought of.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from .catalogue import PAIRED, SMOOTH
from .deliver import write
from .networks import optimizer
from .pieces import apply, data, leaf, no_grad, scalar, view
from .program import Program, Var
from .scenarios.checkpoint import checkpoint_name
from .scenarios.custom import function_in_place, right

SHAPE = (4, 3)


@dataclass
class Pot:
    """What is in the soup: leaves, plain tensors and results of one shape, views, losses, modules, an optimizer."""

    leaves: list[Var]
    plain: list[Var]
    results: list[Var] = field(default_factory=list)
    views: list[Var] = field(default_factory=list)
    losses: list[Var] = field(default_factory=list)
    modules: list[str] = field(default_factory=list)
    optimizer: str | None = None

    @property
    def full(self) -> list[Var]:
        """Tensors of the common shape."""
        return [*self.leaves, *self.plain, *self.results, *self.results]


def soup(p: Program) -> None:
    """Do six to fourteen things in a row, and go backward at the end."""
    pot = Pot([leaf(p, SHAPE) for _ in range(p.pick(1, 2))], [data(p, SHAPE)])
    _derive(p, pot)
    for _ in range(p.pick(4, 6, 8, 10, 12)):
        p.rng.choices([step for step, _ in STEPS], [often for _, often in STEPS])[0](p, pot)
    _loss(p, pot)
    p.line("{l}.backward()", l=pot.losses[-1])
    if pot.optimizer is not None:
        p.line("{o}.step()", o=pot.optimizer)


def _any(p: Program, pot: Pot) -> Var:
    return p.rng.choice(pot.full)


def _derive(p: Program, pot: Pot) -> None:
    pot.results.append(apply(p, p.rng.choice([*pot.leaves, *pot.results]), SMOOTH))


def _combine(p: Program, pot: Pot) -> None:
    names = ("mix", "both", "joint", "blend", "gated")
    pot.results.append(p.tensor(SHAPE, p.pick(*PAIRED), *names, x=_any(p, pot), y=_any(p, pot)))


def _matmul(p: Program, pot: Pot) -> None:
    template = p.pick("{x} @ {y}.t() @ {x}", "{x}.mm({y}.T).mm({y})", "{t}.matmul({x}, {y}.t()).softmax(-1) @ {x}")
    pot.results.append(p.tensor(SHAPE, template, "prod", "attn", "proj", x=_any(p, pot), y=_any(p, pot)))


def _view(p: Program, pot: Pot) -> None:
    pot.views.append(view(p, p.rng.choice(pot.results or pot.plain)))


def _write(p: Program, pot: Pot) -> None:
    write(p, p.rng.choice([*pot.results, *pot.views, *pot.plain, *pot.plain]))


def _write_value(p: Program, pot: Pot) -> None:
    target = p.rng.choice([*pot.results, *pot.plain])
    template = p.pick(
        "{x}[0] = {y}[1]",
        "{x} += {y}",
        "{x}.add_({y})",
        "{x}.mul_({y})",
        "{x}[1:3] = {y}[:2]",
        "{x} *= {y}",
        "{x}.copy_({y})",
        "{x}[:, 0] = {y}[:, 1]",
        "{x}.sub_({y}.mean())",
        "{x}[{y} > 0] = 0",
        "{x}[0].copy_({y}[2])",
    )
    p.line(template, x=target, y=_any(p, pot))


def _write_under_no_grad(p: Program, pot: Pot) -> None:
    with no_grad(p):
        write(p, _any(p, pot))


def _rebind(p: Program, pot: Pot) -> None:
    if pot.results:
        template = p.pick(
            "{x} = {x} + {y}", "{x} = {x} * {y}", "{x} = {x}.clone()", "{x} = {t}.relu({x})", "{x} = {x} * 2"
        )
        p.line(template, x=p.rng.choice(pot.results), y=_any(p, pot))


def _loss(p: Program, pot: Pot) -> None:
    used = [p.rng.choice(pot.results), pot.leaves[0]]
    text = " + ".join(scalar(p, term) for term in used[: p.pick(1, 2)])
    pot.losses.append(p.tensor((), "{e}", "loss", "total", "objective", "cost", e=text))


def _backward(p: Program, pot: Pot) -> None:
    if not pot.losses or p.chance(0.5):
        _loss(p, pot)
    ending = p.pick("", "", "retain_graph=True", "retain_graph=True")
    p.line("{l}.backward({e})", l=p.rng.choice(pot.losses), e=ending)


def _step(p: Program, pot: Pot) -> None:
    if pot.optimizer is None:
        parameters = [*map(str, pot.leaves), *(f"*{module}.parameters()" for module in pot.modules)]
        pot.optimizer = optimizer(p, f"[{', '.join(parameters)}]")
    p.line(p.pick("{o}.step()", "{o}.step()", "{o}.step()\n{o}.zero_grad()"), o=pot.optimizer)


def _detach(p: Program, pot: Pot) -> None:
    template = p.pick("{x}.detach()", "{x}.detach().clone()", "{x}.data", "{x}.detach() * 2")
    pot.plain.append(p.tensor(SHAPE, template, "fixed", "frozen", "snap", "const", x=_any(p, pot)))


def _loop(p: Program, pot: Pot) -> None:
    if pot.results:
        result = p.rng.choice(pot.results)
        with p.block(p.pick("for k in range(2):", "for _ in range(3):")):
            p.line(
                p.pick("{x} = {x} + {t}.tanh({x})", "{x} = {x} * {y}", "{x} += {y}", "{x} = {x}.sigmoid() * {y}"),
                x=result,
                y=p.rng.choice([*pot.leaves, *pot.plain]),
            )


def _custom(p: Program, pot: Pot) -> None:
    """Apply a function of the program's own; it may write to its argument."""
    in_place = p.chance(0.3)
    name = function_in_place(p) if in_place else right(p)
    x = p.rng.choice(pot.results if in_place else pot.full)
    pot.results.append(p.tensor(SHAPE, "{f}.apply({x})", "out", "own", "custom", f=name, x=x))


def _module(p: Program, pot: Pot) -> None:
    """Call a module, which is made if there is none, or by chance."""
    if not pot.modules or p.chance(0.3):
        making = p.pick(
            "{nn}.Linear(3, 3)",
            "{nn}.Sequential({nn}.Linear(3, 3), {nn}.ReLU(inplace=True))",
            "{nn}.Sequential({nn}.ReLU(inplace=True), {nn}.Linear(3, 3))",
            "{nn}.LayerNorm(3)",
            "{nn}.Sequential({nn}.Linear(3, 5), {nn}.Tanh(), {nn}.Linear(5, 3))",
        )
        pot.modules.append(p.let(making, "net", "layer", "fc", "block"))
    module = p.rng.choice(pot.modules)
    pot.results.append(p.tensor(SHAPE, "{m}({x})", "out", "act", "hidden", m=module, x=_any(p, pot)))


def _checkpoint(p: Program, pot: Pot) -> None:
    """Compute something the second time in backward."""
    function = p.pick(*pot.modules, "{t}.tanh", "lambda v: v.exp() * v", "lambda v: (v * {y}).sigmoid()")
    result = p.tensor(
        SHAPE,
        "{c}({f}, {x}, use_reentrant={k})",
        "again",
        "ck",
        c=checkpoint_name(p),
        f=p.text(function, y=_any(p, pot)),
        x=_any(p, pot),
        k=p.pick("False", "False", "True"),
    )
    pot.results.append(result)


def _hook(p: Program, pot: Pot) -> None:
    """Let a hook see a gradient, change it in place or replace it."""
    hook = p.pick(
        "{x}.register_hook(lambda g: g * 0.5)",
        "{x}.register_hook(lambda g: g.clamp_(-1, 1))",
        "{x}.register_hook(lambda g: None)",
        "{x}.register_hook(lambda g: {x}.detach() * g)",
        "{x}.retain_grad()",
        "{w}.register_post_accumulate_grad_hook(lambda q: print(q.grad.norm()))",
        "{t}.autograd.graph.register_multi_grad_hook([{x}, {w}], lambda gs: None)",
        *("{m}.register_forward_hook(lambda mod, args, out: out * 0.5)" for _ in pot.modules),
        *("{m}.register_forward_hook(lambda mod, args, out: out.mul_(0.5))" for _ in pot.modules),
        *("{m}.register_forward_pre_hook(lambda mod, args: (args[0] * 2,))" for _ in pot.modules),
        *("{m}.register_full_backward_hook(lambda mod, gi, go: None)" for _ in pot.modules),
    )
    x = p.rng.choice([*pot.results, *pot.leaves])
    p.line(hook, x=x, w=p.rng.choice(pot.leaves), m=p.pick(*pot.modules, "net"))


def _saved_elsewhere(p: Program, pot: Pot) -> None:
    """Save copies for backward, or tensors as they are."""
    header = p.pick(
        "with {t}.autograd.graph.saved_tensors_hooks(lambda s: s.clone(), lambda s: s):",
        "with {t}.autograd.graph.saved_tensors_hooks(lambda s: s.numpy().copy(), {t}.from_numpy):",
        "with {t}.autograd.graph.save_on_cpu():",
    )
    with p.block(header):
        p.rng.choice([_derive, _combine, _matmul])(p, pot)


Step = Callable[[Program, Pot], None]
STEPS: tuple[tuple[Step, int], ...] = (
    (_derive, 10),
    (_combine, 9),
    (_matmul, 3),
    (_view, 4),
    (_write, 4),
    (_write_value, 4),
    (_write_under_no_grad, 2),
    (_rebind, 5),
    (_backward, 4),
    (_step, 2),
    (_detach, 3),
    (_loop, 3),
    (_custom, 3),
    (_module, 4),
    (_checkpoint, 2),
    (_hook, 4),
    (_saved_elsewhere, 2),
)
