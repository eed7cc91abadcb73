"""Networks of other libraries (torchvision, timm, transformers, diffusers): modules whose parts are not known.

One leaf stands for all their parameters. What is done to it is done to some of them, so that a flag which is switched
on it is not known from there on.
"""

from __future__ import annotations

import re

import libcst as cst

from gradlint.domain.announcement import NetworkImported
from gradlint.domain.graph import Edge, Node, Tri
from gradlint.domain.state import State
from gradlint.domain.value import Args, External, Instance, ModuleState, Ref, Tensor, Unknown, Value
from gradlint.interpreter.escape import origins
from gradlint.interpreter.machine import Machine
from gradlint.interpreter.torch.tensor import HIDDEN, SUMMARY, UNCOUNTED, new_leaf, tensor_at

NETWORKS = re.compile(
    r"torchvision\.models\.(?:\w+\.)*(?!get_|list_|load_|\w*_Weights)[a-z]\w*$"
    r"|torchvision\.models\.get_model$"
    r"|timm\.create_model$|timm\.models\.create_model$"
    r"|transformers\.(?!TF|Flax)\w*(?:Model|For[A-Z]\w+|LMHeadModel)(?:\.from_pretrained|\.from_config)?$"
    r"|diffusers\.(?:models\.)?(?!TF|Flax)\w*(?:Model|Autoencoder\w*)(?:\.from_pretrained|\.from_config)?$"
)
"""The calls of libraries that give a network."""

_PARTS = frozenset(
    [
        *("fc", "classifier", "features", "conv1", "bn1", "layer1", "layer2", "layer3", "layer4", "avgpool", "heads"),
        *("encoder", "backbone", "head", "roi_heads", "rpn", "AuxLogits", "embeddings", "bert", "transformer"),
    ]
)
"""Names that are modules in every network that has them."""


def new_network(machine: Machine, state: State, node: cst.CSTNode) -> Ref:
    """Return a network with parameters that require grad, of which one stands for all."""
    leaf = new_leaf(state, node, parameter=True, tags=UNCOUNTED | {SUMMARY})
    machine.announce(state, NetworkImported(node, leaf))
    return state.new(
        Instance(External("torch.nn.Module"), {}, {}, True, node, ModuleState(foreign=True)).with_unnamed(leaf)
    )


def hide_parameters(machine: Machine, state: State, ref: Ref, node: cst.CSTNode) -> None:
    """Let a network of the program have parameters that nobody has seen: its constructor was not followed."""
    leaf = new_leaf(state, node, parameter=True, tags=UNCOUNTED | {SUMMARY, HIDDEN})
    machine.announce(state, NetworkImported(node, leaf))
    state.put(ref.id, state.at(ref, Instance).with_unnamed(leaf))


def leaf_of(record: Instance) -> Value:
    """Return the leaf that stands for all parameters of such a network: its first attribute."""
    return next(iter(record.attrs.values()))


def foreign_part(machine: Machine, state: State, ref: Ref, name: str) -> Ref | None:
    """Return a part of such a network, where its name says that it is a module; the same at each look.

    What has a `module` is a wrapper, such as `DistributedDataParallel`, and has no parameters but those of its module.
    """
    if name == "module":
        return ref
    record = state.at(ref, Instance)
    whole = leaf_of(record)
    if name not in _PARTS or record.syntax is None or not isinstance(whole, Ref):
        return None
    part = new_network(machine, state, record.syntax)
    made, leaf = state[part], tensor_at(state, whole)
    assert isinstance(made, Instance)
    own = leaf_of(made)
    assert isinstance(own, Ref)
    state.put(own.id, tensor_at(state, own)._replace(grad=leaf.grad, dtype=leaf.dtype))
    state.put(ref.id, record._replace(attrs={**record.attrs, name: part}))
    return part


def is_part(state: State, ref: Ref) -> bool:
    """Return whether a network has been found as a part of another one."""
    networks = (one for one in state.heap.values() if isinstance(one, Instance) and one.module.foreign)
    return any(ref in one.attrs.values() for one in networks)


def call_foreign(machine: Machine, state: State, ref: Ref, args: Args, node: cst.CSTNode) -> Unknown:
    """Call a network, or a chain of layers that are not all known: it computes from its parameters and arguments."""
    found = origins(state, (ref, *args.values()))
    blocked = state.unrecorded()
    if blocked is not None:
        cut = [Edge(origin, False, blocked.kind) for origin in found if origin.live]
        return Unknown(None, Node("call", node, cut, cut=blocked.kind, place=blocked.syntax), None, node)
    edges = [
        Edge(origin, None if origin.leaf is None else flag_of_leaf(state, origin)) for origin in found if origin.live
    ]
    tracked: Tri = True if any(edge.flows for edge in edges) else None
    if state.grad is None:
        tracked = None
    # All outputs have the same trunk, which keeps what a backward releases.
    made = Node("call", node, edges, tracked=tracked, maybe_saved=True, frees=tracked)
    return Unknown(None, made, None, node)


def flag_of_leaf(state: State, leaf: Node) -> Tri:
    """Return whether a leaf requires grad by now."""
    record = state.heap.get(leaf.leaf) if leaf.leaf is not None else None
    return record.grad if isinstance(record, Tensor) else None
