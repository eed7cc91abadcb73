"""Writes in place: what torch refuses, which version counter moves, and what becomes of the history.

The rules are torch's `check_inplace`, `handle_view_on_rebase` and `rebase_history` (torch/csrc/autograd).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import libcst as cst

from gradlint.domain.announcement import LeafWritten, Written
from gradlint.domain.graph import NO_OPERANDS, Edge, Node, Saved, Tri
from gradlint.domain.refusal import inplace as refusal
from gradlint.domain.state import State
from gradlint.domain.value import Ref, Tensor, Write
from gradlint.domain.walk import leaves
from gradlint.facts.aliases import canonical
from gradlint.facts.traits import NOT_ITERATED, SHARES
from gradlint.interpreter.machine import Machine
from gradlint.interpreter.python.contexts import saves_by_hooks
from gradlint.interpreter.torch.tensor import both, either, overlap_of, tensor_at
from gradlint.interpreter.torch.transform.levels import captured

_REFUSED_VIEWS = {
    "multi": refusal.MultiViewWrite,
    "no_grad": refusal.NoGradViewWrite,
    "inference": refusal.InferenceViewWrite,
    "custom": refusal.CustomViewWrite,
}
"""What torch raises on in a write to a view, by the kind of the view."""


def refused_write(state: State, ref: Ref, sources: Sequence[Edge]) -> tuple[type[refusal.RefusedWrite], Tensor] | None:
    """Why torch certainly refuses to write to a tensor here, with the leaf in question."""
    record = tensor_at(state, ref)
    if record.inference is True and state.inference is False:
        return refusal.InferenceWrite, record
    if state.grad is not True:
        return None
    view = record.view
    needs = record.grad is True or any(edge.flows is True for edge in sources)
    if view is None or view.kind == "maybe":
        if record.grad is True and record.leaf is True:
            return refusal.LeafWrite, record
        return None
    base = tensor_at(state, Ref(view.base))
    # A leaf whose flag was switched on after the view was taken: the view requires grad from then on, too.
    flagged = base.leaf is True and base.grad is True
    if not needs and record.grad is not True and not flagged:
        return None
    if view.kind in _REFUSED_VIEWS:
        return _REFUSED_VIEWS[view.kind], base
    if (record.grad is True or flagged) and base.leaf is True and base.grad is True:
        return refusal.LeafViewWrite, base
    return None


class _Change(NamedTuple):
    """A write: what it is, the graphs of the other inputs, and what it saves for backward."""

    op: str
    syntax: cst.CSTNode
    sources: Sequence[Edge]
    saved: tuple[Saved, ...]
    maybe_saved: bool
    saves_result: bool
    overwrites: bool
    frees: Tri
    operands: Mapping[str, object] = NO_OPERANDS


def write(
    machine: Machine,
    state: State,
    ref: Ref,
    op: str,
    syntax: cst.CSTNode,
    sources: Sequence[Edge] = (),
    saved: tuple[Saved, ...] = (),
    maybe_saved: bool = False,
    *,
    saves_result: bool = False,
    overwrites: bool = False,
    certain: bool = True,
    frees: bool | None = None,
    fills: bool = False,
    operands: Mapping[str, object] = NO_OPERANDS,
) -> bool:
    """Write to a tensor in place, `sources` being the graphs of the other inputs. False where torch refuses.

    `fills`: the write does not go through torch's element-wise iterator, so that an expanded tensor takes it.
    """
    if certain and machine.transforms and captured(machine, state, ref, op, sources, syntax):
        return False
    change = _Change(op, syntax, sources, saved, maybe_saved, saves_result, overwrites, frees, operands)
    refused = refused_write(state, ref, sources) if certain else None
    record = tensor_at(state, ref)
    expanded = bool(overlap_of(record))
    spared = (fills or canonical(op) in NOT_ITERATED) and record.grad is not True
    if refused is None and certain and expanded and not spared:
        refused = refusal.OverlapWrite, record
    if refused is not None:
        _refuse(machine, change, refused[0], record, refused[1])
        return False
    bump(machine, state, ref, Write(syntax, op, certain, machine.writer))
    leaf = _leaf_written(state, ref, record)
    if leaf is not None:
        machine.announce(state, LeafWritten(syntax, leaf, sources, op, "data" in record.tags))
    _rebase(machine, state, ref, change)
    return True


def refuses_write(machine: Machine, state: State, ref: Ref, op: str, syntax: cst.CSTNode) -> bool:
    """Report a write that torch refuses; return True where it raises."""
    refused = refused_write(state, ref, ())
    if refused is not None:
        _refuse(
            machine,
            _Change(op, syntax, (), (), False, False, False, None),
            refused[0],
            tensor_at(state, ref),
            refused[1],
        )
    return refused is not None


def _refuse(machine: Machine, change: _Change, kind: type[refusal.RefusedWrite], record: Tensor, base: Tensor) -> None:
    viewed = record.syntax if record.view is not None else None
    tracked = any(edge.flows is True for edge in change.sources)
    optimized = base.node.leaf in machine.optimized and _reach_only(change.sources, base.node)
    event = kind(change.syntax, change.op, base.syntax, viewed, base.parameter, tracked, machine.writer, optimized)
    if isinstance(event, refusal.InferenceWrite):
        event = replace(event, mode=machine.inference_mode)
    machine.emit(event)


def _leaf_written(state: State, ref: Ref, record: Tensor) -> int | None:
    """Return the leaf that requires grad to which a write goes past the tape: as it is, or by an alias from `.data`."""
    if "data" not in record.tags:
        return ref.id if record.grad is True and record.leaf is True and record.view is None else None
    origin = record.node
    while canonical(origin.op) in SHARES and origin.edges:
        origin = origin.edges[0].node
    leaf = state.heap.get(origin.leaf) if origin.leaf is not None else None
    if not isinstance(leaf, Tensor) or leaf.grad is not True or leaf.memory != record.memory:
        return None
    return origin.leaf


def _reach_only(sources: Sequence[Edge], leaf: Node) -> bool:
    """Return whether a gradient would flow back from what is written to nothing but one leaf: `w *= 2 / w.sum()`."""
    written = (edge.node for edge in sources if edge.flows is not False)
    return all(one.leaf == leaf.leaf for one in leaves(written))


def bump(machine: Machine, state: State, ref: Ref, what: Write) -> None:
    """Move a tensor's version counter."""
    record = tensor_at(state, ref)
    if record.view is not None and record.view.kind == "maybe":
        # The tensor may be a copy, with a counter of its own, or share that of its base.
        base = tensor_at(state, Ref(record.view.base))
        state.put(base.counter, (*state.writes(base.counter), what._replace(certain=False)))
    machine.announce(state, Written(what.syntax, ref))
    machine.written += record.grad is not False
    state.put(record.counter, (*state.writes(record.counter), what))
    if "data" in record.tags:
        state.put(record.memory, (*state.writes(record.memory), what))


def saved_now(machine: Machine, state: State, ref: Ref, label: str) -> Saved:
    """Return a tensor saved at this moment."""
    record = tensor_at(state, ref)
    machine.watched.add(record.counter)
    machine.watched.add(record.memory)
    return Saved(
        record.counter, len(state.writes(record.counter)), record.memory, len(state.writes(record.memory)), label,
        node=record.node if record.grad is not False else None, hooked=saves_by_hooks(state),
    )  # fmt: skip


def _rebase(machine: Machine, state: State, ref: Ref, change: _Change) -> None:
    """The history after a write: a tensor written with grad mode on joins the graph of what is written."""
    record, sources = tensor_at(state, ref), change.sources
    needs = either([record.grad, *(edge.flows for edge in sources)])
    tracked = both(needs, state.grad)
    if tracked is False and (record.grad is not False or not (record.node.live or any(e.node.live for e in sources))):
        return  # Recorded nowhere: the history stays as it was, and where no leaf is near nothing is to be known.
    view = record.view
    if view is None or view.kind == "maybe" or tracked is False:
        # The gradient of what is overwritten is zero, and computed all the same.
        former = Edge(record.node, record.grad, "overwritten" if change.overwrites else None)
        node = _written(machine, state, ref, change, former, tracked, change.frees)
        grad = either([record.grad, tracked])
        state.put(ref.id, record._replace(node=node, grad=grad))
        if tracked is not False and view is None:
            regenerate_views(state, ref.id, node, grad)
        return
    # CopySlices: the base gets the new history, and every view of it is a view of that. It releases the function that
    # it holds, whatever that has saved (torch/csrc/autograd/functions/tensor.cpp).
    base = tensor_at(state, Ref(view.base))
    frees = True if tracked is True else change.frees
    node = _written(machine, state, ref, change, Edge(base.node, base.grad), tracked, frees)
    machine.by_views.add(node.id)
    grad = either([base.grad, tracked])
    state.put(view.base, base._replace(node=node, grad=grad))
    regenerate_views(state, view.base, node, grad)


def _written(machine: Machine, state: State, ref: Ref, change: _Change, former: Edge, tracked: Tri, frees: Tri) -> Node:
    """Return the node of a write."""
    saved = (*change.saved, saved_now(machine, state, ref, ">")) if change.saves_result else change.saved
    return Node(
        change.op, change.syntax, (former, *change.sources),
        tracked=tracked, saved=saved, maybe_saved=change.maybe_saved, frees=frees,
        operands=change.operands,
    )  # fmt: skip


def regenerate_views(state: State, base: int, node: Node, grad: bool | None) -> None:
    """Every view of a base whose history changed hangs on the new history."""
    for address in state.views(base):
        other = tensor_at(state, Ref(address))
        if other.view is not None and other.view.kind != "maybe":
            made = Node("view", other.syntax or node.syntax, [Edge(node, grad)], tracked=node.tracked)
            state.put(address, other._replace(node=made, grad=grad))
