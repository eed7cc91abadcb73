"""Faults of the training loop."""

from __future__ import annotations

from typing import ClassVar, Literal

import libcst as cst

from gradlint.domain.event import Fault
from gradlint.domain.graph import Tri


class TrainModeMissing(Fault):
    """A module is sent to evaluation, and the next training iteration, of `backward`, runs in evaluation mode.

    `trained`: where it was sent to training last, before.
    """

    backward: cst.CSTNode
    trained: cst.CSTNode | None
    concerns_callers: ClassVar = True


class EvalModeMissing(Fault):
    """A network is called in training mode where the program only looks at what it computes, perhaps in a `loop`.

    `measured`: it computes a loss, as a program may also do on purpose to compare it with that of the training.
    """

    loop: cst.CSTNode | None
    measured: bool = False
    left_to_callers: ClassVar = True


class StateDictAlias(Fault):
    """A state dict is kept, and loaded after its own parameters have been trained further."""

    loaded: cst.CSTNode


class ParameterMinusItself(Fault):
    """A parameter minus what was kept of it, which is the parameter itself; `parameter` is where it was made."""

    parameter: cst.CSTNode | None


class ZeroGradMissing(Fault):
    """A backward adds to gradients that `step` has used already."""

    step: cst.CSTNode
    carried: ClassVar = "gradients"


class ZeroGradMisplaced(Fault):
    """Gradients that `backward` has filled are cleared before `step` could use them."""

    backward: cst.CSTNode
    step: cst.CSTNode
    concerns_callers: ClassVar = True
    carried: ClassVar = "order"


class AccumulationCleared(Fault):
    """Each iteration clears gradients that `backward` has filled, and `step` uses them in every n-th alone."""

    backward: cst.CSTNode
    step: cst.CSTNode


class StepBeforeBackward(Fault):
    """A step finds no gradients: `backward` fills them later, and they are cleared at `cleared`, or never used."""

    backward: cst.CSTNode
    cleared: cst.CSTNode | None = None
    carried: ClassVar = "order"


class StepMissing(Fault):
    """Gradients are cleared, at `cleared`, that a backward has filled; the optimizer never steps.

    Or it steps after other backwards alone: `beyond` is the last operation of the part of the graph for nothing.
    """

    cleared: cst.CSTNode
    beyond: cst.CSTNode | None = None


class BackwardMissing(Fault):
    """A step finds no gradients, and no backward fills any."""

    carried: ClassVar = "order"


class NothingClipped(Fault):
    """Clipping finds no gradients: of tensors that are no leaves, of none at all, or before any backward."""

    kind: Literal["non-leaf", "used-up iterator", "no gradient"]
    carried: ClassVar = "order"


class ClippedAfterStep(Fault):
    """Gradients are clipped that `step` has used already."""

    step: cst.CSTNode


class ClippedScaled(Fault):
    """Gradients are clipped while they are those of a scaled loss, of which `backward` ran."""

    backward: cst.CSTNode


class EngineBypassed(Fault):
    """A loss is backpropagated past the engine that wraps the network, at `prepared`."""

    prepared: cst.CSTNode


class SteppedScaled(Fault):
    """An optimizer steps by itself on the gradients of a scaled loss, of which `backward` ran.

    `unscaled`: whether `unscale_` has divided them by the scale before.
    """

    backward: cst.CSTNode
    unscaled: Tri = False


class UnscaledWithoutScale(Fault):
    """A scaler steps, and so unscales, on gradients of a loss that was not scaled, of which `backward` ran."""

    backward: cst.CSTNode


class SchedulerBeforeOptimizer(Fault):
    """A learning rate scheduler steps before its optimizer does."""


class ClosureWithoutBackward(Fault):
    """The function `closure` that a step evaluates gives a loss, and runs no backward."""

    closure: cst.CSTNode


class LeftFrozen(Fault):
    """All parameters of an optimizer are frozen and stay so: its step at `step` finds no gradient any more."""

    step: cst.CSTNode


class GraphAccumulates(Fault):
    """A place holds the graphs of all iterations of a loop; the node is where it grows.

    `term` is what is added with its graph. `spent`: a backward has run through the graphs, so that nothing can use them
    any more; else none ever does, though the loop runs some. `listed`: a container is given the tensors, rather than a
    sum; `nested`: what it is given is not the tensor itself, but holds it. A run knows the `path` to it.
    """

    term: cst.CSTNode | None
    spent: bool
    listed: bool
    nested: bool
    path: str = ""
    carried: ClassVar = "graph"


class EvalKeepsGraph(Fault):
    """A place holds the graphs of all iterations of a loop that runs no backward; the fields as above.

    `state`: it is a value that each iteration computes from that of the last one.
    """

    term: cst.CSTNode | None
    listed: bool
    nested: bool
    state: bool = False


class StateNotDetached(Fault):
    """Each iteration computes a state from the last, `former`, and each backward runs through all before."""

    former: cst.CSTNode | None
    carried: ClassVar = "graph"


class MethodNotCalled(Fault):
    """A statement names a method, and does not call it."""


class ResultDiscarded(Fault):
    """A statement computes a tensor by an operation that changes nothing, and does nothing with it.

    `alike`: torch has an operation of this name that writes to its input.
    """

    name: str
    alike: bool


class EpochNotSet(Fault):
    """A loop goes over the data of a distributed sampler, made at `sampler`, in the same order as the loop before."""

    sampler: cst.CSTNode | None


class GraphSwitchedOff(Fault):
    """What is switched off at the node is still off at `backward`, which finds no graph."""

    backward: cst.CSTNode


class StepWithoutEffect(Fault):
    """A run has seen `steps` of the `of` measured steps of an optimizer, `made` there, change no parameter.

    They had gradients; `rate` is the greatest learning rate of the first such `step`. Those before any other are left
    out. Where the rate is zero, the node is that of its schedule; else, or where there is none, of the step.
    """

    step: cst.CSTNode
    made: cst.CSTNode | None
    rate: float | None
    steps: int
    of: int
