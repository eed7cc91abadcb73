"""Two names for one network: shown where a program copies the parameters of one to the other."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

import libcst as cst

from gradlint.detect.detector import Detector
from gradlint.detect.optimizers import MembershipDetector
from gradlint.domain.announcement import Assigned, Repeated, StateDictLoaded, Zipped
from gradlint.domain.fault.modules import NetworkAlias, NetworkRepeated
from gradlint.domain.state import State
from gradlint.domain.value import Instance, Ref, Sequence, Tensor
from gradlint.interpreter.torch.parameters import is_module, parameters_of
from gradlint.source.lower.syntax import called_name, code_of, parts

_PLAIN = (cst.Name, cst.Attribute)

Names: TypeAlias = dict[int, dict[cst.CSTNode, cst.CSTNode]]
"""Where modules got further names, by their addresses: at which node, in which code."""


class NetworkAliasDetector(Detector[Names]):
    """Knows where a module that has a name got another one."""

    def on_assigned(self, state: State, it: Assigned) -> None:
        """Remember where a module that has a name already gets another."""
        record = state.heap.get(it.value.id)
        if isinstance(record, Instance) and _takes_over(it.node) and is_module(state, it.value):
            code = self.machine.stack[-1].node if self.machine.stack else self.machine.program.nowhere
            self.facts.setdefault(it.value.id, {})[it.node] = code

    def on_state_dict_loaded(self, state: State, it: StateDictLoaded) -> None:
        """net.load_state_dict(other.state_dict()): a copy between two names is one between two networks."""
        given = self.other(MembershipDetector).source_of(it.given)
        if given is not None and given == it.owner:
            copied = it.node.args[0].value if isinstance(it.node, cst.Call) and it.node.args else it.node
            self._judge_copy(given, [_receiver(it.node), _receiver(copied)], it.node)

    def on_zipped(self, state: State, it: Zipped) -> None:
        """zip(net.parameters(), other.parameters())"""
        columns = [column for column in it.columns if isinstance(column, Ref)]
        sources = [self.other(MembershipDetector).source_of(column) for column in columns]
        if len(sources) != 2 or sources[0] is None or sources[0] != sources[1] or not isinstance(it.node, cst.Call):
            return
        if len(columns) == len(it.columns) and all(_is_fresh(state, column) for column in columns):
            self._judge_copy(sources[0], [_receiver(arg.value) for arg in it.node.args], it.node)

    def on_repeated(self, state: State, it: Repeated) -> None:
        """[Net()] * n: one network n times, where the list makes it on the spot."""
        if not isinstance(it.node, cst.BinaryOperation) or it.times in (0, 1):
            return
        left, times = it.node.left, it.node.right
        if not isinstance(left, cst.List) or (not isinstance(it.times, int) and isinstance(times, cst.BinaryOperation)):
            return  # What is not known may be none: `* (depth - 2)`.
        if not all(isinstance(element.value, cst.Call) for element in left.elements):
            return
        modules = (item for item in it.items if isinstance(item, Ref) and is_module(state, item))
        if any(_learns(state, module) for module in modules):
            self.report(NetworkRepeated(it.node))

    def _judge_copy(self, network: Ref, names: Iterable[str | None], node: cst.CSTNode) -> None:
        """Report where the second name was given to one network that the program takes for two."""
        one, other = names
        if one is None or other is None or one == other:
            return
        for place, code in reversed(self.facts.get(network.id, {}).items()):
            if not _is_conditional(place, code):
                self.report(NetworkAlias(_side(place, {one, other}), one, other, node))
                return


def _takes_over(node: cst.CSTNode) -> bool:
    """Return whether an assignment gives a further name to what has one, and makes nothing.

    Measured: `copy.copy` of a module shares its dict of parameters.
    """
    value = node.value if isinstance(node, (cst.Assign, cst.AnnAssign)) else node
    if isinstance(value, cst.Call) and value.args and called_name(value) == "copy":
        value = value.args[0].value
    if isinstance(value, cst.Tuple):
        return any(isinstance(element.value, _PLAIN) for element in value.elements)
    return isinstance(value, _PLAIN)


def _is_fresh(state: State, value: Ref) -> bool:
    """Return whether nothing has been taken from an iterator yet."""
    record = state.heap.get(value.id)
    return isinstance(record, Sequence) and record.kind == "iterator" and bool(record.items)


def _receiver(node: cst.CSTNode) -> str | None:
    """Return the source of what a method is called on."""
    if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute):
        return code_of(node.func.value)
    return None


def _side(place: cst.CSTNode, names: set[str]) -> cst.CSTNode:
    """Return the one of several values assigned side by side that goes by a name of the network."""
    value = place.value if isinstance(place, cst.Assign) else None
    sides = [element.value for element in value.elements] if isinstance(value, cst.Tuple) else []
    named = [side for side in sides if code_of(side) in names]
    return named[0] if len(named) == 1 else place


def _is_conditional(node: cst.CSTNode, code: cst.CSTNode) -> bool:
    """Return whether a statement is run under a condition, so that elsewhere there may be two networks."""
    if isinstance(code, cst.If) and "__name__" not in code_of(code.test) and _holds(code, node):
        return True
    return any(_is_conditional(node, child) for child in parts(code) if not isinstance(child, cst.BaseExpression))


def _holds(outer: cst.CSTNode, node: cst.CSTNode) -> bool:
    return outer is node or any(_holds(child, node) for child in parts(outer))


def _learns(state: State, ref: Ref) -> bool:
    found = (state.heap[parameter.id] for _, parameter in parameters_of(state, ref)[0])
    return any(isinstance(one, Tensor) and one.grad is True for one in found)
