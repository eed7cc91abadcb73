"""The tape behind a tensor as plain data, without syntax and without state: what is drawn, and what is compared.

A fact that is not known is None, and a name that is not known one of several.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from gradlint.domain.frozen import Frozen
from gradlint.domain.graph import Tri

StepKind: TypeAlias = "Literal['operation', 'leaf', 'unknown', 'cut']"
"""A node that autograd records, a leaf, something of which nothing is known, and a place where the graph ends."""


MOST_NODES = 5_000
"""How many nodes of a tape are drawn at most."""


class TooLargeError(Exception):
    """A tape has more nodes than are drawn."""


class Spot(Frozen):
    """A place in a program: a row, the code that stands there in one line, and the file if it is another one."""

    row: int
    code: str
    filename: str | None = None


Call: TypeAlias = Spot
"""The place of a call."""


class Kept(Frozen):
    """A tensor that a node has saved for its backward: as what, at which version, and the version that it has now.

    The versions of a parameter are not known, as its initialisation has counted. `written` is the first write that came
    between for certain: a backward through the node raises. It does so as well if the write is `unseen`, of which only
    a run can tell.
    """

    what: str
    name: str | None
    version: int | None
    now: int | None
    written: Spot | None = None
    unseen: bool = False

    @property
    def raises(self) -> bool:
        """Whether a backward certainly raises that reads it."""
        return self.written is not None or self.unseen


class Step(Frozen):
    """One node of a drawing.

    `names` are torch's names of the node, several where it is not known which; `inner` are nodes that the same call has
    put between it and its inputs. `op` is the operation or the kind of a cut, `label` the variable that held the result
    first. `saves_more`: it may keep more than `saves`. `freed`: an earlier backward has freed it there. `home` are the
    calls in which it was made, the outermost first.
    """

    number: int
    kind: StepKind
    names: tuple[str, ...]
    op: str
    label: str | None = None
    spot: Spot | None = None
    shape: tuple[int | None, ...] | None = None
    dtype: str | None = None
    inner: tuple[str, ...] = ()
    saves: tuple[Kept, ...] = ()
    saves_more: bool = False
    freed: Spot | None = None
    home: tuple[Call, ...] = ()
    certain: bool = True

    @property
    def raises(self) -> bool:
        """Whether a backward through the node certainly raises."""
        return self.freed is not None or any(one.raises for one in self.saves)


class Link(Frozen):
    """A way from a node to one of its inputs; a gradient flows along it, unless it leads to a cut."""

    source: int
    target: int
    certain: bool = True


class LeafFact(Frozen):
    """A leaf that requires grad, and whether it gets a gradient from the tensor that is drawn.

    `cuts` are the numbers of the cuts behind which it lies, and `optimizers` those that hold it. `used` is false for a
    leaf that the tensor was not computed from. `zero`: the gradient that it gets is zero in every element.
    """

    number: int
    label: str
    spot: Spot | None
    shape: tuple[int | None, ...] | None
    dtype: str | None
    gets: Tri
    cuts: tuple[int, ...] = ()
    optimizers: tuple[str, ...] = ()
    used: bool = True
    zero: bool = False


class Drawing(Frozen):
    """The tape behind a tensor: the root first, then its nodes in the order in which they were found.

    `certain`: every node and every link is. `others` counts the paths and iterations on which it is another one.
    """

    filename: str
    row: int
    title: str
    steps: tuple[Step, ...]
    links: tuple[Link, ...]
    leaves: tuple[LeafFact, ...]
    others: int = 0

    @property
    def certain(self) -> bool:
        """Whether all of it is certain."""
        return all(one.certain for one in self.steps) and all(one.certain for one in self.links)

    def inputs(self, number: int) -> list[Link]:
        """Return the ways to the inputs of a node."""
        return [one for one in self.links if one.source == number]
