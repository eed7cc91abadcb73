"""Modules that behave otherwise in evaluation: trained in training mode once, and in evaluation mode from then on."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import libcst as cst

from gradlint.domain.graph import Node
from gradlint.domain.state import State
from gradlint.domain.value import Instance, Ref, Tensor, Value
from gradlint.interpreter.machine import Machine
from gradlint.interpreter.torch import faults
from gradlint.interpreter.torch.parameters import modules_of

_TWO_FACED = ("torch.nn.Dropout", "torch.nn.AlphaDropout", "torch.nn.FeatureAlphaDropout", "torch.nn.BatchNorm")
EVALUATED = "<eval>"
"""The configuration entry that says where a module was switched to evaluation as a part of another."""


class Mode(NamedTuple):
    """How a module ran when it made a node: `switched` is where a module around it was sent to evaluation."""

    module: int
    training: bool
    switched: cst.CSTNode | None


def note_switch(state: State, ref: Ref, mode: bool | None, node: cst.CSTNode) -> None:
    """model.eval() reaches the parts of the model; a part that is sent alone is wanted so."""
    for module, record in list(modules_of(state, ref)):
        config = {name: value for name, value in record.config.items() if name != EVALUATED}
        if mode is False and module != ref:
            config[EVALUATED] = node
        state.put(module.id, record._replace(config=config))


def note_mode(machine: Machine, state: State, ref: Ref, record: Instance, base: str, value: Value) -> None:
    """A module that knows two modes has made a tensor."""
    training = record.config.get("<training>", True)
    if not base.startswith(_TWO_FACED) or not isinstance(training, bool) or not isinstance(value, Ref):
        return
    made = state.heap.get(value.id)
    if isinstance(made, Tensor) and made.node.tracked is True:
        switched = record.config.get(EVALUATED)
        place = switched if isinstance(switched, cst.CSTNode) else None
        machine.ledger.modes[made.node.id] = Mode(ref.id, training, place)


def judge_modes(machine: Machine, certain: Iterable[Node], backward: cst.CSTNode) -> None:
    """The same backward trains a module in evaluation mode that it has trained in training mode before."""
    modes = machine.ledger.modes
    for node in certain if modes else ():
        mode = modes.get(node.id)
        if not isinstance(mode, Mode):
            continue
        if mode.training:
            machine.ledger.in_training.add((mode.module, backward))
        elif mode.switched is not None and (mode.module, backward) in machine.ledger.in_training:
            related = [(backward, "the next training turn runs in evaluation mode")]
            faults.noticed(machine, "train-mode-missing", mode.switched, related=related)
            return
