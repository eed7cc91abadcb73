"""Operations that torch records and whose backward it refuses, because of how they were called.

Measured with torch 2.13: an activation that was computed in place cannot be undone where it is not monotone, so that
its backward refuses a negative slope (aten/src/ATen/native/cpu/Activation.cpp). The QR decomposition has no derivative
without Q, nor for the columns of Q that `mode="complete"` adds (`linalg_qr_backward` in FunctionsManual.cpp).
"""

from __future__ import annotations

from functools import partial

from gradlint.domain.graph import Node
from gradlint.domain.refusal.backward import BackwardUnsupported, Unsupported
from gradlint.domain.value import Ref, Tensor, Value
from gradlint.facts.traits import SLOPES, SPARSE_WITHOUT_BACKWARD, UNDERIVED_IN_PLACE
from gradlint.interpreter.torch.operation import Operation
from gradlint.interpreter.torch.sparse_operands import is_sparse
from gradlint.interpreter.torch.tensor import tensor_at


def note_backward(call: Operation, value: Value) -> None:
    """Note the node of a result if a backward through it raises."""
    reason: Unsupported | None
    if call.canonical == "qr":
        reason = _of_decomposition(call)
    elif call.canonical in SLOPES:
        reason = _of_activation(call)
    elif call.canonical in UNDERIVED_IN_PLACE:
        reason = "in-place" if call.labels(call.entry.row.writes).must else None
    else:
        reason = "sparse" if call.canonical in SPARSE_WITHOUT_BACKWARD and is_sparse(call) else None
    if reason is None:
        return
    made = _node_of(call, value)
    if made is not None and made.tracked is True:
        call.machine.raising[made.id] = partial(BackwardUnsupported, reason=reason, made=call.node)


def _of_activation(call: Operation) -> Unsupported | None:
    """Return why an activation has no backward: its slope is negative, and it writes to its input."""
    given = [_option(call, name) for name in SLOPES[call.canonical]]
    slopes = [one for one in given if isinstance(one, (int, float))]
    draws = call.canonical == "rrelu" and (call.flags.get("training", False) is not False or _option(call, "training"))
    written = bool(call.labels(call.entry.row.writes).must)
    return "slope" if written and not draws and len(slopes) == len(given) and sum(slopes) < 0 else None


def _of_decomposition(call: Operation) -> Unsupported | None:
    """Return why a QR decomposition has no backward."""
    if _option(call, "mode") == "r":
        return "without-q"
    records = [tensor_at(call.state, given.ref) for given in call.inputs if given.ref is not None]
    shape = records[0].shape if records else None
    if (_option(call, "mode") != "complete" and _option(call, "some") is not False) or not shape or len(shape) < 2:
        return None
    rows, columns = shape[-2:]
    return "complete" if isinstance(rows, int) and isinstance(columns, int) and rows > columns else None


def _option(call: Operation, name: str) -> Value:
    """Return an argument of the call, or of the constructor of a module."""
    return call.bound.get(name, None if call.config is None else call.config.get(name))


def _node_of(call: Operation, value: Value) -> Node | None:
    """Return the node that the call has made: that of the base, if the call has written to a view."""
    ref = value[0] if type(value) is tuple and value else value
    record = call.state.heap.get(ref.id) if isinstance(ref, Ref) else None
    if not isinstance(record, Tensor):
        return None
    if record.node.syntax is not call.node and record.view is not None:
        record = tensor_at(call.state, Ref(record.view.base))
    return record.node if record.node.syntax is call.node else None
