"""torch.distributions: `rsample` carries gradients, `sample` does not."""

from __future__ import annotations

import libcst as cst

from gradlint.domain.graph import Edge, Node
from gradlint.domain.state import State
from gradlint.domain.value import External, Instance, Ref, Tensor, Unknown, Value
from gradlint.semantics.args import Args
from gradlint.semantics.machine import Machine
from gradlint.semantics.program import origins
from gradlint.semantics.torch.tensor import both, either, known_tensor, new_tensor, tensor_at, unknown_tensor
from gradlint.semantics.torch.transform.levels import refuses_random

_KNOWN = frozenset(
    ("Categorical", "Normal", "Bernoulli", "Beta", "Gamma", "Laplace", "MultivariateNormal", "Independent", "LogNormal")
)
"""Distributions of which the density was measured to be differentiable in every parameter."""

_DISCRETE = frozenset({"Categorical", "Bernoulli", "Beta"})
"""Those of which the entropy depends on every parameter; that of a normal distribution does not on its mean."""

_NO_RSAMPLE = frozenset(
    {
        "Bernoulli", "Binomial", "Categorical", "Geometric", "MixtureSameFamily", "Multinomial", "NegativeBinomial",
        "OneHotCategorical", "Poisson", "VonMises",
    }
)  # fmt: skip
"""Distributions without `rsample`."""


def new_distribution(machine: Machine, state: State, path: str, args: Args, node: cst.CSTNode) -> Ref:
    """A distribution keeps its parameters."""
    values = tuple(args.values())
    return state.new(Instance(External(path), {"<args>": values, **args.keywords}, {}, True, node))


def call_distribution(
    machine: Machine, state: State, ref: Ref, record: Instance, name: str, args: Args, node: cst.CSTNode
) -> Value:
    """A method of a distribution; the shapes are its own affair."""
    values = (ref, *args.values())
    edges = [Edge(origin, None) for origin in origins(state, values)]
    assert isinstance(record.cls, External)
    kind = record.cls.path.rpartition(".")[2]
    if name in ("sample", "rsample") and machine.transforms and refuses_random(machine, node):
        return Unknown("raised")
    if name == "sample":
        cut = [Edge(edge.node, False, "sample") for edge in edges]
        op = f"{kind}.sample" if kind in _NO_RSAMPLE else "sample"
        return new_tensor(state, Node(op, node, cut, cut="sample"))
    parameters = _parameters(state, record)
    smooth = (name == "log_prob" and kind in _KNOWN) or (name == "entropy" and kind in _DISCRETE)
    if parameters is not None and smooth:
        given = [found for value in args.values() if (found := known_tensor(machine, state, value)) is not None]
        scored = [tensor_at(state, one) for one in given]
        hidden = any(isinstance(value, Unknown) for value in args.values()) and len(given) < len(tuple(args.values()))
        tracked = both(either([*(one.grad for one in (*parameters, *scored)), None if hidden else False]), state.grad)
        flows = [Edge(one.node, one.grad) for one in parameters]
        flows += [Edge(one.node, one.grad, "scored" if one.grad is False else None) for one in scored]
        others = [Edge(value.origin, None) for value in args.values() if isinstance(value, Unknown) and value.origin]
        made = Node(name, node, [*flows, *others], tracked=tracked, maybe_saved=True)
        return new_tensor(state, made, grad=tracked)
    live = parameters is None or any(edge.node.live for edge in edges)
    return unknown_tensor(state, node, Node("call", node, edges, tracked=None if live else False))


def _parameters(state: State, record: Instance) -> list[Tensor] | None:
    """The tensors a distribution is made of; None where something unknown is among them."""
    found: list[Tensor] = []
    values = record.attrs.get("<args>", ())
    assert isinstance(values, tuple)
    for value in values:
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
