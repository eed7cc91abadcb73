"""What a backward starts from: its roots, one gradient for each, and what torch refuses before it runs."""

from __future__ import annotations

import libcst as cst

from gradlint.domain.announcement import BackwardCall, BackwardCalled, NumberBackpropagated
from gradlint.domain.dtype import COMPLEXES
from gradlint.domain.graph import NOT_COMPUTED_FROM, Node
from gradlint.domain.refusal import backward as refusal
from gradlint.domain.shape import is_single, same_shape
from gradlint.domain.state import State
from gradlint.domain.value import Args, Ref, Tensor, Unknown, Value
from gradlint.domain.walk import reachable
from gradlint.interpreter.machine import Machine
from gradlint.interpreter.reachable import known_items
from gradlint.interpreter.torch.operands import tensors_in
from gradlint.interpreter.torch.result import SEVERAL, assumed_of
from gradlint.interpreter.torch.tensor import as_tensor, known_tensor, tensor_at
from gradlint.interpreter.torch.transform.levels import mapped, unsupported


def roots_of(machine: Machine, state: State, value: Value, node: cst.CSTNode) -> list[Ref]:
    """Return the tensors that a backward is asked for: one, or those of a tuple or list."""
    found = tensors_in(machine, state, value)
    if found:
        return found
    single = as_tensor(machine, state, value, node)
    return [] if single is None else [single]


def is_number(machine: Machine, state: State, root: Value, node: cst.CSTNode) -> bool:
    """Announce a number passed as root, and return whether it is one with a graph: torch raises."""
    if not isinstance(root, Unknown) or root.kind not in ("number", "int") or root.origin is None:
        return False
    machine.announce(state, NumberBackpropagated(node, root.origin))
    return True


def gradient_arguments(machine: Machine, state: State, value: Value, count: int) -> list[Value]:
    """Return one gradient argument for each root."""
    if value is None:
        return [None] * count
    listed = (known_items(state, value) or ())[:count]
    if listed and len(listed) != count:
        return [Unknown()] * count  # Some of the roots are not known.
    if len(listed) == count and any(item is None or isinstance(item, (int, float)) for item in listed):
        return [
            item if item is None or isinstance(item, (int, float)) else known_tensor(machine, state, item) or Unknown()
            for item in listed
        ]
    if isinstance(value, (int, float)):
        return [value] * count
    items = tensors_in(machine, state, value)
    return [*items] if len(items) == count else [Unknown()] * count


def refuses_count(
    machine: Machine, state: State, roots: Value, gradients: Value, call: BackwardCall, node: cst.CSTNode
) -> bool:
    """Return whether there are fewer gradients than roots: of more, torch leaves the last ones out (measured)."""
    tensors, given = _count(machine, state, roots), _count(machine, state, gradients)
    if tensors is None or given is None or tensors <= given:
        return False
    machine.emit(refusal.GradientCountMismatch(node, call, tensors, given))
    return True


def _count(machine: Machine, state: State, value: Value) -> int | None:
    items = known_items(state, value)
    if isinstance(value, Unknown):
        return None  # It may be several.
    return len(items) if items is not None else 1 if known_tensor(machine, state, value) is not None else None


def retains(args: Args, retain: Value, create: Value) -> bool | None:
    """Return whether the graph is kept: `retain_graph`, once `retain_variables`, by default `create_graph`."""
    if args.open:
        return None
    retain = args.keywords.get("retain_variables") if retain is None else retain
    chosen = create if retain is None else retain
    return chosen if isinstance(chosen, bool) else bool(chosen) if isinstance(chosen, int) else None


def check_root(
    machine: Machine,
    state: State,
    root: Ref,
    gradient: Value,
    is_open: bool,
    call: BackwardCall,
    node: cst.CSTNode,
    index: int,
    *,
    batched: bool = False,
) -> bool:
    """Return whether torch raises at a root before it runs the graph. `index`: which of several roots it is."""
    record = tensor_at(state, root)
    if isinstance(gradient, (int, float)):
        machine.emit(refusal.GradientIsNumber(node, call))
        return True
    level = mapped(machine, record) if machine.transforms else None
    if level is not None:  # Below `vmap` nothing that differs from one run to the next requires grad.
        unsupported(machine, node, "function", f"torch.autograd.{call}", level)
        return True
    machine.announce(state, BackwardCalled(node, call, root, index, gradient))
    if record.grad is not True and not _depends_on_leaves(state, record.node):
        # What it hangs on is not known; or torch does not take this path, and it stands in for an empty result.
        state.escape()
    if record.grad is False:
        return True
    machine.passes((node, state.site, index))
    if gradient is None and not is_open:
        return _refuses_implicit_gradient(machine, record, call, node)
    given = known_tensor(machine, state, gradient)
    if given is None or is_open or (isinstance(gradient, Unknown) and ("tensor", gradient) not in state.facts):
        return False
    seed = tensor_at(state, given)
    shape = seed.shape[1:] if batched and seed.shape else seed.shape
    if batched and seed.shape == ():
        machine.emit(refusal.GradOption(node, "flat"))
        return True
    if same_shape(shape, record.shape) is False:
        machine.emit(refusal.GradientShapeMismatch(node, call, record.shape, record.syntax, batched))
        return True
    if None in (seed.dtype, record.dtype) or (seed.dtype in COMPLEXES) == (record.dtype in COMPLEXES):
        return False
    machine.emit(refusal.GradientComplexMismatch(node, call, record.syntax))
    return True


def _refuses_implicit_gradient(machine: Machine, record: Tensor, call: BackwardCall, node: cst.CSTNode) -> bool:
    """Without a gradient, torch starts at tensors of one element only, and not at complex ones."""
    if record.tags >= SEVERAL or is_single(record.shape) is False:
        machine.emit(refusal.NonscalarRoot(node, call, record.shape, record.syntax))
        return True
    if assumed := assumed_of(record):
        machine.emit(refusal.NonscalarRoot(node, call, None, record.syntax, assumptions=assumed))
        return False
    if record.dtype in COMPLEXES:
        machine.emit(refusal.ComplexRoot(node, call, record.syntax))
        return True
    return False


def _depends_on_leaves(state: State, root: Node) -> bool:
    """Return whether a value was computed from a leaf that requires grad, by whatever route."""

    def along(node: Node) -> list[Node]:
        return [edge.node for edge in node.edges if edge.node.live and edge.cut not in NOT_COMPUTED_FROM]

    nodes = (node.leaf for node in reachable([root] if root.live else [], along) if node is not root)
    records = (state.heap.get(leaf) for leaf in nodes if leaf is not None)
    return any(isinstance(record, Tensor) and record.grad is True for record in records)
