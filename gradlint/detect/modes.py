"""What a module does in another way in evaluation than in training."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from gradlint.domain.state import State
from gradlint.domain.value import External, Function, Instance, Ref
from gradlint.interpreter.program import Program
from gradlint.interpreter.python.classes import find_in_class
from gradlint.interpreter.torch.parameters import modules_of
from gradlint.interpreter.world.names import spelled
from gradlint.source.lower.syntax import called_name, nodes_of


def parts_switched(state: State, module: Ref) -> list[Instance]:
    """Return the modules that `train` and `eval` of a module switch; none if a class has a `train` of its own."""
    parts = [record for _, record in modules_of(state, module)]
    own = any(find_in_class(state, part.cls, "train") is not None for part in parts if isinstance(part.cls, Ref))
    return [] if own else parts


def has_two_modes(state: State, part: Instance) -> bool:
    """Return whether a module by itself drops values, or normalises by the batch, in training alone."""
    if isinstance(part.cls, Ref):
        return any(not _is_zero(rate, part) for rate in _dropouts_of(state, part))
    path = part.cls.path.removeprefix("torch.nn.") if isinstance(part.cls, External) else ""
    if path.startswith("BatchNorm"):
        return part.config.get("track_running_stats", True) is True
    return "Dropout" in path and part.config.get("p", 0.5) not in (0, 0.0)


def is_own(node: cst.CSTNode | None, name: str) -> bool:
    """Return whether a node is an attribute of `self`, such as `self.training`."""
    owner = node.value if isinstance(node, cst.Attribute) and node.attr.value == name else None
    return isinstance(owner, cst.Name) and owner.value == "self"


def is_alternative(program: Program, node: cst.CSTNode) -> bool:
    """Return whether a call of `eval` stands on one side of a test, and `train` of the same network on the other.

    Then the program has chosen the mode of what follows, as where it keeps the statistics of batch norm fixed.
    """
    loading = program.loading
    modules = [program.nowhere, *(unit.module for unit in (() if loading is None else loading.units()))]
    return any(
        isinstance(test, cst.If) and test.orelse is not None and _is_chosen(test.body, test.orelse, node)
        for test in nodes_of(*modules)
    )


def _is_chosen(body: cst.BaseSuite, orelse: cst.CSTNode, node: cst.CSTNode) -> bool:
    for one, other in ((body, orelse), (orelse, body)):
        if any(call is node for call in nodes_of(one)):
            network = _switched(node, "eval")
            return network is not None and network in {_switched(call, "train") for call in nodes_of(other)}
    return False


def _switched(call: cst.CSTNode, method: str) -> str | None:
    """Return what stands before the method that a call is of: `self.model` in `self.model.eval()`."""
    is_call = isinstance(call, cst.Call) and isinstance(call.func, cst.Attribute) and call.func.attr.value == method
    return spelled(call.func.value) if is_call else None  # type: ignore[attr-defined]


def _dropouts_of(state: State, part: Instance) -> Iterator[cst.BaseExpression | None]:
    """Yield the rate of each `F.dropout(x, rate, training=self.training)` in a module's `forward`; None by default."""
    forward = find_in_class(state, part.cls, "forward")
    start: list[cst.CSTNode] = [forward.code.node] if isinstance(forward, Function) else []
    for call in nodes_of(*start):
        if isinstance(call, cst.Call) and "dropout" in called_name(call).lower():
            given = {arg.keyword.value if arg.keyword else place: arg.value for place, arg in enumerate(call.args)}
            if is_own(given.get("training", given.get(2)), "training"):
                yield given.get("p", given.get(1))


def _is_zero(rate: cst.BaseExpression | None, part: Instance) -> bool:
    """Return whether a rate is a literal, or an attribute of the module, that is zero."""
    if isinstance(rate, (cst.Integer, cst.Float)):
        return rate.evaluated_value == 0
    return any(is_own(rate, name) and value in (0, 0.0) for name, value in part.attrs.items())
