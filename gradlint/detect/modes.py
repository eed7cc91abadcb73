"""What a module does in another way in evaluation than in training."""

from __future__ import annotations

from gradlint.domain.state import State
from gradlint.domain.value import External, Instance, Ref
from gradlint.interpreter.python.classes import find_in_class
from gradlint.interpreter.torch.parameters import modules_of


def parts_switched(state: State, module: Ref) -> list[Instance]:
    """Return the modules that `train` and `eval` of a module switch; none if a class has a `train` of its own."""
    parts = [record for _, record in modules_of(state, module)]
    own = any(find_in_class(state, part.cls, "train") is not None for part in parts if isinstance(part.cls, Ref))
    return [] if own else parts


def has_two_modes(part: Instance) -> bool:
    """Return whether a layer of torch drops values, or normalises by the batch, in training alone."""
    path = part.cls.path.removeprefix("torch.nn.") if isinstance(part.cls, External) else ""
    if path.startswith("BatchNorm"):
        return part.config.get("track_running_stats", True) is True
    return "Dropout" in path and part.config.get("p", 0.5) not in (0, 0.0)
