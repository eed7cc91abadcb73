"""The calls themselves: `t.backward(...)`, `torch.autograd.backward`, `torch.autograd.grad`."""

from __future__ import annotations

from functools import partial

import libcst as cst

from gradlint.domain.announcement import Backpropagated, BackwardCall, ConstantGradient, Differentiated, GradientsAsked
from gradlint.domain.graph import Edge, Node, Tri, fresh_number
from gradlint.domain.refusal.backward import (
    GradInputsEmpty,
    GradInputUnused,
    GradInputWithoutGraph,
    GradOption,
    SecondDerivativeMissing,
)
from gradlint.domain.refusal.functions import DifferentiatedTwice
from gradlint.domain.state import State
from gradlint.domain.value import Args, NoGradient, Ref, Sequence, Tensor, Unknown, Value
from gradlint.domain.walk import inputs as back
from gradlint.domain.walk import leaves
from gradlint.interpreter.escape import may_depend_on
from gradlint.interpreter.machine import Machine
from gradlint.interpreter.reachable import known_items, sequence_at
from gradlint.interpreter.torch.backward import (
    Walk,
    accumulate,
    nodes_between,
    reaching,
    run_backward,
    second_edges,
    troubled,
    walk,
    without_second,
)
from gradlint.interpreter.torch.backward_hooks import gradients_pass, modules_pass, nodes_pass
from gradlint.interpreter.torch.backward_roots import (
    check_root,
    gradient_arguments,
    is_number,
    refuses_count,
    retains,
    roots_of,
)
from gradlint.interpreter.torch.checkpoint import refuses_walk
from gradlint.interpreter.torch.operands import tensors_in
from gradlint.interpreter.torch.reentrant import reenter
from gradlint.interpreter.torch.scaler_stages import invalidate_gradients
from gradlint.interpreter.torch.tensor import either, known_tensor, new_tensor, nontensor, tensor_at
from gradlint.interpreter.torch.transform.levels import unsupported


def tensor_backward(machine: Machine, state: State, ref: Ref, args: Args, node: cst.CSTNode) -> Value:
    """t.backward(gradient=None, retain_graph=None, create_graph=False, inputs=None)"""
    gradient = args.get(0, "gradient")
    retain = retains(args, args.get(1, "retain_graph"), args.get(2, "create_graph", False))
    inputs = args.get(3, "inputs")
    gradients = [gradient]
    if known_items(state, gradient) is not None:
        if refuses_count(machine, state, (ref,), gradient, "backward", node):
            return None
        gradients = gradient_arguments(machine, state, gradient, 1)
    _backward(machine, state, [ref], gradients, args.open, retain, args.get(2, "create_graph", False), inputs, node)
    return None


def autograd_backward(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    """torch.autograd.backward(tensors, grad_tensors=None, retain_graph=None, create_graph=False)"""
    if machine.transforms:
        unsupported(machine, node, "method", "backward")
        return None
    roots = roots_of(machine, state, args.get(0, "tensors"), node)
    if not roots and is_number(machine, state, args.get(0, "tensors"), node):
        return None
    given, former = args.get(1, "grad_tensors"), args.keywords.get("grad_variables")
    if former is not None and given is None:
        given = former  # Its old name.
    elif known_tensor(machine, state, former) is not None and known_tensor(machine, state, given) is not None:
        machine.emit(GradOption(node, "variables"))
        return None
    if refuses_count(machine, state, args.get(0, "tensors"), given, "backward", node):
        return None
    gradients = gradient_arguments(machine, state, given, len(roots))
    retain = retains(args, args.get(2, "retain_graph"), args.get(3, "create_graph", False))
    create = args.get(3, "create_graph", False)
    _backward(machine, state, roots, gradients, args.open, retain, create, args.keywords.get("inputs"), node)
    return None


def _backward(
    machine: Machine,
    state: State,
    roots: list[Ref],
    gradients: list[Value],
    is_open: bool,
    retain: bool | None,
    create: Value,
    inputs: Value,
    node: cst.CSTNode,
) -> None:
    machine.asked += 1
    if not roots:
        invalidate_gradients(machine, state, node)
        return
    refused = False
    for index, (root, gradient) in enumerate(zip(roots, gradients, strict=True)):
        refused = check_root(machine, state, root, gradient, is_open, "backward", node, index) or refused
    nodes = [tensor_at(state, root).node for root in roots]
    if refused:
        _suppose_gradients(machine, state, nodes, node)
        return
    unknown = inputs is not None and not _all_known(machine, state, inputs)
    listed = None if inputs is None or unknown else tensors_in(machine, state, inputs)
    if listed is not None and _refuses_inputs(machine, state, inputs, listed, "backward", node):
        return
    only = None if listed is None else {ref.id for ref in listed}
    restricted = None
    if listed is not None:  # The nodes on a way to one of the inputs, and the leaves among these.
        wanted = {tensor_at(state, ref).node.id for ref in listed}
        restricted = nodes_between(nodes, wanted) | wanted
    if (machine.reentrant or machine.recomputed) and refuses_walk(
        machine, state, walk(nodes).certain, restricted, node
    ):
        return
    found, raised = run_backward(machine, state, nodes, node, retain, restricted)
    state.trained = fresh_number()
    found = reaching(machine, state, found, node)
    created = create if isinstance(create, bool) else None
    machine.announce(state, Backpropagated(node, nodes, found.certain, found.possible, only, retain, created, raised))
    accumulate(machine, state, found, node, only, created)
    if not raised:
        reenter(machine, state, found.certain, created, node)
        modules_pass(machine, state, found, node)
        gradients_pass(machine, state, found, node, "gradient")
        gradients_pass(machine, state, found, node, "accumulated")
        nodes_pass(machine, state, found, node)
    if unknown:
        invalidate_gradients(machine, state, node)
    if only is None and all(one.leaf is None or one in nodes for one in found.possible.values()):
        _suppose_gradients(machine, state, nodes, node)
    machine.backwards += 1


def _refuses_inputs(
    machine: Machine, state: State, inputs: Value, listed: list[Ref], call: BackwardCall, node: cst.CSTNode
) -> bool:
    """Return whether gradients are asked of no tensor, or by `backward` of one that does not require grad."""
    if not listed and known_items(state, inputs) == () and not _may_be_filled(machine, state, inputs, node):
        # Torch does not take this path, if a test or a loop of unknown length may have filled the list on another.
        machine.emit(GradInputsEmpty(node, call), unless=(node, state.site, "inputs"))
        return True
    other = next((kind for one in known_items(state, inputs) or () if (kind := nontensor(state, one))), None)
    if other is not None and not machine.guarded:
        machine.emit(GradOption(node, "inputs"))
        return True
    records = [tensor_at(state, ref) for ref in listed]
    record = next((one for one in records if one.grad is False), None)
    if call == "backward" and record is not None:
        machine.emit(GradInputWithoutGraph(node, record.syntax, call), unless=(node, state.site, "inputs"))
        return True
    if listed and call == "backward":
        machine.passes((node, state.site, "inputs"))
    return False


def _all_known(machine: Machine, state: State, value: Value) -> bool:
    """Return whether it is known of each tensor in an argument which one it is."""
    listed = sequence_at(state, value)
    parts = (value,) if listed is None else listed.items
    return not any(isinstance(one, Unknown) and known_tensor(machine, state, one) is None for one in parts)


def _may_be_filled(machine: Machine, state: State, value: Value, node: cst.CSTNode) -> bool:
    """Return whether a list may hold what hooks have put there, which the calls of what is not shown run.

    No hook has a list that the call itself makes.
    """
    record = state.heap.get(value.id) if isinstance(value, Ref) else None
    values = [one.value for one in node.args] if isinstance(node, cst.Call) else []
    made = any(isinstance(one, cst.List) and not one.elements for one in values)
    hooks = not made and any("hook" in one for one in machine.program.source.words)
    return hooks and isinstance(record, Sequence) and record.kind == "list"


def _suppose_gradients(machine: Machine, state: State, roots: list[Node], node: cst.CSTNode) -> None:
    """After a backward that raises or reaches no leaf: the leaves may have gradients, as once the program is mended.

    What follows from a fault that is reported is not reported as another.
    """
    for leaf in leaves(roots, back):
        if leaf.leaf is not None and isinstance(record := state.heap.get(leaf.leaf), Tensor):
            state.put(leaf.leaf, record._replace(accumulated=Unknown("gradient")))
    invalidate_gradients(machine, state, node)


def autograd_grad(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    """torch.autograd.grad(outputs, inputs, grad_outputs, retain_graph, create_graph, ..., allow_unused)"""
    roots = roots_of(machine, state, args.get(0, "outputs"), node)
    if not roots and is_number(machine, state, args.get(0, "outputs"), node):
        return Unknown("raised")
    inputs = args.get(1, "inputs")
    targets = roots_of(machine, state, inputs, node)
    machine.asked += 1
    machine.announce(state, GradientsAsked(node, targets))
    given = args.get(2, "grad_outputs")
    if _refuses_inputs(machine, state, inputs, targets, "grad", node) or refuses_count(
        machine, state, args.get(0, "outputs"), given, "grad", node
    ):
        return Unknown("raised")
    gradients = gradient_arguments(machine, state, given, len(roots))
    flag = args.get(7, "is_grads_batched", False)
    batched = flag is not False
    if args.get(8, "materialize_grads") is True and args.get(6, "allow_unused") is False:
        machine.emit(GradOption(node, "materialize"))
        return Unknown("raised")
    if batched and flag is not True:
        gradients = [Unknown() if one is not None else None for one in gradients]  # Perhaps a dimension more.
    create = args.get(4, "create_graph", False)
    retain = retains(args, args.get(3, "retain_graph"), create)
    if not roots or not targets:
        return Unknown()
    if not _all_known(machine, state, args.get(0, "outputs")) or not _all_known(machine, state, inputs):
        return may_depend_on([tensor_at(state, one).node for one in roots], node)
    refused = False
    for index, (root, gradient) in enumerate(zip(roots, gradients, strict=True)):
        refused = check_root(machine, state, root, gradient, args.open, "grad", node, index, batched=batched) or refused
    if not refused and flag is True and _batches_differ(state, gradients):
        machine.emit(GradOption(node, "sizes"))
        return Unknown("raised")
    if not refused and flag is True and None in gradients and not args.open:
        machine.emit(GradOption(node, "batched"))
        return Unknown("raised")
    unused = None if refused else _walk_to(machine, state, roots, targets, args, node, retain)
    if unused is None:
        return Unknown("raised")
    return _gradients(machine, state, roots, targets, unused, node, create, gradients, batched)


def _batches_differ(state: State, gradients: list[Value]) -> bool:
    """Return whether gradients are of batches of different sizes."""
    shapes = (tensor_at(state, one).shape for one in gradients if isinstance(one, Ref))
    return len({shape[0] for shape in shapes if shape and isinstance(shape[0], int)}) > 1


def _walk_to(
    machine: Machine,
    state: State,
    roots: list[Ref],
    targets: list[Ref],
    args: Args,
    node: cst.CSTNode,
    retain: bool | None,
) -> set[int] | None:
    """Run the part of the tape between outputs and inputs; the addresses of the inputs for which torch gives None.

    None where torch raises.
    """
    nodes = [tensor_at(state, root).node for root in roots]
    wanted = {tensor_at(state, target).node.id for target in targets}
    found = walk(nodes)
    between = nodes_between(nodes, wanted)
    part = Walk([one for one in found.certain if one.id in between], found.possible)
    filled = args.get(8, "materialize_grads", None if args.open else False)
    unused_ok = args.keywords.get("allow_unused", args.get(6, "allow_unused", None if filled is not False else False))
    known = all(one.tracked is not None for one in found.possible.values())  # What is not known may hold any input.
    unused: set[int] = set()
    for target in targets:
        record = tensor_at(state, target)
        if record.grad is False:
            # It is no fault if the flag was only left off on a path: for integers, of which the program warns. A path
            # that is not followed may have left the tensor out, by a name that a list lacks.
            if not machine.give_ups["paths dropped"] or not state.undecided_since(target.id):
                machine.emit(GradInputWithoutGraph(node, record.syntax), unless=(node, state.site, "inputs"))
            return None
        if record.grad is True and known and record.node.id not in found.possible:
            if unused_ok is False:
                machine.emit(GradInputUnused(node, record.syntax))
                return None
            if unused_ok is True and filled is False:
                unused.add(target.id)
    if all(tensor_at(state, target).grad for target in targets):
        machine.passes((node, state.site, "inputs"))
    machine.announce(state, Differentiated(node, found.possible))
    if refuses_walk(machine, state, part.certain, between | wanted, node):
        return None
    created = args.get(4, "create_graph", False)
    if not _run_part(machine, state, part, node, retain, created if isinstance(created, bool) else None):
        return None
    _hooks_pass(machine, state, found, between | wanted, node)
    return unused


def _run_part(machine: Machine, state: State, part: Walk, node: cst.CSTNode, retain: bool | None, created: Tri) -> bool:
    """Check and free a part of the tape; False where torch raises."""
    if troubled(machine, state, part, node):
        state.free([one.id for one in part.certain], None)
        return False
    reenter(machine, state, part.certain, created, node)
    if retain is False:
        state.free([one.id for one in part.certain if state.frees(one)], node)
    return True


def _hooks_pass(machine: Machine, state: State, found: Walk, within: set[int], node: cst.CSTNode) -> None:
    """Run the hooks between outputs and inputs; those of an input get the gradient that is asked for (measured)."""
    passed = {number: one for number, one in found.possible.items() if number in within}
    part = Walk([one for one in found.certain if one.id in within], passed)
    modules_pass(machine, state, part, node)
    gradients_pass(machine, state, part, node, "gradient")
    nodes_pass(machine, state, part, node)


def once_between(machine: Machine, state: State, roots: list[Ref], target: Tensor) -> list[Node]:
    """Return the custom functions on the way to a tensor that can be differentiated once only, youngest first."""
    nodes = [tensor_at(state, root).node for root in roots] if machine.once else []
    between = nodes_between(nodes, {target.node.id})
    return [one for one in walk(nodes).certain if one.id in machine.once & between]


def _only_once(machine: Machine, state: State, roots: list[Ref], target: Tensor, given: list[Tensor]) -> Node | None:
    """Return such a function where the gradient that comes to it has a graph: torch gives one of its own a graph, too.

    Whoever differentiates that again, torch refuses. Without a graph, its result has none either (torch/autograd/
    function.py, `once_differentiable`).
    """
    for one in once_between(machine, state, roots, target):
        arriving = second_edges(machine, state, roots, target._replace(node=one))
        if any(edge.flows is True for edge in arriving) or any(seed.grad is True for seed in given):
            return one
    return None


def _gradients(
    machine: Machine,
    state: State,
    roots: list[Ref],
    targets: list[Ref],
    unused: set[int],
    node: cst.CSTNode,
    create: Value,
    gradients: list[Value],
    batched: bool,
) -> Value:
    """Return the gradients: with create_graph they hang on whatever their formulas kept of the forward.

    `batched`: the call may be asked for several at once, with a dimension more than the inputs have.
    """
    made: list[Value] = []
    for target in targets:
        record = tensor_at(state, target)
        if target.id in unused:
            made.append(NoGradient(record.syntax, 0, asked=node))
            continue
        edges = second_edges(machine, state, roots, record)
        if create is False:
            edges = [Edge(edge.node, False, "grad") for edge in edges]
            edges += [Edge(tensor_at(state, one).node, False, "grad") for one in (*roots, target)]
            gradient = Node("grad", node, edges, cut="grad")
            machine.announce(state, ConstantGradient(node, gradient))
            made.append(new_tensor(state, gradient, dtype=record.dtype, shape=None if batched else record.shape))
            continue
        tracked: Tri = either(edge.flows for edge in edges)
        given = [tensor_at(state, one) for one in gradients if isinstance(one, Ref)]
        edges += [Edge(one.node, one.grad) for one in given]
        tracked = either([tracked, *(one.grad for one in given)])
        if create is not True or any(isinstance(one, Unknown) for one in gradients):
            tracked = None if tracked is not True or create is not True else True
        # What a formula kept of a tracked tensor it keeps again for the second derivative.
        frees = True if tracked is True and any(edge.flows is True for edge in edges) else None
        once = _only_once(machine, state, roots, record, given) if create is True else None
        tracked = tracked if once is None else True
        gradient = Node("grad", node, edges, tracked=tracked, maybe_saved=True, frees=frees)
        if once is not None:
            machine.raising[gradient.id] = partial(DifferentiatedTwice, applied=once.syntax)
        second = without_second(roots, state, record)
        if second is not None:
            machine.raising[gradient.id] = partial(SecondDerivativeMissing, op=second.op, made=second.syntax)
        made.append(
            new_tensor(state, gradient, grad=tracked, dtype=record.dtype, shape=None if batched else record.shape)
        )
    return tuple(made)
