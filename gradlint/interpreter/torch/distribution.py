"""torch.distributions: `rsample` carries gradients, `sample` does not."""

from __future__ import annotations

import libcst as cst

from gradlint.domain.graph import Edge, Node
from gradlint.domain.state import State
from gradlint.domain.value import Args, External, Instance, Kept, Ref, Tensor, Unknown, Value
from gradlint.interpreter.escape import origins, unknown_call
from gradlint.interpreter.machine import Machine
from gradlint.interpreter.torch.tensor import both, either, known_tensor, new_tensor, tensor_at, unknown_tensor
from gradlint.interpreter.torch.transform.levels import refuses_random
from gradlint.shapes.distribution import arguments_of, result_shape

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

_DISCRETE = frozenset({"Categorical", "Bernoulli", "Beta"})
"""Those of which the entropy depends on every parameter; that of a normal distribution does not on its mean."""

_SMOOTH = {"log_prob": _KNOWN, "entropy": _DISCRETE, "rsample": _REPARAMETERISED}
"""The distributions of which what a method gives depends on every parameter."""

_NO_RSAMPLE = (_KNOWN - _REPARAMETERISED) | {"Binomial"}
"""Distributions without `rsample`."""


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
    if name in ("sample", "rsample") and machine.transforms and refuses_random(machine, node):
        return Unknown("raised")
    if name == "sample":
        cut = [Edge(edge.node, False, "sample") for edge in edges]
        op = f"{kind}.sample" if kind in _NO_RSAMPLE else "sample"
        return new_tensor(state, Node(op, node, cut, cut="sample"), shape=result_shape(state, record, name, args))
    parameters = _parameters(state, record)
    smooth = kind in _SMOOTH.get(name, ())
    if parameters is not None and smooth:
        given = [found for value in args.values() if (found := known_tensor(machine, state, value)) is not None]
        scored = [tensor_at(state, one) for one in given]
        hidden = any(isinstance(value, Unknown) for value in args.values()) and len(given) < len(tuple(args.values()))
        tracked = both(either([*(one.grad for one in (*parameters, *scored)), None if hidden else False]), state.grad)
        # Behind a sample an agent's critic is asked, who is trained elsewhere: that a gradient comes is not certain.
        flows = [Edge(one.node, None if name == "rsample" and one.grad else one.grad) for one in parameters]
        flows += [Edge(one.node, one.grad, "scored" if one.grad is False else None) for one in scored]
        others = [Edge(value.origin, None) for value in args.values() if isinstance(value, Unknown) and value.origin]
        made = Node(name, node, [*flows, *others], tracked=tracked, maybe_saved=True)
        return new_tensor(state, made, grad=tracked, shape=result_shape(state, record, name, args))
    live = parameters is None or any(edge.node.live for edge in edges)
    return unknown_tensor(state, node, Node("call", node, edges, tracked=None if live else False))


def kl_divergence(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    """kl_divergence(p, q)"""
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


def _kind(record: Instance) -> str:
    return record.cls.path.rpartition(".")[2] if isinstance(record.cls, External) else ""


def _parameters(state: State, record: Instance) -> list[Tensor] | None:
    """Return the tensors a distribution is made of; None where something unknown is among them."""
    found: list[Tensor] = []
    for value in arguments_of(record):
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
