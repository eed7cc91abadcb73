"""reveal(value): what the machine knows of a value, for specifications."""

from __future__ import annotations

import libcst as cst

from gradlint.domain.event import Reveal
from gradlint.domain.state import State
from gradlint.domain.value import Ref, Tensor, Unknown, Value
from gradlint.interpreter.args import Args
from gradlint.interpreter.machine import Machine
from gradlint.interpreter.torch.tensor import known_tensor


def reveal(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    """Emit what is known of the argument, and pass it on."""
    value = args.get(0, "value")
    tensor = known_tensor(machine, state, value)
    if tensor is not None:
        record = state[tensor]
        assert isinstance(record, Tensor)
        machine.events.append(Reveal(node, _text(state, record), _facts(state, record)))
    else:
        machine.events.append(Reveal(node, _plain(value)))
    return value


def _plain(value: Value) -> str:
    if isinstance(value, Unknown):
        return f"unknown {value.kind}" if value.kind else "unknown"
    if isinstance(value, Ref):
        return "object"
    return repr(value)


def _facts(state: State, record: Tensor) -> dict[str, object]:
    writes = state.writes(record.counter)
    certain = all(what.certain for what in writes) and (record.view is None or record.view.kind != "maybe")
    certain = certain and record.node.op != "gradient" and "uncounted" not in record.tags
    shape = None if record.shape is None else tuple(d if isinstance(d, int) else None for d in record.shape)
    return {
        "requires_grad": record.grad,
        "is_leaf": record.leaf,
        "version": len(writes) if certain and record.node.op != "input" else None,
        "shape": shape,
        "dtype": record.dtype,
        "has_grad_fn": record.node.tracked,
    }


def _text(state: State, record: Tensor) -> str:
    """`Tensor[2, ?] float32 grad leaf v0`; a question mark stands behind what is not known."""
    known = _facts(state, record)
    shape = known["shape"]
    sizes = "[?...]" if shape is None else f"[{', '.join('?' if d is None else str(d) for d in shape)}]"  # type: ignore[attr-defined]
    parts = [f"Tensor{sizes}", record.dtype or "?"]
    if record.grad is not False:
        parts.append("grad" if record.grad else "grad?")
    if record.leaf is not False:
        parts.append("leaf" if record.leaf else "leaf?")
    if record.view is not None:
        parts.append("view?" if record.view.kind == "maybe" else "view")
    version = known["version"]
    parts.append("v?" if version is None else f"v{version}")
    return " ".join(parts)
