"""Faults of optimizers and of what they hold."""

from __future__ import annotations

import libcst as cst

from gradlint.domain.event import Fault


class EmptyOptimizer(Fault):
    """An optimizer is given no parameters on any path; torch raises."""


class ConstantsInOptimizer(Fault):
    """No tensor of an optimizer requires grad: no step, as that at `step`, changes anything.

    `frozen`: where a program has switched off all parameters before it gave them to the optimizer.
    """

    step: cst.CSTNode | None
    frozen: cst.CSTNode | None = None


class OptimizerMisses(Fault):
    """An optimizer, made at the node, does not hold what it should train; subclasses say what."""


class IteratorUsedUp(OptimizerMisses):
    """A group is given an iterator that has given all it had."""


class ParameterTooLate(OptimizerMisses):
    """A parameter came into the model at `made`, after the optimizer; `step` leaves it out."""

    made: cst.CSTNode
    step: cst.CSTNode


class ParameterUnfrozen(OptimizerMisses):
    """A parameter, made at `made`, is switched on at the node, and `optimizer` was made without it."""

    made: cst.CSTNode | None
    optimizer: cst.CSTNode | None


class LeafReplaced(OptimizerMisses):
    """A new leaf, made at the node, is computed from one that an optimizer holds, made at `held`."""

    held: cst.CSTNode | None


class NetworkForgotten(OptimizerMisses):
    """A network, made at `made`, is given gradients at `backward`, and no optimizer holds it."""

    made: cst.CSTNode
    backward: cst.CSTNode


class ParameterForgotten(OptimizerMisses):
    """A parameter of no module, made at `made`, is given a gradient at `backward`, and no optimizer holds it."""

    made: cst.CSTNode
    backward: cst.CSTNode
