"""Distributed wrappers: a module that holds the network as `module`, or the network itself, sharded where it is."""

from __future__ import annotations

import libcst as cst

from gradlint.domain.announcement import ParameterReplaced
from gradlint.domain.likeness import DATA_PARALLEL
from gradlint.domain.state import State
from gradlint.domain.value import Args, Context, External, Instance, Ref, Tensor, Value
from gradlint.interpreter.escape import unknown_call
from gradlint.interpreter.machine import Machine, Method
from gradlint.interpreter.torch.parameters import is_module, modules_of, parameters_of
from gradlint.interpreter.torch.tensor import new_leaf, tensor_at

_FSDP = "torch.distributed.fsdp.FullyShardedDataParallel"

WRAPPERS = DATA_PARALLEL | {_FSDP}

SPAWN = frozenset({"torch.multiprocessing.spawn", "torch.multiprocessing.spawn.spawn"})
"""Functions that run another in processes of their own: `spawn(fn, args, nprocs)` calls `fn(rank, *args)` in each."""

_SHARDED = "sharded"
"""The tag of a parameter that `fully_shard` has made."""


def fully_shard(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    """fully_shard(module): the module itself, whose parameters are other objects from then on (measured)."""
    module = args.get(0, "module")
    if not is_module(state, module):
        return unknown_call(machine, state, args.values(), node)
    assert isinstance(module, Ref)
    for part, _ in list(modules_of(state, module)):
        _shard_own(machine, state, part, node)
    return module


def _shard_own(machine: Machine, state: State, module: Ref, node: cst.CSTNode) -> None:
    record = state.at(module, Instance)
    fresh: dict[str, Value] = {}
    for name, value in record.attrs.items():
        former = state.heap.get(value.id) if isinstance(value, Ref) else None
        if isinstance(value, Ref) and isinstance(former, Tensor) and former.parameter and _SHARDED not in former.tags:
            made = new_leaf(
                state, node, dtype=former.dtype, shape=former.shape, parameter=True,
                source=former.node, tags=former.tags | {_SHARDED}, name=name, cut="copy",
            )  # fmt: skip
            shard = tensor_at(state, made)
            state.put(made.id, shard._replace(grad=former.grad))
            fresh[name] = made
            machine.announce(state, ParameterReplaced(node, value))
    if fresh:
        state.put(module.id, record._replace(attrs={**record.attrs, **fresh}))


def _context(machine: Machine, state: State, ref: Ref, args: Args, node: cst.CSTNode) -> Value:
    """no_sync(), join(): what is inside runs as it stands."""
    return Context("other")


def _clip(machine: Machine, state: State, ref: Ref, args: Args, node: cst.CSTNode) -> Value:
    """clip_grad_norm_(max_norm): of all parameters."""
    known, is_open = parameters_of(state, ref)
    given = Args((tuple(one for _, one in known), args.get(0, "max_norm")), {}, is_open or args.open)
    return machine.call(state, External("torch.nn.utils.clip_grad_norm_"), given, node)


_METHODS: dict[str, Method] = {"no_sync": _context, "join": _context, "clip_grad_norm_": _clip}


def wrapper_method(base: str | None, name: str) -> Method | None:
    """Return a method that wrappers have beside those of all modules."""
    return _METHODS.get(name) if base in WRAPPERS and (name != "clip_grad_norm_" or base == _FSDP) else None
