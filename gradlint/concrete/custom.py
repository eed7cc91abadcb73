"""Mistakes of custom functions: inputs that are written or kept unseen, and gradients that are written in place."""

from __future__ import annotations

import ast
import weakref
from collections.abc import Callable, Iterator
from types import CodeType, FrameType
from typing import Any

import torch
from torch.autograd.function import BackwardCFunction

from gradlint.concrete.calls import Call
from gradlint.concrete.places import Place, Places, Spot
from gradlint.concrete.seen import Seen
from gradlint.concrete.watcher import Known, Watcher
from gradlint.concrete.written import nodes_of, spot_of
from gradlint.domain.fault.functions import GradientInplace, MarkDirtyMissing, TensorKeptOnCtx

Tensor = torch.Tensor
_UNMARKED = "gradlint.unmarked"


class Custom(Watcher):
    """Looks at the nodes of custom functions, whose `forward` and `backward` are the program's own."""

    def __init__(self, known: Known) -> None:
        super().__init__(known)
        self._found: dict[tuple[str, tuple[int, int]], Seen] = {}
        self._judged: set[Any] = set()
        self._hooks: list[Any] = []
        self._others: set[type] = set()
        """The classes of nodes that are torch's own."""
        self.wrote: list[tuple[weakref.ref[Any], weakref.ref[Tensor], Place]] = []
        """The writes to inputs since the last operation outside of a custom function."""

    def written(self, tensors: list[Tensor], place: Place, caller: FrameType) -> None:
        """Note the inputs to which a `forward` writes: tensors that it makes itself do not require grad."""
        if torch.is_grad_enabled() or not caller.f_code.co_argcount:
            return
        ctx = caller.f_locals.get(caller.f_code.co_varnames[0])
        if isinstance(ctx, BackwardCFunction):
            inputs = [weakref.ref(one) for one in tensors if one.requires_grad]
            self.wrote += [(weakref.ref(ctx), one, place) for one in inputs]

    def labelled(self) -> None:
        """See, by the next operation after a `forward`, whether an input has become a result: one marked dirty does."""
        if torch.is_grad_enabled():
            for node_, tensor_, place in self.wrote:
                node, tensor = node_(), tensor_()
                if node is not None and tensor is not None and tensor.grad_fn is not node:
                    node.metadata.setdefault(_UNMARKED, place)
            self.wrote = []

    def backward_begins(self, call: Call, place: Place) -> None:
        """Look at the functions that a backward runs through."""
        for way in call.ways:
            node, kind = way.node, type(way.node)
            if kind in self._others:
                continue
            if not isinstance(node, BackwardCFunction):
                self._others.add(kind)
                continue
            wrote = node.metadata.get(_UNMARKED)
            if wrote is not None:
                self._find(Seen(MarkDirtyMissing, wrote))
            cls: Any = getattr(node, "_forward_cls", None)
            if cls is not None:
                self._keeps(node, cls)
                self._watch(node, cls)

    def _keeps(self, node: Any, cls: Any) -> None:
        """Look for inputs and results among the attributes of `ctx`: no other result that requires grad is there."""
        for name, value in vars(node).items():
            if not isinstance(value, Tensor) or not value.requires_grad:
                continue
            result = value.grad_fn is node
            leaves = [getattr(one, "variable", None) for one, _ in node.next_functions]
            if value.grad_fn is not None or any(one is value for one in leaves):
                spot = _kept(cls, name)
                if spot is not None:
                    fields = {"name": name, "result": result, "others": (), "owner": None, "listed": False}
                    self._find(Seen(TensorKeptOnCtx, spot, fields))

    def _watch(self, node: Any, cls: Any) -> None:
        """See whether `backward` writes to the gradients that it is given, where one statement may do that."""
        code = _code(cls, "backward")
        writes = _writes(code) if code is not None and cls not in self._judged else []
        self._judged.add(cls)
        if code is not None and len(writes) == 1:
            versions: list[int] = []
            spot, op = writes[0]
            seen = Seen(GradientInplace, spot, {"op": op})
            self._hooks.append(node.register_prehook(_noting(versions)))
            self._hooks.append(node.register_hook(_comparing(versions, lambda: self._find(seen))))

    def backpropagated(self, call: Call, place: Place) -> None:
        """Leave the nodes."""
        self.paused()

    def paused(self) -> None:
        """Leave the nodes of a backward that is under way."""
        for hook in self._hooks:
            hook.remove()
        self._hooks = []

    def _find(self, seen: Seen) -> None:
        self._found.setdefault((seen.kind.__name__, seen.place.key), seen)

    def seen(self) -> Iterator[Seen]:
        """Yield what was found."""
        yield from self._found.values()


def _noting(versions: list[int]) -> Callable[[Any], None]:
    def note(gradients: tuple[Tensor | None, ...]) -> None:
        with torch._C.DisableTorchFunction():
            versions[:] = [-1 if one is None else one._version for one in gradients]

    return note


def _comparing(versions: list[int], found: Callable[[], None]) -> Callable[[Any, Any], None]:
    def compare(results: object, gradients: tuple[Tensor | None, ...]) -> None:
        with torch._C.DisableTorchFunction():
            now = [-1 if one is None else one._version for one in gradients]
            if len(now) == len(versions) and any(old < new for old, new in zip(versions, now, strict=True)):
                found()

    return compare


def _code(cls: Any, method: str) -> CodeType | None:
    """Return the code of a method that the program has written itself."""
    code = getattr(getattr(cls, method, None), "__code__", None)
    return code if isinstance(code, CodeType) and Places.is_own(code.co_filename) else None


def _function(code: CodeType) -> ast.FunctionDef | None:
    """Return the function of a code: decorators stand before its own line."""
    return next(
        (
            node
            for node in nodes_of(code.co_filename)
            if isinstance(node, ast.FunctionDef)
            and code.co_firstlineno == min([node.lineno, *(one.lineno for one in node.decorator_list)])
        ),
        None,
    )


def _kept(cls: Any, name: str) -> Spot | None:
    """Return where a function sets an attribute of `ctx`."""
    for method in ("forward", "setup_context"):
        code = _code(cls, method)
        function = None if code is None else _function(code)
        for node in ast.walk(function) if function is not None else ():
            targets = node.targets if isinstance(node, ast.Assign) else []
            if code is not None and any(ast.unparse(one) == f"{code.co_varnames[0]}.{name}" for one in targets):
                return spot_of(code.co_filename, node)  # type: ignore[arg-type]
    return None


def _writes(code: CodeType) -> list[tuple[Spot, str]]:
    """Return the statements of a `backward` that write to one of its arguments, each with the operation."""
    names = code.co_varnames[1 : code.co_argcount]
    function = _function(code)
    found = []
    for node in ast.walk(function) if function is not None else ():
        target: ast.expr | None = None
        op = ""
        if isinstance(node, ast.AugAssign):
            name = "mul" if isinstance(node.op, ast.Mult) else type(node.op).__name__.lower()
            target, op = node.target, f"{name}_"
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript):
            target, op = node.targets[0], "index assignment"
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr.endswith("_"):
            target, op = node.func.value, node.func.attr
        while isinstance(target, (ast.Subscript, ast.Attribute)):
            target = target.value
        if isinstance(target, ast.Name) and target.id in names:
            found.append((spot_of(code.co_filename, node), op))  # type: ignore[arg-type]
    return found
