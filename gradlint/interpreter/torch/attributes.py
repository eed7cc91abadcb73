"""Attributes of tensors: `.data`, `.grad`, `.shape`, ... and what assigning them does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias

import libcst as cst

from gradlint.domain import announcement
from gradlint.domain import dtype as dtypes
from gradlint.domain.graph import Edge, Node, Term
from gradlint.domain.refusal.backward import SecondBackward
from gradlint.domain.refusal.inplace import InferenceChange
from gradlint.domain.refusal.tensors import (
    AttributeFixed,
    DataIncompatible,
    FlagOnNonleaf,
    GradientMismatch,
    IntegerRequiresGrad,
)
from gradlint.domain.shape import Shape, same_shape
from gradlint.domain.state import State, fresh_address
from gradlint.domain.value import (
    Args,
    Bound,
    External,
    Mapping,
    NoGradient,
    Ref,
    Sequence,
    Tensor,
    Unknown,
    Value,
    Write,
)
from gradlint.facts import method_fact
from gradlint.facts.traits import VIEW_ATTRIBUTES
from gradlint.interpreter.machine import Machine
from gradlint.interpreter.torch.apply import apply, broken_view
from gradlint.interpreter.torch.backward import REPLACED
from gradlint.interpreter.torch.conjugate import refuses_imaginary
from gradlint.interpreter.torch.gradient_type import GRAD_DTYPE, read_type, refuses_type, type_of_gradient
from gradlint.interpreter.torch.switches import note_flag
from gradlint.interpreter.torch.tensor import (
    HIDDEN,
    SPARSE,
    STORED_ELSEWHERE,
    SUMMARY,
    class_of,
    is_of_torch,
    known_tensor,
    refuses_uninitialized,
    same_memory,
    tensor_at,
)
from gradlint.interpreter.torch.transform.levels import refuses_number

Getter: TypeAlias = "Callable[[Machine, State, Ref, cst.CSTNode], Value]"


def tensor_attribute(machine: Machine, state: State, ref: Ref, name: str, node: cst.CSTNode) -> Value:
    """t.name"""
    getter = _GETTERS.get(name)
    if getter is not None:
        return getter(machine, state, ref, node)
    extra = state.attribute_of(ref, name)
    if extra is not None:
        return extra
    if name == "imag" and refuses_imaginary(machine, tensor_at(state, ref), node):
        return Unknown("raised")
    if name in VIEW_ATTRIBUTES:
        entry = method_fact(name)
        if entry is not None:
            return apply(machine, state, entry, Args((ref,)), node)
    machine.announce(state, announcement.NameMissing(node, ref, name))
    return Bound(ref, name)


def _data(machine: Machine, state: State, ref: Ref, node: cst.CSTNode) -> Value:
    """Return the same memory, with a version counter of its own and no graph."""
    if machine.transforms and refuses_number(machine, state, ref, "data", node):
        return Unknown("raised")
    record = tensor_at(state, ref)
    made = Node("data", node, [Edge(record.node, False, "data")], cut="data")
    return same_memory(state, record, made, record.tags | {"data"}, counter=fresh_address())


def _grad(machine: Machine, state: State, ref: Ref, node: cst.CSTNode) -> Value:
    record = tensor_at(state, ref)
    is_result = record.grad is True and record.leaf is False and record.retains is False
    warned = is_result and not _is_given(record)
    machine.announce(state, announcement.GradientRead(node, ref, warned))
    if warned:
        return NoGradient(record.syntax, -1, node)
    if record.retains is True or record.leaf is not True:
        return Unknown("gradient", Node("gradient", node, [Edge(record.node, False, "gradient")]), None, node)
    value = record.accumulated
    if value is None or isinstance(value, NoGradient):
        since = ref.id if value is None else value.since
        if record.leaf is None or since <= state.escaped or HIDDEN in record.tags:
            return machine.symbol("gradient", ref, state.escaped, kind="gradient")
        return NoGradient(record.syntax, since, node if state.chosen_since(ref.id) else None)
    machine.passes((node, "gradient"))
    return (state.tensor_of(value) or value) if isinstance(value, Unknown) else value


def _is_given(record: Tensor) -> bool:
    """Return whether the program has assigned a gradient."""
    return record.accumulated is not None and not isinstance(record.accumulated, NoGradient)


def _shape(machine: Machine, state: State, ref: Ref, node: cst.CSTNode) -> Value:
    if refuses_uninitialized(machine, state, ref, "shape", node):
        return Unknown("raised")
    record = tensor_at(state, ref)
    return record.shape if record.shape is not None else machine.symbol("shape", ref)


def _requires_grad(machine: Machine, state: State, ref: Ref, node: cst.CSTNode) -> Value:
    known = tensor_at(state, ref).grad
    return machine.symbol("requires_grad", ref, kind="bool") if known is None else known


def _is_leaf(machine: Machine, state: State, ref: Ref, node: cst.CSTNode) -> Value:
    known = tensor_at(state, ref).leaf
    return machine.symbol("is_leaf", ref, kind="bool") if known is None else known


def _version(machine: Machine, state: State, ref: Ref, node: cst.CSTNode) -> Value:
    if tensor_at(state, ref).inference is True:
        machine.emit(InferenceChange(node, "._version", machine.inference_mode))
    return machine.symbol("_version", ref)


def _grad_fn(machine: Machine, state: State, ref: Ref, node: cst.CSTNode) -> Value:
    broken_view(machine, state, ref, node)
    record = tensor_at(state, ref)
    if record.leaf is not False:
        return None if record.leaf is True else Unknown()
    return Unknown("object", key=("grad_fn", record.node))


def look_at_saved(machine: Machine, state: State, function: Unknown, name: str, node: cst.CSTNode) -> Value:
    """grad_fn.saved_tensors, grad_fn._saved_result: what a backward has freed, torch does not give again.

    `_raw_saved_result` it does: the object in which the tensor was. None for all others.
    """
    made = function.key[1] if function.key is not None and function.key[0] == "grad_fn" else None
    if not isinstance(made, Node):
        return None
    earlier = state.freed.get(made.id)
    if earlier is not None and (name in _SAVED or name.removeprefix("_saved_") in _kept(made)):
        machine.emit(SecondBackward(node, earlier, made.syntax, made.op, read=True))
    return Unknown("object", key=(RAW, made, name)) if name.startswith("_raw_saved_") else None


RAW = "raw saved"
"""The key of what holds a saved tensor: a node, and the name of its attribute."""

_SAVED = frozenset({"saved_tensors", "_raw_saved_tensors"})


def _kept(made: Node) -> set[str]:
    """Return the names of what an operation saved: the first input is `self`, the only result `result`."""
    labels = {saved.label for saved in made.saved}
    return labels | {"self" for label in labels if label == "input"} | {"result" for label in labels if label == ">"}


def _dtype(machine: Machine, state: State, ref: Ref, node: cst.CSTNode) -> Value:
    dtype = tensor_at(state, ref).dtype
    if dtype is not None and dtypes.named(dtype) == dtype:
        return External(f"torch.{dtype}")
    return machine.symbol("dtype", ref)


def _ndim(machine: Machine, state: State, ref: Ref, node: cst.CSTNode) -> Value:
    shape = tensor_at(state, ref).shape
    return machine.symbol("ndim", ref, kind="int") if shape is None else len(shape)


def _symbol(name: str) -> Getter:
    return lambda machine, state, ref, node: machine.symbol(name, ref)


_GETTERS: dict[str, Getter] = {
    "data": _data,
    "grad": _grad,
    GRAD_DTYPE: read_type,
    "shape": _shape,
    "requires_grad": _requires_grad,
    "is_leaf": _is_leaf,
    "grad_fn": _grad_fn,
    "dtype": _dtype,
    "ndim": _ndim,
    "_version": _version,
    "device": lambda machine, state, ref, node: Unknown("device", syntax=node),
    **{
        name: _symbol(name)
        for name in (
            *("is_cuda", "is_sparse", "layout", "_base", "name", "names", "itemsize", "nbytes"),
            "__dict__",
        )
    },
    "__class__": lambda machine, state, ref, node: class_of(state.at(ref, Tensor)),
}


_READ_ONLY = frozenset(
    {
        *("grad_fn", "is_leaf", "shape", "dtype", "device", "ndim", "layout", "itemsize", "nbytes", "output_nr"),
        *("_version", "_base", "T", "mT", "H", "mH", "name", "retains_grad", "is_sparse", "is_cuda", "is_meta"),
    }
)
"""Attributes that torch refuses to set (measured)."""

UNDELETABLE = _READ_ONLY | {"data", "requires_grad", "_grad_fn", "_backward_hooks", "_post_accumulate_grad_hooks"}
"""Attributes that torch refuses to delete; to delete `.grad` makes it None (measured)."""


def set_tensor_attribute(machine: Machine, state: State, ref: Ref, name: str, value: Value, node: cst.CSTNode) -> None:
    """t.name = value"""
    setter = _SETTERS.get(name)
    if name == GRAD_DTYPE and refuses_type(machine, state, ref, node):
        return
    if setter is not None:
        setter(machine, state, ref, value, node)
    elif name in _READ_ONLY and tensor_at(state, ref).dtype is not None and not machine.tried:
        machine.emit(AttributeFixed(node, name, "set"))
    else:
        machine.announce(state, announcement.AttributeSet(node, ref, name, value))
        state.decide(("set", ref, name), value)


def _set_data(machine: Machine, state: State, ref: Ref, value: Value, node: cst.CSTNode) -> None:
    """t.data = u: the tensor gets u's memory; its version counter stays and moves not."""
    given = known_tensor(machine, state, value)
    for one in (ref, given) if machine.transforms else ():
        if one is not None and refuses_number(machine, state, one, "data", node):
            return
    record = tensor_at(state, ref)
    if given is not None and _written_through_data(state, record, given, node):
        return  # The second half of `t.data -= ...`, which wrote in place already.
    source = None if given is None else tensor_at(state, given)
    if _no_tensor(state, value):
        machine.emit(DataIncompatible(node))
        return
    replace_memory(machine, state, ref, source, None if source is None else source.shape, node, by_data=True)


def replace_memory(
    machine: Machine, state: State, ref: Ref, source: Tensor | None, shape: Shape, node: cst.CSTNode, *, by_data: bool
) -> None:
    """Give a tensor the memory of another, or a part of it; `by_data`: the program says so itself."""
    record = tensor_at(state, ref)
    if source is not None and _incompatible(record, source):
        machine.emit(DataIncompatible(node))
        return
    if record.grad is True and record.leaf is True:
        sources = () if source is None else (Edge(source.node, None),)
        machine.announce(state, announcement.LeafWritten(node, ref.id, sources, "=", by_data))
    # What was saved of the tensor itself sees the new memory, what was saved of a view of it does not.
    state.put(record.memory, (*state.writes(record.memory), Write(node, REPLACED, certain=False)))
    dtype = None if source is None else source.dtype
    state.put(ref.id, tensor_at(state, ref)._replace(shape=shape, dtype=dtype))


def _incompatible(record: Tensor, source: Tensor) -> bool:
    """Return whether a tensor cannot take the memory of another: other storage, or integers where it requires grad."""
    elsewhere = (source.tags ^ record.tags) & STORED_ELSEWHERE
    if SPARSE in elsewhere or record.grad is not True:
        return SPARSE in elsewhere
    return bool(elsewhere) or dtypes.can_require_grad(source.dtype) is False


def _no_tensor(state: State, value: Value) -> bool:
    """Return whether a value is certainly no tensor."""
    if isinstance(value, Ref):
        return isinstance(state.heap.get(value.id), (Sequence, Mapping))
    if isinstance(value, Unknown):
        return value.kind in ("array", "number", "int", "str", "bool")
    return value is None or isinstance(value, (bool, int, float, str)) or type(value) is tuple


def _written_through_data(state: State, record: Tensor, given: Ref, node: cst.CSTNode) -> bool:
    """Return whether the value stored is the alias that an augmented assignment has just written to."""
    other = tensor_at(state, given)
    writes = state.writes(other.counter)
    return other.memory == record.memory and bool(writes) and writes[-1].syntax is node


def _set_grad(machine: Machine, state: State, ref: Ref, value: Value, node: cst.CSTNode) -> None:
    record = tensor_at(state, ref)
    given = known_tensor(machine, state, value)
    if given == ref:
        machine.emit(GradientMismatch(node, itself=True))
        return
    if given is not None:
        other = tensor_at(state, given)
        fits = same_shape(other.shape, record.shape)
        if fits is False or dtypes.same_dtype(other.dtype, type_of_gradient(state, ref)) is False:
            machine.emit(GradientMismatch(node))
            return
        value = given
    elif value is not None and not isinstance(value, NoGradient) and _no_tensor(state, value):
        if is_of_torch(record):
            machine.emit(GradientMismatch(node))
            return
        value = Unknown("gradient")  # What came from elsewhere may be a tensor of another library.
    elif isinstance(value, Ref):  # Torch takes objects of a subclass of tensors, and refuses all others.
        value = Unknown("gradient")
    if value is None or isinstance(value, NoGradient):
        machine.announce(state, announcement.GradientReleased(node, record.accumulated))
        value = NoGradient(record.syntax, fresh_address())
    state.put(ref.id, tensor_at(state, ref)._replace(accumulated=value))
    if isinstance(value, NoGradient):
        machine.announce(state, announcement.GradientDropped(node, ref))


Spelled: TypeAlias = Literal["requires_grad_", ".requires_grad"]


def set_flag(
    machine: Machine, state: State, ref: Ref, wanted: bool | None, node: cst.CSTNode, spelled: Spelled
) -> None:
    """requires_grad switched: on leaves, and on floating types only."""
    record = tensor_at(state, ref)
    if SUMMARY in record.tags and wanted is not record.grad:
        wanted = None
    machine.announce(state, announcement.RequiresGradSet(node, ref, wanted))
    note_flag(machine, record, wanted, node)
    if wanted is None:
        state.put(ref.id, record._replace(grad=None if record.grad is not wanted else record.grad))
        return
    if record.leaf is False:
        # Measured: `requires_grad_(True)` on a result that requires grad is accepted, the assignment never is.
        if not wanted or spelled == ".requires_grad":
            machine.emit(FlagOnNonleaf(node, spelled, record.syntax))
        return
    if wanted and record.inference is True and state.inference is False:
        machine.emit(InferenceChange(node, spelled, machine.inference_mode))
        return
    if wanted and dtypes.can_require_grad(record.dtype) is False:
        machine.emit(IntegerRequiresGrad(node, record.dtype))
        state.put(ref.id, record._replace(grad=None, dtype=None, node=Node("input", node, tracked=None)))
        return
    if record.leaf is None:
        # A leaf from now on, or a result as before: which of the two is not known.
        made = Node("call", node, [Edge(record.node, None)], tracked=None)
        state.put(ref.id, record._replace(grad=True if wanted else None, node=made))
        return
    if wanted:
        make_leaf(machine, state, ref, node)
        if record.grad is False:
            _flag_views(state, ref, node)
    else:
        state.put(ref.id, record._replace(grad=False))


def _flag_views(state: State, ref: Ref, node: cst.CSTNode) -> None:
    """Flag the views of a leaf that is flagged after them: they require grad as well, and lead nowhere (measured)."""
    for address in state.views(ref.id):
        view = state.heap[address]
        if isinstance(view, Tensor) and view.view is not None:
            if view.view.kind == "maybe":
                state.put(address, view._replace(grad=None))
                continue
            edges = [Edge(view.node, False, "leaf")] if view.node.live else []
            state.put(address, view._replace(grad=True, node=Node("leaf", view.syntax or node, edges, leaf=address)))


def make_leaf(machine: Machine, state: State, ref: Ref, node: cst.CSTNode) -> None:
    """Make a tensor a leaf that requires grad; what its value was made of gets no gradient through it."""
    record = tensor_at(state, ref)
    if record.grad is True and record.node.leaf == ref.id:
        return
    if record.node.leaf == ref.id:
        state.put(ref.id, record._replace(grad=True))
        return
    edges = [Edge(record.node, False, "leaf")] if record.node.live else []
    operands = {"value": Term(record.node)}
    made_at = record.syntax or node
    key = made_at, "", state.site
    made = Node("leaf", made_at, edges, leaf=ref.id, place=node, operands=operands, key=key)
    state.put(ref.id, record._replace(grad=True, node=made))


Setter: TypeAlias = "Callable[[Machine, State, Ref, Value, cst.CSTNode], None]"
_SETTERS: dict[str, Setter] = {
    "data": _set_data,
    "grad": _set_grad,
    "requires_grad": lambda machine, state, ref, value, node: set_flag(
        machine, state, ref, value if isinstance(value, bool) else None, node, ".requires_grad"
    ),
}
