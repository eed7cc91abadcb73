"""Calls of `backward` and `grad`, and the tensors among the arguments of any call."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import torch

from gradlint.concrete.tape import leaves_of, nodes_below, on_the_way_to

Tensor = torch.Tensor


class Call:
    """A call of backward or `grad`: its roots, the gradients it is given, and the nodes that it runs through."""

    def __init__(
        self,
        name: str,
        roots: list[Tensor],
        inputs: list[Tensor] | None,
        retains: bool,
        creates: bool,
        gradients: list[Tensor],
        since: int = 0,
    ) -> None:
        self.gradients = gradients
        self.name, self.roots, self.inputs, self.retains, self.creates = name, roots, inputs, retains, creates
        nodes = [root.grad_fn for root in roots]
        self.ways = nodes_below(nodes, since)
        self.leaves = leaves_of(self.ways)
        self.leaves += [root for root in roots if root.requires_grad and root.grad_fn is None]
        if inputs is not None:
            targets = {one.grad_fn for one in inputs if one.grad_fn is not None}
            wanted = {id(one) for one in inputs if one.grad_fn is None}
            targets |= {way.node for way in self.ways if id(getattr(way.node, "variable", None)) in wanted}
            self.ways = on_the_way_to(self.ways, [one for one in nodes if one is not None], targets)
            self.leaves = [leaf for leaf in self.leaves if id(leaf) in wanted]

    @property
    def fills(self) -> bool:
        """Return whether it fills `.grad`."""
        return self.name == "backward"

    @classmethod
    def of(cls, func: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any], since: int = 0) -> Call:
        """Read the arguments, by the signatures of torch 2.2 to 2.13; `since` is as for `nodes_below`."""
        names: tuple[str, ...]
        if func is torch.Tensor.backward:
            names = ("root", "gradient", "retain_graph", "create_graph", "inputs")
        elif func is torch.autograd.backward:
            names = ("root", "gradient", "retain_graph", "create_graph", "grad_variables", "inputs")
        else:
            names = ("root", "inputs", "gradient", "retain_graph", "create_graph")
        given = {**dict(zip(names, args, strict=False)), **kwargs}
        roots = given.get("root", given.get("self", given.get("tensors", given.get("outputs"))))
        inputs = given.get("inputs")
        retain = given.get("retain_graph")
        return cls(
            "grad" if func is torch.autograd.grad else "backward",
            list(tensors_in((roots,))),
            None if inputs is None else list(tensors_in((inputs,))),
            bool(given.get("create_graph") if retain is None else retain),
            bool(given.get("create_graph")),
            list(tensors_in(given.get(name) for name in ("gradient", "grad_tensors", "grad_outputs"))),
            since,
        )


def tensors_in(values: Iterable[Any]) -> Iterator[Tensor]:
    """Yield the tensors among arguments, and in lists, tuples and dicts among them."""
    for value in values:
        if isinstance(value, Tensor):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from tensors_in(value)
        elif isinstance(value, dict):
            yield from tensors_in(value.values())
