"""Measure which arguments of torch's operations are numbers: a tensor that requires grad in their place is refused.

Run `python -m tools.measure_numbers`. In each call of torch's own samples (`op_db`), each number is replaced by a
tensor that requires grad. An argument counts if torch then says that it must be a number, in every such call.
"""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, NamedTuple

import torch
from torch.testing._internal.common_methods_invocations import op_db

from gradlint.facts import load
from gradlint.facts.aliases import canonical
from tools.measure_names import OUTPUT

NUMBERS = OUTPUT.with_name("numbers.json")
SAMPLES = 24
COMPLAINT = re.compile(r"argument '\w+'.* must be (?:float|Number), not Tensor")


class Call(NamedTuple):
    """A call of a sample, with the function of some spelling."""

    function: Callable[..., object]
    positional: tuple[Any, ...]
    keywords: dict[str, Any]


def numbers() -> dict[str, str]:
    """For each operation, the names of the arguments that take no tensor that requires grad."""
    refused: dict[str, set[str]] = {}
    taken: dict[str, set[str]] = {}
    for op in op_db:
        name = canonical(op.name)
        if torch.float32 not in op.dtypes or load().find(op.name) is None:
            continue
        for call in islice(_calls(op), SAMPLES):
            for argument, wanted in _trials(op.name, call):
                (refused if wanted else taken).setdefault(name, set()).add(argument)
    found = {name: sorted(those - taken.get(name, set())) for name, those in refused.items()}
    return {name: " ".join(those) for name, those in sorted(found.items()) if those}


def _calls(op: Any) -> Iterator[Call]:
    try:
        samples = list(op.sample_inputs("cpu", torch.float32, requires_grad=False))
    except Exception:  # Samples of some operations need libraries that are not there.
        return
    for one in samples:
        yield Call(op.op, (one.input, *one.args), dict(one.kwargs))


def _trials(name: str, call: Call) -> Iterator[tuple[str, bool]]:
    """Yield the name of each number of a call, and whether torch complains of a tensor in its place."""
    entry = load().find(name)
    assert entry is not None
    overload = entry.sig.overloads[0] if len(entry.sig.overloads) == 1 else ()
    names = [param.name for param in overload if not param.keyword_only and not param.variadic]
    for index, (argument, value) in enumerate(zip(names, call.positional, strict=False)):
        if type(value) in (int, float):
            given = (*call.positional[:index], _tensor(value), *call.positional[index + 1 :])
            yield argument, _complains(call._replace(positional=given))
    for argument, value in call.keywords.items():
        if type(value) in (int, float):
            yield argument, _complains(call._replace(keywords={**call.keywords, argument: _tensor(value)}))
    for param in overload:
        default = param.constant
        if type(default) in (int, float) and param.name not in call.keywords and param.name not in _given(names, call):
            keywords = {**call.keywords, param.name: _tensor(default)}
            yield param.name, _complains(call._replace(keywords=keywords))


def _given(names: list[str], call: Call) -> list[str]:
    return names[: len(call.positional)]


def _tensor(value: Any) -> torch.Tensor:
    return torch.tensor(float(value), requires_grad=True)


def _complains(call: Call) -> bool:
    try:
        call.function(*call.positional, **call.keywords)
    except TypeError as error:
        return COMPLAINT.search(str(error)) is not None
    except Exception:  # Whatever else it may refuse is not our question.
        return False
    return False


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    NUMBERS.write_text(json.dumps(numbers(), indent=0) + "\n")
