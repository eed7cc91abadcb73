"""Sparse tensors: their values and indices are given only where they are coalesced, and few operations take them."""

from __future__ import annotations

from functools import partial

import libcst as cst

from gradlint.domain.graph import Edge, Node
from gradlint.domain.refusal.backward import BackwardUnsupported
from gradlint.domain.refusal.tensors import SparseUnsupported
from gradlint.domain.shape import Shape
from gradlint.domain.state import State
from gradlint.domain.value import Args, Ref, Sequence, Tensor, Unknown, Value
from gradlint.facts import method_fact
from gradlint.facts.aliases import canonical
from gradlint.facts.traits import WANTS_DENSE_GRADIENT
from gradlint.interpreter.escape import unknown_call
from gradlint.interpreter.machine import Machine, Method, Native
from gradlint.interpreter.reachable import known_items
from gradlint.interpreter.torch.apply import apply, note_wanted
from gradlint.interpreter.torch.tensor import (
    COMPRESSED,
    SPARSE,
    UNCOALESCED,
    as_tensor,
    both,
    known_tensor,
    new_tensor,
    tensor_at,
    unknown_tensor,
)


def _to_layout(name: str) -> Method:
    """to_sparse, to_sparse_csr, ...: the same numbers in another layout."""

    def convert(machine: Machine, state: State, ref: Ref, args: Args, node: cst.CSTNode) -> Value:
        if args.positional or args.keywords or args.open:
            return unknown_call(machine, state, (ref, *args.values()), node)
        record = tensor_at(state, ref)
        return _sparse(
            state, ref, name, node, _COMPRESSED if name[-3:] in ("csr", "csc") else _SPARSE, record.dtype, record.shape
        )

    return convert


_SPARSE = frozenset({SPARSE})
_COMPRESSED = frozenset({SPARSE, COMPRESSED})


def sparse_tensor(name: str) -> Native:
    """torch.sparse_coo_tensor(indices, values, size, ...), torch.sparse_csr_tensor(crow, col, values, size, ...).

    Gradients flow to the values; with `requires_grad=True` and values that require none it is a leaf (measured).
    """
    compressed = name != "sparse_coo_tensor"

    def make(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
        values = as_tensor(machine, state, args.get(1 + compressed, "values"), node)
        if values is None:
            return unknown_call(machine, state, args.values(), node)
        record = tensor_at(state, values)
        wanted = args.keywords.get("requires_grad", False)
        if wanted not in (True, False) or args.open or (wanted is True and record.grad is None):
            return unknown_tensor(state, node, Node("call", node, [Edge(record.node, None)], tracked=None))
        number = record.shape[0] if record.shape else None
        # Fewer than two values are in order: such a tensor counts as coalesced (measured).
        unordered = args.keywords.get("is_coalesced") is None and isinstance(number, int) and number > 1
        tags = _COMPRESSED if compressed else frozenset({SPARSE, UNCOALESCED}) if unordered else _SPARSE
        dtype = record.dtype if "dtype" not in args.keywords else None
        size = known_items(state, args.get(2 + compressed, "size"))
        shape = tuple(one for one in size or () if type(one) is int)
        known = shape if size is not None and len(shape) == len(size) else None
        made = _sparse(state, values, name, node, tags, dtype, known)
        if wanted is True and record.grad is False:
            note_wanted(machine, state, made, args, node)
        return made

    return make


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
        if SPARSE not in record.tags or (COMPRESSED in record.tags and op != "values"):
            return unknown_call(machine, state, (ref, *args.values()), node)
        if UNCOALESCED in record.tags and not op.startswith("_") and not machine.tried:
            machine.emit(SparseUnsupported(node, op, "uncoalesced"))
            return Unknown("raised")
        integers = op.endswith("indices")
        made = _sparse(
            state, ref, op, node, frozenset(), "int64" if integers else record.dtype, cut=integers or op[0] == "_"
        )
        return _note_gradient(machine, record, made, state)

    return part


def refuses_index(machine: Machine, state: State, record: Tensor, index: Value, node: cst.CSTNode) -> bool:
    """Report an index of a sparse tensor that picks more than one place of a dimension; return True where it raises."""
    if SPARSE not in record.tags or machine.tried:
        return False
    entries = index if type(index) is tuple else (index,)
    listed = any(isinstance(one, Ref) and isinstance(state.heap.get(one.id), (Sequence, Tensor)) for one in entries)
    if not listed and not all(isinstance(one, slice) for one in entries):
        return False
    machine.emit(SparseUnsupported(node, "[]", "operation"))
    return True


def _to_dense(machine: Machine, state: State, ref: Ref, args: Args, node: cst.CSTNode) -> Value:
    entry = method_fact("to_dense")
    record = tensor_at(state, ref)
    if SPARSE not in record.tags and entry is not None:
        return apply(machine, state, entry, args.prepend(ref), node)
    made = _sparse(state, ref, "to_dense", node, frozenset(), record.dtype, record.shape)
    return _note_gradient(machine, record, made, state)


def _note_gradient(machine: Machine, source: Tensor, made: Ref, state: State) -> Ref:
    """Note a result whose backward hands a sparse gradient to an operation that refuses it (measured)."""
    node = tensor_at(state, made).node
    if SPARSE in source.tags and canonical(source.node.op) in WANTS_DENSE_GRADIENT and node.tracked is True:
        machine.raising[node.id] = partial(BackwardUnsupported, reason="sparse", made=source.node.syntax)
    return made


def _coalesce(machine: Machine, state: State, ref: Ref, args: Args, node: cst.CSTNode) -> Value:
    record = tensor_at(state, ref)
    if SPARSE not in record.tags:
        return unknown_call(machine, state, (ref, *args.values()), node)
    if COMPRESSED in record.tags and not machine.tried:
        machine.emit(SparseUnsupported(node, "coalesce", "operation"))
        return Unknown("raised")
    if UNCOALESCED not in record.tags:
        return ref
    return _sparse(state, ref, "coalesce", node, frozenset({SPARSE}), record.dtype, record.shape)


def _to_mkldnn(machine: Machine, state: State, ref: Ref, args: Args, node: cst.CSTNode) -> Value:
    record = tensor_at(state, ref)
    return _sparse(state, ref, "to_mkldnn", node, frozenset(), record.dtype, record.shape)


SPARSE_METHODS: dict[str, Method] = {
    "to_mkldnn": _to_mkldnn,
    **{name: _to_layout(name) for name in ("to_sparse", "to_sparse_coo", "to_sparse_csr", "to_sparse_csc")},
    "coalesce": _coalesce,
    "to_dense": _to_dense,
    "values": _part_of_sparse("values"),
    "indices": _part_of_sparse("indices"),
    "_values": _part_of_sparse("_values"),
    "_indices": _part_of_sparse("_indices"),
}
