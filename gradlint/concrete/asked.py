"""The line of which a tape is asked for: its first backward, or else the first tensor that it computes, is drawn."""

from __future__ import annotations

import ast
import os
import sys
import weakref
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import cache
from types import CodeType, FrameType
from typing import Any

import torch

from gradlint.concrete.calls import Call, tensors_in
from gradlint.concrete.drawing import Drawer, Moment, target_of, text_of
from gradlint.concrete.places import Line, Place
from gradlint.concrete.tape import label_of
from gradlint.concrete.variables import Variables
from gradlint.concrete.watcher import Known, Watcher
from gradlint.concrete.writes import Writes
from gradlint.concrete.written import nodes_of, own_frames, value_of
from gradlint.domain.drawing import Drawing, LeafFact, TooLargeError

Tensor = torch.Tensor


class Asked(Watcher):
    """Draws the tape of one line. Of its tensors it knows the last one for as long as that lives.

    The line is over at the first call of torch that comes from elsewhere. What it gives to a variable is drawn then, or
    else the last tensor that it has computed. A backward is drawn before it runs, and again where it raises.
    """

    def __init__(self, known: Known, line: Line, writes: Writes, since: Callable[[], int]) -> None:
        super().__init__(known)
        self._line, self._writes, self._since = line, writes, since
        self.drawing: Drawing | None = None
        self.too_large: str | None = None
        """How the program calls a tensor with a graph that is too large to be drawn."""
        self.is_reached = False
        """Whether torch was called at the line."""
        self._code: CodeType | None = None
        """The code that is at the line."""
        self._at = 0
        self._last: weakref.ref[Tensor] | None = None
        self._running: Call | None = None
        """The backward that was drawn, while it runs."""
        self._leaves: list[tuple[weakref.ref[Tensor], bool]] = []
        self._has_begun = self._has_failed = False
        statements = list(_statements(line))
        self._rows = {line.row}.union(*(range(one.lineno, _end(one) + 1) for one in statements))
        self._targets = [target for one in statements for target in _targets(one)]
        folder = os.getcwd()
        self._is_file = cache(lambda name: os.path.realpath(os.path.join(folder, name)) == line.filename)

    def calls(self, caller: FrameType) -> tuple[Place, ...]:
        """Return the calls of the user's own code that are under way, the outermost first."""
        own = [Place(frame.f_code, frame.f_lasti) for frame in own_frames(caller) if frame is not caller]
        return tuple(own[::-1])

    def comes(self, caller: FrameType) -> None:
        """See whether the line is over, before a call of torch runs."""
        if self._code is not None:
            frame = self._frame(caller)
            if frame is None or (frame.f_lasti <= self._at and self._is_given(frame)):
                self._leave(caller)

    def called(self, given: list[Tensor], result: Any, caller: FrameType) -> None:
        """Note what a call of torch has computed, or else read, if it comes from the line."""
        frame = self._frame(caller)
        if frame is None:
            return
        self.is_reached = True
        if self.drawing is None and self.too_large is None:
            made = next(tensors_in((result,)), None)
            last = made if made is not None else given[0] if given else None
            self._code, self._at = frame.f_code, frame.f_lasti
            self._last = self._last if last is None else weakref.ref(last)

    def ended(self) -> None:
        """Draw what the line has computed, where it was the last one of the program that has called torch."""
        if self._code is not None:
            self._leave(sys._getframe(1))

    def paused(self) -> None:
        """Forget a tensor of the line: what follows is not seen."""
        self._code = self._last = self._running = None

    def backward_begins(self, call: Call, place: Place) -> None:
        """Draw what the first backward of the line is about to run through."""
        frame = None if self._has_begun else self._frame(sys._getframe(1))
        if frame is not None:
            self._has_begun = self.is_reached = True
            self._draw_backward(call, frame)
            self._running = call

    def backpropagated(self, call: Call, place: Place) -> None:
        """Add to the drawing which leaves have got nothing, or zeros."""
        if call is self._running and call.fills and self.drawing is not None:
            facts = zip(self.drawing.leaves, self._leaves, strict=True)
            self.drawing = replace(self.drawing, leaves=tuple(_got(fact, *leaf) for fact, leaf in facts))
        if call is self._running:
            self._running = None

    def backward_failed(self, call: Call, place: Place) -> None:
        """Draw what torch has refused the first time, if it is not what was drawn before it ran."""
        is_drawn, self._running = call is self._running, None
        self._has_failed = self._has_failed or is_drawn
        frame = None if self._has_failed else self._frame(sys._getframe(1))
        if frame is not None:
            self._has_failed = True
            self._draw_backward(call, frame)

    def _frame(self, frame: FrameType | None) -> FrameType | None:
        """Return the innermost frame that is at the line."""
        while frame is not None:
            if frame.f_lineno in self._rows and self._is_file(frame.f_code.co_filename):
                return frame
            frame = frame.f_back
        return None

    def _is_given(self, frame: FrameType) -> bool:
        """Return whether a variable has got the last tensor: the line is over, and begins again."""
        last = None if self._last is None else self._last()
        return last is not None and any(value_of(one, frame) is last for one in self._targets)

    def _leave(self, caller: FrameType) -> None:
        """Draw what the line has come to, if that is still there."""
        frame: FrameType | None = caller
        while frame is not None and frame.f_code is not self._code:
            frame = frame.f_back
        last = None if self._last is None else self._last()
        self._code = self._last = None
        named = [] if frame is None else [(ast.unparse(one), value_of(one, frame)) for one in self._targets]
        given = [(name, value) for name, value in named if isinstance(value, Tensor)]
        if given:
            title, root = next((one for one in given if one[1].requires_grad), given[0])
            self._draw(root, title, caller)
        elif last is not None:
            label = None if last.grad_fn is None else label_of(last.grad_fn)
            title = "a tensor" if label is None else target_of(label.place) or text_of(label.place)
            self._draw(last, title, caller)

    def _draw_backward(self, call: Call, frame: FrameType) -> None:
        root = next((one for one in call.roots if one.requires_grad), call.roots[0] if call.roots else None)
        if root is not None:
            self._draw(root, text_of(Place(frame.f_code, frame.f_lasti)), frame, call.leaves)

    def _draw(self, root: Tensor, title: str, frame: FrameType, reached: Iterable[Tensor] | None = None) -> None:
        moment = Moment(Variables(frame), self.training, self._writes, self.cut(root), self._since())
        drawer = Drawer(moment, self._is_file)
        self.drawing = self.too_large = None
        try:
            self.drawing = drawer.draw(root, self._line, title, reached)
        except TooLargeError:
            self.too_large = title
        self._leaves = [(weakref.ref(one), _is_zero(one)) for one in drawer.leaves]


def _statements(line: Line) -> Iterator[ast.stmt]:
    """Yield the statements without others in them that are written at a line."""
    for node in nodes_of(line.filename):
        if isinstance(node, ast.stmt) and not hasattr(node, "body") and node.lineno <= line.row <= _end(node):
            yield node


def _end(node: ast.stmt) -> int:
    return node.end_lineno or node.lineno


def _targets(node: ast.stmt) -> Iterator[ast.expr]:
    """Yield the variables and attributes that a statement assigns to."""
    waiting = list(node.targets) if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    while waiting:
        one = waiting.pop(0)
        if isinstance(one, (ast.Tuple, ast.List)):
            waiting[:0] = one.elts
        elif isinstance(one, (ast.Name, ast.Attribute)):
            yield one


def _got(fact: LeafFact, leaf: weakref.ref[Tensor], was_zero: bool) -> LeafFact:
    """Return a fact after the backward; where a hook may have used and cleared the gradient, it is not looked at."""
    tensor = leaf()
    if not fact.gets or tensor is None or getattr(tensor, "_post_accumulate_grad_hooks", None):
        return fact
    return replace(fact, gets=tensor.grad is not None, zero=tensor.grad is not None and was_zero and _is_zero(tensor))


def _is_zero(leaf: Tensor) -> bool:
    """Return whether a leaf has no gradient but zero."""
    try:
        return leaf.grad is None or not bool(leaf.grad.any())
    except RuntimeError:
        return False  # A kind of tensor for which torch cannot tell.
