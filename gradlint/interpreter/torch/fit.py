"""Whether what is written in place fits into the tensor: its element type, and its shape."""

from __future__ import annotations

import libcst as cst

from gradlint.domain.dtype import holds, is_complex, is_floating, of_number
from gradlint.domain.refusal.inplace import InplaceBroadcast
from gradlint.domain.refusal.shapes import ElementTypeRefused
from gradlint.domain.shape import Dim, Shape, at_least_two
from gradlint.domain.state import State
from gradlint.domain.value import Ref, Tensor
from gradlint.facts.aliases import bare, is_inplace
from gradlint.facts.element_types import casts
from gradlint.facts.traits import ANY_SHAPE_INPLACE
from gradlint.interpreter.machine import Machine
from gradlint.interpreter.torch.operation import Operation
from gradlint.interpreter.torch.tensor import is_of_torch, tensor_at
from gradlint.shapes.infer import result
from gradlint.shapes.misfit import differ
from gradlint.shapes.operand import Operand


def cannot_hold(call: Operation, target: Ref) -> bool:
    """Return whether torch refuses to write a result of a higher kind in place: floating numbers into integers."""
    if not is_inplace(call.name) or not casts(call.canonical):
        return False
    record = tensor_at(call.state, target)
    given = [tensor_at(call.state, one.ref).dtype for one in call.inputs if one.ref is not None]
    given += [of_number(one) for one in call.bound.values() if type(one) is complex]
    # Floating numbers, as most are, hold all but complex ones.
    held = is_floating(record.dtype) and not any(map(is_complex, given))
    found = None if held else result(call.canonical, call.operands())
    refused = isinstance(found, Operand) and holds(record.dtype, found.dtype) is False and is_of_torch(record)
    if not refused:
        if call.state.facts:
            call.machine.passes((*call.place, "types"))
        return False
    assert isinstance(found, Operand) and record.dtype is not None and found.dtype is not None
    event = ElementTypeRefused(call.node, call.name, "input", record.dtype, found.dtype, record.syntax)
    call.machine.emit(event, (*call.place, "types"))
    return True


def refuse_result(call: Operation, target: Ref) -> None:
    """Refuse x.add_(y) where the operation would give another shape out of place than that of the target."""
    if call.canonical in ANY_SHAPE_INPLACE or not is_inplace(call.name):
        return
    out_of_place = result(call.canonical, call.operands())
    if isinstance(out_of_place, Operand):
        refuse_whole(call.machine, call.state, target, bare(call.name), out_of_place.shape, call.node)


def refuse_whole(machine: Machine, state: State, target: Ref, op: str, wanted: Shape, node: cst.CSTNode) -> None:
    """Refuse a write of a shape that is larger than that of the target for certain."""
    record = tensor_at(state, target)
    if record.shape is not None and wanted is not None and _outgrows(wanted, record.shape):
        machine.emit(InplaceBroadcast(node, op, record.shape, wanted, record.syntax))


def refuse_part(machine: Machine, own: Shape, wanted: Shape, target: Tensor, node: cst.CSTNode) -> None:
    """Refuse an index assignment of a shape that is larger than that of the part which is written."""
    if own is not None and wanted is not None and _outgrows_part(wanted, own):
        machine.emit(InplaceBroadcast(node, "index assignment", own, wanted, target.syntax))


def _outgrows(wanted: tuple[Dim, ...], own: tuple[Dim, ...]) -> bool:
    """Return whether a shape has more dimensions than another, or several elements where that has one."""
    return len(wanted) > len(own) or (len(wanted) == len(own) and _wider(wanted, own))


def _outgrows_part(wanted: tuple[Dim, ...], own: tuple[Dim, ...]) -> bool:
    """Return whether an index assignment does, which drops leading dimensions of one element."""
    extra = max(len(wanted) - len(own), 0)
    return any(at_least_two(size) for size in wanted[:extra]) or _wider(wanted[extra:], own)


def _wider(wanted: tuple[Dim, ...], own: tuple[Dim, ...]) -> bool:
    """Return whether a size is another than the wanted one, which is not one, the sizes counted from the last."""
    pairs = [*zip(reversed(wanted), reversed(own), strict=False)]
    nothing = any(0 in pair for pair in pairs)
    return not nothing and any(
        (mine == 1 and at_least_two(theirs)) or (theirs != 1 and differ(mine, theirs)) for theirs, mine in pairs
    )
