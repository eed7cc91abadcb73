"""The functions of torch that make a tensor or a parameter of what they are given."""

from __future__ import annotations

import libcst as cst

from gradlint.domain import dtype as dtypes
from gradlint.domain.announcement import Rewrapped, VariableMade
from gradlint.domain.graph import Edge, Node
from gradlint.domain.refusal.arguments import ArgumentRefused
from gradlint.domain.refusal.tensors import IntegerRequiresGrad, NumpyOnGrad
from gradlint.domain.shape import Sym, is_single
from gradlint.domain.state import State
from gradlint.domain.value import Args, Ref, Tensor, Unknown, Value
from gradlint.facts import fact
from gradlint.facts.names import newer
from gradlint.interpreter.escape import origins, unknown_call
from gradlint.interpreter.machine import Machine, Native
from gradlint.interpreter.python.contexts import MEMORY
from gradlint.interpreter.reachable import known_items
from gradlint.interpreter.torch.alias import CONTIGUOUS
from gradlint.interpreter.torch.apply import note_wanted
from gradlint.interpreter.torch.elements import ELEMENTS, numbers_in
from gradlint.interpreter.torch.inplace import write
from gradlint.interpreter.torch.methods import METHODS
from gradlint.interpreter.torch.operands import bind, bind_loosely, operand_of, operands_of
from gradlint.interpreter.torch.tensor import (
    UNINITIALIZED,
    as_tensor,
    is_of_torch,
    known_tensor,
    new_leaf,
    new_tensor,
    nontensor,
    refuses_uninitialized,
    tensor_at,
    unknown_tensor,
)
from gradlint.interpreter.torch.transform.levels import refuses_numbers
from gradlint.shapes.infer import result
from gradlint.shapes.operand import Operand


def tag(state: State, ref: Ref, tag: str) -> None:
    record = state.heap[ref.id]
    if isinstance(record, Tensor):
        state.put(ref.id, record._replace(tags=record.tags | {tag}))


def lay_out(state: State, ref: Ref) -> None:
    record = state.heap[ref.id]
    if isinstance(record, Tensor) and record.view is None:
        state.put(ref.id, record._replace(tags=record.tags | {"contiguous"}))


def _tensor(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Ref:
    """torch.tensor(data): a copy; the values flow, the graph does not."""
    data = args.get(0, "data")
    fault = _unfit_data(machine, state, data)
    if fault:
        machine.emit(ArgumentRefused(node, "torch.tensor", "value", "data", fault))
        return unknown_tensor(state, node, Node("tensor", node, tracked=None))
    refuses_numbers(machine, state, known_items(state, data) or (), node)
    size = _size_of(machine, state, "tensor", args)
    found = origins(state, (data,))
    edges = [Edge(origin, False, "rewrap") for origin in found if origin.live]
    numbers = () if "dtype" in args.keywords else numbers_in(state, data)
    operands = {ELEMENTS: numbers} if numbers else None
    made = Node("tensor", node, edges, cut="rewrap" if edges else None, operands=operands)
    machine.announce(state, Rewrapped(node, data))
    ref = new_tensor(state, made, dtype=size.dtype, shape=size.shape, tags=CONTIGUOUS)
    if "requires_grad" in args.keywords:
        note_wanted(machine, state, ref, args, node)
    return ref


def _nested(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Ref:
    """torch.nested.nested_tensor(tensors): a copy of all of them, and a leaf."""
    parts = args.get(0, "tensor_list")
    edges = [Edge(origin, False, "rewrap") for origin in origins(state, (parts,)) if origin.live]
    made = Node("nested.nested_tensor", node, edges, cut="rewrap" if edges else None)
    machine.announce(state, Rewrapped(node, parts))
    ref = new_tensor(state, made)
    if "requires_grad" in args.keywords:
        note_wanted(machine, state, ref, args, node)
    return ref


def _unfit_data(machine: Machine, state: State, data: Value) -> str:
    """Return what torch says against nested lists: tensors of other than one element, or lists of several lengths."""
    items = None if isinstance(data, Unknown) else known_items(state, data)
    if items is None:
        return ""
    tensors = [ref for item in items if (ref := known_tensor(machine, state, item)) is not None]
    if any(is_single(tensor_at(state, one).shape) is False for one in tensors):
        return "only one element tensors can be converted to Python scalars"
    lists = [known_items(state, item) if isinstance(item, (Ref, tuple)) else None for item in items]
    lengths = [len(one) for one in lists if one is not None]
    if len(lengths) == len(items) and len(set(lengths)) > 1:
        other = next(length for length in lengths if length != lengths[0])
        return f"expected sequence of length {lengths[0]} at dim 1 (got {other})"
    return ""


def _size_of(machine: Machine, state: State, name: str, args: Args) -> Operand:
    entry = fact(name)
    if entry is None:
        return Operand()
    bound, _ = bind(machine, state, entry.sig, args) or bind_loosely(entry.sig, args)
    size = result(name, operands_of(machine, state, bound))
    return size if isinstance(size, Operand) else Operand()


def _typed(dtype: str) -> Native:
    """torch.FloatTensor and its like: sizes make an uninitialised tensor, a list is copied.

    A tuple may be a torch.Size, which makes a tensor of that size, or one of Python's, which is copied.
    """

    def make(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
        values = args.positional
        if values and all(_is_size(value) for value in values):
            uninitialised = Node("uninitialised", node)
            sizes = [operand_of(machine, state, value) for value in values]
            given = tuple(size if isinstance(size, (int, Sym)) else Sym() for size in sizes)
            shape = None if args.open else given  # `torch.Tensor(2, *more)` has any number of dimensions.
            return new_tensor(state, uninitialised, dtype=dtype, shape=shape, tags=CONTIGUOUS)
        edges = [Edge(origin, False, "rewrap") for origin in origins(state, values) if origin.live]
        size = _size_of(machine, state, "tensor", args) if len(values) == 1 else Operand()
        known = size.shape if values and not isinstance(values[0], (Unknown, tuple)) else None
        made = Node("tensor", node, edges, cut="rewrap" if edges else None)
        if edges and len(values) == 1:
            machine.announce(state, Rewrapped(node, values[0]))
        return new_tensor(state, made, dtype=dtype, shape=known, tags=CONTIGUOUS)

    return make


def _is_size(value: Value) -> bool:
    """Return whether a value is one size, rather than data: a number that is an int."""
    if isinstance(value, Unknown):
        return value.kind == "int"
    return isinstance(value, (int, Sym)) and not isinstance(value, bool)


def _as_tensor(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    """torch.as_tensor(t) is t; anything else is copied or shared."""
    found = known_tensor(machine, state, args.get(0, "data"))
    if found is not None and len(args.positional) == 1 and not args.keywords:
        return found
    if found is not None:
        return unknown_call(machine, state, args.values(), node)
    made = _tensor(machine, state, args, node)
    return made if args.keywords or len(args.positional) > 1 else _over(state, args.get(0, "data"), made)


def _over(state: State, array: Value, made: Ref) -> Ref:
    """Note that a tensor is made over the memory of an array: writes to the array are writes to it."""
    if isinstance(array, Unknown) and array.kind == "array" and array.key is not None and array.key[0] == "array":
        state.decide((MEMORY, array), made)
    return made


def _from_numpy(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    given = args.get(0, "ndarray")
    tensor = known_tensor(machine, state, given)
    kind = nontensor(state, given) if tensor is None else "Tensor"
    refused = kind in ("list", "tuple") or isinstance(given, (int, float, str))
    refused = refused or (tensor is not None and is_of_torch(tensor_at(state, tensor)))
    # Behind a test that is open the value may be another one: functions that convert ask for its class.
    if refused and not state.undecided_since(0):
        text = f"expected np.ndarray (got {kind})"
        machine.emit(ArgumentRefused(node, "torch.from_numpy", "value", "ndarray", text))
        return Unknown("raised")
    edges = [Edge(origin, False, "numpy") for origin in origins(state, args.values()) if origin.live]
    size = operand_of(machine, state, args.get(0, "ndarray"))
    made = Node("from_numpy", node, edges, cut="numpy" if edges else None)
    known = size if isinstance(size, Operand) and not size.scalar else Operand()
    ref = new_tensor(state, made, dtype=known.dtype, shape=known.shape, tags=CONTIGUOUS)
    return _over(state, args.get(0, "ndarray"), ref)


def _from_dlpack(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    """from_dlpack(t): refused where the tensor requires grad, with grad mode off as well (measured)."""
    tensor = known_tensor(machine, state, args.get(0, "ext_tensor"))
    if tensor is not None and tensor_at(state, tensor).grad is True and not args.open:
        machine.emit(NumpyOnGrad(node, tensor_at(state, tensor).syntax, always=True))
        return Unknown("raised")
    return unknown_call(machine, state, args.values(), node)


def _parameter(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    """nn.Parameter(data): a leaf of its own, whatever the data was computed from."""
    data = known_tensor(machine, state, args.get(0, "data"))
    if data is not None and refuses_uninitialized(machine, state, data, "nn.Parameter", node):
        return Unknown("raised")
    wanted = args.get(1, "requires_grad", True)
    record = None if data is None else tensor_at(state, data)
    if wanted is True and record is not None and dtypes.can_require_grad(record.dtype) is False:
        machine.emit(IntegerRequiresGrad(node, record.dtype))
    ref = new_leaf(
        state, node, dtype=record.dtype if record else None, shape=record.shape if record else None,
        parameter=True, source=record.node if record else None,
        tags=record.tags & CONTIGUOUS if record else frozenset(),
    )  # fmt: skip
    if wanted is not True:
        fresh = tensor_at(state, ref)
        state.put(ref.id, fresh._replace(grad=False if wanted is False else None))
    return ref


def _unsized(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    """nn.UninitializedParameter(): `materialize`, or a lazy module, gives it a size."""
    ref = new_leaf(state, node, parameter=True, tags=frozenset({UNINITIALIZED}))
    if args.get(0, "requires_grad", True) is not True:
        state.put(ref.id, tensor_at(state, ref)._replace(grad=None))
    return ref


def _variable(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    """Variable(t): a tensor over the same memory, out of its graph."""
    data = as_tensor(machine, state, args.get(0, "data"), node)
    if data is None:
        return unknown_call(machine, state, args.values(), node)
    volatile = args.has(2, "volatile") and args.get(2, "volatile") is not False
    machine.announce(state, VariableMade(node, data, args.get(1, "requires_grad", False), volatile))
    detached = METHODS["detach"](machine, state, data, Args(), node)
    assert isinstance(detached, Ref)
    record = tensor_at(state, detached)
    made = Node("Variable", node, [Edge(record.node.edges[0].node, False, "rewrap")], cut="rewrap")
    state.put(detached.id, record._replace(node=made))
    if args.has(1, "requires_grad"):
        keywords = {"requires_grad": args.get(1, "requires_grad")}
        note_wanted(machine, state, detached, Args((), keywords), node)
    return detached


def initialise(machine: Machine, state: State, name: str, args: Args, node: cst.CSTNode) -> Value:
    """nn.init functions write under no_grad: only the version counter moves."""
    ref = as_tensor(machine, state, args.get(0, "tensor"), node) if args.has(0, "tensor") else None
    if ref is None or not (name.endswith("_") or newer(f"torch.{name}")):
        return Unknown("number")
    if refuses_uninitialized(machine, state, ref, name.removeprefix("nn."), node):
        return Unknown("raised")
    former, state.grad = state.grad, False
    write(machine, state, ref, name.removeprefix("nn.init.").rstrip("_") + "_", node)
    state.grad = former
    return ref


CREATION: dict[str, Native] = {
    # A buffer is a plain tensor, registered when it is assigned.
    "torch.nn.Buffer": lambda machine, state, args, node: args.get(0, "data", Unknown()),
    "torch.tensor": _tensor,
    "torch.nested.nested_tensor": _nested,
    "torch.as_tensor": _as_tensor,
    "torch.asarray": _as_tensor,
    "torch.from_numpy": _from_numpy,
    **dict.fromkeys(("torch.from_dlpack", "torch.utils.dlpack.from_dlpack"), _from_dlpack),
    "torch.Tensor": _typed("float32"),
    **{f"torch.{name}": _typed(dtype) for name, dtype in dtypes.TENSOR_TYPES.items()},
    **{f"torch.cuda.{name}": _typed(dtype) for name, dtype in dtypes.TENSOR_TYPES.items()},
    "torch.nn.Parameter": _parameter,
    **dict.fromkeys(("torch.nn.UninitializedParameter", "torch.nn.parameter.UninitializedParameter"), _unsized),
    "torch.autograd.Variable": _variable,
}
"""What a call of each of these gives, by path."""
