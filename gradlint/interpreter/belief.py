"""What the machine believes of a value, in words and as data: for `reveal`, and for `gradlint explain`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import libcst as cst

from gradlint.domain import value as values
from gradlint.domain.event import Reveal
from gradlint.domain.graph import Node
from gradlint.domain.likeness import is_optimizer_path
from gradlint.domain.state import State
from gradlint.domain.value import Args, Bound, External, Instance, Ref, Sequence, Tensor, Unknown, Value
from gradlint.domain.walk import inputs, reachable
from gradlint.interpreter.machine import Machine
from gradlint.interpreter.torch.parameters import members_of, module_base, optimizer_state, parameters_of
from gradlint.interpreter.torch.tensor import known_tensor, tensor_at

MOST_NODES = 5_000
"""How many nodes of the tape are searched for those that saved a tensor."""


class Belief(NamedTuple):
    """What is believed of a value: its kind, a text in one line, and the facts by name. None is a fact not known."""

    kind: str
    text: str
    facts: dict[str, object]


class Save(NamedTuple):
    """A node of the tape that keeps a tensor for its backward, as `label`, at a version of it."""

    node: Node
    label: str
    version: int


def belief(machine: Machine, state: State, value: Value) -> Belief:
    """Return what is believed of a value on one path."""
    ref = known_tensor(machine, state, value)
    if ref is not None:
        return Belief("tensor", text_of(state, tensor_at(state, ref)), facts_of(state, tensor_at(state, ref)))
    if isinstance(value, Unknown):
        return Belief("unknown", f"unknown {value.kind}" if value.kind else "unknown", {"kind": value.kind})
    record = state.heap.get(value.id) if isinstance(value, Ref) else None
    if isinstance(record, Instance) and isinstance(value, Ref):
        return _object(state, value, record)
    if isinstance(record, (Sequence, values.Mapping)):
        return _container(record)
    return _plain(record if isinstance(record, values.Class) else value)


def facts_of(state: State, record: Tensor) -> dict[str, object]:
    """Return what autograd looks at in a tensor; `shape` is in elements, None in it is a size that is not known."""
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


def text_of(state: State, record: Tensor) -> str:
    """`Tensor[2, ?] float32 grad leaf v0`; a question mark stands after what is not known."""
    known = facts_of(state, record)
    shape = known["shape"]
    sizes = f"[{', '.join('?' if d is None else str(d) for d in shape)}]" if isinstance(shape, tuple) else "[?...]"
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


def saves_of(state: State, record: Tensor) -> Iterator[Save]:
    """Yield the nodes of the tape, reachable from any tensor of the state, that have saved this tensor."""
    starts = [one.node for one in state.heap.values() if isinstance(one, Tensor)]
    for node in reachable(starts, inputs, MOST_NODES):
        yield from (Save(node, one.label, one.version) for one in node.saved if one.counter == record.counter)


def _object(state: State, ref: Ref, record: Instance) -> Belief:
    """Describe an object: a module, an optimizer, or another."""
    path = record.cls.path if isinstance(record.cls, External) else None
    name = path or _class_name(state, record)
    base = module_base(state, record)
    if base is not None:
        found, is_open = parameters_of(state, ref)
        training = record.module.training
        mode = ("training" if training else "evaluation") if isinstance(training, bool) else "mode not known"
        count = f"{len(found)}{' or more' if is_open else ''} parameters"
        supposed = ", supposed from its name or use" if record.module.torn is not None else ""
        facts = {"class": name, "parameters": len(found), "complete": not is_open, "mode": mode}
        return Belief("module", f"module {name}: {count}, {mode}{supposed}", facts)
    if path is not None and is_optimizer_path(path):
        held = len(members_of(state, ref))
        more = " or more" if optimizer_state(record).open is not False else ""
        return Belief("optimizer", f"optimizer {name} of {held}{more} parameters", {"class": name, "parameters": held})
    return Belief("object", f"object of {name}{', with attributes not known' if record.open else ''}", {"class": name})


def _class_name(state: State, record: Instance) -> str:
    cls = state.heap.get(record.cls.id) if isinstance(record.cls, Ref) else None
    return cls.code.name if isinstance(cls, values.Class) else "a class that is not known"


def _container(record: Sequence | values.Mapping) -> Belief:
    """Describe a list, dict, or iterator."""
    kind = record.kind if isinstance(record, Sequence) else "dict"
    more = " or more" if record.open else ""
    return Belief(kind, f"{kind} of {len(record.items)}{more} items", {"items": len(record.items), "open": record.open})


def _plain(value: Value | values.Class) -> Belief:
    """Describe a function, a class, something imported, or a constant of Python."""
    if isinstance(value, Bound):
        return _plain(value.function)._replace(kind="method")
    if isinstance(value, values.Function):
        return Belief("function", f"function {value.code.name}", {})
    if isinstance(value, values.Class):
        return Belief("class", f"class {value.code.name}", {})
    if isinstance(value, External):
        return Belief("imported", value.path, {"path": value.path})
    if isinstance(value, Ref):
        return Belief("object", "object", {})
    return Belief("constant", repr(value)[:80], {})


def reveal(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    """Emit what is known of the argument, and pass it on."""
    value = args.get(0, "value")
    known = belief(machine, state, value)
    short = known.text if known.kind in ("tensor", "unknown") else "object" if isinstance(value, Ref) else repr(value)
    machine.events.append(Reveal(node, short, known.facts if known.kind == "tensor" else {}))
    return value


def reveal_to_user(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    """`gradlint.reveal(value)`: emit what `gradlint explain` says of the argument, and pass it on."""
    value = args.get(0, "value")
    known = belief(machine, state, value)
    machine.events.append(Reveal(node, known.text, known.facts, asked=True))
    return value
