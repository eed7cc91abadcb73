"""Sparse tensors: their values and indices are given only where they are coalesced, and few operations take them."""

from __future__ import annotations

import libcst as cst

from gradlint.domain.graph import Edge, Node
from gradlint.domain.refusal.tensors import SparseUnsupported
from gradlint.domain.shape import Shape
from gradlint.domain.state import State
from gradlint.domain.value import Args, Ref, Unknown, Value
from gradlint.facts import method_fact
from gradlint.interpreter.escape import unknown_call
from gradlint.interpreter.machine import Machine, Method
from gradlint.interpreter.reachable import known_items
from gradlint.interpreter.torch.apply import apply
from gradlint.interpreter.torch.tensor import (
    SPARSE,
    UNCOALESCED,
    as_tensor,
    both,
    known_tensor,
    new_tensor,
    tensor_at,
    unknown_tensor,
)


def _to_sparse(machine: Machine, state: State, ref: Ref, args: Args, node: cst.CSTNode) -> Value:
    record = tensor_at(state, ref)
    tracked = record.grad if state.grad else False if state.grad is False else None
    made = Node("to_sparse", node, [Edge(record.node, record.grad)], tracked=tracked, maybe_saved=True)
    return new_tensor(state, made, grad=tracked, dtype=record.dtype, shape=record.shape, tags=frozenset({SPARSE}))


def sparse_tensor(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    """torch.sparse_coo_tensor(indices, values, size, ...): gradients flow to the values."""
    values = as_tensor(machine, state, args.get(1, "values"), node)
    if values is None:
        return unknown_call(machine, state, args.values(), node)
    record = tensor_at(state, values)
    if args.keywords.get("requires_grad", False) is not False or args.open:
        return unknown_tensor(state, node, Node("call", node, [Edge(record.node, None)], tracked=None))
    number = record.shape[0] if record.shape else None
    # Fewer than two values are in order: such a tensor counts as coalesced (measured).
    unordered = args.keywords.get("is_coalesced") is None and isinstance(number, int) and number > 1
    tags = frozenset({SPARSE, UNCOALESCED} if unordered else {SPARSE})
    dtype = record.dtype if "dtype" not in args.keywords else None
    size = known_items(state, args.get(2, "size"))
    shape = tuple(one for one in size or () if type(one) is int)
    known = shape if size is not None and len(shape) == len(size) else None
    return _sparse(state, values, "sparse_coo_tensor", node, tags, dtype, known)


def sparse_mm(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    """torch.sparse.mm(sparse, dense): the product, which is dense."""
    entry = method_fact("mm")
    given = [known_tensor(machine, state, one) for one in args.positional]
    kinds = [SPARSE in tensor_at(state, one).tags for one in given if one is not None]
    if entry is None or kinds != [True, False] or args.keywords or args.open:
        return unknown_call(machine, state, args.values(), node)
    return apply(machine, state, entry, args, node)


def _sparse(
    state: State,
    source: Ref,
    op: str,
    node: cst.CSTNode,
    tags: frozenset[str],
    dtype: str | None,
    shape: Shape = None,
    *,
    cut: bool = False,
) -> Ref:
    """Return a tensor made of another."""
    record = tensor_at(state, source)
    flows = False if cut else record.grad
    tracked = both(flows, state.grad)
    edges = [Edge(record.node, flows, "detach" if cut else None)]
    made = Node(op, node, edges, tracked=tracked, maybe_saved=True, cut="detach" if cut else None)
    return new_tensor(state, made, grad=tracked, dtype=dtype, shape=shape, tags=tags)


def _part_of_sparse(op: str) -> Method:
    """values, indices: refused before `coalesce`; `_values` and `_indices` are always there, without a graph."""

    def part(machine: Machine, state: State, ref: Ref, args: Args, node: cst.CSTNode) -> Value:
        record = tensor_at(state, ref)
        if SPARSE not in record.tags:
            return unknown_call(machine, state, (ref, *args.values()), node)
        if UNCOALESCED in record.tags and not op.startswith("_") and not machine.tried:
            machine.emit(SparseUnsupported(node, op, "uncoalesced"))
            return Unknown("raised")
        integers = op.endswith("indices")
        return _sparse(
            state, ref, op, node, frozenset(), "int64" if integers else record.dtype, cut=integers or op[0] == "_"
        )

    return part


def _to_dense(machine: Machine, state: State, ref: Ref, args: Args, node: cst.CSTNode) -> Value:
    entry = method_fact("to_dense")
    record = tensor_at(state, ref)
    if SPARSE not in record.tags and entry is not None:
        return apply(machine, state, entry, args.prepend(ref), node)
    return _sparse(state, ref, "to_dense", node, frozenset(), record.dtype, record.shape)


def _coalesce(machine: Machine, state: State, ref: Ref, args: Args, node: cst.CSTNode) -> Value:
    record = tensor_at(state, ref)
    if SPARSE not in record.tags:
        return unknown_call(machine, state, (ref, *args.values()), node)
    if UNCOALESCED not in record.tags:
        return ref
    return _sparse(state, ref, "coalesce", node, frozenset({SPARSE}), record.dtype, record.shape)


SPARSE_METHODS: dict[str, Method] = {
    "to_sparse": _to_sparse,
    "coalesce": _coalesce,
    "to_dense": _to_dense,
    "values": _part_of_sparse("values"),
    "indices": _part_of_sparse("indices"),
    "_values": _part_of_sparse("_values"),
    "_indices": _part_of_sparse("_indices"),
}
