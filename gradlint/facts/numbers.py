"""Arguments that are numbers to torch, so that a tensor which requires grad is refused in their place.

`python -m tools.measure_numbers` measures those of operations with samples; the others are in `traits.json`.
"""

from __future__ import annotations

import json
from functools import cache
from importlib import resources

from gradlint.facts.traits import NUMBERS


@cache
def _measured() -> dict[str, tuple[str, ...]]:
    text = resources.files(__package__).joinpath("numbers.json").read_text(encoding="utf-8")
    return {name: tuple(arguments.split()) for name, arguments in json.loads(text).items()}


def numbers_of(operation: str) -> tuple[str, ...]:
    """Return the arguments of an operation, by its canonical name, that take no tensor which requires grad.

    >>> numbers_of("leaky_relu"), numbers_of("mul")
    (('negative_slope',), ())
    """
    return (*_measured().get(operation, ()), *NUMBERS.get(operation, ()))
