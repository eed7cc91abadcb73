"""torch.distributions: `rsample` carries gradients, `sample` does not."""

from __future__ import annotations

import libcst as cst

from gradlint.domain.graph import Edge, Node
from gradlint.domain.state import State
from gradlint.domain.value import External, Instance, Ref, Tensor, Unknown, Value
from gradlint.semantics.args import Args
from gradlint.semantics.machine import Machine
from gradlint.semantics.program import origins
from gradlint.semantics.torch.tensor import both, either, new_tensor, unknown_tensor

_KNOWN = frozenset(
    ("Categorical", "Normal", "Bernoulli", "Beta", "Gamma", "Laplace", "MultivariateNormal", "Independent", "LogNormal")
)
"""Distributions of which the density was measured to be differentiable in every parameter."""

_DISCRETE = frozenset({"Categorical", "Bernoulli", "Beta"})
"""Those of which the entropy depends on every parameter; that of a normal distribution does not on its mean."""


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
    if name == "sample":
        cut = [Edge(edge.node, False, "sample") for edge in edges]
        return new_tensor(state, Node("sample", node, cut, cut="sample"))
    parameters = _parameters(state, record)
    assert isinstance(record.cls, External)
    kind = record.cls.path.rpartition(".")[2]
    if parameters and ((name == "log_prob" and kind in _KNOWN) or (name == "entropy" and kind in _DISCRETE)):
        tracked = both(either(one.grad for one in parameters), state.grad)
        flows = [Edge(one.node, one.grad) for one in parameters]
        made = Node(name, node, [*flows, *edges[len(flows) :]], tracked=tracked, maybe_saved=True)
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
