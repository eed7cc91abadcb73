"""torch.distributions: `rsample` carries gradients, `sample` does not.

Measured with torch 2.13: a distribution of single numbers has the shape to which its parameters are broadcast; one of
choices the shape of its scores without the last size; `Independent` takes so many of the last sizes for one event.
"""

from __future__ import annotations

from typing import NamedTuple

import libcst as cst

from gradlint.domain.graph import Edge, Node
from gradlint.domain.refusal.functions import DistributionLacks
from gradlint.domain.shape import Dim, Shape, broadcast, broadcast_all
from gradlint.domain.state import State
from gradlint.domain.value import Args, External, Instance, Kept, Ref, Tensor, Unknown, Value
from gradlint.interpreter.escape import origins, unknown_call
from gradlint.interpreter.machine import Machine
from gradlint.interpreter.torch.tensor import both, either, known_tensor, new_tensor, tensor_at, unknown_tensor
from gradlint.interpreter.torch.transform.levels import refuses_random

_REPARAMETERISED = frozenset(
    {
        *("Beta", "Cauchy", "Dirichlet", "Exponential", "Gamma", "Gumbel", "HalfNormal", "Independent", "Laplace"),
        *("LogNormal", "LowRankMultivariateNormal", "MultivariateNormal", "Normal", "RelaxedBernoulli", "StudentT"),
        *("RelaxedOneHotCategorical", "Uniform"),
    }
)
"""Distributions of which a sample by `rsample` was measured to be differentiable in every parameter."""

_KNOWN = _REPARAMETERISED | {
    *("Bernoulli", "Categorical", "Geometric", "MixtureSameFamily", "Multinomial", "NegativeBinomial"),
    *("OneHotCategorical", "Poisson", "VonMises"),
}
"""Those of which the density was."""

_DIVERGING = frozenset(
    {
        *("Bernoulli", "Beta", "Categorical", "Dirichlet", "Gamma", "Independent", "Laplace", "MultivariateNormal"),
        "Normal",
    }
)
"""Those of which the divergence from one of their kind was, in every parameter of both."""

_FORMULAS: dict[str, frozenset[str]] = {
    **{one: frozenset({one}) for one in ("Binomial", "Categorical", "Cauchy", "Geometric", "Independent")},
    **dict.fromkeys(("FisherSnedecor", "GeneralizedPareto", "LKJCholesky", "Multinomial"), frozenset()),
    **dict.fromkeys(("NegativeBinomial", "StudentT", "VonMises"), frozenset()),
    **dict.fromkeys(
        ("LowRankMultivariateNormal", "MultivariateNormal"),
        frozenset({"LowRankMultivariateNormal", "MultivariateNormal"}),
    ),
    "OneHotCategorical": frozenset({"OneHotCategorical", "OneHotCategoricalStraightThrough"}),
    "Laplace": frozenset({"Beta", "Exponential", "Gamma", "Laplace", "Normal", "Uniform"}),
    "Normal": frozenset(
        {
            *("Bernoulli", "Beta", "Dirichlet", "Exponential", "Gamma", "Gumbel", "Laplace", "Normal", "Poisson"),
            "Uniform",
        }
    ),
    "Uniform": frozenset({"Beta", "Exponential", "Gamma", "Gumbel", "Normal", "Uniform"}),
}
"""Of some distributions, those of `_KNOWN` from which `kl_divergence` has a formula (measured)."""

_DISCRETE = frozenset({"Categorical", "Bernoulli", "Beta"})
"""Those of which the entropy depends on every parameter; that of a normal distribution does not on its mean."""

_SMOOTH = {"log_prob": _KNOWN, "entropy": _DISCRETE, "rsample": _REPARAMETERISED}
"""The distributions of which what a method gives depends on every parameter."""

_NO_RSAMPLE = (_KNOWN - _REPARAMETERISED) | {"Binomial", "LKJCholesky"}
"""Distributions without `rsample`."""

_MISSING = {
    "rsample": _NO_RSAMPLE,
    "entropy": frozenset(
        {
            *("FisherSnedecor", "LKJCholesky", "LogisticNormal", "MixtureSameFamily", "NegativeBinomial", "Poisson"),
            *("RelaxedBernoulli", "RelaxedOneHotCategorical", "VonMises"),
        }
    ),
}
"""The distributions that lack a method, measured with torch 2.13."""


def new_distribution(machine: Machine, state: State, path: str, args: Args, node: cst.CSTNode) -> Ref:
    """A distribution keeps its parameters."""
    values = tuple(args.values())
    return state.new(Instance(External(path), dict(args.keywords), {}, True, node, inner=Kept(values)))


def call_distribution(
    machine: Machine, state: State, ref: Ref, record: Instance, name: str, args: Args, node: cst.CSTNode
) -> Value:
    """Call a method of a distribution."""
    values = (ref, *args.values())
    edges = [Edge(origin, None) for origin in origins(state, values)]
    kind = _kind(record)
    if _innermost(state, record) in _MISSING.get(name, ()) and not machine.tried:
        machine.emit(DistributionLacks(node, _innermost(state, record), name))
        return Unknown("raised")
    if name in ("sample", "rsample") and machine.transforms and refuses_random(machine, node):
        return Unknown("raised")
    if name == "sample":
        cut = [Edge(edge.node, False, "sample") for edge in edges]
        op = f"{kind}.sample" if kind in _NO_RSAMPLE else "sample"
        dtype = "int64" if kind == "Categorical" else None
        shape = _result_shape(state, record, name, args)
        return new_tensor(state, Node(op, node, cut, cut="sample"), dtype=dtype, shape=shape)
    parameters = _parameters(state, record)
    smooth = kind in _SMOOTH.get(name, ())
    if parameters is not None and smooth:
        given = [found for value in args.values() if (found := known_tensor(machine, state, value)) is not None]
        scored = [tensor_at(state, one) for one in given]
        hidden = any(isinstance(value, Unknown) for value in args.values()) and len(given) < len(tuple(args.values()))
        tracked = both(either([*(one.grad for one in (*parameters, *scored)), None if hidden else False]), state.grad)
        # After a sample an agent's critic is asked, who is trained elsewhere: that a gradient comes is not certain.
        flows = [Edge(one.node, None if name == "rsample" and one.grad else one.grad) for one in parameters]
        flows += [Edge(one.node, one.grad, "scored" if one.grad is False else None) for one in scored]
        others = [Edge(value.origin, None) for value in args.values() if isinstance(value, Unknown) and value.origin]
        made = Node(name, node, [*flows, *others], tracked=tracked, maybe_saved=True)
        return new_tensor(state, made, grad=tracked, shape=_result_shape(state, record, name, args))
    live = parameters is None or any(edge.node.live for edge in edges)
    return unknown_tensor(state, node, Node("call", node, edges, tracked=None if live else False))


def kl_divergence(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    """kl_divergence(p, q)"""
    pair = tuple(_own_kind(state, args.get(index, name)) for index, name in enumerate("pq"))
    mine = machine.tried > 0 or _REGISTERED in state.facts
    if not mine and pair[0] in _FORMULAS and pair[1] and pair[1] not in _FORMULAS[pair[0]]:
        machine.emit(DistributionLacks(node, pair[0], "kl_divergence", pair[1]))
        return Unknown("raised")
    found: list[Tensor] = []
    for value in (args.get(0, "p"), args.get(1, "q")):
        record = state.heap.get(value.id) if isinstance(value, Ref) else None
        known = isinstance(record, Instance) and _kind(record) in _DIVERGING
        parameters = _parameters(state, record) if known and isinstance(record, Instance) else None
        if parameters is None:
            return unknown_call(machine, state, args.values(), node)
        found.extend(parameters)
    tracked = both(either(one.grad for one in found), state.grad)
    made = Node("kl_divergence", node, [Edge(one.node, one.grad) for one in found], tracked=tracked, maybe_saved=True)
    return new_tensor(state, made, grad=tracked)


def register_kl(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    """register_kl(P, Q): the program has formulas of its own."""
    state.decide(_REGISTERED, True)
    return unknown_call(machine, state, args.values(), node)


_REGISTERED = "register_kl"


def _own_kind(state: State, value: Value) -> str:
    """Return the class of one of torch's own distributions; an empty text for any other value."""
    record = state.heap.get(value.id) if isinstance(value, Ref) else None
    kind = _kind(record) if isinstance(record, Instance) else ""
    return kind if kind in _KNOWN or kind in _FORMULAS else ""


def _kind(record: Instance) -> str:
    return record.cls.path.rpartition(".")[2] if isinstance(record.cls, External) else ""


def _innermost(state: State, record: Instance) -> str:
    """Return the class of a distribution; of one that takes dimensions of another for one event, that of the other."""
    values = _arguments(record) if _kind(record) == "Independent" else ()
    base = state.heap.get(values[0].id) if values and isinstance(values[0], Ref) else None
    return _innermost(state, base) if isinstance(base, Instance) and base is not record else _kind(record)


def _parameters(state: State, record: Instance) -> list[Tensor] | None:
    """Return the tensors a distribution is made of; None where something unknown is among them."""
    found: list[Tensor] = []
    for value in _arguments(record):
        one = state.heap.get(value.id) if isinstance(value, Ref) else None
        if isinstance(one, Tensor):
            found.append(one)
        elif isinstance(one, Instance):
            inner = _parameters(state, one)
            if inner is None:
                return None
            found.extend(inner)
        elif isinstance(value, Unknown) and value.kind not in ("number", "int"):
            return None
    return found


# Sizes.

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


def _result_shape(state: State, record: Instance, name: str, args: Args) -> Shape:
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


def _arguments(record: Instance) -> tuple[Value, ...]:
    """Return what a distribution was made with."""
    values = record.inner.value if isinstance(record.inner, Kept) else ()
    return values if isinstance(values, tuple) else ()


def _sizes(state: State, record: Instance) -> Sizes | None:
    kind, values = _kind(record), _arguments(record)
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
