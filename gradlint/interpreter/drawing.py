"""From a tensor on one path to the drawing of its tape: nodes, leaves, cuts, and what was saved at which version."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import NamedTuple, TypeAlias

import libcst as cst

from gradlint.domain.drawing import (
    MOST_NODES,
    Call,
    Drawing,
    Kept,
    LeafFact,
    Link,
    Spot,
    Step,
    StepKind,
    TooLargeError,
)
from gradlint.domain.graph import NOT_COMPUTED_FROM, Edge, Node, Saved, Site, Term, Tri
from gradlint.domain.likeness import is_optimizer_path
from gradlint.domain.shape import Shape
from gradlint.domain.state import State
from gradlint.domain.value import External, Instance, Ref, Tensor
from gradlint.domain.walk import gradient_inputs, inputs, leaves, reachable, sloped_inputs
from gradlint.interpreter.grad_fn import LEAF, NOT_KNOWN, Given, Named, named
from gradlint.interpreter.machine import Machine
from gradlint.interpreter.torch.backward import first_write
from gradlint.interpreter.torch.parameters import members_of, module_base, parameters_of
from gradlint.interpreter.torch.tensor import SUMMARY

Locate: TypeAlias = "Callable[[cst.CSTNode | None], Spot | None]"


class Origin(NamedTuple):
    """What an onlooker has noted of a node when it was made: the variable, the calls under way."""

    label: str | None
    site: Site


class Notes(NamedTuple):
    """What an onlooker has noted while the program ran, by the numbers of nodes and the identity of operands."""

    origins: dict[int, Origin]
    sizes: dict[int, tuple[Shape, str | None]]
    calls: dict[int, Given]


class Drawer:
    """Draws tapes on one path of the machine, as it is now."""

    def __init__(self, machine: Machine, state: State, notes: Notes, locate: Locate) -> None:
        self._machine, self._state, self._notes, self._locate = machine, state, notes, locate
        self._labels = _labels(state)
        self._by_counter: dict[int, int] = {}
        self._records = {key: one for key, one in state.heap.items() if isinstance(one, Tensor)}
        self._uncounted = {one.counter for one in self._records.values() if "uncounted" in one.tags}
        self._sizes = dict(notes.sizes)
        for address, record in self._records.items():
            self._sizes.setdefault(record.node.id, (record.shape, record.dtype))
            if address in self._labels:
                self._by_counter.setdefault(record.counter, address)
        self._numbers: dict[int, int] = {}
        self._steps: list[Step] = []
        self._links: list[Link] = []
        self._cuts: dict[tuple[int, str, int], int] = {}
        self._cut_leaves: dict[int, list[int]] = {}

    def draw(self, record: Tensor, filename: str, row: int, title: str) -> Drawing:
        """Draw the tape behind a tensor."""
        self._sizes[record.node.id] = record.shape, record.dtype
        self._walk(record)
        return Drawing(filename, row, title, tuple(self._steps), tuple(self._links), tuple(self._leaves(record)))

    # Nodes.

    def _walk(self, record: Tensor) -> None:
        root = record.node
        if root.tracked is False and root.leaf is None:
            self._add(
                root, Step(0, "cut", (), root.cut or "no graph", spot=self._spot_of(root), shape=_plain(record.shape))
            )
            self._cut_below(0, root)
            return
        stack: list[Node] = [root]
        while stack:
            node = stack.pop()
            if node.id in self._numbers:
                continue
            self._add(node, self._step(node))
            flowing = [edge for edge in node.edges if edge.flows is not False]
            for edge in reversed(flowing):
                if node.leaf is None:
                    self._note_sizes(node)
                    stack.append(edge.node)
        for node in reachable([root], gradient_inputs):
            self._link(node)

    def _add(self, node: Node, step: Step) -> None:
        if len(self._steps) >= MOST_NODES:
            raise TooLargeError
        self._numbers[node.id] = step.number
        self._steps.append(step)

    def _note_sizes(self, node: Node) -> None:
        for one in node.operands.values():
            if isinstance(one, Term):
                self._sizes.setdefault(one.node.id, (one.shape, one.dtype))

    def _step(self, node: Node) -> Step:
        shape, dtype = self._sizes.get(node.id, (None, None))
        origin = self._notes.origins.get(node.id)
        kind, name = self._kind(node)
        return Step(
            len(self._steps), kind, name.names, node.op, self._label(node), self._spot_of(node), _plain(shape), dtype,
            name.inner, tuple(self._kept(node)), node.maybe_saved and node.leaf is None, self._freed(node),
            self._home(origin), name.certain and kind != "unknown",
        )  # fmt: skip

    def _kind(self, node: Node) -> tuple[StepKind, Named]:
        if node.leaf is not None:
            return "leaf", Named((LEAF,))
        if node.tracked is not True:
            return "unknown", NOT_KNOWN
        given = self._notes.calls.get(id(node.operands))
        return "operation", named(node, given, by_view=node.id in self._machine.by_views)

    def _label(self, node: Node) -> str | None:
        if node.leaf is not None and node.leaf in self._labels:
            return self._labels[node.leaf]
        origin = self._notes.origins.get(node.id)
        return None if origin is None else origin.label

    def _spot_of(self, node: Node) -> Spot | None:
        return self._locate(node.syntax)

    def _home(self, origin: Origin | None) -> tuple[Call, ...]:
        """Return the calls in which a node was made, the outermost first."""
        found: list[Call] = []
        site = None if origin is None else origin.site
        while site is not None:
            call = self._locate(site[0])
            found += [call] if call is not None else []
            site = site[1]
        return tuple(reversed(found))

    def _freed(self, node: Node) -> Spot | None:
        return self._locate(self._state.freed.get(node.id)) if self._state.frees(node) else None

    def _kept(self, node: Node) -> Iterator[Kept]:
        for one in node.saved if node.leaf is None else ():
            written = first_write(self._state, one)
            spot = None if written is None else self._locate(written.syntax)
            what = "result" if one.label.startswith(">") else one.label
            counted = one.counter not in self._uncounted
            version, now = (one.version, len(self._state.writes(one.counter))) if counted else (None, None)
            yield Kept(what, self._name_of(node, one), version, now, spot)

    def _name_of(self, node: Node, saved: Saved) -> str | None:
        address = self._by_counter.get(saved.counter)
        if address is not None:
            return self._labels[address]
        graph = node if saved.own or saved.label.startswith(">") else saved.node
        return None if graph is None else self._label(graph)

    # Ways.

    def _link(self, node: Node) -> None:
        """Note the ways from a node: to those a gradient flows to, and to the cuts that keep leaves from it."""
        source = self._numbers[node.id]
        for edge in node.edges:
            if edge.flows is not False and node.leaf is None:
                certain = edge.flows is True and (edge.node.tracked is True or edge.node.leaf is not None)
                self._links.append(Link(source, self._numbers[edge.node.id], certain))
            elif edge.node.live and edge.cut not in NOT_COMPUTED_FROM:
                self._cut_at(source, node, edge)

    def _cut_at(self, source: int, node: Node, edge: Edge) -> None:
        """Draw the cut at an edge; where the value came from there without a graph, those at which the graph ended."""
        if edge.node.leaf is not None or edge.node.tracked is not False:
            self._cut(source, node, edge.cut or node.cut, edge.node)
        else:
            self._cut_below(source, edge.node)

    def _cut_below(self, source: int, node: Node) -> None:
        """Draw the cuts at which the graph ended that led to a value without one."""
        for one in reachable([node], _without_graph):
            for edge in one.edges:
                if edge.cut not in NOT_COMPUTED_FROM and edge.node not in _without_graph(one):
                    self._cut(source, one, edge.cut or one.cut, edge.node)

    def _cut(self, source: int, at: Node, kind: str | None, behind: Node) -> None:
        """Draw a cut, if leaves lie behind it, once for each node above it; a block without grad is one cut."""
        hidden = [one for one in leaves([behind], inputs) if self._requires_grad(one)]
        if not hidden or len(self._steps) >= MOST_NODES:
            return
        key = id(at.place or at), kind or "no graph", source
        if key not in self._cuts:
            self._cuts[key] = number = len(self._steps)
            spot = self._locate(at.place or at.syntax)
            label = None if at.place is not None else self._label(at)
            self._steps.append(Step(number, "cut", (), kind or "no graph", label, spot))
            self._links.append(Link(source, number))
        self._cut_leaves.setdefault(self._cuts[key], []).extend(one.id for one in hidden)

    def _requires_grad(self, leaf: Node) -> bool:
        record = self._records.get(leaf.leaf or 0)
        return record is not None and record.grad is not False

    # Leaves.

    def _leaves(self, root: Tensor) -> Iterator[LeafFact]:
        reached = {node.id for node in reachable([root.node], gradient_inputs)} if root.grad is not False else set()
        certain = set(_certain(root))
        # What is not known may lead to any leaf.
        missed: Tri = None if any(step.kind == "unknown" for step in self._steps) else False
        behind: dict[int, list[int]] = {}
        for cut, hidden in self._cut_leaves.items():
            for one in hidden:
                behind.setdefault(one, []).append(cut)
        holders = _optimizers(self._state, self._labels)
        used = {one.id: one for one in leaves([root.node], inputs) if self._requires_grad(one)}
        sloped = {node.id for node in reachable([root.node], sloped_inputs)}
        for leaf in used.values():
            gets: Tri = True if leaf.id in certain else None if leaf.id in reached else missed
            fact = self._leaf(leaf, gets, tuple(dict.fromkeys(behind.get(leaf.id, ()))), holders)
            yield replace(fact, zero=gets is True and missed is False and leaf.id not in sloped)
        for address in holders:
            record = self._records.get(address)
            node = None if record is None else record.node
            if node is not None and node.leaf is not None and node.id not in used and self._requires_grad(node):
                yield replace(self._leaf(node, missed, (), holders), used=False)

    def _leaf(self, node: Node, gets: Tri, cuts: tuple[int, ...], holders: dict[int, list[str]]) -> LeafFact:
        record = self._records[node.leaf or 0]
        spot = self._locate(node.place or node.syntax)
        label = self._label(node) or (spot.code if spot is not None else "leaf")
        if SUMMARY in record.tags:
            label = f"parameters of {label}"
        held = tuple(holders.get(node.leaf or 0, ()))
        return LeafFact(
            self._numbers.get(node.id, -1), label, spot, _plain(record.shape), record.dtype, gets, cuts, held
        )


def _without_graph(node: Node) -> list[Node]:
    """Return the inputs of a value that had no graph either."""
    return [edge.node for edge in node.edges if edge.node.leaf is None and edge.node.tracked is False]


def _certain(root: Tensor) -> Iterator[int]:
    """Yield the numbers of the nodes that a gradient certainly reaches."""

    def along(node: Node) -> list[Node]:
        recorded = node.tracked is True and node.leaf is None
        return [edge.node for edge in node.edges if edge.flows is True] if recorded else []

    yield from (node.id for node in reachable([root.node] if root.grad is True else [], along))


def _plain(shape: Shape) -> tuple[int | None, ...] | None:
    return None if shape is None else tuple(one if isinstance(one, int) else None for one in shape)


def _labels(state: State) -> dict[int, str]:
    """Return how the program calls its tensors, modules' parameters and optimizers, by address."""
    found: dict[int, str] = {}
    frames = [state.frame, *(number for number in state.frames if number != state.frame)]
    named = [(name, value) for number in frames for name, value in state.frames[number].names.items()]
    plain = [(name, value) for name, value in named if isinstance(name, str) and isinstance(value, Ref)]
    for name, value in sorted(plain, key=lambda one: one[0] == "self"):
        record = state.heap.get(value.id) if isinstance(value, Ref) else None
        if isinstance(record, Tensor):
            found.setdefault(value.id, name)
        elif isinstance(record, Instance) and module_base(state, record) is not None:
            for inner, ref in parameters_of(state, value)[0]:
                found.setdefault(ref.id, f"{name}.{inner}")
        elif isinstance(record, Instance):
            found.setdefault(value.id, name)
            for inner, one in record.attrs.items():
                if isinstance(one, Ref) and isinstance(state.heap.get(one.id), Tensor):
                    found.setdefault(one.id, f"{name}.{inner}")
    return found


def _optimizers(state: State, labels: dict[int, str]) -> dict[int, list[str]]:
    """Return the optimizers that hold each parameter, by its address."""
    found: dict[int, list[str]] = {}
    for address, record in state.heap.items():
        path = record.cls.path if isinstance(record, Instance) and isinstance(record.cls, External) else None
        if path is not None and is_optimizer_path(path):
            short = path.rpartition(".")[2]
            name = f"{labels[address]} ({short})" if address in labels else short
            for one in members_of(state, Ref(address)):
                found.setdefault(one.id, []).append(name)
    return found
