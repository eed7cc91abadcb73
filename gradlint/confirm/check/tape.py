"""A drawn tape held against one that torch has recorded: names of nodes, edges, saved tensors, leaves."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from gradlint.domain.drawing import Drawing, Step

LEAF = "AccumulateGrad"
"""Torch's name of the node that belongs to a leaf."""


@dataclass
class Recorded:
    """A node of torch's tape: its name, its inputs that have one, and how many tensors it has saved, if known."""

    name: str
    inputs: list[Recorded] = field(default_factory=list)
    saved: int | None = None


@dataclass
class Tape:
    """The tape behind a tensor at a row; no root where it has no graph."""

    row: int
    name: str
    root: Recorded | None


@dataclass
class Score:
    """How drawings agree: facts that are certain and right, certain and wrong, and not certain."""

    right: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    open: Counter[str] = field(default_factory=Counter)
    tapes: int = 0
    whole: int = 0

    def share(self) -> float:
        """Return the share of the certain facts that are right."""
        return sum(self.right.values()) / max(sum(self.right.values()) + len(self.wrong), 1)

    def add(self, other: Score) -> None:
        """Take in another score."""
        self.right += other.right
        self.wrong += other.wrong
        self.open += other.open
        self.tapes += other.tapes
        self.whole += other.whole


def compare(drawing: Drawing, tape: Tape) -> Score:
    """Hold a drawing against torch's tape, as far as it says what is certain."""
    score = Score(tapes=1)
    if tape.root is None and drawing.steps[0].kind == "unknown":
        score.open[f"graph of {drawing.steps[0].op}"] += 1
        return score
    if tape.root is None:
        _count(score, drawing.steps[0].kind == "cut", "no graph", tape, drawing.steps[0], "no graph")
        return score
    _Comparison(tape, drawing, score).run()
    return score


def _count(score: Score, is_right: bool, what: str, tape: Tape, step: Step, torch_says: str) -> None:
    if is_right:
        score.right[what] += 1
    else:
        where = f"row {tape.row}, {step.spot.code if step.spot else step.op}"
        score.wrong.append(f"{what} at {where}: drawn {step.names or step.op}, torch {torch_says}")


class _Comparison:
    """Walks over both, as far as they agree."""

    def __init__(self, tape: Tape, drawing: Drawing, score: Score) -> None:
        self._tape, self._drawing, self._score = tape, drawing, score
        self._below: dict[int, list[int]] = {}
        self._sure: dict[int, bool] = {}
        for link in drawing.links:
            if drawing.steps[link.target].kind != "cut":
                self._below.setdefault(link.source, []).append(link.target)
            self._sure[link.source] = self._sure.get(link.source, True) and link.certain
        self._met: set[tuple[int, int]] = set()

    def run(self) -> None:
        """Compare nodes from the root on, and then the leaves."""
        assert self._tape.root is not None
        before = len(self._score.wrong)
        stack = [(0, self._tape.root)]
        whole = True
        while stack:
            number, node = stack.pop()
            if (number, id(node)) in self._met:
                continue
            self._met.add((number, id(node)))
            pairs = self._node(self._drawing.steps[number], node)
            whole = whole and pairs is not None
            stack += pairs or []
        if whole and len(self._score.wrong) == before:
            self._score.whole += 1
            self._leaves()

    def _node(self, step: Step, node: Recorded) -> list[tuple[int, Recorded]] | None:
        """Compare one node, and return the pairs below it; None where it ends here."""
        if step.kind == "unknown" or not step.names:
            self._score.open[f"node of {step.op}"] += 1
            return None
        if step.kind == "leaf":
            _count(self._score, node.name == LEAF, "leaf", self._tape, step, node.name)
            return []
        if not step.certain:
            self._score.open[f"name of {step.op}"] += 1
            if node.name not in step.names:
                self._score.open["node of another name"] += 1
                return None
        else:
            _count(self._score, node.name == step.names[0], "node", self._tape, step, node.name)
            if node.name != step.names[0]:
                return None
            if not step.saves_more and not step.inner and node.saved is not None:
                # Torch also keeps what the operation has computed on the way: masks, statistics.
                is_right = len(step.saves) <= node.saved
                _count(self._score, is_right, "saved", self._tape, step, f"{node.saved} saved")
        return self._pairs(step, node)

    def _pairs(self, step: Step, node: Recorded) -> list[tuple[int, Recorded]] | None:
        expected = list(self._below.get(step.number, []))
        pairs: list[tuple[int, Recorded]] = []
        queue = list(node.inputs)
        strays = 0
        while queue:
            one = queue.pop(0)
            named = [n for n in expected if one.name in self._drawing.steps[n].names]
            number = next(iter(named or [n for n in expected if self._is_open(self._drawing.steps[n], one)]), None)
            if number is not None and not (one.name in step.inner and len(queue) + 1 < len(expected)):
                expected.remove(number)
                pairs.append((number, one))
            elif one.name in step.inner:
                queue = one.inputs + queue
            elif not any(one is met for _, met in pairs):  # Else a second way within the call to the same input.
                strays += 1
        if not step.certain or not self._sure.get(step.number, True):
            self._score.open["edges"] += 1
            return pairs if not expected and not strays else None
        agree = not expected and not strays
        said = ", ".join(one.name for one in node.inputs) or "none"
        drawn = [self._drawing.steps[n].names for n in self._below.get(step.number, [])]
        if agree:
            self._score.right["edges"] += 1
        else:
            code = step.spot.code if step.spot else step.op
            self._score.wrong.append(f"edges at row {self._tape.row}, {code}: drawn {drawn}, torch {said}")
        return pairs if agree else None

    def _is_open(self, step: Step, node: Recorded) -> bool:
        """Say whether a step may be a node, whatever its name; a leaf is drawn as one."""
        return not step.names and node.name != LEAF

    def _leaves(self) -> None:
        """Compare how many leaves get a gradient, if that is certain of all of them."""
        if any(one.gets is None for one in self._drawing.leaves):
            self._score.open["leaves"] += 1
            return
        drawn = sum(one.gets is True for one in self._drawing.leaves)
        assert self._tape.root is not None
        recorded = _count_leaves(self._tape.root)
        if drawn == recorded:
            self._score.right["leaves"] += 1
        else:
            self._score.wrong.append(f"leaves at row {self._tape.row}: drawn {drawn}, torch {recorded}")


def _count_leaves(root: Recorded) -> int:
    seen: dict[int, Recorded] = {}
    stack = [root]
    while stack:
        node = stack.pop()
        if id(node) not in seen:
            seen[id(node)] = node
            stack += node.inputs
    return sum(node.name == LEAF for node in seen.values())
