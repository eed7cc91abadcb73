"""Faults of names: those that torch does not have, and those of former versions."""

from __future__ import annotations

from typing import Literal

import libcst as cst

from gradlint.domain.event import Event, Fault


class MisspeltName(Fault):
    """A name that its owner does not have, and near which there may be one that it has, or that stands elsewhere.

    `meant` is that one, and empty where there is none.

    `owner` says of what sort it is: a tensor, a module, an optimizer, or a namespace such as `torch.nn`. `assigned`:
    the name is written to, which makes a new attribute that nothing reads; `needless`: what is meant has that value
    already. `keyword`: it names an argument of the function or method that is the owner. `certain`: both are the same
    word in another form.
    """

    owner: str
    name: str
    meant: str = ""
    certain: bool = False
    assigned: bool = False
    keyword: bool = False
    needless: bool = False

    def in_uncalled(self, name: str, *, method: bool) -> Event | None:
        """Return None for what a method asks of its own module in other letters: a subclass may have `self.Forward`."""
        node = self.node
        owner = node.value if isinstance(node, cst.Attribute) else None
        own = method and isinstance(owner, cst.Name) and owner.value == "self"
        return None if own and self.owner == "module" and self.certain and not self.assigned else self


class RemovedName(Fault):
    """A name that torch has had and refuses today; `instead` is what to write."""

    name: str
    instead: str


class AbsentName(Fault):
    """A name that the `release` of torch that the project uses does not have, and others have.

    `since` is the next release that has it, `last` the last one before that had it. Of an argument, `owner` is the
    function, and empty otherwise.
    """

    name: str
    release: str
    since: str
    last: str
    owner: str = ""


class DeprecatedName(Fault):
    """A name that works, with a warning; `instead` is what to write."""

    name: str
    instead: str


class RemovedArgument(Fault):
    """An argument that torch has taken and refuses today; `instead` is its name today, if it has one."""

    name: Literal["verbose", "retain_variables"]
    instead: str


class FactorsFirst(Fault):
    """The `factors` of an operation stand before the tensors, and not after them by name."""

    op: str
    factors: tuple[str, ...]


class OldReduction(Fault):
    """A loss is given `size_average` or `reduce`; `reduction` is what they ask for, where that is known."""

    given: tuple[str, ...]
    reduction: Literal["none", "sum", "mean"] | None


class ImplicitDim(Fault):
    """A softmax without `dim`, which is then guessed by the rank of its input: it is `dim`, where the rank is known."""

    op: str
    dim: int | None


class EpochGiven(Fault):
    """A scheduler that counts the epochs itself is given their number."""


class LegacyVariable(Fault):
    """A call of `Variable`; `live`: whether the data has a graph."""

    live: bool | None
    requires_grad: bool | None


class VolatileGiven(Fault):
    """`volatile` is given to `Variable`, or set. `written` is the program's call that passes it on to this one.

    `recorded`: grad mode is on, or may be.
    """

    recorded: bool
    written: cst.CSTNode | None = None
