"""What losses were given: noted while the program runs, judged after it, by the same facts as without running."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import torch

from gradlint.concrete.places import Place
from gradlint.concrete.seen import Seen
from gradlint.concrete.tape import label_of
from gradlint.domain.fault.losses import CrossedShapes, WrongActivation
from gradlint.facts import traits

WATCHED = (
    traits.LOSSES_OF_SCORES | traits.LOSSES_OF_LOG_PROBABILITIES | traits.LOSSES_OF_PROBABILITIES | traits.DISTANCES
)
"""The functions of `torch.nn.functional` that are noted."""

_KEPT = traits.RESHAPES | traits.PERMUTES | {"index", "float"}
"""What leaves values as they are."""

SOUGHT = (CrossedShapes, WrongActivation)
"""The faults that are looked for in each loss that is watched."""


class Given(NamedTuple):
    """A loss, the operation that gave its first argument, and the shapes of both.

    `along` is the dimension of a `log_softmax` that has given it, if that is not the one of the classes.
    """

    name: str
    place: Place
    op: str | None
    made: Place | None
    shapes: tuple[tuple[int, ...], ...]
    along: int | None = None


def note(known: dict[tuple[int, int], Given], name: str, place: Place, args: tuple[Any, ...]) -> None:
    """Note a loss, once for each place; the last batch of an epoch may have a size of its own."""
    if place.key in known:
        return
    given = [one for one in args[:2] if isinstance(one, torch.Tensor)]
    if len(given) < 2:
        return
    op, made = origin(given[0].grad_fn)
    shapes = tuple(tuple(one.shape) for one in given)
    known[place.key] = Given(name, place, op, made, shapes, _along(given[0]))


def _along(tensor: torch.Tensor) -> int | None:
    """Return the dimension, if not the second, of a `log_softmax` of which a tensor is the result, or rows of it.

    Of as many rows as classes the target may be their order, in which both dimensions are alike.
    """
    node: Any = tensor.grad_fn
    shape = tuple(tensor.shape)
    if type(node).__name__.startswith("IndexBackward"):
        shape, node = tuple(node._saved_self_sym_sizes), node.next_functions[0][0]
    if not type(node).__name__.startswith("LogSoftmaxBackward") or tensor.dim() < 2:
        return None
    dim = (node._saved_dim + tensor.dim()) % 2**64 % tensor.dim()
    is_whole = shape[1:] == tuple(tensor.shape[1:]) and shape[0] != shape[1]
    return dim if is_whole and dim != 1 else None


def origin(node: Any) -> tuple[str | None, Place | None]:
    """Return the operation that has computed a value, before views of it."""
    for _ in range(4):
        label = None if node is None else label_of(node)
        if label is None:
            return None, None
        op = label.op.removeprefix("nn.functional.")
        if op not in _KEPT:
            return op, label.place
        node = node.next_functions[0][0] if node.next_functions else None
    return None, None


def seen(given: Iterable[Given]) -> Iterator[Seen]:
    """Yield the losses that were given something else than they take."""
    from gradlint.detect.formula.losses import are_crossed, kind_of, taken

    for one in given:
        if one.name in traits.DISTANCES:
            first, second = one.shapes
            if are_crossed(first, second):
                yield Seen(CrossedShapes, one.place, {"met": one.place, "one": first, "other": second})
        elif one.op is not None:
            takes, wrong = taken(one.name)
            fields = {"loss": one.name, "takes": takes, "got": one.op, "kind": kind_of(one.op), "made": one.made}
            if one.op in wrong:
                yield Seen(WrongActivation, one.place, fields)
            elif one.name == "nll_loss" and one.along is not None:
                yield Seen(WrongActivation, one.place, fields | {"along": one.along, "rank": len(one.shapes[0])})
