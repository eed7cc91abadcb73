"""Events: what the abstract machine saw torch do. Rules judge them; every fact a rule needs stands in its event.

Places are syntax nodes of the file. A fact that is not known is None; an event of something that torch refuses is
only made where torch certainly refuses it on the path at hand.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import ClassVar, Literal

import libcst as cst

from gradlint.domain.assumption import Assumption
from gradlint.domain.frozen import Frozen


class Event(Frozen):
    """Something that happened at one syntax node of the file. `assumptions` are what it may rest on.

    `warned`: torch warns of it, so that a program which looks at the warnings knows. `carried`: what one call of a
    method may have left for the next, that brings the event about: a graph, gradients, or gradients that are cleared
    ("order"). `caller` is the call by which the file that is checked has run into another one, where the event stands.
    `installed`: it happened while code of an installed package ran. `caught`: what torch raises is handled around it,
    so that one which raises is no fault. `concerns_callers`: at a place in such a package
    it still concerns the code that calls it, though nothing raises. `left_to_callers`: what is missing may be done by
    who calls the code around, so that in another file it counts for the calls that lead there.
    """

    node: cst.CSTNode
    assumptions: tuple[Assumption, ...] = field(default=(), kw_only=True, compare=False)
    caller: cst.CSTNode | None = field(default=None, kw_only=True, compare=False)
    installed: bool = field(default=False, kw_only=True, compare=False)
    caught: bool = field(default=False, kw_only=True, compare=False)
    warned: ClassVar[bool] = False
    concerns_callers: ClassVar[bool] = False
    left_to_callers: ClassVar[bool] = False
    carried: ClassVar[Literal["graph", "gradients", "order"] | None] = None

    def in_uncalled(self, name: str, *, method: bool) -> Event | None:
        """Return what the event comes to in a function, or method, that nobody calls and that runs no backward.

        Its callers may have switched grad mode off. None if nothing is left of it.
        """
        return self

    def where_grad_may_be_off(self) -> Event | None:
        """Return what the event comes to in a block of a context that is not known: it may disable grad mode.

        None if nothing is left of it.
        """
        return self


class Fault(Event):
    """What a detector has found wrong at a node. Subclasses stand in `gradlint.domain.fault`, one a fault."""


class Refusal(Event):
    """What torch raises on at a node. Subclasses stand in `gradlint.domain.refusal`, one a reason."""


class Reveal(Event):
    """`reveal(value)`: what the machine knows of a value, as text and as facts.

    `asked`: the program has imported the function from gradlint, for a report; a specification has not.
    """

    text: str
    facts: Mapping[str, object] = field(default_factory=dict)
    asked: bool = False
