"""Subscripts of tensors, as views, copies and writes, and Python's operators on tensors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import libcst as cst

from gradlint.domain.announcement import Differenced, Operated
from gradlint.domain.graph import NO_OPERANDS, Edge, Node, Term
from gradlint.domain.refusal.shapes import ShapeMismatch
from gradlint.domain.shape import Shape
from gradlint.domain.state import Blocked, State
from gradlint.domain.value import Args, Ref, Tensor, Unknown, Value, View, Write
from gradlint.facts import fact
from gradlint.facts.traits import OPERATORS
from gradlint.interpreter.escape import unknown_call
from gradlint.interpreter.machine import Machine
from gradlint.interpreter.python.kinds import refuses_operand
from gradlint.interpreter.torch.alias import CONTIGUOUS, view_kind
from gradlint.interpreter.torch.apply import apply, broken_view
from gradlint.interpreter.torch.fit import refuse_part
from gradlint.interpreter.torch.inplace import bump, saved_now, write
from gradlint.interpreter.torch.legacy_calls import refuses_number_index
from gradlint.interpreter.torch.operands import operand_of, tensors_in
from gradlint.interpreter.torch.shared_cells import refuses_source
from gradlint.interpreter.torch.sparse import refuses_index
from gradlint.interpreter.torch.tensor import (
    SPARSE,
    both,
    either,
    is_raised,
    known_tensor,
    new_tensor,
    refuses_uninitialized,
    tensor_at,
    view_of,
)
from gradlint.interpreter.torch.transform.levels import refuses_mask
from gradlint.shapes.index import index_misfit, indexed


def index_tensor(machine: Machine, state: State, ref: Ref, index: Value, node: cst.CSTNode) -> Value:
    """t[index]: basic indices give a view, index tensors and masks a copy."""
    record = tensor_at(state, ref)
    if refuses_uninitialized(machine, state, ref, "[]", node):
        return Unknown("raised")
    if refuses_number_index(machine, state, record, index, node):
        return Unknown("raised")
    if refuses_index(machine, state, record, index, node):
        return Unknown("raised")
    if machine.transforms and refuses_mask(machine, state, index, node):
        return Unknown("raised")
    picked = operand_of(machine, state, index)
    if _misfits(machine, state, record, picked, node):
        return Unknown("raised")
    made = indexed(record.shape, picked)
    if state.grad is True:
        broken_view(machine, state, ref, node)
    tracked = both(record.grad, state.grad)
    edges = [Edge(record.node, record.grad if state.grad is not False else False)]
    edges += _index_edges(machine, state, index)
    blocked = state.unrecorded() or Blocked(None, None)
    if made.view is True:
        return _view(state, ref, index, node, made.shape, tracked, edges, blocked)
    operands = {"input": _term(record), "indices": _index_term(machine, state, index)}
    machine.announce(state, Operated(node, "index", operands, ()))
    saved = tuple(saved_now(machine, state, one, "indices") for one in tensors_in(machine, state, index))
    result = Node(
        "index", node, edges, tracked=tracked, saved=saved if tracked is True and made.view is False else (),
        maybe_saved=made.view is None, frees=True if tracked is True and made.view is False else None,
        cut=blocked.kind, place=blocked.syntax, operands=operands,
    )  # fmt: skip
    if made.view is None and record.grad is not False:
        known = None if tracked else tracked
        result = Node("index", node, edges, tracked=known, maybe_saved=True, operands=operands)
    out = new_tensor(state, result, grad=tracked, dtype=record.dtype, shape=made.shape)
    if made.view is None:
        base = ref.id if record.view is None else record.view.base
        state.put(out.id, tensor_at(state, out)._replace(view=View(base, "maybe")))
    return out


def _misfits(machine: Machine, state: State, record: Tensor, picked: object, node: cst.CSTNode) -> bool:
    """Report an index that the tensor does not have; return whether torch raises."""
    misfit = index_misfit(record.shape, picked)
    if misfit is None or misfit.of_nothing:
        if state.facts:
            machine.passes((node, state.site, "shapes"))
        return False
    made_at = (record.syntax, *(None for _ in misfit.shapes[1:]))
    event = ShapeMismatch(node, "index", misfit.demand, misfit.shapes, misfit.wanted, made_at)
    machine.emit(event, (node, state.site, "shapes"))
    return True


def _term(record: Tensor) -> Term:
    return Term(record.node, record.shape, record.dtype, record.grad)


def _index_term(machine: Machine, state: State, index: Value) -> Value | Term:
    """Return a mask or an index tensor as an operand; other indices as they are."""
    found = known_tensor(machine, state, index)
    return index if found is None else _term(tensor_at(state, found))


def _index_edges(machine: Machine, state: State, index: Value) -> list[Edge]:
    """Return the edges to the index, on which the value depends too."""
    edges = [
        Edge(tensor_at(state, one).node, False, "nondiff")
        for one in tensors_in(machine, state, index)
        if tensor_at(state, one).node.live
    ]
    if isinstance(index, Unknown) and index.origin is not None and index.origin.live:
        edges.append(Edge(index.origin, False, "nondiff"))
    return edges


def _view(
    state: State,
    ref: Ref,
    index: Value,
    node: cst.CSTNode,
    shape: Shape,
    tracked: bool | None,
    edges: list[Edge],
    blocked: Blocked,
) -> Ref:
    record = tensor_at(state, ref)
    operands = {"input": _term(record), "index": index}
    made = Node("select", node, edges, tracked=tracked, cut=blocked.kind, place=blocked.syntax, operands=operands)
    kind = view_kind(state, record, "plain")
    expanded = _expanded(record, index, shape)
    layout = record.tags & {SPARSE} if shape else frozenset()  # Of one place it is dense.
    return view_of(
        state, ref, made, kind=kind, shape=shape, expanded=expanded, grad=record.grad,
        tags=record.tags & (CONTIGUOUS | {"data"} if _leading(index) else {"data", "cpu"}) | layout,
    )  # fmt: skip


def _leading(index: Value) -> bool:
    """Return whether a subscript takes a run of the first dimension: of a contiguous tensor, that is contiguous too."""
    if isinstance(index, slice):
        return index.step is None
    return isinstance(index, int) or index is ...


def _expanded(record: Tensor, index: Value, shape: Shape) -> tuple[bool, ...] | None:
    """Return which dimensions of a basic subscript of an expanded tensor repeat one cell."""
    former = record.view.expanded if record.view is not None else ()
    if not former:
        return former
    entries = index if type(index) is tuple else (index,)
    if any(entry is ... for entry in entries):
        return None
    flags: list[bool] = []
    left = list(former)
    for entry in entries:
        if entry is None:
            flags.append(False)
        elif left:
            flag = left.pop(0)
            if isinstance(entry, slice):
                flags.append(flag)
    flags += left
    if shape is None or len(shape) != len(flags):
        return None
    return tuple(flag and isinstance(size, int) and size > 1 for flag, size in zip(flags, shape, strict=True))


def write_tensor(machine: Machine, state: State, ref: Ref, index: Value, value: Value, node: cst.CSTNode) -> None:
    """t[index] = value: a write in place, whatever the index."""
    if is_raised(value):
        return
    record = tensor_at(state, ref)
    sources: list[Edge] = []
    given = known_tensor(machine, state, value)
    if given is not None:
        source = tensor_at(state, given)
        if given == ref:
            return
        view = source.view
        if (
            view is not None
            and view.base == (record.view.base if record.view else ref.id)
            and _written_there(state, source.counter, node)
        ):
            # `t[i] += x` stores the view that it has just written in place: torch copies it onto itself.
            bump(machine, state, ref, Write(node, "index assignment"))
            return
        sources.append(Edge(source.node, source.grad))
    elif isinstance(value, Unknown):
        if value.origin is not None:
            sources.append(Edge(value.origin, None if value.origin.tracked is not False else False, "item"))
        elif value.kind is None:
            sources.append(Edge(Node("input", node, tracked=None), None))
    sources += _index_edges(machine, state, index)
    if machine.transforms and refuses_mask(machine, state, index, node):
        return
    picked = operand_of(machine, state, index)
    if _misfits(machine, state, record, picked, node):
        return
    # What has no dimension, torch fills with.
    if (
        given is not None
        and tensor_at(state, given).shape
        and refuses_source(machine, state, ref, given, sources, "index assignment", node, index)
    ):
        return
    made = indexed(record.shape, picked)
    picks = tensors_in(machine, state, index)
    needs = either([record.grad, *(edge.flows for edge in sources)])
    saved = tuple(saved_now(machine, state, one, "indices") for one in picks) if needs is True else ()
    whole = index is ... or index == slice(None, None, None) or made.view is False
    if made.view is None and not whole:
        write(machine, state, ref, "index assignment", node, sources, maybe_saved=True)
        return
    target = ref if whole else _target(state, ref, index, made.shape, node)
    more = bool(picks) and needs is None
    fills = made.view is False and needs is False
    # Index tensors and masks are kept for backward.
    frees = True if made.view is False and needs is True else None
    operands = _selection(state, record, picks, value, given) if made.view is False else NO_OPERANDS
    done = write(
        machine, state, target, "index assignment", node, sources, saved, more,
        fills=fills, frees=frees, operands=operands,
    )  # fmt: skip
    if done and given is not None:
        refuse_part(machine, made.shape, tensor_at(state, given).shape, record, node)


def _selection(
    state: State, record: Tensor, picks: Sequence[Ref], value: Value, given: Ref | None
) -> Mapping[str, object]:
    """Return the operands of an assignment to what one mask selects: a number, or another tensor."""
    mask = tensor_at(state, picks[0]) if len(picks) == 1 else None
    if mask is None or mask.dtype != "bool":
        return NO_OPERANDS
    what = value if given is None else _term(tensor_at(state, given))
    return {"input": _term(record), "indices": _term(mask), "value": what}


def _written_there(state: State, counter: int, node: cst.CSTNode) -> bool:
    writes = state.writes(counter)
    return bool(writes) and writes[-1].syntax is node


def _target(state: State, ref: Ref, index: Value, shape: Shape, node: cst.CSTNode) -> Ref:
    """Return the view that an index assignment writes to: torch refuses a leaf as a view of a leaf."""
    record = tensor_at(state, ref)
    if record.view is not None and not record.view.overlaps:
        return ref
    made = Node("select", node, [Edge(record.node, record.grad)], tracked=both(record.grad, state.grad))
    return view_of(
        state, ref, made,
        kind="plain", grad=record.grad, expanded=_expanded(record, index, shape), tags=record.tags & {"data"},
    )  # fmt: skip


_WITH_NUMBERS = frozenset({"+", "-", "/", "//", "**", "@"})
"""Operators that torch refuses beside texts and lists; `*` of a single integer repeats these, `==` compares."""

_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


def tensor_operator(
    machine: Machine, state: State, op: str, left: Value, right: Value, node: cst.CSTNode, inplace: bool
) -> Value:
    """left op right, where at least one is a tensor. `x @= y` is the one augmented assignment that rebinds."""
    name = OPERATORS.get(op)
    if name is None:
        return unknown_call(machine, state, (left, right), node)
    if op in _WITH_NUMBERS and refuses_operand(machine, state, left, right, node):
        return Unknown("raised")
    if inplace and op != "@":
        entry = fact(f"Tensor.{name}_")
        if entry is not None:
            return apply(machine, state, entry, Args((left, right)), node)
    if known_tensor(machine, state, left) is None and not isinstance(left, Unknown):
        if op in _MIRRORED:
            name = OPERATORS[_MIRRORED[op]]
            left, right = right, left
        elif op in ("+", "*", "==", "!=", "&", "|", "^"):
            left, right = right, left
        elif op == "/" and not isinstance(right, Unknown) and (inverse := fact("reciprocal")) is not None:
            # Tensor.__rtruediv__ is `self.reciprocal() * other` (torch/_tensor.py), which saves the result alone.
            name, left, right = OPERATORS["*"], apply(machine, state, inverse, Args((right,)), node), left
    if op == "-":
        machine.announce(state, Differenced(node, left, right))
    entry = fact(name)
    if entry is None or _not_arithmetic(state, left) or _not_arithmetic(state, right):
        return unknown_call(machine, state, (left, right), node)
    return apply(machine, state, entry, Args((left, right)), node)


def _not_arithmetic(state: State, value: Value) -> bool:
    """Return whether a value is something that torch's operators do not take."""
    if isinstance(value, Ref):
        return not isinstance(state[value], Tensor)
    return value is None or isinstance(value, str) or type(value) is tuple


def tensor_unary(machine: Machine, state: State, op: str, value: Ref, node: cst.CSTNode) -> Value:
    """-t, ~t, +t"""
    if op == "+":
        return value
    entry = fact("neg" if op == "-" else "bitwise_not")
    return Unknown() if entry is None else apply(machine, state, entry, Args((value,)), node)
