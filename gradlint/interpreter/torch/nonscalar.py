"""Tensors of sizes that are not known, which have other than one element all the same.

Results of layers with more than one feature, and what is computed from them element by element, carry the tag of
`SEVERAL`. Losses without reduction carry the assumption that their batch has several rows.
"""

from __future__ import annotations

from typing import Final

from gradlint.domain.assumption import Assumption, several_rows
from gradlint.domain.shape import at_least_two
from gradlint.domain.value import Tags, Tensor
from gradlint.facts.traits import JOINS, SIZE_BY_OTHER
from gradlint.interpreter.torch.operation import Input, Operation
from gradlint.interpreter.torch.tensor import tensor_at

SEVERAL: Final = frozenset({"several"})


def several(call: Operation) -> Tags:
    """Why the result of an operation has other than one element, of whatever shape it is; empty if it may have one."""
    if call.flags.get("reduction") == "none" or call.flags.get("reduce") is False:
        unreduced = call.entry.sig.param("reduction") is not None and call.machine.assumes
        return frozenset({several_rows(call.name, call.node)}) if unreduced else frozenset()
    if _has_features(call) or _joins(call):
        return SEVERAL
    records = [tensor_at(call.state, given.ref) for given in _kept(call) if given.ref is not None]
    if any(record.tags >= SEVERAL for record in records):
        return SEVERAL
    return frozenset(taken for record in records for taken in assumed_of(record))


def assumed_of(record: Tensor) -> tuple[Assumption, ...]:
    """Return what is assumed of the size of a tensor."""
    return tuple(tag for tag in record.tags if isinstance(tag, Assumption))


def _kept(call: Operation) -> list[Input]:
    """Return the inputs of which each element leaves one in the result."""
    size = call.labels(call.entry.row.size).must
    if size == {"same:input"} and call.canonical not in SIZE_BY_OTHER:
        return [given for given in call.inputs if given.label == "input"]
    return call.inputs if size == {"bcast"} else []


def _joins(call: Operation) -> bool:
    """Return whether two tensors or more are put together: in a loop, what two turns have given."""
    if call.canonical not in JOINS:
        return False
    joined = {given.ref.id: given.ref for given in call.inputs if given.ref is not None and given.label == "tensors"}
    return len(joined) >= 2 and not any(0 in (tensor_at(call.state, ref).shape or ()) for ref in joined.values())


def _has_features(call: Operation) -> bool:
    """Return whether the last dimension of the result has several features by construction."""
    wanted = _FEATURES.get(call.name)
    if wanted is not None and call.config is not None:
        count = call.config.get(wanted)
        return isinstance(count, int) and not isinstance(count, bool) and count >= 2
    weight = next((one for one in call.inputs if one.label == _WEIGHTS.get(call.canonical)), None)
    if weight is None or weight.ref is None:
        return False
    shape = tensor_at(call.state, weight.ref).shape
    size = None if shape is None or len(shape) < 2 else shape[0 if call.canonical == "linear" else -1]
    return size is not None and at_least_two(size)


_FEATURES = {"nn.Linear": "out_features", "nn.Embedding": "embedding_dim"}
_WEIGHTS = {"linear": "weight", "matmul": "other"}
