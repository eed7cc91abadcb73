"""Conjugation is lazy: `conj()` of a complex tensor sets a bit on a view, and numpy knows no such bit.

Measured with torch 2.13: `detach` and moves to the same device keep the bit, a second `conj` clears it, and all that
computes gives tensors without it.
"""

from __future__ import annotations

import libcst as cst

from gradlint.domain.dtype import COMPLEXES
from gradlint.domain.graph import Edge, Node
from gradlint.domain.refusal.arguments import ArgumentRefused
from gradlint.domain.refusal.tensors import SparseUnsupported
from gradlint.domain.state import State
from gradlint.domain.value import Args, Ref, Tensor, Unknown, Value
from gradlint.facts import fact, method_fact
from gradlint.interpreter.machine import Machine, Method
from gradlint.interpreter.torch.alias import view_kind
from gradlint.interpreter.torch.apply import apply
from gradlint.interpreter.torch.tensor import SPARSE, both, is_of_torch, known_tensor, tensor_at, view_of

CONJUGATE = "conjugate"
"""The tag of a tensor with the bit."""


def refuses_numpy(machine: Machine, record: Tensor, node: cst.CSTNode) -> bool:
    """Report a tensor that has no array for its layout or its bit; return True where torch raises."""
    if machine.tried:
        return False
    if SPARSE in record.tags:
        machine.emit(SparseUnsupported(node, "numpy", "operation"))
    elif CONJUGATE in record.tags and is_of_torch(record):
        text = "it has the conjugate bit set; call `resolve_conj()` first"
        machine.emit(ArgumentRefused(node, "torch.Tensor.numpy", "value", "self", text))
    else:
        return False
    return True


def refuses_imaginary(machine: Machine, record: Tensor, node: cst.CSTNode) -> bool:
    """Report the imaginary part of a tensor whose type has none; return True where torch raises."""
    if record.dtype is None or record.dtype in COMPLEXES or not is_of_torch(record) or machine.tried:
        return False
    text = "imag is not implemented for tensors with non-complex dtypes"
    machine.emit(ArgumentRefused(node, "torch.Tensor.imag", "value", "self", text))
    return True


def view_as_real(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    """view_as_real(input): memory that holds the numbers themselves, which that of a conjugate does not."""
    entry, ref = fact("view_as_real"), known_tensor(machine, state, args.get(0, "input"))
    assert entry is not None
    if ref is not None and CONJUGATE in tensor_at(state, ref).tags and is_of_torch(tensor_at(state, ref)):
        text = "it has the conjugate bit set; call `resolve_conj()` first"
        machine.emit(ArgumentRefused(node, "torch.view_as_real", "value", "input", text))
        return Unknown("raised")
    return apply(machine, state, entry, args, node)


def _conj(machine: Machine, state: State, ref: Ref, args: Args, node: cst.CSTNode) -> Value:
    """conj(): a view with the bit, of a complex tensor; any other is given back as it is."""
    record = tensor_at(state, ref)
    if record.dtype not in COMPLEXES:
        entry = method_fact("conj")
        assert entry is not None
        return apply(machine, state, entry, args.prepend(ref), node)
    tracked = both(record.grad, state.grad)
    made = Node("conj", node, [Edge(record.node, record.grad)], tracked=tracked)
    tags = (record.tags - {CONJUGATE}) | ({CONJUGATE} - record.tags)
    kind = view_kind(state, record, "plain")
    return view_of(state, ref, made, kind=kind, shape=record.shape, grad=tracked, tags=frozenset(tags))


def _resolve(machine: Machine, state: State, ref: Ref, args: Args, node: cst.CSTNode) -> Value:
    """resolve_conj(): the tensor itself where it has no bit, else a copy."""
    entry = method_fact("clone" if CONJUGATE in tensor_at(state, ref).tags else "resolve_conj")
    assert entry is not None
    return apply(machine, state, entry, args.prepend(ref), node)


CONJUGATE_METHODS: dict[str, Method] = {"conj": _conj, "resolve_conj": _resolve}
