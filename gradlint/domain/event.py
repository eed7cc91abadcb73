"""Events: what the abstract machine saw torch do. Rules judge them; every fact a rule needs stands in its event.

Places are syntax nodes of the file. A fact that is not known is None; an event of something that torch refuses is
only made where torch certainly refuses it on the path at hand.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal, TypeAlias

import libcst as cst


@dataclass(frozen=True)
class Event:
    """Something that happened at one syntax node of the file.

    `carried`: what one call of a method may have left for the next, that brings the event about.
    """

    node: cst.CSTNode
    carried: ClassVar[Literal["graph", "gradients"] | None] = None

    def in_uncalled(self, *, method: bool) -> Event | None:
        """Return what the event comes to in a function, or method, that nobody calls and that runs no backward.

        Its callers may have switched grad mode off. None if nothing is left of it.
        """
        return self


@dataclass(frozen=True)
class Fault(Event):
    """What a detector has found wrong at a node. Subclasses stand in `gradlint.domain.fault`, one a fault."""


@dataclass(frozen=True)
class Refusal(Event):
    """What torch raises on at a node. Subclasses stand in `gradlint.domain.refusal`, one a reason."""


WriteRefusal: TypeAlias = Literal[
    "leaf", "leaf-view", "multi-view", "overlap", "no-grad-view", "inference-view", "custom-view", "inference"
]


@dataclass(frozen=True)
class RefusedWrite(Event):
    """An in-place write that torch refuses at once.

    `reason` is torch's, `op` what writes (`+=`, `add_`, `index assignment`, `out=`), `made` where the tensor, or the
    leaf it is a view of, was made, `viewed` where the view was taken. `used`: torch lets the write pass and refuses the
    view there, because its history cannot be told any more. `tracked`: what is written has a graph for certain.
    `held`: an optimizer has the tensor, and what is written has no graph but that of the tensor. `built` is the
    constructor of the module that writes. `mode` is the call that switched inference mode on.
    """

    reason: WriteRefusal
    op: str
    made: cst.CSTNode | None = None
    viewed: cst.CSTNode | None = None
    parameter: bool = False
    used: cst.CSTNode | None = None
    tracked: bool = False
    built: cst.CSTNode | None = None
    mode: cst.CSTNode | None = None
    held: bool = False

    def in_uncalled(self, *, method: bool) -> Event | None:
        """Return None for a parameter that a function writes to: whoever calls it must do so under no_grad."""
        return None if not method and self.parameter and self.reason in ("leaf", "leaf-view") else self


@dataclass(frozen=True)
class RefusedGrowth(Event):
    """A write in place of values that do not fit: their shape, broadcast with that of the target, is larger.

    `op` is what writes, `shape` that of the target, `wanted` the larger one; `made` is where the target comes from.
    """

    op: str
    shape: tuple[object, ...]
    wanted: tuple[object, ...]
    made: cst.CSTNode | None = None


@dataclass(frozen=True)
class Refused(Event):
    """Another call that torch refuses because of autograd; `fault` names the rule that explains it.

    `mode` is the call that switched inference mode on, where that is the reason. `uncalled`: nobody calls the function
    in which it is, so that its callers may have switched grad mode off.
    """

    fault: str
    subject: str = ""
    related: tuple[tuple[cst.CSTNode, str], ...] = ()
    mode: cst.CSTNode | None = None
    uncalled: bool = False

    def in_uncalled(self, *, method: bool) -> Event:
        """Return it with a note that nobody calls the function."""
        return replace(self, uncalled=True)


@dataclass(frozen=True)
class Noticed(Event):
    """Something that torch lets pass and that defeats autograd all the same; `fault` names the rule."""

    fault: str
    subject: str = ""
    related: tuple[tuple[cst.CSTNode, str], ...] = ()


DataUse: TypeAlias = Literal["update", "assign", "initialise", "load", "average", "scale", "clip"]


@dataclass(frozen=True)
class DataWrite(Event):
    """A write through `.data` to a leaf that requires grad. `use` says what for, judged by the values written.

    `kept`: the program still holds a graph that saved the old value, and that no backward has freed. `recorded`:
    grad mode is on, or may be.
    """

    use: DataUse
    op: str
    made: cst.CSTNode | None = None
    parameter: bool = False
    kept: bool = False
    recorded: bool = True


@dataclass(frozen=True)
class UnstableFormula(Event):
    """A formula that loses its value or its gradient for large numbers; the node is its outermost operation.

    `instead` names torch's function for it, `parts` are the operations inside, from the outside in.
    """

    instead: str
    parts: tuple[cst.CSTNode, ...] = ()


@dataclass(frozen=True)
class WrongActivation(Event):
    """A loss that `takes` scores, probabilities or log-probabilities gets something of another `kind`.

    `got` is the operation at `made` that gave it.
    """

    loss: str
    takes: str
    got: str
    kind: str
    made: cst.CSTNode


@dataclass(frozen=True)
class OuterLoss(Event):
    """A loss over values that broadcast against each other, so that each of one side meets each of the other.

    `met` is where they meet, and the shapes are those of both sides.
    """

    met: cst.CSTNode
    one: tuple[object, ...]
    other: tuple[object, ...]


@dataclass(frozen=True)
class MaskedSingularity(Event):
    """A mask hides values of an operation where its derivative is infinite, and so not from the gradient.

    The node is the operation, `op` its name; `mask` is where its values are selected, `how` by what.
    """

    op: str
    mask: cst.CSTNode
    how: str


@dataclass(frozen=True)
class RootOfZero(Event):
    """An operation with an infinite derivative somewhere is given just that for certain; `zero` is where it comes from.

    `slope`: what the gradient is there.
    """

    op: str
    zero: cst.CSTNode
    why: str
    slope: str = "NaN"


@dataclass(frozen=True)
class TypeClash(Event):
    """An operation gets tensors of element types that it does not take together.

    `late`: only its backward raises. `wants` is the type of the other side, or what the operation takes.
    """

    op: str
    argument: str
    got: str
    wants: str
    late: bool = False
    made: cst.CSTNode | None = None


@dataclass(frozen=True)
class MisspeltName(Event):
    """A name that its owner does not have, and near which there is one that it has.

    `owner` says of what sort it is: a tensor, a module, an optimizer, or a namespace such as `torch.nn`. `assigned`:
    the name is written to, which makes a new attribute that nothing reads. `keyword`: it names an argument of the
    function or method that is the owner.
    """

    owner: str
    name: str
    meant: str
    certain: bool = False
    assigned: bool = False
    keyword: bool = False


@dataclass(frozen=True)
class RemovedName(Event):
    """Something that torch has had, and refuses today or asks to be written in another way.

    `kind` says what: "name", "index" of a number, "verbose", "retain_variables", "number first", "size_average",
    "deprecated" for a name that works, "implicit dim", "epoch" for an argument of schedulers.
    `instead` is what to write.
    """

    kind: str
    name: str
    instead: str
    raises: bool


@dataclass(frozen=True)
class LegacyVariable(Event):
    """A call of `Variable`. `volatile`: the argument is given; `live`: whether the data has a graph.

    `recorded`: grad mode is on, or may be. `written`: the call of the program's that passed `volatile` on.
    """

    volatile: bool
    live: bool | None
    requires_grad: bool | None
    recorded: bool = True
    written: cst.CSTNode | None = None


@dataclass(frozen=True)
class Reveal(Event):
    """`reveal(value)`: what the machine knows of a value, as text and as facts.

    `asked`: the program has imported the function from gradlint, so that its author is told; a specification has not.
    """

    text: str
    facts: Mapping[str, object] = field(default_factory=dict)
    asked: bool = False
