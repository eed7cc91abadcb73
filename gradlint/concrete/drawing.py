"""From a tensor of a running program to the drawing of its tape, by what torch says of each node.

Torch tells names of nodes, their inputs, sizes, and what they have saved at which version. Labels tell the rest: the
lines, the calls around them, and where other values have left the graph.
"""

from __future__ import annotations

import ast
import linecache
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import torch

from gradlint.concrete.cuts import Cut
from gradlint.concrete.places import Line, Place
from gradlint.concrete.tape import (
    STALE,
    Label,
    Way,
    freed_by,
    is_freed,
    is_packed,
    label_of,
    label_of_function,
    nodes_below,
    saved,
    versions_in,
)
from gradlint.concrete.training import Training
from gradlint.concrete.variables import Variables
from gradlint.concrete.writes import Writes
from gradlint.concrete.written import nodes_of
from gradlint.domain.drawing import MOST_NODES, Drawing, Kept, LeafFact, Link, Spot, Step, TooLargeError
from gradlint.judgement import shown

Tensor = torch.Tensor
_LEAF = "AccumulateGrad"
_LONGEST = 60
_NUMBERS = (torch.float64, torch.int64, torch.complex128, torch.bool)


@dataclass
class Moment:
    """What is known when a tape is drawn: the names of the program, its leaves and its writes.

    `since` is the number of the first node that was made under watch, `cut` where the tensor itself has lost its graph.
    """

    variables: Variables
    training: Training
    writes: Writes
    cut: Cut | None
    since: int


class Drawer:
    """Draws one tape, of a moment; `is_home` tells whether a file, as Python names it, is the one that is asked for."""

    def __init__(self, moment: Moment, is_home: Callable[[str], bool]) -> None:
        self._moment, self._is_home = moment, is_home
        self._ways: dict[Any, Way] = {}
        self._numbers: dict[Any, int] = {}
        self._results: dict[Any, int] = {}
        self._steps: list[Step] = []
        self._links: list[Link] = []
        self._cuts: dict[tuple[object, ...], int] = {}
        self._behind: dict[int, list[int]] = {}
        self._hidden: dict[int, Tensor] = {}
        self._inner: set[Any] = set()
        self.leaves: list[Tensor] = []
        """The leaves of the drawing, in its order."""

    def draw(self, root: Tensor, line: Line, title: str, reached: Iterable[Tensor] | None) -> Drawing:
        """Draw the tape behind a tensor; the leaves that are `reached` by a backward, if it does not reach all.

        Raises:
            TooLargeError: it has more nodes than are drawn.
        """
        node = root.grad_fn
        if node is not None:
            self._walk(node, root)
        elif root.requires_grad:
            self._steps.append(self._leaf(root))
        else:
            self._cut_root(root)
        wanted = None if reached is None else {id(one) for one in reached}
        leaves = tuple(self._leaves(root, wanted))
        return Drawing(shown(line.filename), line.row, title, tuple(self._steps), tuple(self._links), leaves)

    def _walk(self, first: Any, root: Tensor) -> None:
        self._ways = {way.node: way for way in nodes_below([first], self._moment.since)}
        if len(self._ways) > MOST_NODES:
            raise TooLargeError
        self._inner = set(self._unnamed())
        self._results[first] = root.output_nr
        stack = [first]
        while stack:
            node = stack.pop()
            if node in self._numbers:
                continue
            self._numbers[node] = len(self._steps)
            self._steps.append(self._step(self._ways[node]))
            below = [(one, output) for one, output in node.next_functions if one is not None]
            for one, output in reversed(below):
                self._results.setdefault(one, output)
                stack.append(one)
        for node, number in list(self._numbers.items()):
            self._links += [Link(number, self._numbers[one]) for one, _ in node.next_functions if one is not None]
            label = label_of(node)
            for cut in () if label is None else label.cuts:
                self._cut(number, cut)

    def _unnamed(self) -> Iterator[Any]:
        """Yield the nodes that are not what their line has computed: another one of the same call uses them."""
        for node in self._ways:
            above = label_of(node)
            for below, _ in node.next_functions:
                label = None if below is None else label_of(below)
                if below is not None and (label is None or (above is not None and _is_inside(label, above))):
                    yield below

    # Nodes.

    def _step(self, way: Way) -> Step:
        node, label = way
        name = node.name().rpartition("::")[2]
        if name == _LEAF:
            return self._leaf(node.variable)
        shape, dtype = self._size(node)
        label = label or label_of_function(node)
        kept = list(self._kept(way))
        home = () if label is None else tuple(self._spot(one) for one in label.calls)
        return Step(
            len(self._steps), "operation", (name,), name if label is None else label.op, self._name(way),
            None if label is None else self._spot(label.place), shape, dtype, (),
            tuple(one for one in kept if isinstance(one, Kept)), None in kept, self._freed(node), home,
        )  # fmt: skip

    def _leaf(self, leaf: Tensor) -> Step:
        spot = self._made(leaf)
        shape, dtype = _size_of(leaf)
        return Step(len(self._steps), "leaf", (_LEAF,), "leaf", self._name_of_leaf(leaf), spot, shape, dtype)

    def _name(self, way: Way) -> str | None:
        """Return the variable that the line gives the result to, or the operation where the line computes another."""
        if way.label is None:
            function = getattr(way.node, "_forward_cls", None)
            return None if function is None else f"{function.__name__}.apply"
        if way.node in self._inner:
            op = way.label.op.rpartition(".")[2]
            return op if label_of(way.node) is not None else f"in {op}"
        return target_of(way.label.place)

    def _name_of_leaf(self, leaf: Tensor) -> str:
        known = self._moment.training.leaf(leaf)
        name = self._moment.variables.sharing(leaf) or known.name
        return name or (text_of(known.made) if known.made is not None else "leaf")

    def _made(self, leaf: Tensor) -> Spot | None:
        made = self._moment.training.origin(leaf)
        return None if made is None else self._spot(made)

    def _size(self, node: Any) -> tuple[tuple[int, ...] | None, str | None]:
        """Return size and type of the result: torch notes of each node what gradients it takes."""
        metadata = getattr(node, "_input_metadata", ())
        output = self._results[node]
        return _size_of(metadata[output]) if output < len(metadata) else (None, None)

    def _kept(self, way: Way) -> Iterator[Kept | None]:
        """Yield what a node has saved; None for what cannot be read, because it was freed, or hooks have packed it."""
        for name, read in saved(way.node):
            try:
                if is_packed(way.node, name):
                    yield None
                    continue
                value = read()
            except RuntimeError as error:
                yield self._stale(way, name, str(error)) if STALE in str(error) else None
                continue
            for one in value if isinstance(value, (tuple, list)) else (value,):
                if isinstance(one, Tensor) and not self._is_number(one):
                    version = None if one.is_inference() else one._version
                    yield Kept(name, self._name_of_saved(way, name, one), version, version)

    def _is_number(self, value: Tensor) -> bool:
        """Return whether what is saved stands for a number of Python's: a tensor of this type that has no variable."""
        is_number = not value.ndim and value.dtype in _NUMBERS and not value.requires_grad
        return is_number and self._moment.variables.sharing(value) is None

    def _stale(self, way: Way, name: str, said: str) -> Kept:
        versions = versions_in(said)
        value = getattr(getattr(way.node, f"_raw_saved_{name}", None), "data", None)
        of = self._name_of_saved(way, name, value) if isinstance(value, Tensor) else None
        reads = () if way.label is None else way.label.reads
        written = None if versions is None else self._moment.writes.between(reads, *versions)
        spot = None if written is None else self._spot(written.place)
        expected, found = versions or (None, None)
        return Kept(name, of, expected, found, spot, unseen=spot is None)

    def _name_of_saved(self, way: Way, name: str, value: Tensor) -> str | None:
        source = way if name == "result" else self._ways.get(value.grad_fn)
        of = None if source is None or source.node in self._inner else self._name(source)
        return self._moment.variables.sharing(value) or of

    def _freed(self, node: Any) -> Spot | None:
        """Return the backward that has freed what a node needs for another one."""
        by = freed_by(node)
        return self._spot(by) if by is not None and is_freed(node) else None

    # Cuts.

    def _cut_root(self, root: Tensor) -> None:
        shape, dtype = _size_of(root)
        cut = self._moment.cut
        spot = None if cut is None else self._spot(cut.place)
        self._steps.append(Step(0, "cut", (), "no graph" if cut is None else cut.kind, None, spot, shape, dtype))
        if cut is not None:
            self._hide(0, cut)

    def _cut(self, source: int, cut: Cut) -> None:
        """Draw a cut once for each node above it."""
        key = source, cut.place.key, cut.kind
        if key not in self._cuts and len(self._steps) < MOST_NODES:
            self._cuts[key] = number = len(self._steps)
            self._steps.append(Step(number, "cut", (), cut.kind, None, self._spot(cut.place)))
            self._links.append(Link(source, number))
        if key in self._cuts:
            self._hide(self._cuts[key], cut)

    def _hide(self, number: int, cut: Cut) -> None:
        for known in cut.leaves:
            leaf = known.tensor()
            if leaf is not None and leaf.requires_grad:
                self._hidden[id(leaf)] = leaf
                self._behind.setdefault(id(leaf), []).append(number)

    # Leaves.

    def _leaves(self, root: Tensor, wanted: set[int] | None) -> Iterator[LeafFact]:
        found = {node: node.variable for node in self._numbers if hasattr(node, "variable")}
        numbers = {id(leaf): self._numbers[node] for node, leaf in found.items()}
        used = {id(leaf): leaf for leaf in found.values()}
        if root.grad_fn is None and root.requires_grad:
            numbers[id(root)], used[id(root)] = 0, root
        held = list(self._optimizers())
        for leaf in {**used, **self._hidden}.values():
            gets = id(leaf) in used and (wanted is None or id(leaf) in wanted)
            yield self._fact(leaf, numbers.get(id(leaf), -1), gets, held)
        known = {*used, *self._hidden}
        for leaf in {id(one): one for _, members in held for one in members}.values():
            if id(leaf) not in known and leaf.requires_grad:
                yield self._fact(leaf, -1, False, held, used=False)

    def _fact(
        self, leaf: Tensor, number: int, gets: bool, held: list[tuple[str, list[Tensor]]], used: bool = True
    ) -> LeafFact:
        self.leaves.append(leaf)
        names = tuple(name for name, members in held if any(one is leaf for one in members))
        cuts = tuple(dict.fromkeys(self._behind.get(id(leaf), ())))
        shape, dtype = _size_of(leaf)
        return LeafFact(number, self._name_of_leaf(leaf), self._made(leaf), shape, dtype, gets, cuts, names, used)

    def _optimizers(self) -> Iterator[tuple[str, list[Tensor]]]:
        """Yield the optimizers that are there, by their names, with what they hold."""
        for one in self._moment.training.optimizers():
            kind, name = type(one).__name__, self._moment.variables.of(one)
            members = [parameter for group in one.param_groups for parameter in group["params"]]
            yield (kind if name is None else f"{name} ({kind})"), members

    def _spot(self, place: Place) -> Spot:
        other = None if self._is_home(place.filename) else shown(place.filename)
        return Spot(place.row, text_of(place), other)


def _is_inside(label: Label, above: Label) -> bool:
    """Return whether two operations belong to the same call, or to another one of the same line."""
    return label.place.key == above.place.key and not label.is_direct and not above.is_direct


def _size_of(one: Any) -> tuple[tuple[int, ...], str]:
    return tuple(one.shape), str(one.dtype).removeprefix("torch.")


def text_of(place: Place) -> str:
    """Return what stands at a place in one line; of a block the line that begins it."""
    text = (place.text or b"").decode(errors="replace")
    if not text or text.startswith(("with ", "async ")):
        text = linecache.getline(place.filename, place.row)
    text = " ".join(text.split()).removesuffix(":")
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


def target_of(place: Place) -> str | None:
    """Return the variable that an assignment gives the value of a place to."""
    return _targets(place.filename).get(place.range)


@lru_cache(maxsize=64)
def _targets(filename: str) -> dict[tuple[int, int | None, int | None, int | None], str]:
    """Return the variables of a file's assignments by the ranges of the values; of `h += x` that is the statement."""
    found: dict[tuple[int, int | None, int | None, int | None], str] = {}
    for node in nodes_of(filename):
        target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
        whole: Any = node if isinstance(node, ast.AugAssign) else getattr(node, "value", None)
        is_assignment = isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.NamedExpr))
        if is_assignment and whole is not None and isinstance(target, (ast.Name, ast.Attribute)):
            key = whole.lineno, whole.end_lineno, whole.col_offset, whole.end_col_offset
            found[key] = ast.unparse(target)
    return found
