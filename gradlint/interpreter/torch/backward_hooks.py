"""The hooks that a backward runs where a gradient passes: those of tensors, and the full backward hooks of modules.

Measured with torch 2.13: what a hook of a tensor returns replaces the gradient, unless it is None. A full backward hook
returns one gradient for each positional argument of the module, and None where none of them requires grad; a pre-hook
one for each output. What a hook after accumulation returns is refused, unless it is None or the parameter itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import libcst as cst

from gradlint.domain.announcement import GradientHooked
from gradlint.domain.graph import Node
from gradlint.domain.refusal.functions import HookResult, Returned, Role
from gradlint.domain.shape import same_shape
from gradlint.domain.state import State
from gradlint.domain.value import Args, Context, Hook, Ref, Tensor, Unknown, Value
from gradlint.facts.aliases import canonical
from gradlint.interpreter.grad_fn import named
from gradlint.interpreter.machine import Machine
from gradlint.interpreter.python.contexts import enter_mode, leave_mode
from gradlint.interpreter.reachable import sequence_at
from gradlint.interpreter.torch.backward import Walk
from gradlint.interpreter.torch.callbacks import refuses_arguments
from gradlint.interpreter.torch.hooks import GUARD, Watched, place_of
from gradlint.interpreter.torch.tensor import OVERLAP, known_tensor, new_tensor, nontensor, tensor_at

_UNWATCHED = Context("no_grad")


def gradients_pass(machine: Machine, state: State, found: Walk, syntax: cst.CSTNode, kind: str) -> None:
    """A backward has run through nodes: the hooks that were registered with them are given their gradients."""
    if not machine.hooked:
        return
    certain, replaced = {node.id for node in found.certain}, set[Ref]()
    role: Role = "register_hook" if kind == "gradient" else "register_post_accumulate_grad_hook"
    for hook, ref, node in list(_registered(state, found.possible.values(), kind)):
        record = state.heap.get(ref.id)
        if isinstance(record, Tensor):
            given = ref if kind == "accumulated" else _gradient(state, record, syntax)
            if kind == "gradient" and ref not in replaced and _is_expanded(found, record):
                gradient = tensor_at(state, given)
                state.put(given.id, gradient._replace(tags=gradient.tags | {OVERLAP}))
            passing = _Passing(machine, state, syntax, node in certain)
            value = passing.run(hook, (given,), role)
            if value is not None:
                replaced.add(ref)
            what = _misfit(machine, state, value, record, kind) if value != given else None
            if what is not None:
                passing.refuse(hook, what)


class _Passing(NamedTuple):
    """A backward, of which it is certain or not that it runs a hook."""

    machine: Machine
    state: State
    syntax: cst.CSTNode
    certain: bool

    def run(self, hook: Hook, given: tuple[Value, ...], role: Role) -> Value:
        """Return what a hook returns; None where the call of it raises."""
        machine, state = self.machine, self.state
        if self.certain and refuses_arguments(machine, hook.function, len(given), role, self.syntax):
            return None
        tensors = list(self._tensors(given))
        before = {ref.id: len(state.writes(tensor_at(state, ref).counter)) for ref in tensors}
        incoming = [tensor_at(state, ref).node for ref in tensors]
        saved = enter_mode(machine, state, _UNWATCHED)
        value = machine.call(state, hook.function, Args(given), self.syntax)
        leave_mode(state, saved)
        if role != "register_post_accumulate_grad_hook":
            machine.announce(state, GradientHooked(self.syntax, before, incoming, value, self.certain))
        return value

    def _tensors(self, given: Iterable[Value]) -> Iterator[Ref]:
        for value in given:
            if type(value) is tuple:
                yield from self._tensors(value)
            elif isinstance(value, Ref) and isinstance(self.state.heap.get(value.id), Tensor):
                yield value

    def refuse(self, hook: Hook, what: Returned) -> None:
        """Report what a hook returns, if it is certain that it is run."""
        if self.certain:
            self.machine.emit(HookResult(self.syntax, what, place_of(hook.function, self.syntax)))


def _misfit(machine: Machine, state: State, value: Value, record: Tensor, kind: str) -> Returned | None:
    """Return what torch refuses in a hook's result: it takes a gradient of the same sort, or None."""
    ref = known_tensor(machine, state, value)
    if kind == "accumulated":
        return "something" if ref is not None or nontensor(state, value) is not None else None
    if ref is None:
        return "other" if nontensor(state, value) is not None else None
    result = tensor_at(state, ref)
    if same_shape(result.shape, record.shape) is False:
        return "shape"
    if None not in (result.dtype, record.dtype) and result.dtype != record.dtype:
        return "dtype"
    return None


def _registered(state: State, nodes: Iterable[Node], kind: str) -> Iterator[tuple[Hook, Ref, int]]:
    for node in nodes:
        pairs = state.facts.get(("hooks", node.id))
        if isinstance(pairs, tuple):
            yield from ((hook, ref, node.id) for hook, ref in pairs if hook.kind == kind)


def _gradient(state: State, record: Tensor, syntax: cst.CSTNode) -> Ref:
    return new_tensor(state, Node("gradient", syntax), dtype=record.dtype, shape=record.shape)


def _is_expanded(found: Walk, record: Tensor) -> bool:
    """Return whether the gradient that arrives is that of a sum alone: one number, expanded to the size."""
    sizes = record.shape or ()
    if 0 in sizes or not any(isinstance(size, int) and size > 1 for size in sizes):
        return False
    users = [one for one in found.possible.values() if any(edge.node is record.node for edge in one.edges)]
    total = users[0] if len(users) == 1 else None
    return total in found.certain and total is not None and _sums_all(total)


def _sums_all(node: Node) -> bool:
    return canonical(node.op) == "sum" and len(node.edges) == 1 and node.operands.keys() == {"input"}


# Nodes.


def nodes_pass(machine: Machine, state: State, found: Walk, syntax: cst.CSTNode) -> None:
    """A backward has run nodes: their own hooks are given the gradients of their inputs, and those of their outputs."""
    if not machine.hooked:
        return
    certain = {node.id for node in found.certain}
    for node in list(found.possible.values()):
        pairs = state.facts.get(("hooks", node.id))
        for hook, _ in pairs if isinstance(pairs, tuple) else ():
            passing = _Passing(machine, state, syntax, node.id in certain)
            outputs: Value = (new_tensor(state, Node("gradient", syntax)),)
            count = _inputs_of(node)
            if hook.kind == "node":
                inputs: Value = outputs if count == 1 else Unknown()
                _node_passes(passing, hook, passing.run(hook, (inputs, outputs), "grad_fn.register_hook"), count)
            elif hook.kind == "node pre":
                _node_passes(passing, hook, passing.run(hook, (outputs,), "grad_fn.register_prehook"), None)


def _node_passes(passing: _Passing, hook: Hook, result: Value, count: int | None) -> None:
    machine, state = passing.machine, passing.state
    if type(result) is tuple:
        if count is not None and len(result) != count:
            passing.refuse(hook, "count")
        elif any(nontensor(state, part) is not None for part in result if part is not None):
            passing.refuse(hook, "other")
    elif result is not None and (known_tensor(machine, state, result) is not None or nontensor(state, result)):
        passing.refuse(hook, "single")


def _inputs_of(node: Node) -> int | None:
    """Return of how many inputs the hook of a node is given the gradients; None where that is not known."""
    found = named(node)
    return _INPUTS.get(found.names[0]) if found.certain and len(found.names) == 1 else None


_INPUTS = {
    **dict.fromkeys(
        (
            *("AbsBackward0", "CosBackward0", "ExpBackward0", "LogBackward0", "NegBackward0", "PowBackward0"),
            *("ReluBackward0", "SigmoidBackward0", "SinBackward0", "SqrtBackward0", "TanhBackward0", "CloneBackward0"),
            *("SelectBackward0", "IndexBackward0", "ViewBackward0", "SumBackward0", "SumBackward1", "MeanBackward0"),
            *("MeanBackward1", "SoftmaxBackward0", "LogSoftmaxBackward0", "TBackward0", "TransposeBackward0"),
        ),
        1,
    ),
    **dict.fromkeys(("AddBackward0", "SubBackward0", "MulBackward0", "DivBackward0", "MmBackward0", "BmmBackward0"), 2),
}
"""The number of inputs of a node, numbers among them (measured: `len(y.grad_fn.next_functions)`)."""


# Modules.


def modules_pass(machine: Machine, state: State, found: Walk, syntax: cst.CSTNode) -> None:
    """A backward has run through the outputs of modules: their full backward hooks are given the gradients."""
    if not machine.hooked:
        return
    certain = {node.id for node in found.certain}
    for node in list(found.possible.values()):
        call = state.facts.get(("watched", node.id)) if node.op == GUARD else None
        if isinstance(call, Watched):
            _module_passes(_Passing(machine, state, syntax, node.id in certain), call, certain)


def _module_passes(passing: _Passing, call: Watched, certain: set[int]) -> None:
    outputs = call.output if type(call.output) is tuple else (call.output,)
    grad_output = tuple(_gradient_of(passing, value) for value in outputs)
    for hook in call.hooks:
        if hook.kind == "backward pre":
            result = passing.run(hook, (call.module, grad_output), "register_full_backward_pre_hook")
            grad_output = _replaced(passing, hook, grad_output, result, outputs)
    grad_input = tuple(_gradient_of(passing, value) for value in call.inputs)
    if any(isinstance(one, Unknown) for one in grad_input):
        passing = passing._replace(certain=False)
    watched = [one for one, gradient in zip(call.inputs, grad_input, strict=True) if gradient is not None]
    nodes = (tensor_at(passing.state, one).node.id for one in watched if isinstance(one, Ref))
    if not all(node in certain for node in nodes):
        passing = passing._replace(certain=False)
    for hook in call.hooks:
        if hook.kind == "backward":
            result = passing.run(hook, (call.module, grad_input, grad_output), "register_full_backward_hook")
            if watched:
                grad_input = _replaced(passing, hook, grad_input, result, call.inputs)
            elif result is not None and not _is_empty(result):
                passing.refuse(hook, "unwanted")


def _gradient_of(passing: _Passing, value: Value) -> Value:
    """Return the gradient of an argument or output; None for what gets none."""
    ref = known_tensor(passing.machine, passing.state, value)
    if ref is None:
        return Unknown() if isinstance(value, Unknown) and nontensor(passing.state, value) is None else None
    record = tensor_at(passing.state, ref)
    if record.grad is None:
        return Unknown()
    return _gradient(passing.state, record, passing.syntax) if record.grad else None


def _is_empty(result: Value) -> bool:
    """Return whether a result is a tuple of None, or may be one."""
    return isinstance(result, Unknown) or (type(result) is tuple and all(part is None for part in result))


def _replaced(
    passing: _Passing, hook: Hook, gradients: tuple[Value, ...], result: Value, of: tuple[Value, ...]
) -> tuple[Value, ...]:
    """Return the gradients after a hook: those that it returned, if it did."""
    machine, state = passing.machine, passing.state
    if result is None:
        return gradients
    parts = _parts(passing, result)
    if parts is None:
        if nontensor(state, result) in ("number", "text"):
            passing.refuse(hook, "other")
        return tuple(Unknown() for _ in gradients)
    if len(parts) != len(gradients):
        passing.refuse(hook, "count")
        return gradients
    for part, value in zip(parts, of, strict=True):
        ref = known_tensor(machine, state, value)
        what = _misfit(machine, state, part, tensor_at(state, ref), "gradient") if ref is not None else None
        if what is not None and ref is not None and tensor_at(state, ref).grad is True:
            passing.refuse(hook, what)
    return parts


_MOST_ROWS = 8
"""More gradients than arguments that a module is ever given."""


def _parts(passing: _Passing, result: Value) -> tuple[Value, ...] | None:
    """Return what a hook of a module returned, one by one; None where that is not known.

    Torch takes a tensor by its rows.
    """
    ref = known_tensor(passing.machine, passing.state, result)
    if ref is not None:
        record = tensor_at(passing.state, ref)
        shape = record.shape or (None,)
        if not isinstance(shape[0], int):
            return None
        made = (Node("select", passing.syntax) for _ in range(min(shape[0], _MOST_ROWS)))
        return tuple(new_tensor(passing.state, one, dtype=record.dtype, shape=shape[1:]) for one in made)
    listed = sequence_at(passing.state, result)
    if listed is not None:
        return None if listed.open else listed.items
    return result if type(result) is tuple else None
