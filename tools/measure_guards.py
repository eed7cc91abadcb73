"""Measure which arguments torch's own Python functions refuse: `python -m tools.measure_guards`.

The tests before each `raise` and `assert` of a function are read out of its source and written as one expression over
its parameters: what is assigned on the way is put in, and the constructor of a base class is read where it is called.
A test is kept if values are found for which it is true, and torch then raises at just that statement, every time.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import math
import random
import traceback
import warnings
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice, product
from typing import Any

import torch

from gradlint.facts.guards import OPEN, Known, Shaped, value_of
from tools.measure_names import OUTPUT
from tools.read_guards import Found, Reader, defining

GUARDS = OUTPUT.with_name("guards.json")
NAMESPACES = (
    *("torch.optim", "torch.optim.lr_scheduler", "torch.optim.swa_utils", "torch.nn", "torch.nn.functional"),
    *("torch.nn.init", "torch.nn.utils", "torch.nn.utils.rnn", "torch.nn.utils.parametrizations"),
)
MOST_TRIALS = 2_000
MOST_RUNS = 12
MOST_TRIED = 60
MOST_NAMES = 5


# Values to try.

W = "torch.ones(2, 2, requires_grad=True)"
NUMBERS = ("-1", "-0.5", "0", "0.0", "0.5", "1", "1.0", "1.5", "2", "3", "4", "6", "10")
PAIRS = (
    "(0.5, 1.5)",
    "(1.0, 0.5)",
    "(0.5, 1.0)",
    "(-1, 0.5)",
    "(0.5, -1)",
    "(0.5, 0.5)",
    "(2, 3)",
    "(1, 1, 1)",
    "(1,)",
)
TENSORS = tuple(
    f"torch.ones({', '.join(map(str, sizes))})" if sizes else "torch.tensor(1.0)"
    for sizes in (
        (),
        (1,),
        (2,),
        (3,),
        (2, 2),
        (2, 3),
        (3, 2),
        (2, 2, 2),
        (2, 3, 4),
        (2, 2, 2, 2),
        (2, 3, 4, 4),
        (1, 2, 2, 2, 2),
    )
)
BASE: Mapping[str, str] = {
    "params": f"[{W}]",
    "optimizer": f"torch.optim.SGD([{W}], lr=0.1, momentum=0.9)",
    "lr_lambda": "lambda epoch: 1.0",
    "schedulers": "[]",
    "module": "torch.nn.Linear(2, 2)",
    "activation": "'relu'",
}


def candidates(name: str, default: Any, strings: Iterable[str]) -> list[str]:
    """Return sources of values to try for a parameter."""
    if isinstance(default, bool):
        return ["True", "False"]
    if isinstance(default, (int, float)):
        return [*NUMBERS]
    if isinstance(default, str):
        return [*map(repr, strings), "'no such'"]
    if isinstance(default, tuple):
        return [*PAIRS]
    return [*NUMBERS, "None", "'no such'", *map(repr, strings), "True", *PAIRS, *TENSORS]


def known_of(source: str) -> Known:
    value = eval(source, {"torch": torch})
    if isinstance(value, torch.Tensor):
        return Shaped(tuple(value.shape))
    return value if isinstance(value, (bool, int, float, str, tuple, type(None))) else OPEN


def names_in(test: ast.expr, parameters: Iterable[str]) -> list[str]:
    used = {node.id for node in ast.walk(test) if isinstance(node, ast.Name)}
    return [name for name in parameters if name in used]


def trials(
    test: ast.expr, takes: Mapping[str, inspect.Parameter], values: Mapping[str, Known]
) -> Iterator[dict[str, str]]:
    """Yield arguments for which a test is true."""
    names = names_in(test, takes)
    strings = sorted({n.value for n in ast.walk(test) if isinstance(n, ast.Constant) and isinstance(n.value, str)})
    pools = []
    for name in names:
        pool = candidates(name, takes[name].default, strings)
        if takes[name].default is not inspect.Parameter.empty:
            pool = ["", *pool]
        if name in BASE:
            pool = [BASE[name]]
        pools.append(pool)
    count = math.prod(map(len, pools))
    chance = random.Random(0)
    several = (
        product(*pools) if count <= MOST_TRIALS else ([chance.choice(one) for one in pools] for _ in range(MOST_TRIALS))
    )
    for chosen in several:
        known = dict(values)
        given = {}
        for name, source in zip(names, chosen, strict=True):
            if source:
                known[name] = _KNOWN.setdefault(source, known_of(source))
                given[name] = source
        if value_of(test, known) is True:
            yield given


_KNOWN: dict[str, Known] = {}


def filled(path: str, takes: Mapping[str, inspect.Parameter], given: Mapping[str, str]) -> Iterator[str]:
    """Yield calls with these arguments, and values for the other required ones."""
    rest = [n for n, p in takes.items() if p.default is inspect.Parameter.empty and n not in given]
    pools = [
        [BASE[name]] if name in BASE else ["4", "torch.ones(2, 3)", "0.5", "torch.ones(2, 3, 4, 4)"] for name in rest
    ]
    for chosen in islice(product(*pools), 64):
        everything = {**dict(zip(rest, chosen, strict=True)), **given}
        yield f"{path}({', '.join(f'{name}={everything[name]}' for name in takes if name in everything)})"


def raised_at(call: str) -> tuple[str, str, int] | None:
    """Return what a call raises, and where."""
    try:
        eval(call, {"torch": torch})
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        return type(error).__name__, last.filename, last.lineno or 0
    return None


def verified(path: str, found: Found, takes: Mapping[str, inspect.Parameter]) -> str | None:
    """Return a call that torch refuses at the statement of a guard; None where none is found, or one passes."""
    if not 0 < len(names_in(found.test, takes)) <= MOST_NAMES:
        return None
    values = {name: p.default for name, p in takes.items() if is_constant(p.default)}
    witness, runs = None, 0
    for given in islice(trials(found.test, takes, values), MOST_TRIED):
        for call in filled(path, takes, given):
            raised = raised_at(call)
            if raised is None:
                return None
            if raised[0] == found.error and raised[1] == found.file and raised[2] in found.lines:
                witness, runs = witness or call, runs + 1
                break
        if runs == MOST_RUNS:
            break
    return witness


def is_constant(value: Any) -> bool:
    if isinstance(value, tuple):
        return all(map(is_constant, value))
    return isinstance(value, (bool, int, float, str, type(None)))


def measured(path: str, function: Any) -> dict[str, Any] | None:
    """Return what a function takes and refuses; None for one that is not written in Python, or takes anything."""
    is_class = isinstance(function, type)
    target = function.__init__ if is_class else inspect.unwrap(function)
    if is_class and (getattr(target, "__module__", "") or "") == "torch.nn.modules.module":
        return None
    try:
        signature = inspect.signature(target)
    except (TypeError, ValueError):
        return None
    takes = {name: one for name, one in signature.parameters.items() if name != "self"}
    kinds = {one.kind for one in takes.values()}
    if kinds & {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD, inspect.Parameter.POSITIONAL_ONLY}:
        return None
    reader = Reader(target, defining(function, "__init__") if is_class else None)
    if not reader.read({}, []):
        return None
    guards = []
    for found in reader.found:
        call = verified(path, found, takes)
        if call is not None:
            guards.append([ast.unparse(found.test), found.error, ast.unparse(found.message), call])
    return {"takes": spelled(takes), **({"refuses": guards} if guards else {})}


def spelled(takes: Mapping[str, inspect.Parameter]) -> list[str]:
    """Return parameters as they are kept: `p=0.5`, `generator=` for a default that is no constant, `*`."""
    found, star = [], False
    for name, one in takes.items():
        if one.kind is inspect.Parameter.KEYWORD_ONLY and not star:
            star = True
            found.append("*")
        if one.default is inspect.Parameter.empty:
            found.append(name)
        else:
            found.append(f"{name}={one.default!r}" if is_constant(one.default) else f"{name}=")
    return found


def functions() -> Iterator[tuple[str, Any]]:
    """Yield what is public in the namespaces, and not deprecated."""
    for namespace in NAMESPACES:
        module = importlib.import_module(namespace)
        for name in sorted(vars(module)):
            value = getattr(module, name)
            if name[0] != "_" and callable(value) and (getattr(value, "__module__", "") or "").startswith("torch."):
                yield f"{namespace}.{name}", value


def main() -> None:
    found = {}
    for path, function in functions():
        one = measured(path, function)
        if one is not None:
            found[path] = one
    lines = [f"{json.dumps(path)}: {json.dumps(one)}" for path, one in sorted(found.items())]
    GUARDS.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    main()
