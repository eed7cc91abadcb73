"""Writes in place of what does not fit: a tensor cannot grow to the shape of what is written to it."""

from __future__ import annotations

import libcst as cst

from gradlint.domain.refusal.inplace import InplaceBroadcast
from gradlint.domain.shape import Dim, Shape, at_least_two
from gradlint.domain.state import State
from gradlint.domain.value import Ref, Tensor
from gradlint.facts.aliases import bare, is_inplace
from gradlint.facts.traits import ANY_SHAPE_INPLACE
from gradlint.interpreter.machine import Machine
from gradlint.interpreter.torch.operands import operands_of
from gradlint.interpreter.torch.operation import Operation
from gradlint.interpreter.torch.tensor import tensor_at
from gradlint.shapes.infer import Operand, result


def refuse_result(call: Operation, target: Ref) -> None:
    """x.add_(y): what the operation would give out of place has to have the shape of the target."""
    if call.canonical in ANY_SHAPE_INPLACE or not is_inplace(call.name):
        return
    out_of_place = result(call.canonical, operands_of(call.machine, call.state, call.bound))
    if isinstance(out_of_place, Operand):
        refuse_whole(call.machine, call.state, target, bare(call.name), out_of_place.shape, call.node)


def refuse_whole(machine: Machine, state: State, target: Ref, op: str, wanted: Shape, node: cst.CSTNode) -> None:
    """Refuse a write of a shape that is larger than that of the target for certain."""
    record = tensor_at(state, target)
    held: Shape = record.shape
    if held is not None and wanted is not None and _outgrows(wanted, held):
        machine.emit(InplaceBroadcast(node, op, held, wanted, record.syntax))


def refuse_part(machine: Machine, held: Shape, wanted: Shape, target: Tensor, node: cst.CSTNode) -> None:
    """Refuse an index assignment of a shape that is larger than that of the part which is written."""
    if held is not None and wanted is not None and _outgrows_part(wanted, held):
        machine.emit(InplaceBroadcast(node, "index assignment", held, wanted, target.syntax))


def _outgrows(wanted: tuple[Dim, ...], held: tuple[Dim, ...]) -> bool:
    """Return whether a shape has more dimensions than another, or several elements where that has one."""
    return len(wanted) > len(held) or (len(wanted) == len(held) and _wider(wanted, held))


def _outgrows_part(wanted: tuple[Dim, ...], held: tuple[Dim, ...]) -> bool:
    """Return whether an index assignment does, which drops leading dimensions of one element."""
    extra = max(len(wanted) - len(held), 0)
    return any(at_least_two(size) for size in wanted[:extra]) or _wider(wanted[extra:], held)


def _wider(wanted: tuple[Dim, ...], held: tuple[Dim, ...]) -> bool:
    """Return whether a size is one where several are wanted, the sizes counted from the last."""
    pairs = zip(reversed(wanted), reversed(held), strict=False)
    return any(mine == 1 and at_least_two(theirs) for theirs, mine in pairs)
