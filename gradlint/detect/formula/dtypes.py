"""Element types that an operation refuses: float64 from numpy meets float32 parameters, targets of the wrong type.

Which operations promote and which refuse was measured under torch 2.13 (see `tests/rules/losses/dtype-mismatch.md`).
"""

from __future__ import annotations

from gradlint.detect.formula.register import judges
from gradlint.detect.formula.terms import plain
from gradlint.domain import dtype as dtypes
from gradlint.domain.event import TypeClash
from gradlint.domain.graph import Term
from gradlint.domain.value import Tensor
from gradlint.interpreter.python.contexts import AUTOCAST
from gradlint.interpreter.torch.operation import Operation

_PAIRS = {
    "matmul": ("input", "other"),
    "mm": ("input", "mat2"),
    "bmm": ("input", "mat2"),
    "mv": ("input", "vec"),
    "dot": ("input", "tensor"),
    "addmm": ("mat1", "mat2"),
    "baddbmm": ("batch1", "batch2"),
    "cdist": ("x1", "x2"),
    "lerp": ("input", "end"),
    "linear": ("input", "weight"),
    "conv1d": ("input", "weight"),
    "conv2d": ("input", "weight"),
    "conv3d": ("input", "weight"),
    "conv_transpose1d": ("input", "weight"),
    "conv_transpose2d": ("input", "weight"),
}
"""Operations that want one type, with the operands that must have it. `linear` and `convNd` are modules as well."""

_MODULES = (
    *("nn.LSTM", "nn.GRU", "nn.RNN", "nn.LSTMCell", "nn.GRUCell", "nn.RNNCell", "nn.LayerNorm", "nn.GroupNorm"),
    *("nn.BatchNorm1d", "nn.BatchNorm2d", "nn.BatchNorm3d", "nn.PReLU", "nn.MultiheadAttention"),
    *("nn.TransformerEncoderLayer",),
)
"""Modules whose input must have the type of their parameters."""

_FULL = frozenset({"float32", "float64"})
"""Types that certainly clash; half precision is let pass beside float32 here and there."""


@judges(*_PAIRS)
def _pair(call: Operation) -> None:
    """Two operands, or an input and the module's weight."""
    if call.entry.row.is_module:
        _module(call)
        return
    one, other = (call.terms.get(name) for name in _PAIRS[plain(call.name)])
    if isinstance(one, Term) and isinstance(other, Term):
        _compare(call, one, _PAIRS[plain(call.name)][0], other.dtype)


@judges(*_MODULES)
def _module(call: Operation) -> None:
    """An input beside parameters of another type."""
    names = [name for name in ("input", "query", "src") if name in call.terms]
    weights = {
        record.dtype
        for given in call.inputs
        if given.label.startswith("p.") and given.ref is not None
        for record in [call.state.heap[given.ref.id]]
        if isinstance(record, Tensor)
    }
    found = call.terms.get(names[0]) if names else None
    if isinstance(found, Term) and len(weights) == 1:
        _compare(call, found, names[0], weights.pop())


def _compare(call: Operation, found: Term, name: str, wanted: str | None) -> None:
    """Report two types of which both are known, one of them float64 or integer and the other not."""
    got = found.dtype
    if got is None or wanted is None or got == wanted or _other_types(call):
        return
    both = {got, wanted}
    integer = [one for one in both if one in dtypes.INTS or one == "bool"]
    if both == _FULL or (len(integer) == 1 and both & _FULL):
        _say(call, name, found, wanted)


def _other_types(call: Operation) -> bool:
    """Whether types are not what they seem: under autocast, or in a program that changes the default."""
    return call.state.facts.get(AUTOCAST) is True or call.machine.other_default


# Targets of losses.

_CLASSES = frozenset({"int64", "uint8"})


@judges("cross_entropy", "nll_loss")
def _classes(call: Operation) -> None:
    """Class numbers are int64 or uint8; cross entropy takes probabilities, of the shape of the scores, as well."""
    target, scores = call.terms.get("target"), call.terms.get("input")
    if not isinstance(target, Term) or target.dtype is None or target.dtype in _CLASSES:
        return
    floating = target.dtype in dtypes.FLOATS
    if not (floating or _is_integer(target)) or _other_types(call):
        return
    if floating and plain(call.name) == "cross_entropy" and not _are_numbers(scores, target):
        return
    _say(call, "target", target, "int64")


def _are_numbers(scores: object, target: Term) -> bool:
    """Whether a target has one number where the scores have one for each class."""
    if not isinstance(scores, Term) or scores.shape is None or target.shape is None:
        return False
    return len(target.shape) == len(scores.shape) - 1


@judges("binary_cross_entropy", "huber_loss")
def _targets(call: Operation) -> None:
    """A target of another type than the prediction: the first raises at once, the second in its backward."""
    target, found = call.terms.get("target"), call.terms.get("input")
    if not isinstance(target, Term) or not isinstance(found, Term) or _other_types(call):
        return
    late = plain(call.name) == "huber_loss"
    if late and (found.grad is not True or call.state.grad is not True):
        return
    if found.dtype in _FULL and target.dtype != found.dtype and (_is_integer(target) or target.dtype in _FULL):
        _say(call, "target", target, found.dtype, late)


def _is_integer(found: Term) -> bool:
    return found.dtype in dtypes.INTS or found.dtype == "bool"


@judges("binary_cross_entropy_with_logits")
def _logits(call: Operation) -> None:
    """An integer target is refused at once."""
    target, found = call.terms.get("target"), call.terms.get("input")
    if isinstance(target, Term) and isinstance(found, Term) and _is_integer(target) and found.dtype in _FULL:
        _say(call, "target", target, found.dtype)


@judges("embedding", "one_hot")
def _indices(call: Operation) -> None:
    """Indices are integers."""
    found = call.terms.get("input", call.terms.get("self", call.terms.get("tensor")))
    if isinstance(found, Term) and found.dtype in dtypes.FLOATS and not _other_types(call):
        _say(call, "input", found, "int64")


_INDEXED = (
    "gather",
    "scatter",
    "scatter_add",
    "index_select",
    "index_add",
    "index_copy",
    "index_fill",
    "take_along_dim",
)


@judges(*_INDEXED, *(f"{name}_" for name in _INDEXED))
def _positions(call: Operation) -> None:
    """Positions are integers; that of `take_along_dim` has a name of its own."""
    name = "indices" if "indices" in call.terms else "index"
    found = call.terms.get(name)
    if isinstance(found, Term) and found.dtype in dtypes.FLOATS and not _other_types(call):
        _say(call, name, found, "int64")


def _say(call: Operation, name: str, found: Term, wanted: str | None, late: bool = False) -> None:
    """Report an operand whose type is known, and is not the one that is wanted."""
    assert found.dtype is not None and wanted is not None
    call.machine.emit(TypeClash(call.node, plain(call.name), name, found.dtype, wanted, late, found.node.syntax))
