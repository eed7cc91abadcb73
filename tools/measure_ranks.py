"""Measure how many dimensions torch's operations ask of their input: `python -m tools.measure_ranks`.

Each operation of `op_db` that takes a tensor alone is called with tensors of 0 to 4 dimensions. It asks for square
matrices if it takes those, and none with more rows than columns, nor fewer.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from typing import Any

import torch
from torch.testing._internal.common_methods_invocations import op_db

from gradlint.facts.aliases import canonical
from gradlint.facts.ranks import MOST
from tools.measure_names import OUTPUT

RANKS = OUTPUT.with_name("ranks.json")


def takes(function: Callable[..., object], sizes: tuple[int, ...]) -> bool | None:
    """Return whether torch takes a tensor of these sizes; None where it asks for other arguments."""
    value = torch.ones(sizes, dtype=torch.float64)
    if len(sizes) > 1:  # Positive definite, if it is square.
        value = torch.eye(sizes[-2], sizes[-1], dtype=torch.float64).expand(sizes).contiguous()
    try:
        function(value)
    except (TypeError, AssertionError):
        return None
    except (RuntimeError, ValueError, IndexError):
        return False
    return True


def measured(op: Any) -> str | None:
    """Return the numbers of dimensions that an operation takes, and `square`; None if it takes all."""
    answers = {rank: takes(op.op, (3,) * rank) for rank in range(MOST + 1)}
    if None in answers.values() or not any(answers.values()):
        return None
    ranks = [str(rank) for rank, taken in answers.items() if taken]
    square = bool(answers[2]) and takes(op.op, (2, 3)) is False and takes(op.op, (3, 2)) is False
    return None if len(ranks) > MOST and not square else " ".join((*ranks, *(("square",) if square else ())))


def main() -> None:
    found: dict[str, set[str | None]] = {}
    for op in op_db:
        of_tests = (getattr(op.op, "__module__", None) or "").startswith("torch.testing")
        if not of_tests and torch.float64 in op.dtypes and not op.name.startswith("signal."):
            found.setdefault(canonical(op.name), set()).add(measured(op))
    certain = {name: those.pop() for name, those in sorted(found.items()) if len(those) == 1}
    RANKS.write_text(json.dumps({name: one for name, one in certain.items() if one}, indent=0) + "\n", encoding="utf-8")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    main()
