"""Outputs that are aliases of an input: the same tensor, a view, shared memory, or perhaps one of these."""

from __future__ import annotations

from gradlint.domain import dtype as dtypes
from gradlint.domain.graph import Edge, Node
from gradlint.domain.shape import Shape, numel
from gradlint.domain.state import State, fresh_address
from gradlint.domain.value import Ref, Tensor, View
from gradlint.facts import Alias, alias_of
from gradlint.facts.traits import ALWAYS_VIEWS, CONVERTS, EXPANDS, RESHAPES, TRANSPOSES, VIEWS_IF_CONTIGUOUS
from gradlint.interpreter.torch.operation import Operation
from gradlint.interpreter.torch.tensor import new_tensor, same_memory, tensor_at, view_of
from gradlint.shapes.operand import Operand

CONTIGUOUS = frozenset({"contiguous", "cpu"})
"""The tags of a tensor that is laid out without gaps, on the CPU."""


def alias_output(call: Operation, label: str, size: Operand, made: Node) -> Ref | None:
    """Return an output that is an alias of an input, as far as the table says so."""
    views = call.labels(call.entry.row.views)
    aliases = [alias_of(view) for view in views.may]
    fitting = [alias for alias in aliases if alias.output in (label, ">*" if label == ">" else label)]
    certain = bool(fitting) and any(alias_of(view) in fitting for view in views.must)
    alias = _one_alias(call, fitting, size)
    base = None if alias is None else next((one.ref for one in call.inputs if one.label == alias.of), None)
    # The parts of `unsafe_split` share memory without torch's knowing, each with its own history.
    unsafe = call.name.rpartition(".")[2].startswith("unsafe_")
    if alias is None or base is None or (alias.kind == "share" and made.tracked is not False and unsafe):
        return None
    return _alias(call, alias, base, size, made, certain or _differ_in_marks(call, fitting))


def _one_alias(call: Operation, fitting: list[Alias], size: Operand) -> Alias | None:
    """Return the alias that an output is: of several that were measured, the one that the sizes at hand ask for."""
    if len({(alias.of, alias.version) for alias in fitting}) != 1:
        return None
    same = [alias for alias in fitting if alias.kind == "same"]
    views = [alias for alias in fitting if alias.kind == "view"]
    if same and views:
        base = next((one.ref for one in call.inputs if one.label == same[0].of), None)
        shape = tensor_at(call.state, base).shape if base is not None else None
        return same[0] if shape is not None and shape == size.shape else views[0]
    marked = [alias for alias in fitting if alias.multi or alias.overlap]
    return marked[0] if marked else fitting[0]


def _differ_in_marks(call: Operation, fitting: list[Alias]) -> bool:
    """Return whether the measured calls agree that the output is a view, and differ in what else is said of it.

    An empty view shares no storage, so a few views are measured as sometimes none.
    """
    return call.canonical in ALWAYS_VIEWS or (len({alias.kind for alias in fitting}) == 1 and len(fitting) > 1)


def _alias(call: Operation, alias: Alias, base: Ref, size: Operand, made: Node, certain: bool) -> Ref:
    state = call.state
    record = tensor_at(state, base)
    shape, dtype = size.shape, size.dtype
    is_real = call.canonical == "real"
    # The real part of complex numbers is a view; the table has seen real ones, which are returned as they are.
    if alias.kind == "same" and not (is_real and record.dtype in dtypes.COMPLEXES):
        if (certain and not is_real) or _returns_itself(call, record, size):
            return base
        return _maybe(call, base, record, size, made)
    if not certain and ("contiguous" not in record.tags or call.canonical not in VIEWS_IF_CONTIGUOUS):
        return _maybe(call, base, record, size, made)
    if alias.kind == "share":
        return _share(call, alias, record._replace(dtype=dtype or record.dtype, shape=shape or record.shape))
    kind = view_kind(state, record, "multi" if alias.multi else "plain")
    expanded = _turned(call, record) or _expanded(call.canonical, record, shape, alias)
    grad = record.grad
    node = made
    if made.tracked is False:
        edge = Edge(record.node, False, "no_grad" if state.grad is False else None)
        node = Node(made.op, made.syntax, [edge], operands=call.terms)
    tags = record.tags & (CONTIGUOUS if call.canonical in RESHAPES else CONTIGUOUS - {"contiguous"})
    ref = view_of(state, base, node, kind=kind, shape=shape, expanded=expanded, grad=grad, dtype=dtype, tags=tags)
    if "data" in record.tags:
        state.put(ref.id, tensor_at(state, ref)._replace(tags=tags | {"data"}))
    return ref


def view_kind(state: State, record: Tensor, kind: str) -> str:
    """Return the kind of a view that is taken now, which otherwise is of the given kind."""
    if state.inference is True:
        return "inference"
    if state.grad is False and record.inference is not True:
        return "no_grad"
    return "maybe" if state.grad is None and kind == "plain" else kind


def _turned(call: Operation, record: Tensor) -> tuple[bool, ...] | None:
    """Return which dimensions of a transposed expansion repeat one cell; None for any other view."""
    former = record.view.expanded if record.view is not None else ()
    if not former:
        return None
    if call.canonical in TRANSPOSES and len(former) == 2:
        return former[::-1]
    if call.canonical == "transpose":
        # Some of its names call the dimensions `axis0` and `axis1`.
        one, other = (call.bound.get(f"dim{place}", call.bound.get(f"axis{place}")) for place in (0, 1))
        valid = range(-len(former), len(former))
        if isinstance(one, int) and isinstance(other, int) and one in valid and other in valid:
            flags = list(former)
            flags[one], flags[other] = flags[other], flags[one]
            return tuple(flags)
    return None


def _expanded(name: str, record: Tensor, shape: Shape, alias: Alias) -> tuple[bool, ...] | None:
    """Return which dimensions of a view repeat one cell: those that an expansion added or made longer."""
    former = record.view.expanded if record.view is not None else ()
    if record.shape is None or shape is None or former is None:
        return None if alias.overlap or former else ()
    before, after = numel(record.shape), numel(shape)
    grows = before is not None and after is not None and after > before
    if name not in EXPANDS or not grows:
        return () if former == () else None
    extra = len(shape) - len(record.shape)
    known = (*([False] * extra), *(former or [False] * len(record.shape)))
    sizes = (*([1] * extra), *record.shape)
    return tuple(
        (was or old == 1) and isinstance(new, int) and new > 1
        for was, old, new in zip(known, sizes, shape, strict=True)
    )


def _returns_itself(call: Operation, record: Tensor, size: Operand) -> bool:
    """Casts and moves give the same tensor back where there is nothing to do."""
    name = call.canonical
    if name == "real":
        return record.dtype is not None and record.dtype not in dtypes.COMPLEXES
    if name in CONVERTS:
        if name == "to" and "device" in call.bound:
            return False
        return record.dtype is not None and size.dtype == record.dtype
    return name == "flatten" and record.shape is not None and len(record.shape) == 1


def _maybe(call: Operation, base: Ref, record: Tensor, size: Operand, made: Node) -> Ref:
    """Return an alias of the base or a copy: writes to one may or may not be seen by the other."""
    state = call.state
    casts = record.dtype is not None and size.dtype is not None and record.dtype != size.dtype
    node = made
    if casts or record.grad is not False or record.node.live:
        maybe = None if made.tracked and not casts and record.leaf is not False else made.tracked
        if record.leaf is False or casts or record.grad is False:
            maybe = made.tracked
        if maybe is None and made.tracked is not None:
            node = Node(made.op, made.syntax, made.edges, tracked=None, maybe_saved=True, operands=made.operands)
    grad = record.grad if state.grad is False and not casts else made.tracked
    by_other = call.canonical in CONVERTS and "other" in call.bound
    dtype = size.dtype if by_other else size.dtype or record.dtype
    ref = new_tensor(state, node, grad=grad, dtype=dtype, shape=size.shape)
    if not casts:
        fresh = tensor_at(state, ref)
        state.put(ref.id, fresh._replace(view=View(base.id if record.view is None else record.view.base, "maybe")))
    return ref


def _share(call: Operation, alias: Alias, record: Tensor) -> Ref:
    """detach and .data: the same memory, no graph; `.data` has a version counter of its own."""
    cut = "detach" if alias.version else "data"
    node = Node(call.name, call.node, [Edge(record.node, False, cut)], cut=cut)
    tags = record.tags & (CONTIGUOUS | {"data"}) if alias.version else record.tags & CONTIGUOUS | {"data"}
    return same_memory(call.state, record, node, tags, counter=None if alias.version else fresh_address())
