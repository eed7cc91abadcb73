"""Any torch operation: what is refused, what is written, what comes out, as its row of the facts table says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import libcst as cst

from gradlint.domain.announcement import Operated
from gradlint.domain.dtype import can_require_grad
from gradlint.domain.graph import Edge, Node, Saved, Term
from gradlint.domain.refusal.inplace import (
    InferenceChange,
    InferenceSaved,
    OutRequiresGrad,
    UnrebasedView,
)
from gradlint.domain.refusal.shapes import ElementTypeRefused, ShapeMismatch
from gradlint.domain.refusal.tensors import IntegerRequiresGrad, NoDerivative, SparseUnsupported, TensorForNumber
from gradlint.domain.state import State
from gradlint.domain.value import Args, Ref, Tensor, Unknown, Value, Write
from gradlint.facts import Entry, MustMay, alias_of
from gradlint.facts.aliases import bare
from gradlint.facts.element_types import refused_types
from gradlint.facts.numbers import numbers_of
from gradlint.facts.traits import ANY_SHAPE_INPLACE, DENSE_ONLY, RESHAPES_INPLACE, WEIGHTED_LOSSES
from gradlint.interpreter.escape import unknown_call
from gradlint.interpreter.machine import Machine
from gradlint.interpreter.python.kinds import refuses_argument
from gradlint.interpreter.reachable import known_items
from gradlint.interpreter.torch.fit import cannot_hold, refuse_result
from gradlint.interpreter.torch.inplace import bump, write
from gradlint.interpreter.torch.no_backward import note_backward
from gradlint.interpreter.torch.operation import Input, Operation
from gradlint.interpreter.torch.result import results
from gradlint.interpreter.torch.shared_cells import refuses_shared
from gradlint.interpreter.torch.sparse_operands import refuses_sparse, stays_sparse
from gradlint.interpreter.torch.tensor import (
    SPARSE,
    both,
    either,
    is_of_torch,
    is_raised,
    known_tensor,
    refuses_uninitialized,
    tensor_at,
)
from gradlint.interpreter.torch.transform.duals import refuses_dual, refuses_forward
from gradlint.interpreter.torch.transform.levels import (
    refuses_escaped,
    refuses_number,
    refuses_numbers,
    refuses_operation,
)
from gradlint.shapes.infer import result
from gradlint.shapes.operand import Operand


def apply(
    machine: Machine,
    state: State,
    entry: Entry,
    args: Args,
    node: cst.CSTNode,
    extra: dict[str, object] | None = None,
    parts: tuple[Input, ...] = (),
    config: dict[str, Value] | None = None,
) -> Value:
    """Do what the row says. `extra` are flags of a module's configuration `config`, `parts` its parameters."""
    machine.work()
    if not entry.row.samples:  # Nothing of it could be measured.
        return unknown_call(machine, state, args.values(), node)
    if any(is_raised(one) for one in args.values()):
        return Unknown("raised")
    call = Operation(machine, state, entry, args, node, extra)
    if type(node) is not cst.Attribute and _uninitialized(call):
        return Unknown("raised")
    call.config = config
    call.inputs.extend(parts)
    if refuses_argument(call):
        return Unknown("raised")
    if call.mistaken or _of_nothing(call) or _takes_number(call) or _misfits(call) or _wrong_type(call):
        return Unknown("raised")  # What follows is not reachable on this path.
    if (machine.left and _escaped(call)) or _no_forward(call):
        return Unknown("raised")
    if machine.transforms and _unsupported(call):
        return Unknown("raised")
    _refused_inputs(call)
    _broken_views(call)
    _inference_saved(call)
    machine.announce(state, Operated(node, call.name, call.terms, call.inputs))
    writes = call.labels(entry.row.writes)
    out = call.bound.get("out")
    if out is not None:
        return _out(call, out)
    value = _write(call, writes) if writes.may else results(call)
    note_backward(call, value)
    stays_sparse(call, value)
    return value


def _uninitialized(call: Operation) -> bool:
    """Return whether an input is a parameter without a size, as lazy modules have them."""
    given = (one.ref for one in call.inputs if one.ref is not None)
    return any(refuses_uninitialized(call.machine, call.state, one, bare(call.name), call.node) for one in given)


def _of_nothing(call: Operation) -> bool:
    """Return whether an input list is empty: `cat` and `stack` raise, so what follows is not reachable."""
    return known_items(call.state, call.bound.get("tensors")) == ()


def _misfits(call: Operation) -> bool:
    """Return whether the shapes of the operands are refused; under `vmap`, those that the function sees (measured)."""
    misfit = call.misfit()
    if misfit is None or misfit.of_nothing:
        if call.state.facts:  # Another path may have come here by tests that exclude one another.
            call.machine.passes(call.place)
        return False
    records = [tensor_at(call.state, given.ref) for given in call.inputs if given.ref is not None]
    made = tuple([next((one.syntax for one in records if one.shape == shape), None) for shape in misfit.shapes])
    event = ShapeMismatch(call.node, call.name, misfit.demand, misfit.shapes, misfit.wanted, made, misfit.said)
    call.machine.emit(event, call.place)
    return True


def _wrong_type(call: Operation) -> bool:
    """Return whether the element type of an operand is refused, whatever the others are.

    What is given a type of its own (`x.mean(dtype=torch.float32)`) is cast before.
    """
    refused = {} if "dtype" in call.bound or "out" in call.bound else refused_types(call.canonical)
    first = next(iter(call.bound), "")
    for name, types in refused.items():
        ref = known_tensor(call.machine, call.state, call.bound.get(first if name == "input" else name))
        record = None if ref is None else tensor_at(call.state, ref)
        if record is None or record.dtype not in types or record.dtype is None or not is_of_torch(record):
            continue
        event = ElementTypeRefused(call.node, call.name, name, record.dtype, made=record.syntax)
        call.machine.emit(event, (*call.place, "types"))
        return True
    if call.state.facts and refused:
        call.machine.passes((*call.place, "types"))
    return False


def _no_forward(call: Operation) -> bool:
    """Return whether an input carries a tangent, for which the operation has no derivative."""
    inputs = [given.ref for given in call.inputs if given.ref is not None and call.differentiable(given.label)]
    return refuses_forward(call.machine, call.state, call.name, inputs, call.node)


def _escaped(call: Operation) -> bool:
    """Return whether an input has left the function that `vmap` ran."""
    inputs = [given.ref for given in call.inputs if given.ref is not None]
    return refuses_escaped(call.machine, call.state, inputs, bare(call.name), call.node)


def _unsupported(call: Operation) -> bool:
    """Return whether an active transform refuses the operation."""
    inputs = [given.ref for given in call.inputs if given.ref is not None]
    if refuses_operation(call.machine, call.state, call.name, inputs, call.flags, call.node):
        return True
    if call.bound.get("out") is None:
        return False
    return any(refuses_number(call.machine, call.state, ref, "out", call.node, bare(call.name)) for ref in inputs)


def _refused_inputs(call: Operation) -> None:
    """Refuse inputs that require grad and may not."""
    first = next((one.ref for one in call.inputs if one.ref is not None), None)
    sparse = first is not None and SPARSE in tensor_at(call.state, first).tags
    unfit = refuses_sparse(call)
    if ((sparse and call.canonical in DENSE_ONLY) or unfit) and not call.machine.tried:
        call.machine.emit(SparseUnsupported(call.node, call.name, "dense" if unfit else "operation"))
        return
    if call.state.grad is not True:
        return
    refused = call.labels(call.entry.row.raises_if_requires_grad).must
    if call.name == "nn.functional.cross_entropy" and _of_classes(call):
        refused |= {"weight"}
    wrong = any(
        given.label in refused and given.ref is not None and call.grad_of(given) is True for given in call.inputs
    )
    if wrong or (call.config and call.canonical in WEIGHTED_LOSSES and _weighs_by_trained(call, call.config)):
        call.machine.emit(NoDerivative(call.node, call.name))


def _takes_number(call: Operation) -> bool:
    """Return whether a tensor is refused where torch takes a Python number: it requires grad, or stands for several."""
    given = {name: call.bound.get(name, (call.config or {}).get(name)) for name in numbers_of(call.canonical)}
    if refuses_numbers(call.machine, call.state, given.values(), call.node):
        return True
    for name, value in given.items():
        ref = known_tensor(call.machine, call.state, value)
        if ref is not None and tensor_at(call.state, ref).grad is True:
            call.machine.emit(TensorForNumber(call.node, call.name, name))
            return True
    return False


def _weighs_by_trained(call: Operation, config: Mapping[str, Value]) -> bool:
    """Return whether a loss was made with weights that require grad, as `nn.CrossEntropyLoss(weight=w)` may be."""
    weights = [config.get("weight"), config.get("pos_weight")]
    records = [call.state.heap.get(one.id) for one in weights if isinstance(one, Ref)]
    trained = any(isinstance(record, Tensor) and record.grad is True for record in records)
    return trained and (call.name != "nn.CrossEntropyLoss" or _of_classes(call))


def _of_classes(call: Operation) -> bool:
    """Return whether the targets are numbers of classes. Measured: with probabilities, the weights may require grad."""
    targets = [tensor_at(call.state, one.ref) for one in call.inputs if one.label == "target" and one.ref is not None]
    return any(can_require_grad(target.dtype) is False for target in targets)


def _broken_views(call: Operation) -> None:
    """Refuse a view that must not be rebased and is read after a write to its base: its history is not known."""
    if call.state.grad is not True:
        return
    for given in call.inputs:
        if given.ref is not None and tensor_at(call.state, given.ref).view and call.differentiable(given.label):
            broken_view(call.machine, call.state, given.ref, call.node)


def broken_view(machine: Machine, state: State, ref: Ref, node: cst.CSTNode) -> None:
    """Refuse a view from split, unbind, no_grad or inference mode that is used after its base was written."""
    record = tensor_at(state, ref)
    view = record.view
    kind = None if view is None or record.grad is not True else _UNREBASED.get(view.kind)
    if view is None or kind is None:
        return
    for what in state.writes(record.counter)[view.version :]:
        if what.certain:
            machine.emit(UnrebasedView(what.syntax, what.op, kind, node))
            return


_UNREBASED: dict[str, Literal["multi", "no_grad", "inference"]] = {
    "multi": "multi",
    "no_grad": "no_grad",
    "inference": "inference",
}
"""The kinds of views that torch does not rebase."""


def _inference_saved(call: Operation) -> None:
    """Refuse to save an inference tensor for backward outside inference mode."""
    if call.state.inference is not False:
        return
    made = [given for given in call.inputs if given.ref is not None and tensor_at(call.state, given.ref).inference]
    if not made or call.tracked() is not True:
        return
    saved = call.saved_labels().must
    for given in made:
        if given.label in saved and given.ref is not None:
            syntax = tensor_at(call.state, given.ref).syntax
            call.machine.emit(InferenceSaved(call.node, call.name, syntax, call.machine.inference_mode))
            return


# Writes.


def _write(call: Operation, writes: MustMay) -> Value:
    """Write to one of the inputs."""
    machine, state = call.machine, call.state
    labels = call.saved_labels()
    saved, more = call.saved_inputs(labels)
    last: Value = None
    for label in sorted(writes.may):
        for given in [one for one in call.inputs if one.label == label]:
            if given.ref is None:
                continue
            if label.startswith(("p.", "b.")) or "embedding" in call.name:
                # A module writes to its own parameters and buffers under no_grad (`max_norm` of an embedding).
                bump(machine, state, given.ref, Write(call.node, call.name, label in writes.must))
                continue
            if label in writes.must and cannot_hold(call, given.ref):
                return Unknown("raised")
            others = _sources(call, given)
            if label in writes.must and refuses_shared(call, given.ref, others):
                return Unknown("raised")
            op = call.name.removeprefix("Tensor.")
            mine = tuple(
                one for one in saved if one.counter != tensor_at(state, given.ref).counter or _keeps(call, one)
            )
            done = write(
                machine, state, given.ref, op, call.node, others, mine, more or len(mine) != len(saved),
                saves_result=any(name.startswith(">") for name in labels.must),
                overwrites=not call.differentiable(label),
                certain=label in writes.must, frees=call.frees(),
            )  # fmt: skip
            if done and label in writes.must:
                refuse_result(call, given.ref)
            if call.canonical in ANY_SHAPE_INPLACE:
                _reshape(call, given.ref)
            last = given.ref
    views = call.labels(call.entry.row.views)
    if any(alias_of(view).kind == "same" for view in views.must) or not call.entry.row.is_module:
        return last if last is not None else results(call)
    return last if call.entry.row.result is None else results(call)


def _reshape(call: Operation, target: Ref) -> None:
    """Give the tensor the shape that it has from here on."""
    sizes = call.sizes()
    shape = sizes.shape if isinstance(sizes, Operand) and call.canonical in RESHAPES_INPLACE else None
    call.state.put(target.id, tensor_at(call.state, target)._replace(shape=shape))


def _keeps(call: Operation, saved: Saved) -> bool:
    """Return whether the tape itself keeps the old value of what is written, so that the write makes it stale."""
    return saved.label not in call.labels(call.entry.row.writes).may


def _sources(call: Operation, target: Input) -> list[Edge]:
    """Return the graphs of the inputs other than the one written to."""
    sources: list[Edge] = []
    for given in call.inputs:
        if given is target:
            continue
        origin = tensor_at(call.state, given.ref).node if given.ref is not None else given.origin
        flows = call.grad_of(given) if call.differentiable(given.label) else False
        if origin is None and flows is not False:
            origin = Node("input", call.node, tracked=None)  # Something unknown may have a graph.
        if origin is not None:
            sources.append(Edge(origin, flows, None if flows is not False else "nondiff"))
    return sources


def _out(call: Operation, out: Value) -> Value:
    """out=: torch refuses it where an input or the target requires grad; else the target is written."""
    machine, state = call.machine, call.state
    target = known_tensor(machine, state, out)
    call.bound.pop("out")
    call.inputs = [given for given in call.inputs if given.label != "out"]
    if target is None:
        return out
    given = [target, *(one.ref for one in call.inputs if one.ref is not None)]
    if refuses_dual(machine, state, given, "dual-out", bare(call.name), call.node):
        return out
    record = tensor_at(state, target)
    needs = either([call.tracked(), both(record.grad, state.grad)])
    refuses = call.entry.row.out_with_grad == "raises" or record.grad is True
    if needs is True and refuses and call.entry.row.out_with_grad != "works":
        machine.emit(OutRequiresGrad(call.node, call.name))
        return out
    if record.inference is True and state.inference is False:
        machine.emit(InferenceChange(call.node, "out=", machine.inference_mode))
    bump(machine, state, target, Write(call.node, "out="))
    size = result(call.name, {name: value for name, value in call.operands().items() if name != "out"})
    shape = size.shape if isinstance(size, Operand) else None
    record = tensor_at(state, target)
    blocked = state.unrecorded()
    place = None if blocked is None else blocked.syntax
    edges = [Edge(edge.node, False, "no_grad") for edge in call.edges()]
    node = Node(call.name, call.node, edges, place=place) if any(edge.node.live for edge in edges) else record.node
    if needs is False:
        state.put(target.id, record._replace(shape=shape, node=record.node if record.grad else node))
    return out


def note_wanted(machine: Machine, state: State, ref: Ref, args: Args, node: cst.CSTNode) -> None:
    """requires_grad= of a creation function: True makes a leaf."""
    wanted = args.keywords["requires_grad"]
    record = tensor_at(state, ref)
    if wanted is True:
        if can_require_grad(record.dtype) is False:
            machine.emit(IntegerRequiresGrad(node, record.dtype))
            # Torch goes no further; a program that will is one whose values are no integers.
            state.put(ref.id, record._replace(grad=None, dtype=None, node=Node("input", node, tracked=None)))
            return
        source = [Edge(record.node, False, "leaf")] if record.node.live else ()
        value = {"value": Term(record.node)}
        made = Node("leaf", node, source, leaf=ref.id, place=node, operands=value, key=(node, "", state.site))
        state.put(ref.id, record._replace(grad=True, node=made, tags=record.tags | {"contiguous"}))
    elif wanted is not False:
        made = Node("input", node, tracked=None)
        state.put(ref.id, record._replace(grad=None, node=made))
