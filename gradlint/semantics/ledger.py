"""The ledger: what the whole program did, on any path, for what can only be judged when it has been read.

That something never happens is certain only at the end. The machine enters here what was done; `absences` says what
was left undone.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from gradlint.domain.event import Event, Noticed


class Ledger:
    """Entries by the syntax that made them, so that paths and turns meet in them."""

    def __init__(self) -> None:
        self.gradients: set[int] = set()
        """The nodes of gradients that `autograd.grad` made without a graph."""
        self.cycles: dict[cst.CSTNode, bool] = {}
        """The backwards that made leaf and gradient keep each other, and whether a gradient was dropped later."""

    def absences(self) -> Iterator[Event]:
        """What the program left undone."""
        for syntax, opened in self.cycles.items():
            if not opened:
                yield Noticed(syntax, "create-graph-leak")
