"""The ledger: what the whole program did, on any path, for what can only be judged when it has been read.

That something never happens is certain only at the end. The machine enters here what was done; `absences` says what
was left undone.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from collections.abc import Set as AbstractSet

import libcst as cst

from gradlint.domain.event import Event, Noticed


class Ledger:
    """Entries by the syntax that made them, so that paths and turns meet in them."""

    def __init__(self) -> None:
        self.frozen: dict[int, cst.CSTNode] = {}
        """Where leaves that had been trained were frozen last."""
        self.constants: dict[int, tuple[cst.CSTNode, cst.CSTNode | None]] = {}
        """The optimizers whose steps find no tensor that requires grad: where made, and such a step if all do."""
        self.idle: dict[int, tuple[cst.CSTNode, cst.CSTNode, cst.CSTNode]] = {}
        """The optimizers all of whose parameters are frozen for good: where it was made, where they
        were frozen, and the first step behind that."""
        self.zeroed: defaultdict[int, int] = defaultdict(lambda: -1)
        """In how many loops, at the most, the gradients of an optimizer were cleared."""
        self.late: dict[cst.CSTNode, tuple[int, cst.CSTNode]] = {}
        """Steps that found no gradient, and the backward that filled them behind: for which optimizer."""
        self.busy: set[int] = set()
        """The optimizers of which some step may have found gradients."""
        self.clips: dict[cst.CSTNode, None] = {}
        """The calls that clipped gradients which are None."""

    # What is left undone.

    def absences(self, explained: AbstractSet[cst.CSTNode], *, complete: bool, walks: bool) -> Iterator[Event]:
        """What the program left undone. `explained`: optimizers of which is known what they should hold instead.

        `walks`: the program runs a backward.
        """
        for step, (optimizer, backward) in self.late.items():
            if optimizer not in self.busy and complete:
                told = "this backward fills the gradients, and no step follows"
                yield Noticed(step, "step-before-backward", "last", ((backward, told),))
        for made, switch, idle in self.idle.values():
            if made not in explained:
                yield Noticed(switch, "grad-mode-left-off", "", ((idle, "this step finds no gradient any more"),))
        for made, constant in self.constants.values():
            if constant is not None and complete:
                yield Noticed(made, "constants-in-optimizer", "", ((constant, "this step finds no gradient"),))
        for clip in self.clips if walks else ():
            yield Noticed(clip, "clip-misplaced", "there are no gradients yet: no backward has filled them")
