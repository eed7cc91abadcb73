"""Learning rate schedules of transformers and diffusers: functions that return torch's `LambdaLR`.

Their documentation says so. By its name `get_scheduler` may give a `ReduceLROnPlateau` as well.
"""

from __future__ import annotations

import libcst as cst

from gradlint.domain.state import State
from gradlint.domain.value import Args, Value
from gradlint.interpreter.machine import Machine, Native
from gradlint.interpreter.torch.scaler import new_helper


def _schedule(position: int) -> Native:
    def make(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
        optimizer = args.get(position, "optimizer")
        return new_helper(state, "torch.optim.lr_scheduler.LambdaLR", Args((optimizer,)), node)

    return make


_OF_ONE = ("linear", "cosine", "cosine_with_hard_restarts", "polynomial_decay", "constant")

SCHEDULES: dict[str, Native] = {
    f"{package}.{name}": _schedule(position)
    for package in ("transformers", "transformers.optimization", "diffusers.optimization")
    for name, position in (
        ("get_scheduler", 1),
        ("get_constant_schedule", 0),
        *((f"get_{kind}_schedule_with_warmup", 0) for kind in _OF_ONE),
    )
}
