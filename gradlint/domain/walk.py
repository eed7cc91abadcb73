"""The one traversal of graphs, from what is given back to what it was computed from.

Where a walk goes is a function from a node to the next ones: `inputs`, `gradient_inputs`, `sloped_inputs`,
`certain_inputs`, or one that knows where to stop. Edges lead to older nodes, so that a walk in search of one may end at
its age: see `back_to`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias, TypeVar

from gradlint.domain.graph import Node

T = TypeVar("T")

Along: TypeAlias = "Callable[[Node], Iterable[Node]]"
"""Where a walk goes on from a node."""


def inputs(node: Node) -> list[Node]:
    """Return all that a value was computed from."""
    return [edge.node for edge in node.edges]


def gradient_inputs(node: Node) -> list[Node]:
    """Return the inputs to which a gradient may flow back."""
    return [edge.node for edge in node.edges if edge.flows is not False]


def sloped_inputs(node: Node) -> list[Node]:
    """Return the inputs to which a gradient other than zero may flow back."""
    return [edge.node for edge in node.edges if edge.flows is not False and edge.cut != "zero"]


def certain_inputs(node: Node) -> list[Node]:
    """Return the inputs to which a gradient certainly flows back."""
    return [edge.node for edge in node.edges if edge.flows is True]


def reachable(starts: Iterable[T], along: Callable[[T], Iterable[T]], limit: int | None = None) -> Iterator[T]:
    """Yield what is reachable from the starts, these included, each once, and no more than `limit`.

    `along` is asked of what was yielded, when the next is wanted. The last of what it gives comes first, with all
    that is reachable from it.
    """
    seen: set[T] = set()
    stack = list(starts)
    while stack and len(seen) != limit:
        one = stack.pop()
        if one not in seen:
            seen.add(one)
            yield one
            stack.extend(along(one))


def back_to(age: int, along: Along = gradient_inputs) -> Along:
    """Go on from younger nodes only."""
    return lambda node: along(node) if node.id > age else ()


def is_reachable(target: Node, starts: Iterable[Node], along: Along = gradient_inputs) -> bool:
    """Return whether a node is among those reachable from the starts."""
    return any(node is target for node in reachable(starts, back_to(target.id, along)))


def leaves(starts: Iterable[Node], along: Along = gradient_inputs) -> Iterator[Node]:
    """Return the leaves among the nodes reachable from the starts."""
    return (node for node in reachable(starts, along) if node.leaf is not None)
