"""Calls below `torch`: what a row cannot say, then the table, then classes, then nothing is known."""

from __future__ import annotations

from dataclasses import replace

import libcst as cst

from gradlint.domain.announcement import Clipped, DefaultTypeSet, TorchCalled
from gradlint.domain.graph import fresh_number
from gradlint.domain.likeness import is_optimizer_path
from gradlint.domain.state import Blocked, State
from gradlint.domain.value import (
    Args,
    Bound,
    Context,
    External,
    Function,
    Instance,
    Ref,
    Sequence,
    Tensor,
    Unknown,
    Value,
    Write,
)
from gradlint.facts import Entry, fact, load, method_fact
from gradlint.interpreter.escape import origins, unknown_call
from gradlint.interpreter.machine import Machine, Native
from gradlint.interpreter.python.contexts import ONCE
from gradlint.interpreter.python.iteration import is_used_up, items_of
from gradlint.interpreter.reachable import known_items
from gradlint.interpreter.torch.apply import apply, note_wanted
from gradlint.interpreter.torch.arguments import refuses_arguments
from gradlint.interpreter.torch.attributes import replace_memory
from gradlint.interpreter.torch.backward_call import autograd_backward, autograd_grad
from gradlint.interpreter.torch.checkpoint import CHAIN, chain, checkpoint, checkpoint_sequential
from gradlint.interpreter.torch.conjugate import view_as_real
from gradlint.interpreter.torch.creation import CREATION, initialise, lay_out, tag
from gradlint.interpreter.torch.custom_ops import call_op, define_op, register_autograd
from gradlint.interpreter.torch.data_loader import DATA, SAMPLER, new_sampler
from gradlint.interpreter.torch.distributed import WRAPPERS, fully_shard
from gradlint.interpreter.torch.distribution import kl_divergence, new_distribution, register_kl
from gradlint.interpreter.torch.gradient_layout import refuse_clipping
from gradlint.interpreter.torch.graph_hooks import (
    gradient_edge,
    new_saved_tensor,
    register_multi_grad_hook,
    save_on_cpu,
    saved_tensors_hooks,
)
from gradlint.interpreter.torch.hooks import OF_EVERY
from gradlint.interpreter.torch.inplace import bump, write
from gradlint.interpreter.torch.methods import METHODS, PREFIX, call_foreach, call_tensor_method
from gradlint.interpreter.torch.module import call_module_method, new_module
from gradlint.interpreter.torch.module_parts import functional_call, replace_batch_norms, stack_state
from gradlint.interpreter.torch.operands import tensors_in
from gradlint.interpreter.torch.optim import new_optimizer
from gradlint.interpreter.torch.parameters import is_module_path
from gradlint.interpreter.torch.parametrizations import PARAMETRIZING, written_whole
from gradlint.interpreter.torch.scaler import SCALERS, is_scheduler_path, new_helper
from gradlint.interpreter.torch.sparse import sparse_mm, sparse_tensor
from gradlint.interpreter.torch.tensor import LIMITS, SUMMARY, as_tensor, known_tensor, tensor_at
from gradlint.interpreter.torch.transform.table import TRANSFORMS
from gradlint.interpreter.torch.weight_hooks import WEIGHT_HOOKS


def call_torch(machine: Machine, state: State, path: str, args: Args, node: cst.CSTNode) -> Value:
    """torch.path(args)"""
    machine.announce(state, TorchCalled(node, path, None, args.positional, args.keywords, args.open))
    owner, _, method = path.rpartition(".")
    if method == "__init__" or (_is_module_class(owner) and path not in SPECIAL):
        return _unbound_method_of_module(machine, state, method, args, node)
    if refuses_arguments(machine, state, path, args, node):
        return Unknown("raised")  # What follows is not reachable on this path.
    special = SPECIAL.get(path)
    if special is not None:
        return special(machine, state, args, node)
    if path.startswith("torch.ops."):
        namespace, _, op = path.removeprefix("torch.ops.").removesuffix(".default").partition(".")
        own = machine.operators.get(f"{namespace}::{op}")
        if own is not None and own.id in state.heap:
            return call_op(machine, state, own, args, node)
    name = path.removeprefix("torch.")
    if path.startswith("torch.Tensor."):
        return _unbound_method(machine, state, name.removeprefix("Tensor."), args, node)
    if path.startswith("torch.nn.init."):
        return initialise(machine, state, name, args, node)
    if is_optimizer_path(path) and name.rpartition(".")[2][:1].isupper():
        return new_optimizer(machine, state, path, args, node)
    if name.startswith(PREFIX):
        return call_foreach(machine, state, name, args, node)
    if path in SCALERS or (is_scheduler_path(path) and name.rpartition(".")[2][:1].isupper()):
        return new_helper(state, path, args, node)
    if path.startswith("torch.distributions.") and name.rpartition(".")[2][:1].isupper():
        return new_distribution(machine, state, path, args, node)
    if path in WRAPPERS or _is_module_class(path):
        return new_module(machine, state, path, args, node)
    if name in METHODS and args.positional:
        ref = as_tensor(machine, state, args.positional[0], node)
        if ref is not None:
            return METHODS[name](machine, state, ref, args.rest, node)
    entry = fact(name) or (method_fact(name) if name.endswith("_") and "." not in name else None)
    if entry is not None:
        return _from_table(machine, state, entry, args, node)
    if path.rpartition(".")[2] in load().plain or name in load().plain:
        return Unknown()
    machine.give_up(path, node)
    if name.endswith("_") and not name.endswith("__") and args.positional:
        # By torch's naming, a trailing underscore writes to the first argument.
        ref = as_tensor(machine, state, args.positional[0], node)
        if ref is not None:
            write(machine, state, ref, name.rpartition(".")[2], node, maybe_saved=True)
            return ref
    return unknown_call(machine, state, args.values(), node)


def _is_module_class(path: str) -> bool:
    return is_module_path(path) and path.count(".") == 2 and path.rpartition(".")[2][:1].isupper()


def _unbound_method_of_module(machine: Machine, state: State, name: str, args: Args, node: cst.CSTNode) -> Value:
    """nn.Module.__init__(self), nn.Conv2d.forward(self, x)"""
    receiver = args.positional[0] if args.positional else None
    record = state[receiver] if isinstance(receiver, Ref) else None
    if isinstance(receiver, Ref) and isinstance(record, Instance):
        return call_module_method(machine, state, receiver, record, f"super.{name}", args.rest, node)
    return None if name == "__init__" else unknown_call(machine, state, args.values(), node)


def _unbound_method(machine: Machine, state: State, name: str, args: Args, node: cst.CSTNode) -> Value:
    """torch.Tensor.add_(t, ...)"""
    ref = as_tensor(machine, state, args.positional[0], node) if args.positional else None
    return Unknown() if ref is None else call_tensor_method(machine, state, ref, name, args.rest, node)


def _from_table(machine: Machine, state: State, entry: Entry, args: Args, node: cst.CSTNode) -> Value:
    value = apply(machine, state, entry, args, node)
    tensor = value if isinstance(value, Ref) and isinstance(state[value], Tensor) else None
    if tensor is None:
        return value
    if args.keywords.get("device") == "meta":
        tag(state, tensor, "meta")
    if "requires_grad" in args.keywords:
        note_wanted(machine, state, tensor, args, node)
    elif not any(True for _ in origins(state, args.values())):
        lay_out(state, tensor)
    return value


# Modes.


def _mode(mode: str) -> Native:
    def enter(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
        argument = args.get(0, "mode")
        if isinstance(argument, (Function, Bound)):
            return with_mode(argument, Context(mode, syntax=node))
        return Context(mode, argument, syntax=node)

    return enter


def with_mode(function: Value, context: Context) -> Value:
    """Return a function that a grad mode decorates."""
    if not isinstance(function, Function):
        return function
    mode = context.mode
    if mode == "set_grad_enabled" and isinstance(context.argument, bool):
        mode = "enable_grad" if context.argument else "no_grad"
    elif mode == "inference_mode" and context.argument is False:
        mode = "enable_grad"
    return replace(function, modes=(*function.modes, Context(mode, syntax=context.syntax)))


def _set_grad_enabled(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    """Takes effect when called; as a context manager it is undone at the end of the block."""
    wanted = args.get(0, "mode")
    former = state.grad
    state.off = (fresh_number(), node) if wanted is False else None
    state.grad = wanted if isinstance(wanted, bool) else None
    if state.grad is False and former is not False:
        state.blocked = Blocked("grad-off", node)
    return Context("set_grad_enabled", wanted, former, node)


def _same(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    return args.positional[0] if args.positional else External("builtins.<same>")


def _other_default(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    """set_default_dtype(...): what is made without a type has another one from here on."""
    machine.announce(state, DefaultTypeSet(node))
    machine.default_set = True
    return None


def _where(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    """torch.where(condition) alone gives what `nonzero(condition, as_tuple=True)` does: a tuple of indices."""
    name = "where" if args.open or len(args.positional) + len(args.keywords) > 1 else "nonzero"
    entry = fact(name)
    assert entry is not None
    if name == "nonzero":
        args = Args((args.get(0, "condition"),), {"as_tuple": True})
    return _from_table(machine, state, entry, args, node)


def _size(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    items = known_items(state, args.get(0, "iterable", ()))
    return Unknown() if items is None else items


def limits(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    """torch.finfo, numpy.finfo and their like: an object whose attributes are numbers."""
    return Unknown(LIMITS, syntax=node)


def _is_tensor(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    value = args.get(0, "obj")
    if known_tensor(machine, state, value) is not None:
        return True
    return machine.symbol("is_tensor", value, kind="bool") if isinstance(value, Unknown) else False


def _ask(name: str) -> Native:
    """Functions that are the method of a tensor of that name."""

    def call(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
        value = args.get(0, "input")
        tensor = known_tensor(machine, state, value)
        asked = Args(args.positional[1:])
        return (
            machine.symbol(name, value, kind="bool")
            if tensor is None
            else METHODS[name](machine, state, tensor, asked, node)
        )

    return call


def _clip(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    """clip_grad_norm_, clip_grad_value_: written in place to each gradient; without a bound, only measured."""
    given, bound = args.get(0, "parameters"), args.get(1, "max_norm", args.keywords.get("clip_value"))
    used_up = is_used_up(state, given)
    tensor = known_tensor(machine, state, given)
    items = Sequence((tensor,)) if tensor is not None else items_of(machine, state, given, node)
    params = [ref for item in items.items if (ref := known_tensor(machine, state, item)) is not None]
    known = len(params) == len(items.items) and not args.open
    # One leaf of a network that is not known stands for all its parameters.
    whole = not items.open or any(SUMMARY in tensor_at(state, param).tags for param in params)
    machine.announce(state, Clipped(node, params if known else (), bound, whole, used_up))
    refuse_clipping(machine, state, params, "clip_grad_norm_" if args.has(1, "max_norm") else "clip_grad_value_", node)
    for param in params:
        gradient = tensor_at(state, param).accumulated
        if isinstance(gradient, Ref):
            bump(machine, state, gradient, Write(node, "clip_grad"))
    return Unknown("number")


def _increment_version(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    """Note a write of which only the program knows."""
    for ref in tensors_in(machine, state, args.get(0, "tensor")):
        bump(machine, state, ref, Write(node, "increment_version"))
    return None


def _vector_to_parameters(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    """Make the `.data` of each parameter a part of the vector (torch/nn/utils/convert_parameters.py)."""
    given = known_tensor(machine, state, args.get(0, "vec"))
    source = None if given is None else tensor_at(state, given)
    for item in items_of(machine, state, args.get(1, "parameters"), node).items:
        param = known_tensor(machine, state, item)
        if param is not None:
            replace_memory(machine, state, param, source, tensor_at(state, param).shape, node, by_data=False)
    return None


def _from_pretrained(path: str) -> Native:
    """Embedding.from_pretrained(embeddings, freeze=True, ...)"""

    def make(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
        given = known_tensor(machine, state, args.get(0, "embeddings"))
        shape = None if given is None else tensor_at(state, given).shape
        sizes = shape if shape is not None and len(shape) == 2 else (Unknown("int"), Unknown("int"))
        module = new_module(machine, state, path, Args(tuple(sizes)), node)
        weight = state.at(module, Instance).attrs["weight"]
        assert isinstance(weight, Ref)
        freeze = args.get(1, "freeze", True)
        flag = not freeze if isinstance(freeze, bool) and not args.open else None
        dtype = None if given is None else tensor_at(state, given).dtype
        state.put(weight.id, tensor_at(state, weight)._replace(grad=flag, dtype=dtype))
        return module

    return make


_OF_COMPILERS = (
    *("torch.jit.is_scripting", "torch.jit.is_tracing", "torch.compiler.is_compiling", "torch._dynamo.is_compiling"),
    *("torch.overrides.has_torch_function", "torch.overrides.has_torch_function_unary"),
)
"""What is false where Python runs a program on plain tensors."""


SPECIAL: dict[str, Native] = {
    **CREATION,
    **TRANSFORMS,
    **{f"{path}.from_pretrained": _from_pretrained(path) for path in ("torch.nn.Embedding", "torch.nn.EmbeddingBag")},
    **OF_EVERY,
    **PARAMETRIZING,
    **WEIGHT_HOOKS,
    **{f"torch.sparse_{layout}_tensor": sparse_tensor(f"sparse_{layout}_tensor") for layout in ("coo", "csr", "csc")},
    "torch.view_as_real": view_as_real,
    "torch.sparse.mm": sparse_mm,
    "torch.save": written_whole("torch.save"),
    "torch.library.custom_op": define_op,
    "torch.library.register_autograd": register_autograd,
    "torch.device": lambda machine, state, args, node: Unknown("device", syntax=node),
    "torch.autograd.backward": autograd_backward,
    "torch.autograd.grad": autograd_grad,
    **{
        f"torch.{place}{mode}": _mode(mode)
        for place in ("", "autograd.")
        for mode in ("no_grad", "enable_grad", "inference_mode")
    },
    **dict.fromkeys(("torch.set_grad_enabled", "torch.autograd.set_grad_enabled"), _set_grad_enabled),
    "torch.is_grad_enabled": lambda machine, state, *_: Unknown("bool") if state.grad is None else state.grad,
    "torch.is_tensor": _is_tensor,
    **{f"torch.{name}": _ask(name) for name in ("is_floating_point", "is_complex")},
    **dict.fromkeys(_OF_COMPILERS, lambda *_: False),
    **{f"torch.{place}autocast": _mode("autocast") for place in ("", "amp.", "cuda.amp.")},
    **{f"torch.autograd.{name}": lambda *_: Context("other") for name in ("set_detect_anomaly", "detect_anomaly")},
    "torch.autograd.graph.disable_saved_tensors_hooks": _mode("no_saved_hooks"),
    "torch.autograd.SavedTensor": new_saved_tensor,
    "torch.autograd.graph.saved_tensors_hooks": saved_tensors_hooks,
    "torch.autograd.graph.save_on_cpu": save_on_cpu,
    "torch.autograd.graph.get_gradient_edge": gradient_edge,
    "torch.autograd.graph.register_multi_grad_hook": register_multi_grad_hook,
    "torch.autograd.graph.increment_version": _increment_version,
    "torch.autograd.graph.allow_mutation_on_saved_tensors": _mode("allow_mutation"),
    "torch.autograd.function.once_differentiable": _mode(ONCE),
    # An optimizer's step: grad mode is off, unless its option `differentiable` is on.
    "torch.optim.optimizer._use_grad_for_differentiable": _mode("set_grad_enabled"),
    "torch.manual_seed": lambda *_: None,
    **dict.fromkeys(("torch.set_default_dtype", "torch.set_default_tensor_type"), _other_default),
    **{f"torch.jit.{how}": _same for how in ("script", "ignore", "export", "unused")},
    **dict.fromkeys(("torch.compile", "torch.nn.SyncBatchNorm.convert_sync_batchnorm"), _same),
    **DATA,
    SAMPLER: new_sampler,
    **{f"torch.nn.utils.clip_grad_{how}": _clip for how in ("norm_", "value_", "norm")},
    **{f"torch.nn.utils.{place}vector_to_parameters": _vector_to_parameters for place in ("", "convert_parameters.")},
    "torch.nn.init.calculate_gain": lambda machine, *_: Unknown("number"),
    "torch.Size": _size,
    "torch.where": _where,
    **dict.fromkeys(("torch.finfo", "torch.iinfo"), limits),
    **dict.fromkeys(("torch.distributions.kl_divergence", "torch.distributions.kl.kl_divergence"), kl_divergence),
    **dict.fromkeys(("torch.distributions.register_kl", "torch.distributions.kl.register_kl"), register_kl),
    "torch.utils.checkpoint.checkpoint": checkpoint,
    "torch.utils.checkpoint.checkpoint_sequential": checkpoint_sequential,
    CHAIN: chain,
    "torch.distributed.tensor.parallel.parallelize_module": lambda machine, state, args, node: args.get(0, "module"),
    **{f"torch.distributed.{place}fsdp.fully_shard": fully_shard for place in ("", "_composable.")},
    **dict.fromkeys(("torch.func.functional_call", "torch.nn.utils.stateless.functional_call"), functional_call),
    "torch.func.stack_module_state": stack_state("stack_module_state"),
    "functorch.combine_state_for_ensemble": stack_state("combine_state_for_ensemble"),
    "torch.func.replace_all_batch_norm_modules_": replace_batch_norms,
}
"""What needs words of its own, by path."""
