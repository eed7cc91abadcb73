"""torch.distributions: `rsample` carries gradients, `sample` does not."""

from __future__ import annotations

import libcst as cst

from gradlint.domain.graph import Edge, Node
from gradlint.domain.state import State
from gradlint.domain.value import External, Instance, Ref, Value
from gradlint.semantics.args import Args
from gradlint.semantics.machine import Machine
from gradlint.semantics.program import origins
from gradlint.semantics.torch.tensor import new_tensor, unknown_tensor


def new_distribution(machine: Machine, state: State, path: str, args: Args, node: cst.CSTNode) -> Ref:
    """A distribution keeps its parameters."""
    values = tuple(args.values())
    return state.new(Instance(External(path), {"<args>": values, **args.keywords}, {}, True, node))


def call_distribution(
    machine: Machine, state: State, ref: Ref, record: Instance, name: str, args: Args, node: cst.CSTNode
) -> Value:
    """A method of a distribution; the shapes are its own affair."""
    edges = [Edge(origin, None) for origin in origins(state, (ref, *args.values()))]
    if name == "sample":
        cut = [Edge(edge.node, False, "sample") for edge in edges]
        return new_tensor(state, Node("sample", node, cut, cut="sample"))
    live = any(edge.node.live for edge in edges)
    return unknown_tensor(state, node, Node("call", node, edges, tracked=None if live else False))
