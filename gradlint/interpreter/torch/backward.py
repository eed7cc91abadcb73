"""backward and autograd.grad: the walk over the tape, what it releases, and what it finds changed.

The engine runs the youngest node first (torch/csrc/autograd/engine.cpp), so the first thing that raises is that of
the youngest node in trouble.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import libcst as cst

from gradlint.domain.announcement import GradientRecorded, StaleSavedUsed
from gradlint.domain.assumption import Assumption
from gradlint.domain.graph import Edge, Node, Saved, Tri
from gradlint.domain.refusal.backward import SecondBackward, StaleSaved
from gradlint.domain.refusal.functions import SavedTensorMisused
from gradlint.domain.state import State
from gradlint.domain.value import Instance, NoGradient, OptimizerState, Ref, Tensor, Unknown, Write
from gradlint.domain.walk import certain_inputs, gradient_inputs, inputs, reachable
from gradlint.domain.walk import leaves as leaves_of
from gradlint.facts.aliases import canonical
from gradlint.facts.table import older
from gradlint.facts.traits import ONCE_ONLY, SAVES_AS_LISTED
from gradlint.facts.versions import stated
from gradlint.interpreter.machine import Machine
from gradlint.interpreter.python.contexts import MUTATION
from gradlint.interpreter.torch.absent_gradients import refuses_absent
from gradlint.interpreter.torch.gradient_layout import layouts, note_layout
from gradlint.interpreter.torch.inplace import bump
from gradlint.interpreter.torch.tensor import NOT_SHOWN, new_tensor, tensor_at


class Walk(NamedTuple):
    """The nodes that a backward certainly runs, youngest first, and those that it may run."""

    certain: list[Node]
    possible: dict[int, Node]


def walk(roots: Sequence[Node]) -> Walk:
    """Follow the tape back from the roots, which are taken to be tracked: else the call raises anyway."""
    certain = sorted(reachable(roots, _certain_inputs), key=_age, reverse=True)
    return Walk(certain, {node.id: node for node in reachable(roots, gradient_inputs)})


def reaching(machine: Machine, state: State, found: Walk, syntax: cst.CSTNode) -> Walk:
    """Return a walk that reaches some leaf: where none is certain, all that may be reached are taken to be.

    Where none is known that may be reached, it is the parameters of the only optimizer. A backward that reaches none
    raises, so that nobody keeps a program in which it does.
    """
    leaves = [node for node in found.possible.values() if node.leaf is not None]
    unknown = any(node.tracked is None for node in found.possible.values())
    if unknown and all(node.tracked is False for node in leaves):
        _fill_escaped(state)
    if not machine.assumes:
        return found
    if any(node.leaf is not None for node in found.certain):
        leaves = _unseen(machine, state, leaves)
    elif not leaves and unknown:
        behind = {node.leaf for node in leaves_of(found.possible.values(), inputs)}  # Behind what cuts the graph.
        leaves = [leaf for leaf in _only_optimized(state) if leaf.leaf not in behind]
    if not leaves:
        return found
    root = syntax.func.value if isinstance(syntax, cst.Call) and isinstance(syntax.func, cst.Attribute) else None
    subject = root.value if isinstance(root, cst.Name) else "the loss"
    machine.assume(Assumption("use", subject, "computed from parameters that get a gradient", syntax))
    return Walk([*found.certain, *leaves], {**found.possible, **{leaf.id: leaf for leaf in leaves}})


def _fill_escaped(state: State) -> None:
    """Let what is behind a call that is not known be any leaf that had gone where gradlint does not look."""
    for address, record in list(state.heap.items()):
        if address <= state.escaped and isinstance(record, Tensor) and isinstance(record.accumulated, NoGradient):
            state.put(address, record._replace(accumulated=Unknown("gradient")))


def _unseen(machine: Machine, state: State, reached: list[Node]) -> list[Node]:
    """Return what stands for the parameters of the only optimizer, if no parameter that is reached has another."""
    if any(node.leaf in machine.optimized for node in reached):
        return []
    held = _only_optimized(state)
    return [one for one in held if one.leaf is not None and NOT_SHOWN in tensor_at(state, Ref(one.leaf)).tags]


def _only_optimized(state: State) -> list[Node]:
    """Return the parameters of the only optimizer there is; none, if there are several."""
    made = [one.inner for one in state.heap.values() if isinstance(one, Instance)]
    held = [one.params for one in made if isinstance(one, OptimizerState)]
    params = held[0] if len(held) == 1 and isinstance(held[0], tuple) else ()
    tensors = [state.heap.get(one.id) for one in params if isinstance(one, Ref)]
    return [one.node for one in tensors if isinstance(one, Tensor) and one.grad is not False and one.node.leaf]


def _certain_inputs(node: Node) -> list[Node]:
    """Return the inputs that a backward through a node certainly runs: where there is but one way to go, it goes there.

    What happens in a call that is not known, is not known.
    """
    flowing = gradient_inputs(node)
    return flowing if len(flowing) == 1 and node.op not in ("call", "rsample") else certain_inputs(node)


def nodes_between(roots: list[Node], wanted: set[int]) -> set[int]:
    """Return the nodes on a way from the roots to a wanted node, the wanted ones left out: they are not run."""
    leading: set[int] = set()
    for node in sorted(reachable(roots, gradient_inputs), key=_age):  # Inputs are older.
        if any(one.id in wanted or one.id in leading for one in gradient_inputs(node)):
            leading.add(node.id)
    return leading


def _age(node: Node) -> int:
    return node.id


def run_backward(
    machine: Machine,
    state: State,
    roots: Sequence[Node],
    syntax: cst.CSTNode,
    retain: bool | None,
    part: set[int] | None = None,
) -> tuple[Walk, bool]:
    """Walk, check and free; whether torch raises. `part`: the nodes to which `inputs=` restricts the walk."""
    found = walk(roots)
    if part is not None:
        within = {number: node for number, node in found.possible.items() if number in part}
        found = Walk([node for node in found.certain if node.id in part], within)
    if troubled(machine, state, found, syntax):
        state.free([node.id for node in found.certain], None)
        return found, True
    if retain is False:
        freed = [node.id for node in found.certain if state.frees(node)]
        state.free(freed, syntax)
        state.spend(root.id for root in roots)
    elif retain:
        state.retain(frozenset(node.id for node in found.certain))
        for node in found.certain:
            machine.passes((RETAINED, node.id))
    return found, False


def troubled(machine: Machine, state: State, found: Walk, syntax: cst.CSTNode) -> bool:
    """Report the first node that was freed already, or of which a saved tensor has been written."""
    silent, allowed = False, state.facts.get(MUTATION) is True
    for node in found.certain:
        if node.id in machine.raising:
            machine.emit(machine.raising[node.id](syntax))
            return True
        if node.id in state.freed:
            earlier = state.freed[node.id]
            if earlier is None:
                return True  # An earlier backward raised here already.
            # Which of several backwards is the last, and retains nothing, the program knows.
            chosen = (RETAINED, node.id) if state.undecided_since(node.id) else None
            machine.emit(SecondBackward(syntax, earlier, node.syntax, node.op), unless=chosen)
            return True
        if refuses_absent(machine, state, node, found.possible, syntax):
            return True
        ended = [place for since, until, place in machine.mutable if since < node.id < until and node.saved]
        if ended:
            machine.emit(SavedTensorMisused(syntax, "ended", ended[0]))
            return True
        for saved in () if allowed else (one for one in node.saved if not one.hooked):
            detached = None if saved.own or saved.node is None else state.facts.get((DETACHED, saved.node.id))
            if isinstance(detached, cst.CSTNode):
                machine.emit(SavedTensorMisused(syntax, "detached", detached))
                return True
            culprit = first_write(state, saved)
            if culprit is not None:
                leaf, built = saved.node is not None and saved.node.leaf is not None, culprit.built
                machine.emit(
                    StaleSaved(culprit.syntax, culprit.op, node.syntax, node.op, saved.label, syntax, built, leaf)
                )
                return True
            if not silent:
                silent = _silently(machine, state, node, saved, syntax)
    return False


RETAINED = "retained"
"""The key of the place that a backward passes which retains a node."""

DETACHED = "detached"
"""The key of the node of a tensor that `detach_` has taken out of its graph."""


def first_write(state: State, saved: Saved) -> Write | None:
    """Return the first certain write that a saved tensor's version counter saw since it was saved."""
    for what in state.writes(saved.counter)[saved.version :]:
        if what.certain:
            return what
    return None


def _silently(machine: Machine, state: State, node: Node, saved: Saved, syntax: cst.CSTNode) -> bool:
    """Announce a write that bypassed the version counter: torch silently computes with the new value."""
    for what in state.writes(saved.memory)[saved.hidden :]:
        if what.certain or (what.op == REPLACED and _keeps_leaf(node, saved)):
            machine.announce(state, StaleSavedUsed(syntax, what, node, saved))
            return True
    return False


REPLACED = ".data ="
"""The write that gives a tensor other memory: what was saved of the tensor sees it, of a view of it does not."""


def _keeps_leaf(node: Node, saved: Saved) -> bool:
    """Return whether an operation saved a leaf itself; a linear layer saves its weight transposed, which is a view."""
    return saved.node is not None and saved.node.leaf is not None and not node.op.startswith("nn.")


CYCLE = "cycle"
"""The tag of a gradient made with `create_graph=True`: it keeps its graph, and the graph keeps the leaf it is in."""


def accumulate(
    machine: Machine, state: State, found: Walk, syntax: cst.CSTNode, only: set[int] | None, create: Tri = False
) -> None:
    """Gradients are added into `.grad` of the leaves that were reached."""
    certain = {node.leaf for node in found.certain if node.leaf is not None}
    for wanted in only or ():
        result = state.heap[wanted]
        if isinstance(result, Tensor) and result.leaf is not True:  # A result among `inputs=` gets its gradient, too.
            _add_gradient(machine, state, wanted, result, syntax, False)
    embedded = layouts(state, found.possible.values())
    for node in found.possible.values():
        leaf = node.leaf
        if leaf is None or (only is not None and leaf not in only):
            continue
        record = state.heap.get(leaf)
        if not isinstance(record, Tensor) or record.grad is not True:
            continue
        _add_gradient(machine, state, leaf, record, syntax, leaf in certain)
        if leaf in embedded or isinstance(record.accumulated, Ref):
            note_layout(state, leaf, embedded.get(leaf, False), not isinstance(record.accumulated, Ref))
        if create is not False and leaf in certain:
            _keep_graph(machine, state, leaf, syntax, create is True, _is_computed(found, node))


def _is_computed(found: Walk, leaf: Node) -> bool:
    """Return whether a gradient depends on leaves: on the way to its own, a function of one tensor has saved that."""
    between = nodes_between([*found.certain], {leaf.id})
    alone = (one for one in found.certain if sum(edge.flows is not False for edge in one.edges) == 1)
    return any(one.id in between and any(_is_tracked(one, kept) for kept in one.saved) for one in alone)


def _is_tracked(node: Node, kept: Saved) -> bool:
    source = node if kept.own else kept.node
    return source is not None and source.tracked is True


def _keep_graph(machine: Machine, state: State, leaf: int, syntax: cst.CSTNode, certain: bool, computed: bool) -> None:
    """The gradient has a graph of its own; `computed`: it certainly requires grad.

    Measured: torch warns that the leaf and its gradient now keep each other alive until `.grad` is set to None.
    """
    record = tensor_at(state, Ref(leaf))
    gradient = record.accumulated
    if isinstance(gradient, Ref):
        kept = tensor_at(state, gradient)
        grad = True if computed and certain else None
        node = Node("gradient", syntax, tracked=grad, maybe_saved=True)
        state.put(gradient.id, kept._replace(node=node, grad=grad, syntax=syntax, tags=kept.tags | {CYCLE}))
        machine.announce(state, GradientRecorded(syntax, node, certain))


def _add_gradient(
    machine: Machine, state: State, leaf: int, record: Tensor, syntax: cst.CSTNode, certain: bool
) -> None:
    former = record.accumulated
    if isinstance(former, Ref):
        bump(machine, state, former, Write(syntax, "backward", certain))
    elif certain:
        node = Node("gradient", syntax)
        fresh = new_tensor(state, node, grad=False, dtype=record.dtype, shape=record.shape)
        state.put(leaf, record._replace(accumulated=fresh))
    elif former is None or isinstance(former, NoGradient):
        state.put(leaf, record._replace(accumulated=Unknown("gradient")))


def without_second(roots: list[Ref], state: State, target: Tensor) -> Node | None:
    """Return an operation on the way to a target whose derivative has none, if a backward certainly goes through it."""
    nodes = [tensor_at(state, root).node for root in roots]
    between = nodes_between(nodes, {target.node.id})
    return next((one for one in walk(nodes).certain if one.id in between and _is_once_only(one)), None)


def _is_once_only(node: Node) -> bool:
    """Return whether the derivative of an operation has none; that of Euclidean distances may have one (measured)."""
    name, power = canonical(node.op), node.operands.get("p")
    if name in ONCE_ONLY or name in older(stated())["once_only"].split():
        return True
    return name == "cdist" and isinstance(power, (int, float)) and power != 2


def second_edges(machine: Machine, state: State, roots: list[Ref], target: Tensor) -> list[Edge]:
    """Return where a second derivative goes: to the tensors that the formulas on the way to the target have kept."""
    nodes = [tensor_at(state, root).node for root in roots]
    found = walk(nodes)
    if target.node.id not in found.possible:
        return [Edge(node, None) for node in nodes]  # A tensor that is not known may be any of the graph.
    between = nodes_between(nodes, {target.node.id})
    edges: list[Edge] = []
    sure = {one.id for one in found.certain}
    edges += [Edge(one, None) for one in found.possible.values() if one.tracked is None]
    for one in found.possible.values():
        if one.id not in between or one.id in machine.constant_gradients:
            continue
        certain = one.id in sure
        sources = [one if kept.own else kept.node for kept in one.saved]
        edges += [Edge(source, True if certain else None) for source in sources if source is not None]
        if one.maybe_saved or one.tracked is None or not certain or canonical(one.op) not in SAVES_AS_LISTED:
            edges += [Edge(edge.node, None) for edge in one.edges if edge.flows is not False]
    return edges
