"""What two values have in common, where two paths are joined."""

from __future__ import annotations

from collections.abc import Mapping

import libcst as cst

from gradlint.domain import value as values
from gradlint.domain.graph import DATA, Node
from gradlint.domain.value import External, Instance, Ref, Sequence, Tensor, Unknown, Value, Write


def place_of_write(write: object) -> object:
    """Return where a write stands: two paths agree in a watched counter if the same writes moved it."""
    return write.syntax if isinstance(write, Write) else write


def kind_of(value: Value) -> str | None:
    """Return what sort of value it is, where a constant and a symbol may be of the same."""
    if isinstance(value, Unknown):
        return "number" if value.kind == "int" else value.kind
    if isinstance(value, bool) or value is None:
        return "bool" if isinstance(value, bool) else None
    return "number" if isinstance(value, (int, float)) else "str" if isinstance(value, str) else None


def origin_of_data(value: Value) -> Node | None:
    """Return the origin of what is not known, but is data: what is read, and has no graph; None of anything else."""
    origin = value.origin if isinstance(value, Unknown) else None
    return origin if origin is not None and origin.op == DATA else None


def is_optimizer_path(path: str) -> bool:
    """Return whether a library class is an optimizer."""
    return path.startswith("torch.optim.") and "lr_scheduler" not in path and "swa_utils" not in path


def is_same_class(ours: Value, theirs: Value) -> bool:
    """Return whether objects of two classes may stand for each other.

    Two optimizers may, but for LBFGS, which needs a closure, and two wrappers that run a network on several devices.
    """
    if ours == theirs:
        return True
    paths = {one.path for one in (ours, theirs) if isinstance(one, External)}
    if paths <= DATA_PARALLEL:
        return len(paths) == 2
    return len(paths) == 2 and all(is_optimizer_path(one) and not one.endswith(".LBFGS") for one in paths)


DATA_PARALLEL = frozenset(
    {"torch.nn.DataParallel", "torch.nn.parallel.DataParallel", "torch.nn.parallel.DistributedDataParallel"}
)
"""Classes of wrappers that run a network on several devices, and leave its parameters as they are."""


def is_wrapper(record: object) -> bool:
    """Return whether an object wraps a network that goes on by itself, and whose parameters stay the same."""
    cls = record.cls if isinstance(record, Instance) else None
    return isinstance(cls, External) and cls.path in DATA_PARALLEL


def is_data(tensor: Tensor) -> bool:
    """Return whether a tensor has nothing to do with any leaf."""
    return tensor.grad is False and not tensor.node.live


def is_cut(tensor: Tensor) -> bool:
    """Return whether no gradient flows back from a tensor, though it was computed from leaves."""
    return tensor.grad is False and tensor.node.tracked is False and tensor.node.leaf is None


def syntax_of(value: Value) -> cst.CSTNode | None:
    """Return where a value that is not known was made."""
    return value.syntax if isinstance(value, Unknown) else None


def is_made_alike(
    own: Mapping[int, object], value: Value, other: Mapping[int, object], theirs: Value, depth: int = 6
) -> bool:
    """Return whether two paths have made the same: what stands in objects is compared, to some depth."""
    if value == theirs or (isinstance(value, Unknown) and isinstance(theirs, Unknown) and value.kind == theirs.kind):
        return True
    if not isinstance(value, Ref) or not isinstance(theirs, Ref) or not depth:
        return False
    ours, record = own.get(value.id), other.get(theirs.id)

    def alike(one: Value, another: Value) -> bool:
        return is_made_alike(own, one, other, another, depth - 1)

    if isinstance(ours, Tensor) and isinstance(record, Tensor):
        return _described(ours) == _described(record)
    if isinstance(ours, Instance) and isinstance(record, Instance):
        if (ours.cls, ours.syntax, ours.open) != (record.cls, record.syntax, record.open):
            return False
        pairs = ((ours.attrs, record.attrs), (ours.config, record.config))
        return all(
            one.keys() == another.keys() and all(map(alike, one.values(), map(another.get, one)))
            for one, another in pairs
        )
    if isinstance(ours, Sequence) and isinstance(record, Sequence):
        return len(ours.items) == len(record.items) and all(map(alike, ours.items, record.items))
    if isinstance(ours, values.Mapping) and isinstance(record, values.Mapping):
        return ours.items.keys() == record.items.keys() and all(map(alike, ours.items.values(), record.items.values()))
    return False


def _described(tensor: Tensor) -> tuple[object, ...]:
    return (tensor.syntax, tensor.shape, tensor.dtype, tensor.grad, tensor.parameter, tensor.tags)


def makes_others(record: Instance) -> bool:
    """Return whether a module is of a class of torch's that makes modules, which are not seen, and registers them."""
    path = record.cls.path if isinstance(record.cls, External) else ""
    return path.startswith(("torch.nn.Transformer", "torch.nn.MultiheadAttention", "torch.nn.AdaptiveLogSoftmax"))
