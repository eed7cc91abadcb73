"""`torch.autograd.graph`: hooks on saved tensors, and one hook for the gradients of several tensors.

Measured with torch 2.13: what a saved tensor is unpacked to must be a tensor, which torch asks for in the backward; the
hook of several gradients needs tensors that require grad.
"""

from __future__ import annotations

import libcst as cst

from gradlint.domain.graph import Node
from gradlint.domain.refusal.backward import HookWithoutGrad
from gradlint.domain.refusal.functions import HookResult
from gradlint.domain.state import State
from gradlint.domain.value import Args, Context, Function, Unknown, Value
from gradlint.interpreter.escape import unknown_call
from gradlint.interpreter.machine import Machine
from gradlint.interpreter.torch.callbacks import refuses_arguments
from gradlint.interpreter.torch.operands import tensors_in
from gradlint.interpreter.torch.tensor import new_tensor, nontensor, tensor_at
from gradlint.interpreter.torch.transform.levels import unsupported


def saved_tensors_hooks(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    """torch.autograd.graph.saved_tensors_hooks(pack_hook, unpack_hook)

    Both are run aside, on a tensor of which nothing is known: when a tensor is saved, the block decides.
    """
    _refused_below(machine, "saved_tensors_hooks", node)
    pack, unpack = args.get(0, "pack_hook"), args.get(1, "unpack_hook")
    if not isinstance(pack, Function) or not isinstance(unpack, Function):
        return Context("saved_hooks")
    if refuses_arguments(machine, pack, 1, "pack_hook", node):
        return Context("saved_hooks")
    if refuses_arguments(machine, unpack, 1, "unpack_hook", node):
        return Context("saved_hooks")
    aside = state.fork()
    first_exit, region = len(machine.exits), machine.open(aside)
    packed = machine.call(aside, pack, Args((new_tensor(aside, Node("saved", node)),)), node)
    value = machine.call(aside, unpack, Args((packed,)), node)
    del machine.exits[first_exit:]
    machine.close([aside], region)
    if value is None or nontensor(aside, value) is not None:
        machine.emit(HookResult(node, "unpacked", unpack.code.node))
    return Context("saved_hooks")


def save_on_cpu(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    """torch.autograd.graph.save_on_cpu()"""
    _refused_below(machine, "save_on_cpu", node)
    return Context("saved_hooks")


def _refused_below(machine: Machine, name: str, node: cst.CSTNode) -> None:
    """Refuse hooks for saved tensors in a function that a transform differentiates backwards."""
    level = next((one for one in machine.transforms if one.kind == "reverse"), None)
    if level is not None:
        unsupported(machine, node, "function", name, level)


def register_multi_grad_hook(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    """torch.autograd.graph.register_multi_grad_hook(tensors, fn, mode="all")"""
    tensors = tensors_in(machine, state, args.get(0, "tensors"))
    if any(tensor_at(state, ref).grad is False for ref in tensors) and not machine.guarded:
        machine.emit(HookWithoutGrad(node, "register_multi_grad_hook"))
        return Unknown()
    refuses_arguments(machine, args.get(1, "fn"), 1, "register_multi_grad_hook", node)
    return unknown_call(machine, state, args.values(), node)
