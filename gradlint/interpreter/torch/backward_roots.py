"""What a backward starts from: its roots, one gradient for each, and what torch says of them before it walks."""

from __future__ import annotations

from typing import TypeGuard

import libcst as cst

from gradlint.detect.formula.unfilled import taken
from gradlint.detect.lost_gradient import Cut, lost_leaves, note_refused
from gradlint.detect.second_order import note_gradient_root
from gradlint.domain.dtype import COMPLEXES
from gradlint.domain.event import Backward
from gradlint.domain.graph import Node
from gradlint.domain.shape import is_single, same_shape
from gradlint.domain.state import State
from gradlint.domain.value import Ref, Sequence, Unknown, Value
from gradlint.interpreter.args import Args
from gradlint.interpreter.machine import Machine
from gradlint.interpreter.torch import faults
from gradlint.interpreter.torch.nonscalar import SEVERAL
from gradlint.interpreter.torch.operands import tensors_in
from gradlint.interpreter.torch.switches import is_switched_off
from gradlint.interpreter.torch.tensor import as_tensor, known_tensor, tensor_at


def roots_of(machine: Machine, state: State, value: Value, node: cst.CSTNode) -> list[Ref]:
    """The tensors that a backward is asked for: one, or those of a tuple or list."""
    found = tensors_in(machine, state, value)
    if found:
        return found
    single = as_tensor(machine, state, value, node)
    return [] if single is None else [single]


def is_number(machine: Machine, state: State, root: Value, node: cst.CSTNode) -> bool:
    """A number in the place of a root: torch raises, and what it was computed from shows what was meant."""
    if not isinstance(root, Unknown) or root.kind not in ("number", "int") or root.origin is None:
        return False
    note_refused(machine, state, [root.origin], node)
    return True


def gradient_arguments(machine: Machine, state: State, value: Value, count: int) -> list[Value]:
    """One gradient argument for each root."""
    if value is None:
        return [None] * count
    record = state[value] if isinstance(value, Ref) else None
    listed = value if type(value) is tuple else record.items if _is_whole(record) else ()
    if len(listed) == count and any(item is None for item in listed):
        return [item if item is None else known_tensor(machine, state, item) or Unknown() for item in listed]
    if isinstance(value, (int, float)):
        return [value] * count
    items = tensors_in(machine, state, value)
    if len(items) == count:
        return list(items)
    return [Unknown()] * count


def _is_whole(record: object) -> TypeGuard[Sequence]:
    return isinstance(record, Sequence) and not record.open


def retains(args: Args, retain: Value, create: Value) -> bool | None:
    """Whether the graph outlives the call; `retain_graph` defaults to `create_graph`, and had another name once."""
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
    call: str,
    node: cst.CSTNode,
    index: int,
) -> bool:
    """What torch says of a root before it walks; True where it raises. `index`: which of several roots it is."""
    record = tensor_at(state, root)
    if isinstance(gradient, (int, float)):
        faults.refused(machine, "gradient-number", node, call)
        return True
    has_gradient = None if is_open else gradient is not None
    if isinstance(gradient, Unknown) and ("tensor", gradient) not in state.facts:
        has_gradient = None
    given = known_tensor(machine, state, gradient)
    fits = None
    if given is not None:
        fits = same_shape(tensor_at(state, given).shape, record.shape)  # type: ignore[arg-type]
        made = taken(state, tensor_at(state, given), machine.unfilled)
        if fits is not False and made is not None:
            subject = "" if made is tensor_at(state, given).node.syntax else "scaled"
            faults.noticed(
                machine, "gradient-uninitialised", node, subject, related=[(made, "its memory is taken here")]
            )
    tracked = record.grad
    cuts: tuple[tuple[str, cst.CSTNode], ...] = ()
    if tracked is False and is_switched_off(machine, state, record.node, node):
        return True
    if tracked is False and note_gradient_root(machine, record.node, node):
        return True
    if tracked is False:
        blamed = note_refused(machine, state, [record.node], node)
        cuts = () if blamed is None else _cuts(record.node, blamed)
    single = False if record.tags >= SEVERAL else is_single(record.shape)  # type: ignore[arg-type]
    event = Backward(
        node, "backward" if call == "backward" else "grad", record.shape, single, has_gradient, fits, tracked,
        record.syntax, cuts, record.dtype,
    )  # fmt: skip
    machine.emit(event)
    if tracked is False:
        if not cuts:
            # A result that stands in for an empty one is no fault, if the same call has a graph on other paths.
            machine.rootless.append((event, (node, state.site, index)))
            state.escape()  # Nor is what follows on this path, which torch does not take.
        return True
    machine.rooted.add((node, state.site, index))
    if has_gradient is False:
        return single is False or record.dtype in COMPLEXES
    return has_gradient is True and fits is False


def _cuts(root: Node, blamed: Cut) -> tuple[tuple[str, cst.CSTNode], ...]:
    """All cuts behind a root, the one to blame first."""
    found = [(blamed.kind, blamed.syntax), *((one.cut.kind, one.cut.syntax) for one in lost_leaves(root, set()))]
    return tuple(dict.fromkeys(found))
