"""Sparse gradients: which weights get them, and which optimizers take them.

Measured with torch 2.13: an embedding with `sparse=True` gives its weight a sparse gradient, unless another operation
adds a dense one. `SGD` and `Adagrad` take it without `weight_decay`, `LBFGS` and `SparseAdam` always; the last takes
no other. All the others raise, and so do the functions that clip gradients.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

import libcst as cst

from gradlint.domain.graph import Node, Tri
from gradlint.domain.refusal.optimizers import GradientLayout
from gradlint.domain.state import State
from gradlint.domain.value import External, Instance, Ref, Tensor, Value
from gradlint.interpreter.machine import Machine
from gradlint.interpreter.torch.tensor import NOT_SHOWN, SPARSE, SUMMARY, tensor_at

_MAYBE = "perhaps sparse"
_OF_MODULE = {True: "weight of a sparse embedding", None: "weight of an embedding, perhaps sparse"}
_MODULES = frozenset({"nn.Embedding", "nn.EmbeddingBag"})
_FUNCTIONS = frozenset({"nn.functional.embedding", "nn.functional.embedding_bag"})
_DENSE_ONLY = frozenset(
    ["Adam", "AdamW", "Adamax", "NAdam", "RAdam", "ASGD", "Adadelta", "RMSprop", "Rprop", "Adafactor", "Muon"]
)
_WITHOUT_DECAY = frozenset({"SGD", "Adagrad"})


def weight_tags(flag: object) -> frozenset[str]:
    """Return the tags of a module's weight by its flag `sparse`."""
    if flag is False or flag is None:
        return frozenset()
    return frozenset({_OF_MODULE[True if flag is True else None]})


def layouts(state: State, nodes: Collection[Node]) -> dict[int, Tri]:
    """Return the leaves that an embedding reads, and whether a backward gives them a sparse gradient."""
    if not any(one.op in _MODULES or one.op in _FUNCTIONS for one in nodes):
        return {}
    found: dict[int, Tri] = {}
    dense: set[int] = set()
    for node in nodes:
        read = [edge.node.leaf for edge in node.edges if edge.node.leaf is not None and edge.flows is not False]
        for leaf in read:
            sparse = _is_sparse(state, node, leaf)
            if sparse is False:
                dense.add(leaf)
            else:
                found[leaf] = sparse if found.get(leaf, True) is True else None
    return {leaf: None if leaf in dense else sparse for leaf, sparse in found.items()}


def _is_sparse(state: State, node: Node, leaf: int) -> Tri:
    if node.op in _FUNCTIONS:
        flag = (node.operands or {}).get("sparse", False)
        return flag if isinstance(flag, bool) else None
    if node.op in _MODULES:
        record = state.heap.get(leaf)
        tags = record.tags if isinstance(record, Tensor) else frozenset()
        return next((sparse for sparse, tag in _OF_MODULE.items() if tag in tags), False)
    return None if node.op == "call" else False


def note_layout(state: State, leaf: int, sparse: Tri, fresh: bool) -> None:
    """A backward has filled a gradient: a sparse one stays so only if a sparse one is added."""
    record = state.heap.get(leaf)
    gradient = record.accumulated if isinstance(record, Tensor) else None
    if not isinstance(gradient, Ref):
        return
    kept = tensor_at(state, gradient)
    tags = kept.tags - {SPARSE, _MAYBE}
    if sparse is True and (fresh or SPARSE in kept.tags):
        tags |= {SPARSE}
    elif sparse is not False or _MAYBE in kept.tags:
        tags |= {_MAYBE}
    if tags != kept.tags:
        state.put(gradient.id, kept._replace(tags=tags))


def refuse_layout(
    machine: Machine, state: State, optimizer: Instance, params: Iterable[Ref], node: cst.CSTNode
) -> bool:
    """Return whether a step raises on the gradient of a parameter."""
    path = optimizer.cls.path if isinstance(optimizer.cls, External) else ""
    name = path.rpartition(".")[2] if path.startswith("torch.optim.") else ""
    decays = _decays(optimizer.config.get("weight_decay", 0))
    for param in params:
        record = state.heap.get(param.id)
        gradient = record.accumulated if isinstance(record, Tensor) else None
        if not isinstance(record, Tensor) or not isinstance(gradient, Ref):
            continue
        tags = tensor_at(state, gradient).tags
        if SPARSE in tags and (name in _DENSE_ONLY or (name in _WITHOUT_DECAY and decays)):
            machine.emit(GradientLayout(node, name, True, name in _WITHOUT_DECAY, record.syntax))
            return True
        shown = not record.tags & {SUMMARY, NOT_SHOWN}  # A network that is not shown may have sparse embeddings.
        if name == "SparseAdam" and shown and not tags & {SPARSE, _MAYBE}:
            machine.emit(GradientLayout(node, name, False, False, record.syntax))
            return True
    return False


def _decays(given: Value) -> bool:
    return isinstance(given, (int, float)) and given != 0


def refuse_clipping(machine: Machine, state: State, params: Iterable[Ref], by: str, node: cst.CSTNode) -> None:
    """torch raises where a sparse gradient is clipped."""
    for param in params:
        record = tensor_at(state, param)
        if isinstance(record.accumulated, Ref) and SPARSE in tensor_at(state, record.accumulated).tags:
            machine.emit(GradientLayout(node, by, True, False, record.syntax))
            return
