"""A training script as the operators see it: its calls, its statements, and the losses it trains."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TypeAlias, TypeVar

import libcst as cst
from libcst.metadata import MetadataWrapper, ParentNodeProvider, PositionProvider

NETWORK = re.compile(
    r"(^|_)(model|net|network|encoder|decoder|generator|discriminator|classifier|policy|actor|critic|unet|vae|gan|gcn|"
    r"gnn|backbone|qnet|transformer|bert|netg|netd|net_?[gd]|g|d|q|gen|disc)(_?[a-z]?\d?)$",
    re.IGNORECASE,
)
OPTIMIZER = re.compile(r"opt|solver", re.IGNORECASE)
SCHEDULER = re.compile(r"sched|lr_", re.IGNORECASE)
FRAMEWORK = re.compile(r"accelerator|fabric|^self$|engine", re.IGNORECASE)
GRAD_OFF = ("no_grad", "inference_mode", "set_grad_enabled")

Suite: TypeAlias = "cst.Module | cst.IndentedBlock"
_Node = TypeVar("_Node", bound=cst.CSTNode)


class Sink:
    """A place where a loss is handed to autograd: a backward, or the return of a `training_step`."""

    def __init__(self, line: cst.SimpleStatementLine, call: cst.Call | None, loss: cst.BaseExpression) -> None:
        self.line, self.call, self.loss = line, call, loss


class Script:
    """The syntax of a file, with what the operators ask of it."""

    def __init__(self, text: str) -> None:
        wrapper = MetadataWrapper(cst.parse_module(text))
        self.text, self.module = text, wrapper.module
        self._parents = wrapper.resolve(ParentNodeProvider)
        self._places = wrapper.resolve(PositionProvider)
        self._nodes: dict[type[cst.CSTNode], list[cst.CSTNode]] = {}
        for node in _walk(self.module):
            self._nodes.setdefault(type(node), []).append(node)
        self._lines = text.split("\n")
        self._functions: dict[int, cst.FunctionDef | cst.Module] = {}
        self.sinks = list(self._sinks())

    def all(self, kind: type[_Node]) -> Iterator[_Node]:
        """All nodes of a kind, in the order of the source."""
        return (node for node in self._nodes.get(kind, ()) if isinstance(node, kind))

    def code(self, node: cst.CSTNode) -> str:
        """The source of a node, without parentheses around it."""
        start, end = self._places[node].start, self._places[node].end
        if start.line == end.line:
            return self._lines[start.line - 1][start.column : end.column]
        inner = self._lines[start.line : end.line - 1]
        return "\n".join([self._lines[start.line - 1][start.column :], *inner, self._lines[end.line - 1][: end.column]])

    def row(self, node: cst.CSTNode) -> int:
        """The first row of a node."""
        return self._places[node].start.line

    def above(self, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
        """What encloses a node, innermost first."""
        while not isinstance(node, cst.Module):
            node = self._parents[node]
            yield node

    def up(self, node: cst.CSTNode, kind: type[_Node]) -> _Node | None:
        """The innermost node of a kind that encloses this one."""
        return next((parent for parent in self.above(node) if isinstance(parent, kind)), None)

    def function(self, node: cst.CSTNode) -> cst.FunctionDef | cst.Module:
        """The function in which a node stands, or the module."""
        if id(node) not in self._functions:
            self._functions[id(node)] = self.up(node, cst.FunctionDef) or self.module
        return self._functions[id(node)]

    def loop(self, node: cst.CSTNode) -> cst.CSTNode | None:
        """The innermost loop around a node, within its function."""
        for parent in self.above(node):
            if isinstance(parent, cst.FunctionDef | cst.ClassDef):
                return None
            if isinstance(parent, cst.For | cst.While):
                return parent
        return None

    def line(self, node: cst.CSTNode) -> cst.SimpleStatementLine | None:
        """The line in which a node stands, unless it holds several statements."""
        line = self.up(node, cst.SimpleStatementLine)
        return line if line is not None and len(line.body) == 1 else None

    def alone(self, call: cst.CSTNode) -> cst.SimpleStatementLine | None:
        """The line that consists of this call."""
        line = self.line(call)
        whole = line is not None and isinstance(line.body[0], cst.Expr) and line.body[0].value is call
        return line if whole and line is not None and self.suite(line) is not None else None

    def suite(self, line: cst.CSTNode) -> Suite | None:
        """The block in which a statement stands."""
        parent = self._parents[line]
        return parent if isinstance(parent, cst.Module | cst.IndentedBlock) else None

    def calls(self, *methods: str) -> Iterator[tuple[cst.Call, cst.BaseExpression]]:
        """The calls of methods, each with its receiver."""
        for call in self.all(cst.Call):
            if isinstance(call.func, cst.Attribute) and call.func.attr.value in methods:
                yield call, call.func.value

    def lines_of(self, *methods: str) -> Iterator[tuple[cst.SimpleStatementLine, cst.Call, str]]:
        """The lines that consist of the call of a method, each with its receiver."""
        for call, receiver in self.calls(*methods):
            line = self.alone(call)
            if line is not None:
                yield line, call, self.code(receiver)

    def steps(self) -> Iterator[tuple[cst.SimpleStatementLine, cst.Call, str]]:
        """The lines in which an optimizer steps, each with its optimizer; perhaps through a scaler."""
        for line, call, receiver in self.lines_of("step"):
            if "scaler" in receiver and call.args:
                yield line, call, self.code(call.args[0].value)
            elif OPTIMIZER.search(receiver) and not SCHEDULER.search(receiver):
                yield line, call, receiver

    def assigned(self, name: str, before: cst.CSTNode) -> tuple[cst.SimpleStatementLine, cst.Assign] | None:
        """The assignment from which a name has its value at a line; None if branches or other writes have a part."""
        found: tuple[cst.SimpleStatementLine, cst.Assign] | None = None
        home, row = self.function(before), self.row(before)
        for node in self.all(cst.SimpleStatementLine):
            if self.row(node) >= row or self.function(node) is not home or len(node.body) != 1:
                continue
            small = node.body[0]
            if isinstance(small, cst.AugAssign) and self.code(small.target) == name:
                found = None
            elif isinstance(small, cst.Assign) and name in _names(small.targets[0].target):
                found = (node, small)
        if found is None or self.loop(found[0]) is not self.loop(before):
            return None
        around = set(map(id, self.above(before)))
        for parent in self.above(found[0]):
            if id(parent) in around:
                return found
            if isinstance(parent, cst.If | cst.Else | cst.Try | cst.ExceptHandler):
                return None
        return found

    def network_call(self, value: cst.BaseExpression) -> bool:
        """Whether an expression is a call of something with the name of a network."""
        return isinstance(value, cst.Call) and bool(NETWORK.search(self.code(value.func).rsplit(".", 1)[-1]))

    def without_grad(self, node: cst.CSTNode) -> bool:
        """Whether a node stands where grad mode is off."""
        for parent in self.above(node):
            if isinstance(parent, cst.With) and any(
                word in self.code(item) for item in parent.items for word in GRAD_OFF
            ):
                return True
            if isinstance(parent, cst.FunctionDef) and any(
                word in self.code(mark) for mark in parent.decorators for word in GRAD_OFF
            ):
                return True
        return False

    def trained(self) -> Iterator[tuple[Sink, cst.SimpleStatementLine, cst.BaseExpression]]:
        """The losses whose value is made by one assignment to their name, each with that line and value."""
        for sink in self.sinks:
            if isinstance(sink.loss, cst.Name) and not re.search(rf"\b{sink.loss.value}(\[|\.get\()", self.text):
                found = self.assigned(sink.loss.value, sink.line)
                if found is not None and isinstance(found[1].targets[0].target, cst.Name):
                    yield sink, found[0], found[1].value

    def outputs(self) -> Iterator[tuple[cst.Call, cst.Arg, cst.SimpleStatementLine]]:
        """The loss calls that get a network's output, with that argument and the line of the forward."""
        for _, line, value in self.trained():
            if not isinstance(value, cst.Call) or self.network_call(value):
                continue
            made = []
            for arg in value.args:
                found = self.assigned(arg.value.value, line) if isinstance(arg.value, cst.Name) else None
                if found is not None and self.network_call(found[1].value) and not self.without_grad(found[0]):
                    made.append((arg, found[0]))
            if len(made) == 1 and all(isinstance(arg.value, cst.Name | cst.Attribute | cst.Call) for arg in value.args):
                yield value, *made[0]

    def _sinks(self) -> Iterator[Sink]:
        for line, call, receiver in self.lines_of("backward", "manual_backward"):
            assert isinstance(call.func, cst.Attribute)
            value = call.func.value
            if call.args and call.args[0].keyword is None:
                if FRAMEWORK.search(receiver):
                    yield Sink(line, call, call.args[0].value)
            elif isinstance(value, cst.Call) and self.code(value.func).endswith(".scale") and value.args:
                yield Sink(line, call, value.args[0].value)
            else:
                yield Sink(line, call, value)
        for node in self.all(cst.Return):
            home, place, loss = self.function(node), self.line(node), _loss_returned(node)
            trains = isinstance(home, cst.FunctionDef) and home.name.value in ("training_step", "compute_loss")
            if trains and place is not None and loss is not None:
                yield Sink(place, None, loss)


def _loss_returned(node: cst.Return) -> cst.BaseExpression | None:
    if isinstance(node.value, cst.Dict):
        for element in node.value.elements:
            key = element.key if isinstance(element, cst.DictElement) else None
            if isinstance(key, cst.SimpleString) and key.evaluated_value == "loss":
                return element.value
        return None
    return node.value if isinstance(node.value, cst.Name) else None


def _names(target: cst.BaseExpression) -> list[str]:
    if isinstance(target, cst.Name):
        return [target.value]
    if isinstance(target, cst.Tuple | cst.List):
        return [name for element in target.elements for name in _names(element.value)]
    return []


def _walk(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    yield node
    for child in node.children:
        yield from _walk(child)
