"""Methods of tensors: most are rows of the table, some need words of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import libcst as cst

from gradlint.domain import dtype as dtypes
from gradlint.domain.announcement import TorchCalled
from gradlint.domain.dtype import NOT_IN_NUMPY, asked
from gradlint.domain.graph import Edge, Node
from gradlint.domain.refusal.backward import HookWithoutGrad
from gradlint.domain.refusal.shapes import ElementTypeRefused
from gradlint.domain.refusal.tensors import (
    DetachedView,
    NoDerivative,
    NumpyOnGrad,
    Resized,
    TruthOfMany,
)
from gradlint.domain.shape import is_single, numel
from gradlint.domain.state import State
from gradlint.domain.value import Args, External, Ref, Sequence, Tensor, Unknown, Value, View
from gradlint.facts import method_fact
from gradlint.facts.traits import CALLS_PYTHON
from gradlint.interpreter.escape import unknown_call
from gradlint.interpreter.machine import Machine, Method
from gradlint.interpreter.reachable import known_items
from gradlint.interpreter.torch.apply import apply, note_wanted
from gradlint.interpreter.torch.arguments import refuses_values
from gradlint.interpreter.torch.attributes import set_flag
from gradlint.interpreter.torch.backward import DETACHED
from gradlint.interpreter.torch.backward_call import tensor_backward
from gradlint.interpreter.torch.conjugate import CONJUGATE_METHODS, refuses_numpy
from gradlint.interpreter.torch.fit import refuse_whole
from gradlint.interpreter.torch.hooks import register_with_tensor
from gradlint.interpreter.torch.inplace import write
from gradlint.interpreter.torch.operands import NO_DTYPE
from gradlint.interpreter.torch.shared_cells import refuses_source
from gradlint.interpreter.torch.sparse import SPARSE_METHODS
from gradlint.interpreter.torch.tensor import (
    OVERLAP,
    as_tensor,
    both,
    known_tensor,
    new_tensor,
    refuses_uninitialized,
    same_memory,
    tensor_at,
)
from gradlint.interpreter.torch.transform.levels import refuses_method, refuses_number


def call_tensor_method(machine: Machine, state: State, ref: Ref, name: str, args: Args, node: cst.CSTNode) -> Value:
    """t.name(args)"""
    machine.announce(state, TorchCalled(node, name, ref, args.positional, args.keywords, args.open))
    if refuses_uninitialized(machine, state, ref, name, node) or refuses_values(machine, state, ref, name, args, node):
        return Unknown("raised")
    if machine.transforms and refuses_method(machine, state, ref, name, node):
        return Unknown("raised")
    special = METHODS.get(name)
    if special is not None:
        return special(machine, state, ref, args, node)
    if name in CALLS_PYTHON and _maps_tracked(machine, state, (ref, *args.positional), name, node):
        return Unknown("raised")
    entry = method_fact(name)
    if entry is None:
        machine.give_up(f"Tensor.{name}", node)
        if name.endswith("_") and not name.endswith("__"):
            write(machine, state, ref, name, node, certain=False)
            return ref
        return unknown_call(machine, state, (ref, *args.values()), node)
    made = apply(machine, state, entry, args.prepend(ref), node)
    tensor = known_tensor(machine, state, made) if "requires_grad" in args.keywords else None
    if tensor is not None:  # As in `x.new_zeros(3, requires_grad=True)`.
        note_wanted(machine, state, tensor, args, node)
    return made


def _maps_tracked(machine: Machine, state: State, values: Iterable[Value], name: str, node: cst.CSTNode) -> bool:
    """x.map_(y, f): Python computes each element, and torch refuses tensors that require grad."""
    refs = [one for value in values if (one := known_tensor(machine, state, value)) is not None]
    tracked = any(tensor_at(state, one).grad is True for one in refs)
    if tracked:
        machine.emit(NoDerivative(node, name))
    return tracked


def number_of(machine: Machine, state: State, ref: Ref, kind: str, node: cst.CSTNode) -> Value:
    """Return a Python number from a tensor: the value flows on, no gradient does."""
    if machine.transforms and refuses_number(machine, state, ref, "branch" if kind == "bool" else "number", node):
        return Unknown("raised")
    record = tensor_at(state, ref)
    if is_single(record.shape) is False and not machine.transforms:
        machine.emit(TruthOfMany(node, record.node.op == "gradient", number=kind != "bool"))
        return Unknown("raised")
    origin = Node("item", node, [Edge(record.node, False, "item")], cut="item") if record.node.live else None
    return Unknown("bool" if kind == "bool" else "int" if kind == "int" else "number", origin, None, node)


def _tolist(machine: Machine, state: State, ref: Ref, args: Args, node: cst.CSTNode) -> Value:
    record = tensor_at(state, ref)
    origin = Node("tolist", node, [Edge(record.node, False, "item")], cut="item") if record.node.live else None
    return Unknown("array", origin, None, node)


def _numpy(machine: Machine, state: State, ref: Ref, args: Args, node: cst.CSTNode) -> Value:
    """numpy(): refused where the tensor requires grad, is sparse, or of a type without one there.

    `force=True` detaches, and makes it dense.
    """
    record = tensor_at(state, ref)
    forced = args.get(0, "force", False)
    place = (node, state.site, "numpy")
    if record.dtype in NOT_IN_NUMPY and record.dtype is not None:
        machine.emit(ElementTypeRefused(node, "Tensor.numpy", "input", record.dtype, made=record.syntax), place)
        return Unknown("raised")
    if state.facts:
        machine.passes(place)
    if forced is False and not args.open and refuses_numpy(machine, record, node):
        return Unknown("raised")
    if record.grad is True and state.grad is True and forced is False and not args.open:
        machine.emit(NumpyOnGrad(node, record.syntax))
        return Unknown("array", None, ("memory", ref), node)
    origin = Node("numpy", node, [Edge(record.node, False, "numpy")], cut="numpy") if record.node.live else None
    return Unknown("array", origin, ("memory", ref), node)


def _detach(machine: Machine, state: State, ref: Ref, args: Args, node: cst.CSTNode) -> Value:
    """Return the same memory and version counter, no graph."""
    one = tensor_at(state, ref)
    return same_memory(state, one, Node("detach", node, [Edge(one.node, False, "detach")], cut="detach"), one.tags)


def _detach_in_place(machine: Machine, state: State, ref: Ref, args: Args, node: cst.CSTNode) -> Value:
    """detach_(): the tensor leaves its graph; a view cannot."""
    record = tensor_at(state, ref)
    if record.view is not None and record.view.kind != "maybe":
        machine.emit(DetachedView(node))
        return ref
    made = Node("detach_", node, [Edge(record.node, False, "detach")], cut="detach")
    if record.leaf is False and record.node.tracked is True:
        state.decide((DETACHED, record.node.id), node)
    state.put(ref.id, record._replace(node=made, grad=False))
    return ref


def _requires_grad(machine: Machine, state: State, ref: Ref, args: Args, node: cst.CSTNode) -> Value:
    wanted = args.get(0, "requires_grad", True)
    set_flag(machine, state, ref, wanted if isinstance(wanted, bool) else None, node, "requires_grad_")
    return ref


def _refuse(machine: Machine, refusal: HookWithoutGrad) -> None:
    """Torch raises, unless the program is ready for it."""
    if not machine.guarded:
        machine.emit(refusal)


def _retain(machine: Machine, state: State, ref: Ref, args: Args, node: cst.CSTNode) -> Value:
    record = tensor_at(state, ref)
    if record.grad is False:
        _refuse(machine, HookWithoutGrad(node, "retain_grad"))
    else:
        state.put(ref.id, record._replace(retains=True))
    return None


def _hook(machine: Machine, state: State, ref: Ref, args: Args, node: cst.CSTNode) -> Value:
    if tensor_at(state, ref).grad is False:
        _refuse(machine, HookWithoutGrad(node, "register_hook"))
        return Unknown()
    return register_with_tensor(machine, state, ref, args.get(0, "hook"), "gradient", node)


def _leaf_hook(machine: Machine, state: State, ref: Ref, args: Args, node: cst.CSTNode) -> Value:
    """Register a hook on the accumulated gradient: only leaves have one."""
    record = tensor_at(state, ref)
    if record.grad is False or record.leaf is False:
        _refuse(machine, HookWithoutGrad(node, "register_post_accumulate_grad_hook"))
        return Unknown()
    return register_with_tensor(machine, state, ref, args.get(0, "hook"), "accumulated", node)


def _size(machine: Machine, state: State, ref: Ref, args: Args, node: cst.CSTNode) -> Value:
    shape = tensor_at(state, ref).shape
    dim = args.get(0, "dim")
    if dim is None and not args.open:
        return shape if shape is not None else machine.symbol("shape", ref)
    if shape is not None and isinstance(dim, int) and -len(shape) <= dim < len(shape):
        return shape[dim]
    return machine.symbol("size", ref, dim, kind="int")


def _numel(machine: Machine, state: State, ref: Ref, args: Args, node: cst.CSTNode) -> Value:
    count = numel(tensor_at(state, ref).shape)
    return machine.symbol("numel", ref, kind="int") if count is None else count


def _is_type(test: Callable[[dtypes.DType], bool | None], name: str) -> Method:
    """Tensor.is_floating_point, Tensor.is_complex"""

    def call(machine: Machine, state: State, ref: Ref, args: Args, node: cst.CSTNode) -> Value:
        known = test(tensor_at(state, ref).dtype)
        return machine.symbol(name, ref, kind="bool") if known is None else known

    return call


def _dim(machine: Machine, state: State, ref: Ref, args: Args, node: cst.CSTNode) -> Value:
    shape = tensor_at(state, ref).shape
    return machine.symbol("ndim", ref, kind="int") if shape is None else len(shape)


def _resize(machine: Machine, state: State, ref: Ref, args: Args, node: cst.CSTNode) -> Value:
    record = tensor_at(state, ref)
    if record.grad is True and state.inference is False:
        machine.emit(Resized(node))
        return ref
    state.put(ref.id, record._replace(shape=None))
    return ref


def _zero(machine: Machine, state: State, ref: Ref, args: Args, node: cst.CSTNode) -> Value:
    write(machine, state, ref, "zero_", node, overwrites=True)
    return ref


def _copy(machine: Machine, state: State, ref: Ref, args: Args, node: cst.CSTNode) -> Value:
    source = as_tensor(machine, state, args.get(0, "src"), node)
    record = None if source is None else tensor_at(state, source)
    edges = [] if record is None else [Edge(record.node, record.grad)]
    if source is not None and refuses_source(machine, state, ref, source, edges, "copy_", node):
        return Unknown("raised")
    if write(machine, state, ref, "copy_", node, edges, overwrites=True) and record is not None:
        refuse_whole(machine, state, ref, "copy_", record.shape, node)
    return ref


def _new(machine: Machine, state: State, ref: Ref, args: Args, node: cst.CSTNode) -> Value:
    sizes = tuple(size for size in args.positional if isinstance(size, int) and not isinstance(size, bool))
    filled = not sizes or len(sizes) < len(args.positional)
    made = Node("new" if filled else "uninitialised", node)
    return new_tensor(state, made, dtype=tensor_at(state, ref).dtype, shape=None if filled or args.open else sizes)


def _cpu(machine: Machine, state: State, ref: Ref, args: Args, node: cst.CSTNode) -> Value:
    """cpu(): the same tensor, where it is there already."""
    if "cpu" in tensor_at(state, ref).tags:
        return ref
    return apply_to(machine, state, ref, args, node)


def _cuda(machine: Machine, state: State, ref: Ref, args: Args, node: cst.CSTNode) -> Value:
    """cuda(): a copy of what is on the CPU, and so no leaf."""
    record = tensor_at(state, ref)
    if "cpu" not in record.tags:
        return apply_to(machine, state, ref, args, node)
    tracked = both(record.grad, state.grad)
    made = Node("cuda", node, [Edge(record.node, record.grad)], tracked=tracked)
    return new_tensor(
        state, made, grad=tracked, dtype=record.dtype, shape=record.shape, tags=record.tags & {"contiguous"}
    )


def apply_to(machine: Machine, state: State, ref: Ref, args: Args, node: cst.CSTNode) -> Value:
    """Return a move to another device, and perhaps a cast: the tensor itself, or a copy on the tape."""
    record = tensor_at(state, ref)
    record = record._replace(dtype=_dtype_after(machine, state, record, args))
    if record.grad is False and not record.node.live and record.view is None:
        out = new_tensor(state, Node("to", node), dtype=record.dtype, shape=record.shape, tags=record.tags - {OVERLAP})
    else:
        tracked = record.grad if state.grad else False if state.grad is False else None
        if record.leaf is True and tracked is True:
            tracked = None
        made = Node("to", node, [Edge(record.node, record.grad)], tracked=tracked)
        grad = record.grad if state.grad is not False else None if record.grad else record.grad
        out = new_tensor(state, made, grad=grad, dtype=record.dtype, shape=record.shape, tags=record.tags - {OVERLAP})
    fresh = tensor_at(state, out)
    base = ref.id if record.view is None else record.view.base
    state.put(out.id, fresh._replace(view=View(base, "maybe"), syntax=record.syntax))
    return out


def _contiguous(machine: Machine, state: State, ref: Ref, args: Args, node: cst.CSTNode) -> Value:
    """contiguous(): the tensor itself where it is laid out so, else a copy."""
    record = tensor_at(state, ref)
    if args.has(0, "memory_format"):
        return apply_to(machine, state, ref, args, node)
    if "contiguous" in record.tags:
        return ref
    clone = method_fact("clone")
    if record.view is not None and record.view.overlaps and clone is not None:
        return apply(machine, state, clone, Args((ref,)), node)
    return apply_to(machine, state, ref, args, node)


def _to(machine: Machine, state: State, ref: Ref, args: Args, node: cst.CSTNode) -> Value:
    """to(...): a cast where a dtype is given, else a move."""
    wanted: str | None = None
    for value in args.values():
        if isinstance(value, External):
            wanted = asked(value.path) or wanted
    entry = method_fact("to")
    if wanted is not None and entry is not None:
        return apply(machine, state, entry, args.prepend(ref), node)
    return apply_to(machine, state, ref, args, node)


def _dtype_after(machine: Machine, state: State, record: Tensor, args: Args) -> str | None:
    """Return the dtype after `to`: that of a given tensor; unknown where an argument may be a dtype."""
    for value in args.values():
        tensor = known_tensor(machine, state, value)
        if tensor is not None:
            return tensor_at(state, tensor).dtype
        if isinstance(value, Unknown) and value.kind not in NO_DTYPE and not _is_device(value):
            return None
    return None if args.open else record.dtype


def _is_device(value: Unknown) -> bool:
    """Return whether a value is the `device` of something, such as a module or an argument of the command line."""
    return value.key is not None and value.key[0] == "attr" and value.key[-1] == "device"


def _type(machine: Machine, state: State, ref: Ref, args: Args, node: cst.CSTNode) -> Value:
    """t.type(torch.int64), t.type(torch.LongTensor), t.type("torch.cuda.LongTensor"): casts, the last also moves."""
    entry = method_fact("to")
    wanted = args.get(0, "dtype")
    path = wanted.path if isinstance(wanted, External) else wanted if isinstance(wanted, str) else ""
    name = path.removeprefix("torch.")
    dtype = dtypes.TENSOR_TYPES.get(name.removeprefix("cuda.")) or dtypes.named(name)
    if entry is None or dtype is None:
        return unknown_call(machine, state, (ref, *args.values()), node)
    return apply(machine, state, entry, Args((ref, External(f"torch.{dtype}"))), node)


PREFIX = "_foreach_"


def call_foreach(machine: Machine, state: State, name: str, args: Args, node: cst.CSTNode) -> Value:
    """Call the method on each tensor of the first list, with the other lists' items at the same index."""
    tensors = _tensors(machine, state, args.get(0, "self"))
    if tensors is None or args.open:
        return unknown_call(machine, state, args.values(), node)
    method = name.removeprefix(PREFIX)
    results: list[Value] = []
    for index, tensor in enumerate(tensors):
        given = tuple(_at(machine, state, value, index) for value in args.positional[1:])
        keywords = {key: _at(machine, state, value, index) for key, value in args.keywords.items() if key != "self"}
        results.append(call_tensor_method(machine, state, tensor, method, Args(given, keywords), node))
    return None if method.endswith("_") else state.new(Sequence(tuple(results)))


def _tensors(machine: Machine, state: State, value: Value) -> list[Ref] | None:
    """Return the tensors of a list of which all items are known."""
    items = known_items(state, value)
    found = [ref for item in items or () if (ref := known_tensor(machine, state, item)) is not None]
    return None if items is None or len(found) < len(items) else found


def _at(machine: Machine, state: State, value: Value, index: int) -> Value:
    """Return what a further argument has for one tensor: its item of a list, or the number that is for all."""
    items = known_items(state, value)
    if items is None:
        return value
    return items[index] if index < len(items) else Unknown()


METHODS: dict[str, Method] = {
    "backward": tensor_backward,
    "item": lambda machine, state, ref, args, node: number_of(machine, state, ref, "number", node),
    "tolist": _tolist,
    "numpy": _numpy,
    "detach": _detach,
    "detach_": _detach_in_place,
    "requires_grad_": _requires_grad,
    "retain_grad": _retain,
    "register_hook": _hook,
    "register_post_accumulate_grad_hook": _leaf_hook,
    "size": _size,
    "numel": _numel,
    "nelement": _numel,
    "dim": _dim,
    "is_floating_point": _is_type(dtypes.is_floating, "is_floating_point"),
    "is_complex": _is_type(dtypes.is_complex, "is_complex"),
    "ndimension": _dim,
    "resize_": _resize,
    "resize_as_": _resize,
    "zero_": _zero,
    "copy_": _copy,
    "new": _new,
    "cuda": _cuda,
    "cpu": _cpu,
    "to": _to,
    "type": _type,
    "pin_memory": apply_to,
    "contiguous": _contiguous,
    **SPARSE_METHODS,
    **CONJUGATE_METHODS,
}
