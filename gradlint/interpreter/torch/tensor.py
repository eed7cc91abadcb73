"""Tensors: making them, and telling that a value is one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import libcst as cst

from gradlint.domain.assumption import Assumption
from gradlint.domain.graph import DATA, SUPPOSED_CALL, Edge, Node, Term, Tri
from gradlint.domain.refusal.backward import NoneGradientUsed, UnusedGradientUsed
from gradlint.domain.refusal.functions import NoneGradientArrived, Nontensor
from gradlint.domain.refusal.modules import UninitializedUsed
from gradlint.domain.shape import Shape, Sym
from gradlint.domain.state import State, fresh_address
from gradlint.domain.value import External, Mapping, NoGradient, Ref, Sequence, Tags, Tensor, Unknown, Value, View
from gradlint.facts.traits import TENSORS_ONLY
from gradlint.interpreter.machine import Machine
from gradlint.source.lower.syntax import called_name

NO_TENSOR = frozenset({"number", "int", "bool", "str", "array", "raised", "limits", "object"})
"""Kinds of unknown values that are certainly no tensors."""

LIMITS = "limits"
"""The kind of what `finfo` gives: all its attributes are numbers."""

_ARITHMETIC = frozenset({"+", "-", "*", "/", "//", "%", "**"})

SPARSE = "sparse"
"""The tag of a sparse tensor."""

COMPRESSED = "compressed"
"""The tag that a sparse tensor of the layouts CSR and CSC has besides."""

UNCOALESCED = "uncoalesced"
"""The tag of a sparse tensor that has not been coalesced: an index may be there twice."""

STORED_ELSEWHERE = frozenset({"meta", SPARSE})
"""Tags of tensors whose storage is of another sort: `.data` takes none of another sort than the tensor has."""

UNCOUNTED = frozenset({"uncounted", "contiguous", "cpu"})
"""The tags of a tensor that torch made and initialised itself: how often it was written by then is not known."""


SCALAR = "scalar"
"""The tag of what a loss gives that the file does not show: programs take it for a number."""

UNINITIALIZED = "uninitialized"
"""The tag of a parameter of a lazy module that no call has given a size."""

SUMMARY = "summary"
"""The tag of a leaf that stands for several: what is done to it is done to some of them."""

HIDDEN = "hidden"
"""The tag of a leaf that stands for the parameters of a network whose constructor was not followed.

Others of these may get gradients where it gets none.
"""

NOT_SHOWN = "not shown"
"""The tag of a leaf that stands for the parameters of an optimizer of which none is shown."""


class Storage(NamedTuple):
    """The addresses of a version counter and of a memory."""

    counter: int
    memory: int


def new_storage() -> Storage:
    """Return a counter and a memory that no tensor has had."""
    return Storage(fresh_address(), fresh_address())


def new_tensor(
    state: State,
    node: Node,
    *,
    grad: Tri = False,
    dtype: str | None = None,
    shape: Shape = None,
    tags: Tags = frozenset(),
    storage: Storage | None = None,
) -> Ref:
    """Return a tensor with storage of its own, that which was set aside for it if any was."""
    inference = state.inference
    return state.new(
        Tensor(
            *(storage or new_storage()), node, grad, dtype, shape,
            inference=inference, syntax=node.syntax, tags=tags,
        )
    )  # fmt: skip


def new_leaf(
    state: State,
    syntax: cst.CSTNode,
    *,
    dtype: str | None = None,
    shape: Shape = None,
    parameter: bool = False,
    source: Node | None = None,
    tags: Tags = frozenset(),
    name: str = "",
    cut: str | None = None,
) -> Ref:
    """Return a leaf that requires grad. No gradient flows to `source`, of which its value was made: `cut` says why."""
    address = fresh_address()
    cut = cut or ("parameter" if parameter else "leaf")
    edges = () if source is None or not source.live else (Edge(source, False, cut),)
    value = None if source is None else {"value": Term(source)}
    node = Node("leaf", syntax, edges, leaf=address, operands=value, key=(syntax, name, state.site))
    state.put(
        address,
        Tensor(
            fresh_address(), fresh_address(), node, True, dtype, shape,
            parameter=parameter, inference=state.inference, syntax=syntax, tags=tags,
        ),
    )  # fmt: skip
    return Ref(address)


def unknown_tensor(state: State, syntax: cst.CSTNode, origin: Node | None = None, *, used: bool = False) -> Ref:
    """Return a tensor of which nothing else is known. `used`: the syntax is where it is used, not made."""
    node = origin or Node("input", syntax, tracked=None, place=None if used else syntax)
    grad = False if node.tracked is False and (node.cut is not None or node.op == DATA) else None
    return state.new(
        Tensor(
            fresh_address(), fresh_address(), node, grad, inference=None if state.inference is None else False,
            syntax=syntax,
        )
    )  # fmt: skip


def tensor_at(state: State, ref: Ref) -> Tensor:
    """Return the record of a tensor."""
    record = state.heap[ref.id]
    assert isinstance(record, Tensor)
    return record


def class_of(record: Tensor) -> External:
    """Return the class of a tensor."""
    return External("torch.nn.Parameter" if record.parameter else "torch.Tensor")


def is_of_torch(record: Tensor) -> bool:
    """Return whether torch has certainly made a value: where one came from elsewhere, it may be an array of numpy."""
    waiting, seen = [record.node], {record.node.id}
    while waiting:
        node = waiting.pop()
        if node.op in _FROM_ELSEWHERE or node.op.startswith((SUPPOSED_CALL, DATA)):
            continue
        if not node.edges or node.op.startswith("nn."):
            return True
        fresh = [edge.node for edge in node.edges if edge.node.id not in seen]
        seen.update(one.id for one in fresh)
        waiting += fresh
    return False


_FROM_ELSEWHERE = frozenset({"input", "call", "either", "numpy", "tolist"})
"""The nodes of values that are not known, and of those that are no tensors."""


def is_scalar(value: Value) -> bool:
    """Return whether an unknown value is certainly a number; a parameter whose default is one may be a tensor."""
    return isinstance(value, Unknown) and value.kind in ("number", "int", "bool") and not _is_guess(value)


def _is_guess(value: Unknown) -> bool:
    if isinstance(value.syntax, cst.Param):
        return True
    if value.key is None or value.key[0] not in _ARITHMETIC:
        return False
    return any(_is_guess(part) for part in value.key[1:] if isinstance(part, Unknown))


OVERLAP = "overlap"
"""The tag of an alias without a history of its own of a tensor several of whose elements share one memory cell."""


def overlap_of(record: Tensor) -> frozenset[str]:
    """Return what an alias made by `detach` or `.data` inherits."""
    expanded = record.view is not None and record.view.overlaps
    return frozenset({OVERLAP}) if expanded or OVERLAP in record.tags else frozenset()


def origin_of_number(value: Value) -> Node | None:
    """Return what a number was computed from, or the `item()` that gave it; None for what may be a tensor."""
    if not isinstance(value, Unknown) or value.kind not in ("number", "int"):
        return None
    called = value.syntax if called_name(value.syntax) == "item" else None
    return value.origin or (Node("item", called, cut="item") if called is not None else None)


def is_absent(state: State, leaf: Ref, gradient: Value) -> bool:
    """Return whether a leaf certainly has no gradient."""
    if gradient is None:
        return leaf.id > state.escaped
    return isinstance(gradient, NoGradient) and gradient.since > state.escaped


def known_tensor(machine: Machine, state: State, value: Value) -> Ref | None:
    """Return the tensor that a value is known to be."""
    if isinstance(value, Ref):
        return value if isinstance(state.heap.get(value.id), Tensor) else None
    if isinstance(value, Unknown):
        return state.tensor_of(value)
    return None


def is_raised(value: Value) -> bool:
    """Return whether torch raised in place of a value, or what would follow is not known."""
    return isinstance(value, Unknown) and value.kind == "raised"


def nontensor(state: State, value: Value) -> Nontensor | None:
    """Return what a value is that is certainly no tensor, and not None either.

    A parameter whose default is a number may be given a tensor.
    """
    if isinstance(value, (bool, int, float)):
        return "number"
    if isinstance(value, str):
        return "text"
    if type(value) is tuple:
        return "tuple"
    if isinstance(value, Ref):
        record = state.heap.get(value.id)
        if isinstance(record, Mapping):
            return "dict"
        # An open one may be a tuple of which not all is known.
        return "list" if isinstance(record, Sequence) and record.kind == "list" and not record.open else None
    if not isinstance(value, Unknown) or _is_guess(value):
        return None
    return _NONTENSORS.get(value.kind or "")


_NONTENSORS: dict[str, Nontensor] = {
    "number": "number",
    "int": "number",
    "bool": "number",
    "str": "text",
    "array": "array",
}
"""By the kind of an unknown value."""


def shown_tensor(machine: Machine, state: State, value: Unknown, name: str) -> Ref | None:
    """Return the tensor that an unknown value is shown to be by the attribute that the program uses."""
    found = known_tensor(machine, state, value)
    if found is not None:
        return found
    if name in TENSORS_ONLY and value.kind not in NO_TENSOR:
        return as_tensor(machine, state, value, value.syntax or machine.program.nowhere)
    return None


def as_tensor(machine: Machine, state: State, value: Value, syntax: cst.CSTNode) -> Ref | None:
    """Return the tensor that a value must be, because torch is given it where it takes tensors; None for numbers."""
    found = known_tensor(machine, state, value)
    if found is not None:
        return found
    if isinstance(value, Unknown) and value.kind not in NO_TENSOR:
        ref = unknown_tensor(state, value.syntax or syntax, value.origin, used=value.syntax is None)
        state.decide(("tensor", value), ref)
        return ref
    return None


def same_memory(state: State, record: Tensor, made: Node, tags: Tags, *, counter: int | None = None) -> Ref:
    """Return a tensor over the memory of another, without its graph, as `detach` and `.data` do."""
    counter = record.counter if counter is None else counter
    return state.new(
        Tensor(
            counter, record.memory, made, False, record.dtype, record.shape,
            inference=record.inference, syntax=made.syntax, tags=tags | overlap_of(record),
        )
    )  # fmt: skip


def view_of(
    state: State,
    base: Ref,
    node: Node,
    *,
    kind: str = "plain",
    shape: Shape = None,
    expanded: tuple[bool, ...] | None = (),
    grad: Tri,
    dtype: str | None = None,
    tags: Tags = frozenset(),
) -> Ref:
    """Return a view: it shares storage and version counter with its base, which is never a view itself."""
    record = tensor_at(state, base)
    view = record.view
    root = base.id if view is None else view.base
    if view is not None and kind == "plain":
        kind = view.kind
    seen = len(state.writes(record.counter))
    ref = state.new(
        record._replace(
            node=node, grad=grad, shape=shape, dtype=dtype or record.dtype, view=View(root, kind, expanded, seen),
            accumulated=None, parameter=False, retains=False, syntax=node.syntax, tags=tags,
        )
    )  # fmt: skip
    state.put(-root, (*state.views(root), ref.id))
    return ref


def iterate_tensor(machine: Machine, state: State, ref: Ref, node: cst.CSTNode) -> Sequence:
    """Return the rows of a tensor, as torch's `unbind` gives them: views that refuse in-place writes."""
    record = tensor_at(state, ref)
    rest = record.shape[1:] if record.shape else None
    count = record.shape[0] if record.shape else None
    tracked = record.grad if state.grad else False
    made = Node("unbind", node, [Edge(record.node, record.grad)], tracked=tracked)
    number = count if isinstance(count, int) and count <= 8 else 2
    kind = "multi" if state.grad else "no_grad"
    # A tensor of several elements may have rows of one.
    kept = frozenset(tag for tag in record.tags if not isinstance(tag, Assumption)) - {OVERLAP, "several"}
    rows = [view_of(state, ref, made, kind=kind, shape=rest, grad=record.grad, tags=kept) for _ in range(number)]
    return Sequence(tuple(rows), "list", number != count)


def either(facts: Iterable[Tri]) -> Tri:
    """Three-valued or."""
    answer: Tri = False
    for fact in facts:
        if fact is True:
            return True
        if fact is None:
            answer = None
    return answer


def refuses_uninitialized(machine: Machine, state: State, ref: Ref, op: str, node: cst.CSTNode) -> bool:
    """Report what uses a parameter of a lazy module that certainly no call has given a size."""
    record = tensor_at(state, ref)
    elsewhere = ref.id <= state.escaped or ref.id in machine.escaped or machine.tried > 0
    if UNINITIALIZED not in record.tags or not record.parameter or elsewhere:
        return False
    if op not in _WITHOUT_SIZE:
        machine.emit(UninitializedUsed(node, op, record.syntax))
    return op not in _WITHOUT_SIZE


_WITHOUT_SIZE = frozenset(
    {
        *("__hash__", "size", "copy_", "is_complex", "is_floating_point", "half", "float", "double", "char", "short"),
        *("int", "long", "cuda", "cpu", "to", "get_device", "materialize"),
    }
)
"""The methods that such a parameter has (torch/nn/parameter.py)."""


def both(left: Tri, right: Tri) -> Tri:
    """Three-valued and."""
    if left is False or right is False:
        return False
    return True if left and right else None


def size_symbol(machine: Machine, value: Unknown) -> Sym:
    """Return the size that an unknown number stands for; the same number gives the same size."""
    found = machine.sizes.get(value)
    if found is None:
        found = machine.sizes[value] = Sym()
    return found


def absent_gradient(machine: Machine, value: Value, node: cst.CSTNode) -> None:
    """None stands where a gradient is computed with."""
    assert isinstance(value, NoGradient)
    if value.applied is not None:
        machine.emit(NoneGradientArrived(node, value.applied, value.asked, tangent=value.asked is None))
        return
    if value.asked is not None:
        machine.emit(UnusedGradientUsed(node, value.syntax, value.asked))
        return
    raised = (one for one in machine.events if type(one) is NoneGradientUsed and one.made is value.syntax)
    if machine.guarded or any(one.node is not node for one in raised):
        return  # The program is ready for it, or Python has raised already, where it was used first.
    # If one of two ways went past the tensor, it is no fault where the same read finds a gradient on the other.
    either_way = value.read is not None and value.since >= 0
    machine.emit(NoneGradientUsed(node, value.syntax), unless=(value.read, "gradient") if either_way else None)
