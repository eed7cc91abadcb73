"""Judge the size rules by all of torch's samples: `python -m tests.torch_agrees.all_shapes`.

Prints every contradiction, how many answers were exact, and the operations without a rule. The exit code is 1
if there was a contradiction.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch

from gradlint.shapes.infer import result, rule_of
from gradlint.shapes.module import module_result
from gradlint.shapes.operand import Result
from tests.torch_agrees.shape_agreement import Forgetter, contradiction, is_exact
from tests.torch_agrees.shape_samples import (
    MODULE_CLASSES,
    OPERATIONS,
    drawn_calls,
    module_calls,
    operation_calls,
)

Value = Any


@dataclass
class Tally:
    """What was seen so far."""

    calls: int = 0
    exact: int = 0
    judged: int = 0
    wrong: Counter[str] = field(default_factory=Counter)
    ruleless: Counter[str] = field(default_factory=Counter)

    def judge(
        self, name: str, answer: Callable[..., Result], args: dict[str, Value], output: Value, turns: int
    ) -> None:
        """Compare one call as it is, then partly forgotten again and again."""
        self.calls += 1
        self.exact += is_exact(answer(args), output)
        self._compare(name, answer(args), output, {}, args)
        for turn in range(turns):
            forgetter = Forgetter(self.calls * turns + turn)
            less = {key: forgetter.forget(value) for key, value in args.items()}
            self._compare(name, answer(less), output, forgetter.valuation, less)

    def _compare(
        self, name: str, answer: Result, output: Value, valuation: dict[Any, int], args: dict[str, Value]
    ) -> None:
        self.judged += 1
        wrong = contradiction(answer, output, dict(valuation))
        if wrong is not None:
            self.wrong[name] += 1
            print(f"{name}({args}): {wrong}")


def _judge_all(tally: Tally, samples: int, drawn: int, seed: int, turns: int) -> None:
    for name in sorted(OPERATIONS):
        for call in operation_calls(name, samples):
            _judge_call(tally, call, turns)
    for call in drawn_calls(seed, drawn):
        _judge_call(tally, call, turns)
    for name in sorted(MODULE_CLASSES):
        for made in module_calls(name):
            for args, rest in _halves(made.config, made.inputs):
                tally.judge(name, partial(_module, name, rest), args, made.output, turns)


def _judge_call(tally: Tally, call: Any, turns: int) -> None:
    if rule_of(call.name) is not None:
        tally.judge(call.name, partial(result, call.name), call.args, call.output, turns)
    else:
        tally.ruleless[call.name] += 1


def _halves(config: dict[str, Value], inputs: dict[str, Value]) -> Iterator[tuple[dict[str, Value], Value]]:
    """What a module was made with and called with, each to be forgotten beside the other."""
    yield config, ("inputs", inputs)
    yield inputs, ("config", config)


def _module(name: str, rest: tuple[str, dict[str, Value]], args: dict[str, Value]) -> Result:
    kind, known = rest
    return module_result(name, args, known) if kind == "inputs" else module_result(name, known, args)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=1000, help="samples of each operation in float32")
    parser.add_argument("--drawn", type=int, default=20000, help="calls drawn at random")
    parser.add_argument("--turns", type=int, default=4, help="how often the arguments of a call are forgotten")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    torch.set_num_threads(1)
    tally = Tally()
    _judge_all(tally, options.samples, options.drawn, options.seed, options.turns)
    print(f"{tally.calls} calls, {tally.exact / tally.calls:.1%} answered exactly")
    print(f"{tally.judged} answers judged, known and partly forgotten")
    ruleless = [f"{name} {count}" for name, count in tally.ruleless.most_common()]
    print("without a rule:", ", ".join(ruleless))
    print("wrong:", dict(tally.wrong) or "none")
    return 1 if tally.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
