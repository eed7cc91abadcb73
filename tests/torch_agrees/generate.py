"""From a seed to a program. The text depends on the seed alone."""

from __future__ import annotations

import random
from dataclasses import dataclass

from .classify import CLASSES
from .dress import dress
from .ornament import ornament, wrap_tail
from .program import Program
from .scenarios import FAULTS, LEGAL, Scenario
from .soup import soup
from .story import register_all
from .surroundings import after, before, head, seeding

register_all()

FAULTY = 0.54
"""The share of programs with a fault meant; some of these faults turn out to be none."""

SOUP = 0.15
"""The share of programs without a plot."""

RESERVED = ("p", "q", "g", "t", "i", "arr", "rows", "e", "d", "k", "n", "f", "r", "self", "lambda")
"""Names the scenarios use as they are."""


@dataclass(frozen=True)
class Generated:
    """A program, and what its scenario was about. Torch decides what it does."""

    seed: int
    source: str
    about: str
    scenario: str
    faulty: bool


def generate(seed: int) -> Generated:
    """Write the program of a seed."""
    p = Program(random.Random(seed))
    p.reserve(*RESERVED)
    faulty = p.chance(FAULTY)
    about = p.pick(*CLASSES) if faulty or p.chance(0.85) else "training"
    scenario = soup if p.chance(SOUP) else p.pick(*(FAULTS if faulty else LEGAL)[about])
    before(p)
    if p.chance(0.3):
        _other(p)(p)
    scenario(p)
    if p.chance(0.15):
        _other(p)(p)
    after(p)
    wrap_tail(p)
    return Generated(seed, _assemble(p), about, scenario.__name__, faulty)


def _other(p: Program) -> Scenario:
    """Return a legal scenario to stand beside the main one."""
    return p.pick(*LEGAL[p.pick(*LEGAL)])


def _assemble(p: Program) -> str:
    seed = seeding(p)
    body = ornament(p, dress(p))
    top = [*head(p), *p.imports, ""]
    if seed:
        top += [*seed]
    top += p.constants
    while body and not body[0]:
        body = body[1:]
    gap = ["", ""] if body and body[0].startswith(("def ", "class ", "@")) else [""]
    text = "\n".join([*top, *gap, *body]) + "\n"
    return text.replace("\n\n\n\n", "\n\n\n")
