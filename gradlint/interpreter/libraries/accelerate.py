"""Accelerate and Fabric: what they prepare is given back, wrapped, and their `backward` is that of the loss.

Read in accelerate 1.15 and executed with one process: `backward` divides the loss by the number of iterations that
are accumulated and calls `loss.backward`; a prepared optimizer skips `step` and `zero_grad` in between; `gather` gives
back what it is given, and without a graph where there are several processes.
"""

from __future__ import annotations

import libcst as cst

from gradlint.domain.announcement import NumberBackpropagated, Prepared
from gradlint.domain.graph import Edge, Node
from gradlint.domain.state import State
from gradlint.domain.value import Args, Context, External, Instance, Ref, Unknown, Value
from gradlint.interpreter.escape import origins, unknown_call
from gradlint.interpreter.machine import Machine, Native
from gradlint.interpreter.torch.backward_call import tensor_backward
from gradlint.interpreter.torch.parameters import is_module, parameters_of
from gradlint.interpreter.torch.scaler_stages import invalidate_gradients
from gradlint.interpreter.torch.tensor import as_tensor, origin_of_number


def _given_back(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    """prepare(model, optimizer, ...), setup(model, optimizer): one object by itself, several in a tuple."""
    machine.announce(state, Prepared(node, tuple(args.values())))
    if args.open:
        return unknown_call(machine, state, args.values(), node)
    return args.positional[0] if len(args.positional) == 1 else args.positional


def _itself(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    """unwrap_model(model), to_device(tensor): the first argument, whatever is done with it."""
    return args.positional[0] if args.positional else unknown_call(machine, state, args.values(), node)


def _backward(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    """backward(loss, **kwargs)"""
    given = args.get(0, "tensor", args.keywords.get("loss"))
    number = origin_of_number(given)
    if number is not None:
        machine.announce(state, NumberBackpropagated(node, number))
        invalidate_gradients(machine, state, node)
        return Unknown("raised")
    loss = as_tensor(machine, state, given, node)
    if loss is None:
        invalidate_gradients(machine, state, node)
        return None
    keywords = {name: value for name, value in args.keywords.items() if name not in ("loss", "tensor", "model")}
    return tensor_backward(machine, state, loss, Args((None, *args.positional[1:]), keywords, args.open), node)


def _clip(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    """clip_grad_norm_(parameters, max_norm)"""
    return machine.call(state, External("torch.nn.utils.clip_grad_norm_"), args, node)


def _clip_module(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    """clip_gradients(module, optimizer, max_norm=...): those of the module's parameters."""
    module = args.get(0, "module")
    if not is_module(state, module):
        return unknown_call(machine, state, args.values(), node)
    assert isinstance(module, Ref)
    known, is_open = parameters_of(state, module)
    return _clip(machine, state, Args((tuple(one for _, one in known), 1.0), {}, is_open), node)


def _gathered(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    """gather(tensor): of several processes, with a graph or without."""
    edges = [Edge(origin, None) for origin in origins(state, args.values())]
    return Unknown(None, Node("gather", node, edges, tracked=None) if edges else None, None, node)


def _nothing(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    """print, log, save, wait: numbers and files."""
    return Unknown(syntax=node)


def _inside(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    """accumulate(model), no_sync(model): what is inside runs as it stands."""
    return Context("other")


_BOTH: dict[str, Native] = {
    "backward": _backward,
    "autocast": lambda machine, state, args, node: Context("autocast", syntax=node),
    **dict.fromkeys(("print", "log", "wait_for_everyone", "barrier", "end_training"), _nothing),
    **dict.fromkeys(("save", "load", "save_state", "load_state", "init_trackers", "seed_everything"), _nothing),
}

_ACCELERATOR: dict[str, Native] = {
    **_BOTH,
    **dict.fromkeys(("prepare", "prepare_model"), _given_back),
    **dict.fromkeys((f"prepare_{name}" for name in ("optimizer", "data_loader", "scheduler")), _itself),
    "unwrap_model": _itself,
    "accumulate": _inside,
    "no_sync": _inside,
    "clip_grad_norm_": _clip,
    "clip_grad_value_": _clip,
    **dict.fromkeys(("gather", "gather_for_metrics", "reduce", "pad_across_processes"), _gathered),
}

_FABRIC: dict[str, Native] = {
    **_BOTH,
    **dict.fromkeys(("setup", "setup_module"), _given_back),
    "setup_optimizers": _given_back,
    "setup_dataloaders": _given_back,
    "to_device": _itself,
    "no_backward_sync": _inside,
    "init_module": _inside,
    "rank_zero_first": _inside,
    "clip_gradients": _clip_module,
    **dict.fromkeys(("log_dict", "call"), _nothing),
    **dict.fromkeys(("all_gather", "all_reduce", "broadcast"), _gathered),
}

ENGINES: dict[str, dict[str, Native]] = {
    "accelerate.Accelerator": _ACCELERATOR,
    "accelerate.accelerator.Accelerator": _ACCELERATOR,
    **dict.fromkeys(
        (
            *("lightning.Fabric", "lightning.fabric.Fabric", "lightning.fabric.fabric.Fabric"),
            *("lightning_fabric.Fabric", "lightning_fabric.fabric.Fabric", "lightning.pytorch.Fabric"),
            *("pytorch_lightning.lite.LightningLite", "lightning.lite.LightningLite", "lightning_lite.LightningLite"),
        ),
        _FABRIC,
    ),
}
"""The methods of the engines, by the paths of their classes."""


def _maker(path: str) -> Native:
    def make(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
        return new_engine(state, path, node)

    return make


MAKERS: dict[str, Native] = {path: _maker(path) for path in ENGINES}


def new_engine(state: State, path: str, node: cst.CSTNode) -> Ref:
    """Return an accelerator or a fabric, however it is configured."""
    return state.new(Instance(External(path), {}, {}, True, node))


def engine_method(path: str | None, name: str) -> Native | None:
    """Return a known method of an engine, or of a class of the program that is one by its base at this path."""
    return ENGINES[path].get(name) if path in ENGINES else None


def launched(state: State, func: Unknown, args: Args) -> tuple[Value, Args] | None:
    """Return what `fabric.launch(function, *args)` calls in each process: `function(fabric, *args)`."""
    if func.key is None or func.key[0] != "attr" or func.key[2] != "launch" or not args.positional:
        return None
    fabric = func.key[1]
    record = state.heap.get(fabric.id) if isinstance(fabric, Ref) else None
    if not isinstance(fabric, Ref) or not isinstance(record, Instance) or not isinstance(record.cls, External):
        return None
    is_fabric = ENGINES.get(record.cls.path) is _FABRIC
    return (args.positional[0], args._replace(positional=(fabric, *args.positional[1:]))) if is_fabric else None


def is_engine(record: Instance) -> bool:
    """Return whether an object is an accelerator or a fabric."""
    return isinstance(record.cls, External) and record.cls.path in ENGINES
