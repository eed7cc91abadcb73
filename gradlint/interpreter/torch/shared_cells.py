"""Writes whose other operand shares a part of the written memory: torch refuses them, whatever needs gradients.

Measured with torch 2.13 (`get_overlap_status` in aten/src/ATen/MemoryOverlap.cpp): two operands may share all of their
memory or none of it. Torch compares the runs of memory of dense operands, and asks no further where one has gaps.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import libcst as cst

from gradlint.domain.graph import Edge, Term
from gradlint.domain.refusal.inplace import PartialOverlap
from gradlint.domain.state import State
from gradlint.domain.value import Ref, Tensor, Value
from gradlint.facts.traits import REFUSES_OVERLAP
from gradlint.interpreter.machine import Machine
from gradlint.interpreter.torch.inplace import refused_write
from gradlint.interpreter.torch.operation import Operation
from gradlint.interpreter.torch.tensor import tensor_at


def refuses_shared(call: Operation, written: Ref, sources: Sequence[Edge]) -> bool:
    """Report an operand that shares a part of the memory that is written; return True where torch raises."""
    if call.canonical not in REFUSES_OVERLAP:
        return False
    others = [one.ref for one in call.inputs if one.ref is not None and one.ref != written]
    op = call.name.removeprefix("Tensor.")
    return any(refuses_source(call.machine, call.state, written, one, sources, op, call.node) for one in others)


def refuses_source(
    machine: Machine,
    state: State,
    written: Ref,
    source: Ref,
    sources: Sequence[Edge],
    op: str,
    node: cst.CSTNode,
    index: Value = ...,
) -> bool:
    """Report what is written to `written[index]` if it lies there in part; return True where torch raises.

    What is assigned to an index, torch expands to its size, and compares no more if that leaves gaps. A write that
    `check_inplace` refuses, it refuses first.
    """
    record = tensor_at(state, written)
    if record.counter != tensor_at(state, source).counter:
        return False
    own, other = _run_of(state, written), _run_of(state, source)
    if index is not ...:
        own = _picked(record, index) if record.view is None else None
        other = other if own is not None and other is not None and len(other) == len(own) else None
    if own is None or other is None or own == other or max(own.start, other.start) >= min(own.stop, other.stop):
        return False
    if refused_write(state, written, sources) is not None:
        return False
    machine.emit(PartialOverlap(node, op))
    return True


def _run_of(state: State, ref: Ref) -> range | None:
    """Return the run of elements of its base that a tensor is; None where it is not known to be one."""
    record = tensor_at(state, ref)
    if record.view is None:
        return _picked(record, ...)
    base, operands = state.heap.get(record.view.base), record.node.operands or {}
    given = operands.get("input")
    if not isinstance(base, Tensor) or record.node.op != "select" or not isinstance(given, Term):
        return None
    return _picked(base, operands.get("index")) if given.node is base.node else None


def _picked(base: Tensor, index: object) -> range | None:
    """Return the run of elements that a number or a slice picks of a tensor whose rows follow without gaps."""
    sizes = [size for size in base.shape or () if type(size) is int]
    if not sizes or base.shape is None or len(sizes) != len(base.shape) or not _is_dense(base):
        return None
    rows, row = range(sizes[0]), math.prod(sizes[1:])
    if type(index) is int and -sizes[0] <= index < sizes[0]:
        rows = range(index % sizes[0], index % sizes[0] + 1)
    elif isinstance(index, slice) and {type(one) for one in (index.start, index.stop)} <= {int, type(None)}:
        rows = rows[index] if index.step in (None, 1) else range(0)
    elif index is not ...:
        return None
    return range(rows.start * row, rows.stop * row) if rows else None


def _is_dense(base: Tensor) -> bool:
    return "contiguous" in base.tags or (bool(base.node.edges) and base.shape is not None and len(base.shape) == 1)
