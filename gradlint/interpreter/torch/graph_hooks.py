"""`torch.autograd.graph`: hooks on saved tensors, and one hook for the gradients of several tensors.

Measured with torch 2.13: what a saved tensor is unpacked to must be a tensor, which torch asks for in the backward; the
hook of several gradients needs tensors that require grad.
"""

from __future__ import annotations

import libcst as cst

from gradlint.domain.graph import Node
from gradlint.domain.refusal.arguments import ArgumentRefused
from gradlint.domain.refusal.backward import HookMode, HookWithoutGrad, SecondBackward
from gradlint.domain.refusal.functions import HookResult, SavedTensorMisused
from gradlint.domain.state import State
from gradlint.domain.value import Args, Bound, Context, Function, Unknown, Value
from gradlint.facts import fact, method_fact
from gradlint.facts.aliases import bare
from gradlint.facts.row import A_TENSOR
from gradlint.interpreter.escape import unknown_call
from gradlint.interpreter.machine import Machine
from gradlint.interpreter.torch.attributes import RAW
from gradlint.interpreter.torch.callbacks import refuses_arguments
from gradlint.interpreter.torch.hooks import place_of
from gradlint.interpreter.torch.operands import tensors_in
from gradlint.interpreter.torch.tensor import known_tensor, new_tensor, nontensor, tensor_at
from gradlint.interpreter.torch.transform.levels import unsupported


def saved_tensors_hooks(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    """torch.autograd.graph.saved_tensors_hooks(pack_hook, unpack_hook)

    Both are run aside, on a tensor of which nothing is known: when a tensor is saved, the block decides.
    """
    _refused_below(machine, "saved_tensors_hooks", node)
    _try_hooks(machine, state, args.get(0, "pack_hook"), args.get(1, "unpack_hook"), node)
    return Context("saved_hooks", syntax=node)


def save_on_cpu(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    """torch.autograd.graph.save_on_cpu()"""
    _refused_below(machine, "save_on_cpu", node)
    return Context("saved_hooks", syntax=node)


def _refused_below(machine: Machine, name: str, node: cst.CSTNode) -> None:
    """Refuse hooks for saved tensors in a function that a transform differentiates backwards."""
    level = next((one for one in machine.transforms if one.kind == "reverse"), None)
    if level is not None:
        unsupported(machine, node, "function", name, level)


def _try_hooks(machine: Machine, state: State, pack: Value, unpack: Value, node: cst.CSTNode) -> None:
    """Run a pair of hooks aside, and report what torch refuses in them."""
    if not all(isinstance(one.function if isinstance(one, Bound) else one, Function) for one in (pack, unpack)):
        return
    if refuses_arguments(machine, pack, 1, "pack_hook", node):
        return
    if refuses_arguments(machine, unpack, 1, "unpack_hook", node):
        return
    aside = state.fork()
    first_exit, region = len(machine.exits), machine.open(aside)
    given = new_tensor(aside, Node("saved", node))
    packed = machine.call(aside, pack, Args((given,)), node)
    written = next((one for one in aside.writes(tensor_at(aside, given).counter) if one.certain), None)
    value = machine.call(aside, unpack, Args((packed,)), node)
    del machine.exits[first_exit:]
    machine.close([aside], region)
    if written is not None:
        machine.emit(SavedTensorMisused(written.syntax, "writes", node))
    elif value is None or nontensor(aside, value) is not None:
        machine.emit(HookResult(node, "unpacked", place_of(unpack, node)))


def register_saved(machine: Machine, state: State, saved: Unknown, args: Args, node: cst.CSTNode) -> Value:
    """grad_fn._raw_saved_self.register_hooks(pack_hook, unpack_hook)"""
    origin, index = (saved.key[1], saved.key[2]) if saved.key is not None and saved.key[0] == "item" else (saved, None)
    key = origin.key if isinstance(origin, Unknown) else None
    made = key[1] if key is not None and key[0] == RAW else None
    if not isinstance(made, Node) or args.open:
        return unknown_call(machine, state, (saved, *args.values()), node)
    kept = machine.kept.get(made.id, ())
    released, before = state.freed.get(made.id), state.facts.get((RAW, key, index))
    given = args.positional
    if isinstance(index, int) and index < len(kept) and kept[index] is None:
        machine.emit(SavedTensorMisused(node, "none"))
    elif len(given) != 2 or args.keywords or any(one is None or nontensor(state, one) is not None for one in given):
        machine.emit(SavedTensorMisused(node, "arguments"))
    elif released is not None:
        machine.emit(SavedTensorMisused(node, "released", released))
    elif isinstance(before, cst.CSTNode):
        machine.emit(SavedTensorMisused(node, "twice", before))
    else:
        state.decide((RAW, key, index), node)
        _try_hooks(machine, state, *given, node)
    return None


def call_node(machine: Machine, state: State, made: Node, args: Args, node: cst.CSTNode) -> Value:
    """y.grad_fn(gradient): the backward of one operation, with as many gradients as it has results (measured)."""
    entry = fact(made.op) or method_fact(bare(made.op))
    alone = entry is not None and entry.row.result == A_TENSOR and made.leaf is None and not args.open
    earlier = state.freed.get(made.id)
    if alone and not args.keywords and len(args.positional) != 1:
        text = f"expected 1 arguments, got {len(args.positional)} instead"
    elif any(one is not None and nontensor(state, one) is not None for one in args.positional):
        text = "argument is not a Variable"
    elif earlier is not None:
        machine.emit(SecondBackward(node, earlier, made.syntax, made.op, read=True))
        return Unknown("raised")
    else:
        return unknown_call(machine, state, args.values(), node)
    machine.emit(ArgumentRefused(node, "grad_fn", "value", "", text))
    return Unknown("raised")


def new_saved_tensor(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    """torch.autograd.SavedTensor()"""
    machine.emit(SavedTensorMisused(node, "made"))
    return Unknown("raised")


def gradient_edge(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    """torch.autograd.graph.get_gradient_edge(tensor)"""
    tensor = known_tensor(machine, state, args.get(0, "tensor"))
    if tensor is not None and tensor_at(state, tensor).grad is False and not machine.guarded:
        machine.emit(HookWithoutGrad(node, "get_gradient_edge"))
        return Unknown("raised")
    return unknown_call(machine, state, args.values(), node)


def register_multi_grad_hook(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    """torch.autograd.graph.register_multi_grad_hook(tensors, fn, mode="all")"""
    mode = args.keywords.get("mode", "all")
    if isinstance(mode, str) and mode not in ("all", "any"):
        machine.emit(HookMode(node, mode))
        return Unknown("raised")
    tensors = tensors_in(machine, state, args.get(0, "tensors"))
    if any(tensor_at(state, ref).grad is False for ref in tensors) and not machine.guarded:
        machine.emit(HookWithoutGrad(node, "register_multi_grad_hook"))
        return Unknown()
    refuses_arguments(machine, args.get(1, "fn"), 1, "register_multi_grad_hook", node)
    return unknown_call(machine, state, args.values(), node)
