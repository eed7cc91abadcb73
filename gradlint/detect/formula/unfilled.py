"""Memory that nobody has written, scaled: `one = torch.FloatTensor(1); minus = one * -1` is as arbitrary as before."""

from __future__ import annotations

from collections.abc import Mapping

import libcst as cst

from gradlint.detect.formula.register import judges
from gradlint.domain.state import State
from gradlint.domain.value import Tensor
from gradlint.interpreter.torch.operation import Operation
from gradlint.interpreter.torch.tensor import tensor_at

_MAKING = frozenset({"uninitialised", "empty", "empty_like", "new_empty", "empty_strided", "new_empty_strided"})


def taken(state: State, record: Tensor, scaled: Mapping[object, cst.CSTNode]) -> cst.CSTNode | None:
    """Where the memory was taken of a tensor that holds whatever stood there, or is scaled from such a one.

    None for one whose values are somebody's, and for all that were ever written.
    """
    made = record.node.syntax if record.node.op.rpartition(".")[2] in _MAKING else scaled.get(record.node.syntax)
    return None if state.writes(record.counter) or state.writes(record.memory) else made


@judges("mul", "neg", "div")
def _scaled(call: Operation) -> None:
    """one * -1"""
    given = [one.ref for one in call.inputs]
    if len(given) == 1 and given[0] is not None:
        record = tensor_at(call.state, given[0])
        made = None if record.node.live else taken(call.state, record, call.machine.unfilled)
        if made is not None:
            call.machine.unfilled[call.node] = made
