"""Assumptions: what was taken and not known, and what a finding may rest on.

An assumption is made where a value is made up for something that nobody in sight gives: a parameter of a function that
nobody in sight calls, a name that nothing binds, a size that is not known. A finding that would not be there without
its assumptions rests on them; it says so, and its severity is not `error`.
"""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

import libcst as cst

from gradlint.domain.frozen import Frozen

AssumptionKind: TypeAlias = Literal["name", "use", "default", "option", "size", "branch"]
"""What an assumption is drawn from: the name of a variable, what the program does with it, the default value of a
parameter, or that it may have others, a size that is not known, a test that may come out either way."""


class Assumption(Frozen):
    """`subject` is a variable, a parameter or an operation, `role` what is assumed of it, `node` where it stands."""

    kind: AssumptionKind
    subject: str
    role: str
    node: cst.CSTNode

    @property
    def text(self) -> str:
        """The assumption as a sentence without a full stop."""
        if self.kind == "default":
            return f"`{self.subject}` has its default value: nobody in sight calls the function with another"
        if self.kind == "option":
            return f"`{self.subject}` may be called with other values than the defaults of its parameters"
        if self.kind == "branch":
            return f"`{self.subject}` is {self.role} in the call from another file"
        if self.kind == "size":
            return f"`{self.subject}` gets {self.role}"
        return f"`{self.subject}` is {self.role}, by its {self.kind}"

    @property
    def ground(self) -> tuple[str, str]:
        """What a finding rests on: that callers give no options is one thing, and what is no training another.

        However many parameters have defaults, and however many operations a loss is computed by.
        """
        alike = self.kind == "default" or (self.kind == "use" and self.role == NO_TRAINING)
        return self.kind, self.role if alike else self.text


NO_TRAINING: Final = "a function that neither backpropagates nor clears gradients"


def several_rows(op: str, node: cst.CSTNode) -> Assumption:
    """Return the assumption that an operation gets a batch of more than one row, where its size is not known."""
    return Assumption("size", op, "a batch of several rows", node)
