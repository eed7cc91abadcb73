"""Arithmetic of sparse tensors: what torch refuses, what is sparse again, and what has no backward.

Measured with torch 2.13 and COO tensors on the CPU, whether they require grad or not. A sum or difference with a number
or of a sparse tensor and a dense one after it raises, and so does a quotient by anything but a number or a tensor
without dimensions. Several derivatives add to a sparse tensor, or ask for an operation that it does not have.
"""

from __future__ import annotations

from typing import Literal

from gradlint.domain.value import Ref, Tensor, Value
from gradlint.facts.traits import SCALES, SPARSE_KEEPS, SUMS
from gradlint.interpreter.torch.operation import Operation
from gradlint.interpreter.torch.tensor import SPARSE, UNCOALESCED, is_of_torch, known_tensor, tensor_at

_Kind = Literal["sparse", "dense", "scalar", "number"]


def refuses_sparse(call: Operation) -> bool:
    """Return whether torch has no such sum, quotient or power of a sparse tensor."""
    if not _has_sparse(call):
        return False
    first, second = _kind(call, "input"), _kind(call, "other")
    if call.canonical in SUMS:
        own, other = (second, first) if call.canonical == "rsub" else (first, second)
        return "number" in (first, second) or (own == "sparse" and other in ("dense", "scalar"))
    if call.canonical == "div":
        return first == "number" or second in ("dense", "sparse")
    return call.canonical == "pow" and first == "number"


def stays_sparse(call: Operation, value: Value) -> None:
    """Note that a result is sparse."""
    ref = known_tensor(call.machine, call.state, value) if isinstance(value, Ref) and _has_sparse(call) else None
    record = None if ref is None else tensor_at(call.state, ref)
    if ref is None or record is None or record.node.syntax is not call.node or SPARSE in record.tags:
        return
    first, second = _kind(call, "input"), _kind(call, "other" if "mat2" not in call.bound else "mat2")
    alone = "other" not in call.bound and "mat2" not in call.bound
    kept = first == "sparse" and call.canonical in SPARSE_KEEPS and (alone or second in ("number", "scalar"))
    product = call.canonical == "mul" and "sparse" in (first, second) and None not in (first, second)
    both = first == second == "sparse" and call.canonical in (*SUMS, "mm", "matmul")
    if kept or product or both:
        own = _record(call, "input")
        scaled = kept and call.canonical in SCALES and own is not None and UNCOALESCED in own.tags
        tags = record.tags | ({SPARSE, UNCOALESCED} if scaled else {SPARSE})
        call.state.put(ref.id, record._replace(tags=tags))


def is_sparse(call: Operation) -> bool:
    """Return whether the first operand is certainly sparse."""
    return _kind(call, "input") == "sparse"


def _has_sparse(call: Operation) -> bool:
    return any(given.ref is not None and SPARSE in tensor_at(call.state, given.ref).tags for given in call.inputs)


def _record(call: Operation, name: str) -> Tensor | None:
    ref = known_tensor(call.machine, call.state, call.bound.get(name))
    return None if ref is None else tensor_at(call.state, ref)


def _kind(call: Operation, name: str) -> _Kind | None:
    """Return what an operand certainly is; a tensor of known size that is not known to be sparse was made dense."""
    if type(call.bound.get(name)) in (int, float):
        return "number"
    record = _record(call, name)
    if record is None or not is_of_torch(record):
        return None
    if SPARSE in record.tags:
        return "sparse"
    return None if record.shape is None else "dense" if record.shape else "scalar"
