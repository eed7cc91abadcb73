"""States made by running texts on the abstract machine, and what autograd can see of them."""

from __future__ import annotations

from functools import cache

import libcst as cst

from gradlint.domain.dtype import members
from gradlint.domain.graph import Node
from gradlint.domain.join import Join
from gradlint.domain.shape import Dim
from gradlint.domain.state import Frame, State
from gradlint.domain.value import Class, Function, Instance, Mapping, Ref, Sequence, Tensor, Unknown, Value
from gradlint.interpreter.interpret import Interpreter
from gradlint.interpreter.program import Program
from gradlint.source.core import Block
from gradlint.source.lower import lower_module

BASE = """\
import torch
a = torch.ones(3)
b = torch.ones(3)
w = torch.ones(3, requires_grad=True)
y = w * 2
z = y.exp()
k = w * b
n = 1
s = "one"
items = [a, w]
table = {"key": a}
class Box: pass
box = Box()
box.value = a
net = torch.nn.Linear(3, 3)
"""
"""What stands before each fork: data, a leaf, results (`z` and `b` are saved for backward), and what holds them."""

STEPS = (
    "pass",
    "n = 2",
    "n = n + 1",
    "n = z.sum().item()",
    "s = 'two'",
    "s = None",
    "t = 1",
    "t = w + 1",
    "a = a + 1",
    "a = torch.zeros(3)",
    "a = torch.zeros(4)",
    "a = torch.ones(3).double()",
    "a = w * 2",
    "a = w.detach()",
    "a.add_(1)",
    "b.add_(1)",
    "z.mul_(2)",
    "y = w * 3",
    "y = w + 3",
    "y = y.detach()",
    "y = y.view(3)",
    "z = z * 2",
    "w = torch.ones(3, requires_grad=True)",
    "w.requires_grad_(False)",
    "w.grad = None",
    "w.grad = torch.ones(3)",
    "y.sum().backward()",
    "z.sum().backward()",
    "items.append(a)",
    "items.append(n)",
    "items = [w, a]",
    "items = [a, w]",
    "table['key'] = w",
    "table['key'] = n",
    "table['other'] = 1",
    "torch.set_grad_enabled(False)",
    "with torch.no_grad():\n    w.add_(1)",
    "with torch.no_grad():\n    y = w * 2",
    "y = (w * b).sum()",
    "f = torch.nn.Linear(3, 3)",
    "a = b",
    "a = b[:2]",
    "a = b.view(3, 1)",
    "a = y.data",
    "a = y.detach()",
    "a.requires_grad_()",
    "with torch.inference_mode():\n    a = torch.ones(3)",
    "b.data.add_(1)",
    "y.retain_grad()",
    "y.mul_(2)",
    "t = a",
    "t = items",
    "items[0] = torch.zeros(3)",
    "items[0] = w * 2",
    "items = []",
    "box.value = b",
    "box.value = w * 2",
    "box.other = 1",
    "box.other = w * 2",
    "box = Box()",
    "net.eval()",
    "net.requires_grad_(False)",
    "net.bias = None",
    "net = torch.nn.Linear(3, 4)",
    "k = net(a).sum()",
    "f = lambda value: value * w",
    "n = len(items)",
    "s = (1, 'two')",
    "s = (1, w)",
    "y = w * n",
    "y = y[0]",
    "y, t = w.split(2)",
    "y = torch.where(a > 0, w, y)",
    "k.backward(torch.ones(3), retain_graph=True)",
    "w = w.clone()",
    "w = w.data",
)
"""What one path may do. Each is one statement, and none of them fails after `BASE`."""


class Paths:
    """A machine that has run `BASE`, and the paths that begin there."""

    def __init__(self, base: str = BASE) -> None:
        module = cst.parse_module(base)
        self.machine = Interpreter(Program(module), 1_000_000)
        self.start = State()
        self.start.enter(1, Frame({"__name__": "__main__"}))
        self._run(base, self.start)
        self.start.dirty, self.start.dirty_frames = set(), set()

    def path(self, *steps: str) -> State:
        """The state behind these steps, taken from the fork."""
        state = self.start.fork()
        for step in steps:
            state = self._run(f"{step}\n", state)
        return state

    def join(self, left: State, right: State) -> State | None:
        """The state that stands for both, or None. Neither of the two is changed."""
        return Join(again(left), again(right), self.machine.watched).attempt(())

    def _run(self, text: str, state: State) -> State:
        (end,) = self.machine.run(_block(text), [state])
        return end

    def sees(self, state: State, *, identities: bool = True) -> dict[str, object]:
        """What autograd can see of a state: grad mode, and each variable with what is reachable from it.

        Without identities it is left out which of the things reached are the same.
        """
        return {"<grad>": state.grad, **_View(self, state, identities).variables()}


@cache
def _block(text: str) -> Block:
    """The instructions of a text: the same ones whenever it is run, as in a program."""
    return lower_module(cst.parse_module(text)).body


def again(state: State) -> State:
    """A state like the given one, with its dirt, so that a meeting leaves the given one as it is."""
    other = state.fork()
    other.dirty, other.dirty_frames = set(state.dirty), set(state.dirty_frames)
    return other


def _size(dim: Dim) -> object:
    """A size that can be compared: a symbol equals itself alone, and each join makes new ones."""
    return dim if isinstance(dim, int) else ("size", dim.many)


class _View:
    """One look at a state. Addresses are numbered as they are met, so that equal views differ in names only."""

    def __init__(self, paths: Paths, state: State, identities: bool) -> None:
        self._identities = identities
        self._watched = paths.machine.watched
        self._state = state
        self._numbers: dict[int, int] = {}

    def variables(self) -> dict[str, object]:
        names = sorted(name for name in self._state.locals if isinstance(name, str))
        return {name: self._value(self._state.locals[name]) for name in names}

    def _number(self, address: int) -> int:
        return self._numbers.setdefault(address, len(self._numbers)) if self._identities else 0

    def _value(self, value: Value) -> object:
        if isinstance(value, Unknown):
            return ("unknown", value.kind)
        if isinstance(value, Function):
            return ("function", value.code.name)
        if type(value) is tuple:
            return tuple(self._value(item) for item in value)
        if not isinstance(value, Ref):
            return value
        known = value.id in self._numbers
        number = self._number(value.id)
        return ("ref", number) if known else ("ref", number, self._record(self._state[value]))

    def _record(self, record: object) -> object:
        match record:
            case Tensor():
                return self._tensor(record)
            case Sequence():
                return (record.kind, record.open, *(self._value(item) for item in record.items))
            case Mapping():
                return (record.open, {key: self._value(item) for key, item in record.items.items()})
            case Instance():
                parts = ({key: self._value(part) for key, part in of.items()} for of in (record.attrs, record.config))
                return (self._value(record.cls), record.open, *parts)
            case Class():
                return record.name
            case _:
                raise TypeError(f"{record!r} is not reached by the steps")

    def _tensor(self, tensor: Tensor) -> dict[str, object]:
        writes = self._state.writes(tensor.counter)
        return {
            "grad": tensor.grad,
            "leaf": tensor.leaf,
            "parameter": tensor.parameter,
            "retains": tensor.retains,
            "inference": tensor.inference,
            "dtype": None if tensor.dtype is None else ("dtype", members(tensor.dtype)),
            "shape": None if tensor.shape is None else tuple(map(_size, tensor.shape)),
            "view": tensor.view and (tensor.view.kind, self._number(tensor.view.base)),
            "counter": self._number(tensor.counter),
            "memory": self._number(tensor.memory),
            "writes": len(writes) if tensor.counter in self._watched else None,
            "tags": tensor.tags,
            "accumulated": self._value(tensor.accumulated),
            "graph": self._graph(tensor.node),
        }

    def _graph(self, node: Node) -> object:
        """The graph as far as a gradient could flow: operations, what they saved, and the leaves at its ends."""
        if not node.live:
            return None
        saved = tuple((self._number(kept.counter), kept.version, kept.label) for kept in node.saved)
        leaf = None if node.leaf is None else self._number(node.leaf)
        return (node.op, node.tracked, leaf, saved, *((edge.flows, self._graph(edge.node)) for edge in node.edges))
