"""Datasets and loaders: what an iteration of a loop over data gets."""

from __future__ import annotations

import libcst as cst

from gradlint.domain.announcement import EpochSet, LoaderIterated
from gradlint.domain.assumption import Assumption
from gradlint.domain.graph import DATA as DATA_NODE
from gradlint.domain.graph import Edge, Node
from gradlint.domain.refusal.arguments import ArgumentRefused
from gradlint.domain.shape import Dim, Sym
from gradlint.domain.state import State
from gradlint.domain.value import Args, External, Instance, Ref, Sequence, Unknown, Value
from gradlint.interpreter.machine import Machine, Native
from gradlint.interpreter.python.classes import find_in_class, has_unknown_base, library_base
from gradlint.interpreter.torch.operands import tensors_in
from gradlint.interpreter.torch.tensor import both, new_tensor, tensor_at


def _dataset(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    return state.new(Instance(External(_DATASET), {"tensors": args.positional}, {}, True, node))


def _loader(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    shuffled = args.get(2, "shuffle") is True and args.get(3, "sampler") is None is args.get(4, "batch_sampler")
    if shuffled and _has_no_length(state, args.get(0, "dataset")) and not machine.tried:
        said = "what shuffles it asks for its length, and it has no `__len__`"
        machine.emit(ArgumentRefused(node, _LOADER, "value", "dataset", said))
        return Unknown("raised")
    attrs = {
        "dataset": args.get(0, "dataset"),
        "batch_size": args.get(1, "batch_size", 1),
        "sampler": args.get(3, "sampler"),
    }
    return state.new(Instance(External(_LOADER), attrs, {}, True, node))


def _has_no_length(state: State, dataset: Value) -> bool:
    """Return whether a dataset is an object of a class of the program that certainly defines no `__len__`."""
    record = state.heap.get(dataset.id) if isinstance(dataset, Ref) else None
    if not isinstance(record, Instance) or not isinstance(record.cls, Ref) or has_unknown_base(state, record.cls):
        return False
    known = library_base(state, record.cls) in (None, "torch.utils.data.Dataset")
    return known and find_in_class(state, record.cls, "__len__") is None


_DATASET, _LOADER = "torch.utils.data.TensorDataset", "torch.utils.data.DataLoader"


def _any_sampler(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    return state.new(Instance(External("torch.utils.data.Sampler"), {}, {}, True, node))


_SAMPLERS = ("Sequential", "Random", "SubsetRandom", "WeightedRandom", "Batch")
DATA: dict[str, Native] = {
    _DATASET: _dataset,
    _LOADER: _loader,
    **{f"torch.utils.data.{kind}Sampler": _any_sampler for kind in _SAMPLERS},
}

SAMPLER = "torch.utils.data.DistributedSampler"


def new_sampler(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    """Return a DistributedSampler, which by default shuffles by the number of the epoch."""
    config = {"shuffle": args.get(3, "shuffle", True)}
    return state.new(Instance(External(SAMPLER), {}, config, True, node))


SET_EPOCH = "set_epoch"


def call_sampler(machine: Machine, state: State, ref: Ref, name: str, node: cst.CSTNode) -> Value:
    """Call a method of a sampler."""
    if name == SET_EPOCH:
        machine.announce(state, EpochSet(node, ref))
    return Unknown()


def _sampler_of(state: State, loader: Instance) -> Ref | None:
    """Return the sampler of a loader, if it is one of torch's that shuffle by the number of the epoch."""
    sampler = loader.attrs.get("sampler")
    record = state.heap.get(sampler.id) if isinstance(sampler, Ref) else None
    known = isinstance(record, Instance) and isinstance(record.cls, External) and record.cls.path == SAMPLER
    return sampler if known and isinstance(sampler, Ref) else None


def batches(machine: Machine, state: State, record: Instance, node: cst.CSTNode) -> Sequence:
    """Return two batches of a loader over known tensors; others give data, and anything else unknown items."""
    source = record.attrs.get("dataset")
    if not isinstance(record.cls, External) or not record.cls.path.endswith(".DataLoader"):
        return Sequence((), open=True)
    machine.announce(state, LoaderIterated(node, _sampler_of(state, record)))
    dataset = state.heap.get(source.id) if isinstance(source, Ref) else None
    refs = tensors_in(machine, state, dataset.attrs.get("tensors")) if isinstance(dataset, Instance) else []
    if not refs and machine.assumes and machine.program.may_backpropagate:
        machine.assume(Assumption("use", "a batch", "data, which has no graph", node))
        return Sequence((Unknown(None, Node(DATA_NODE, node, tracked=False), None, node),), open=True)
    return Sequence(tuple(_batch(state, record, refs, node) for _ in range(2)) if refs else (), open=True)


def _batch_size(loader: Instance) -> Dim:
    """Return the first size of a batch: more than one, unless the loader says otherwise or nothing."""
    wanted = loader.attrs.get("batch_size")
    if wanted == 1:
        return 1
    return Sym("batch", many=isinstance(wanted, int) and wanted > 1)


def _batch(state: State, loader: Instance, refs: list[Ref], node: cst.CSTNode) -> tuple[Ref, ...]:
    size = _batch_size(loader)
    batch: list[Ref] = []
    for ref in refs:
        record = tensor_at(state, ref)
        shape = (size, *record.shape[1:]) if record.shape else None
        tracked = both(record.grad, state.grad)
        edges = [Edge(record.node, record.grad)] if record.node.live else []
        made = Node("batch", node, edges, tracked=tracked, maybe_saved=True, frees=False)
        batch.append(new_tensor(state, made, grad=tracked, dtype=record.dtype, shape=shape))
    return tuple(batch)
