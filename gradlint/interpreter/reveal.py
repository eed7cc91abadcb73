"""reveal(value): what the machine knows of a value, in specifications and in programs that ask."""

from __future__ import annotations

import libcst as cst

from gradlint.domain.event import Reveal
from gradlint.domain.state import State
from gradlint.domain.value import Args, Ref, Tensor, Unknown, Value
from gradlint.interpreter.belief import belief, facts_of, text_of
from gradlint.interpreter.machine import Machine
from gradlint.interpreter.torch.tensor import known_tensor


def reveal(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    """Emit what is known of the argument, and pass it on."""
    value = args.get(0, "value")
    tensor = known_tensor(machine, state, value)
    if tensor is not None:
        record = state[tensor]
        assert isinstance(record, Tensor)
        machine.events.append(Reveal(node, text_of(state, record), facts_of(state, record)))
    else:
        machine.events.append(Reveal(node, _plain(value)))
    return value


def reveal_to_user(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    """`gradlint.reveal(value)`: emit what `gradlint explain` says of the argument, and pass it on."""
    value = args.get(0, "value")
    known = belief(machine, state, value)
    machine.events.append(Reveal(node, known.text, known.facts, asked=True))
    return value


def _plain(value: Value) -> str:
    if isinstance(value, Unknown):
        return f"unknown {value.kind}" if value.kind else "unknown"
    if isinstance(value, Ref):
        return "object"
    return repr(value)
