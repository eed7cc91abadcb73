"""The sizes of what distributions give: samples, densities, entropies.

Measured with torch 2.13: a distribution of single numbers has the shape to which its parameters are broadcast; one of
choices the shape of its scores without the last size; `Independent` takes so many of the last sizes for one event.
"""

from __future__ import annotations

from typing import NamedTuple

from gradlint.domain.shape import Dim, Shape, broadcast, broadcast_all
from gradlint.domain.state import State
from gradlint.domain.value import Args, External, Instance, Kept, Ref, Tensor, Unknown, Value

_SINGLE = frozenset(
    {
        *("Bernoulli", "Beta", "Cauchy", "Exponential", "Gamma", "Geometric", "Gumbel", "HalfNormal", "Laplace"),
        *("LogNormal", "Normal", "Poisson", "StudentT", "Uniform", "VonMises"),
    }
)
"""Distributions of which an event is one number, whatever the parameters are."""


class Sizes(NamedTuple):
    """The sizes of a distribution: of its batch, and after them those of one event."""

    batch: tuple[Dim, ...]
    event: tuple[Dim, ...] = ()


def result_shape(state: State, record: Instance, name: str, args: Args) -> Shape:
    """Return the shape of what a method of a distribution gives; None where that is not known."""
    sizes = _sizes(state, record)
    if sizes is None or args.open or args.keywords:
        return None
    if name in ("sample", "rsample"):
        asked = args.get(0, "sample_shape", ())
        known = [one for one in asked if isinstance(one, int)] if type(asked) is tuple else []
        whole = type(asked) is tuple and len(known) == len(asked)
        return (*known, *sizes.batch, *sizes.event) if whole else None
    if name == "entropy":
        return sizes.batch
    if name != "log_prob" or not args.positional:
        return None
    value = _shape_of(state, args.positional[0])
    joint = broadcast((*sizes.batch, *sizes.event), value)
    return None if joint is None or len(joint) < len(sizes.event) else joint[: len(joint) - len(sizes.event)]


def arguments_of(record: Instance) -> tuple[Value, ...]:
    """Return what a distribution was made with."""
    values = record.inner.value if isinstance(record.inner, Kept) else ()
    return values if isinstance(values, tuple) else ()


def _sizes(state: State, record: Instance) -> Sizes | None:
    kind = record.cls.path.rpartition(".")[2] if isinstance(record.cls, External) else ""
    values = arguments_of(record)
    if not values:
        return None
    if kind == "Independent":
        return _independent(state, values)
    shapes = [_shape_of(state, value) for value in values if not isinstance(value, bool) and value is not None]
    if kind in _SINGLE:
        batch = broadcast_all(shapes)
        return None if batch is None else Sizes(batch)
    if kind in ("Categorical", "OneHotCategorical") and len(shapes) == 1 and shapes[0]:
        scores = shapes[0]
        return Sizes(scores[:-1], scores[-1:] if kind == "OneHotCategorical" else ())
    return None


def _independent(state: State, values: tuple[Value, ...]) -> Sizes | None:
    """Return the sizes of `Independent(base, count)`."""
    base = state.heap.get(values[0].id) if isinstance(values[0], Ref) else None
    inner = _sizes(state, base) if isinstance(base, Instance) else None
    count = values[1] if len(values) > 1 else None
    if inner is None or type(count) is not int or not 0 <= count <= len(inner.batch):
        return None
    cut = len(inner.batch) - count
    return Sizes(inner.batch[:cut], (*inner.batch[cut:], *inner.event))


def _shape_of(state: State, value: Value) -> Shape:
    """Return the shape of a parameter; a number is as good as a tensor without sizes."""
    record = state.heap.get(value.id) if isinstance(value, Ref) else None
    if isinstance(record, Tensor):
        return record.shape  # The sizes are ints and symbols.
    numeric = isinstance(value, (int, float)) or (isinstance(value, Unknown) and value.kind in ("number", "int"))
    return () if numeric else None
