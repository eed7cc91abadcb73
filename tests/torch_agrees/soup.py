"""Programs without a plot: a few tensors, and one thing after another done to them.

Scenarios know what they are about. Here writes, views, backward calls and grad modes meet by chance, so that rules
are tried on combinations nobody thought of.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from .catalogue import PAIRED, SMOOTH
from .deliver import write
from .networks import optimizer
from .pieces import apply, data, leaf, no_grad, scalar, view
from .program import Program, Var

SHAPE = (4, 3)


@dataclass
class Pot:
    """What is in the soup: leaves, plain tensors and results of one shape, views, losses, an optimizer."""

    leaves: list[Var]
    plain: list[Var]
    results: list[Var] = field(default_factory=list)
    views: list[Var] = field(default_factory=list)
    losses: list[Var] = field(default_factory=list)
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
        pot.optimizer = optimizer(p, f"[{', '.join(map(str, pot.leaves))}]")
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
)
