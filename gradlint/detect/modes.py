"""What a module does in another way in evaluation than in training."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from gradlint.domain.state import State
from gradlint.domain.value import External, Function, Instance, Ref
from gradlint.interpreter.python.classes import find_in_class
from gradlint.interpreter.torch.parameters import modules_of
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
