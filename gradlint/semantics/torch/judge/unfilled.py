"""Memory that nobody has written, scaled: `one = torch.FloatTensor(1); minus = one * -1` is as arbitrary as before."""

from __future__ import annotations

from gradlint.domain.state import State
from gradlint.domain.value import Tensor
from gradlint.semantics.torch.judge.register import judges
from gradlint.semantics.torch.operation import Operation
from gradlint.semantics.torch.tensor import tensor_at

_MAKING = frozenset({"uninitialised", "empty", "empty_like", "new_empty", "empty_strided", "new_empty_strided"})


def is_unfilled(state: State, record: Tensor, scaled: set[object]) -> bool:
    """Whether a tensor holds whatever was in its memory: made so, or scaled from such a one, and never written."""
    if record.node.op.rpartition(".")[2] not in _MAKING and record.node.syntax not in scaled:
        return False
    return not state.writes(record.counter) and not state.writes(record.memory)


@judges("mul", "neg", "div")
def _scaled(call: Operation) -> None:
    """one * -1"""
    given = [one.ref for one in call.inputs]
    if len(given) == 1 and given[0] is not None:
        record = tensor_at(call.state, given[0])
        if not record.node.live and is_unfilled(call.state, record, call.machine.unfilled):
            call.machine.unfilled.add(call.node)
