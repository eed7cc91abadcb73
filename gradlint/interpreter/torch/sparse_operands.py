"""Arithmetic of sparse tensors: what torch refuses, what is sparse again, and what has no backward.

Measured with torch 2.13 on the CPU, whether they require grad or not. A sum or difference with a number or of a sparse
tensor and a dense one after it raises, and so does a quotient by anything but a number or a tensor without dimensions.
The layouts CSR and CSC are added to dense tensors, divide by nothing, and are summed over some dimensions only with
`keepdim`. Several derivatives add to a sparse tensor, or ask for an operation that it does not have.
"""

from __future__ import annotations

from typing import Literal

from gradlint.domain.value import Ref, Tensor, Value
from gradlint.facts.traits import COMPRESSED_REFUSES, SCALES, SPARSE_KEEPS, SUMS, WANTS_DENSE_GRADIENT
from gradlint.interpreter.reachable import known_items
from gradlint.interpreter.torch.operation import Operation
from gradlint.interpreter.torch.tensor import COMPRESSED, SPARSE, UNCOALESCED, is_of_torch, known_tensor, tensor_at

_Kind = Literal["sparse", "dense", "scalar", "number"]


def refuses_sparse(call: Operation) -> bool:
    """Return whether torch has no such sum, quotient or power of a sparse tensor."""
    if not _has_sparse(call):
        return False
    first, second = _kind(call, "input"), _kind(call, "other")
    compressed = _layout(call) == {COMPRESSED}
    if compressed and call.canonical in SUMS:
        return "number" in (first, second)
    if compressed and is_sparse(call):
        in_part = call.canonical == "sum" and sums_in_part(call) and call.bound.get("keepdim", False) is False
        return in_part or call.canonical in COMPRESSED_REFUSES or call.canonical == "div"
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
    picked = (
        is_sparse(call) and call.canonical in WANTS_DENSE_GRADIENT and (call.canonical != "sum" or sums_in_part(call))
    )
    product = call.canonical == "mul" and "sparse" in (first, second) and None not in (first, second)
    both = first == second == "sparse" and call.canonical in (*SUMS, "mm", "matmul")
    if kept or picked or product or both:
        own = _record(call, "input")
        scaled = kept and call.canonical in SCALES and own is not None and UNCOALESCED in own.tags
        tags = record.tags | _layout(call) | ({SPARSE, UNCOALESCED} if scaled else {SPARSE})
        call.state.put(ref.id, record._replace(tags=tags))


def is_sparse(call: Operation) -> bool:
    """Return whether the first operand is certainly sparse."""
    given = known_items(call.state, call.bound.get("tensors")) if "tensors" in call.bound else None
    if given:
        refs = [known_tensor(call.machine, call.state, one) for one in given]
        return all(ref is not None and SPARSE in tensor_at(call.state, ref).tags for ref in refs)
    return _kind(call, "input") == "sparse"


def sums_in_part(call: Operation) -> bool:
    """Return whether a sum is certainly taken over some dimensions, and not over all."""
    dims, record = call.bound.get("dim"), _record(call, "input")
    count = 1 if type(dims) is int else len(dims) if type(dims) is tuple else 0
    return record is not None and record.shape is not None and 0 < count < len(record.shape)


def _layout(call: Operation) -> frozenset[str]:
    """Return the tag of the layouts CSR and CSC if an input has it."""
    found = [tensor_at(call.state, given.ref).tags for given in call.inputs if given.ref is not None]
    return frozenset({COMPRESSED} if any(COMPRESSED in tags for tags in found) else ())


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
