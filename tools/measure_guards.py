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
import textwrap
import traceback
import warnings
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice, product
from typing import Any

import torch

from gradlint.facts.deciding import Known, value_of
from tools.guard_calls import OF_CLASS, called_with, known_of
from tools.guards_by_hand import BY_HAND
from tools.guards_by_hand.verify import defaults_in, seen
from tools.measure_names import OUTPUT
from tools.read_guards import Env, Found, Reader, defining

GUARDS = OUTPUT.with_name("guards.json")
NAMESPACES = (
    *("torch.optim", "torch.optim.lr_scheduler", "torch.optim.swa_utils", "torch.nn", "torch.nn.functional"),
    *("torch.nn.init", "torch.nn.utils", "torch.nn.utils.rnn", "torch.nn.utils.parametrizations"),
    *("torch.nn.utils.parametrize", "torch.nn.utils.prune", "torch.utils.data", "torch.distributions"),
    *("torch.amp", "torch.autograd", "torch.autograd.functional", "torch.autograd.graph", "torch.autograd.forward_ad"),
    *("torch.nested", "torch.utils.checkpoint", "torch.nn.utils._per_sample_grad"),
)
MOST_TRIALS = 2_000
MOST_RUNS = 12
MOST_TRIED = 60
MOST_NAMES = 6


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
LISTS = ("[1, 2]", "[2]", "[3, 3]", "[0.5, 0.1]", "['no such']", "[]")
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
V = "torch.ones(2, requires_grad=True)"
OPTIMIZER = f"torch.optim.SGD([{W}], lr=0.1, momentum=0.9)"
RULE = "lambda epoch: 1.0"
BASE: Mapping[str, tuple[str, ...]] = {
    "params": (f"[{W}]",),
    "optimizer": (
        OPTIMIZER,
        f"torch.optim.SGD([{{'params': [{W}]}}, {{'params': [{V}]}}], lr=0.1, momentum=0.9)",
        f"torch.optim.Adagrad([{W}], lr=0.1)",
        "torch.nn.Linear(2, 2)",
    ),
    "lr_lambda": (RULE, f"[{RULE}]", f"[{RULE}, {RULE}]"),
    "schedulers": (
        "[]",
        *(f"[torch.optim.lr_scheduler.StepLR(o, 1) for o in [{OPTIMIZER}] for _ in range({n})]" for n in (1, 2)),
    ),
    "milestones": ("[1]", "[1, 2]", "[]"),
    "total_steps": ("10", "1.5", "0", "-1", "None"),
    "module": ("torch.nn.Linear(2, 2)",),
    "activation": ("'relu'", "'no such'"),
    "dataset": ("[1, 2, 3]", "[]"),
}
"""Values of parameters that take objects."""


def candidates(name: str, default: Any, strings: Iterable[str]) -> list[str]:
    """Return sources of values to try for a parameter."""
    texts = ["'no such'", *map(repr, strings)] if strings else []
    if isinstance(default, bool):
        return ["True", "False"]
    if isinstance(default, (int, float)):
        return [*NUMBERS, *texts]
    if isinstance(default, str):
        return [*map(repr, strings), "'no such'"]
    if isinstance(default, tuple):
        return [*PAIRS, *texts]
    return [*NUMBERS, "None", "'no such'", *map(repr, strings), "True", *PAIRS, *LISTS, *TENSORS]


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
        pool = [*BASE.get(name, pool)]
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
                known[name] = known_of(source)
                given[name] = source
        if value_of(test, known) is True:
            yield given


def filled(path: str, takes: Mapping[str, inspect.Parameter], given: Mapping[str, str]) -> Iterator[str]:
    """Yield calls with these arguments, and values for the other required ones.

    Of `forward`, the module is made with what belongs to its constructor.
    """
    rest = [n for n, p in takes.items() if (p.default is inspect.Parameter.empty or n in BASE) and n not in given]
    pools = [
        [*BASE.get(name, ("4", "torch.ones(2, 3)", "0.5", "torch.ones(2, 3, 4, 4)", "torch.ones(2)"))] for name in rest
    ]
    for chosen in islice(product(*pools), 24):
        everything = {**dict(zip(rest, chosen, strict=True)), **given}
        made = {name: everything[name] for name in takes if name in everything}
        yield called_with(path, made)


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
        return type(value) is tuple and all(map(is_constant, value))
    return isinstance(value, (bool, int, float, str, type(None)))


def measured(path: str, function: Any) -> dict[str, Any] | None:
    """Return what a function takes and refuses; None for one that is not written in Python, or takes anything."""
    is_class = isinstance(function, type)
    target = function.__init__ if is_class else inspect.unwrap(function)
    if is_class and (getattr(target, "__module__", "") or "") == "torch.nn.modules.module":
        return None
    takes = parameters(target)
    owner = defining(function, "__init__") if is_class else None
    env: Env = {}
    if takes is None and owner is not None:
        passed = passed_on(target, owner)
        if passed is None:
            return None
        target, owner, env = passed
        takes = {name: one for name, one in (parameters(target) or {}).items() if name not in env}
    reader = Reader(target, owner)
    if takes is None or not reader.read(env, []):
        return None
    return record(path, reader.found, takes, takes)


def called(path: str, module: type[torch.nn.Module]) -> dict[str, Any] | None:
    """Return what the `forward` of a module takes and refuses, as tests over its arguments and the constructor's."""
    target, owner, env = module.__init__, defining(module, "__init__"), dict[str, ast.expr | None]()
    if target is torch.nn.Module.__init__ and module is not torch.nn.Module:  # As of `nn.Tanh`, which has no settings.
        takes = parameters(module.forward)
        return None if takes is None else {"takes": spelled(takes)}
    if parameters(target) is None and (passed := passed_on(target, owner)) is not None:
        target, owner, env = passed
    made, takes = parameters(target), parameters(module.forward)
    if made is None or takes is None:
        return None
    made = {name: one for name, one in made.items() if name not in env}
    mine = {f"{OF_CLASS}{name}": one for name, one in made.items()}
    env.update({name: ast.Name(f"{OF_CLASS}{name}") for name in made})
    if not Reader(target, owner).read(env, []):
        return None
    held = {name: value for name, value in env.items() if name.startswith("self.")}
    reader = Reader(module.forward, module)
    return record(path, reader.found, takes, {**takes, **mine}) if reader.read(held, []) else None


def record(
    path: str,
    found: Iterable[Found],
    takes: Mapping[str, inspect.Parameter],
    everything: Mapping[str, inspect.Parameter],
) -> dict[str, Any]:
    guards = []
    for one in found:
        call = verified(path, one, everything)
        guard = [ast.unparse(one.test), one.error, ast.unparse(one.message), call]
        if call is not None and guard not in guards:
            guards.append(guard)
    return {"takes": spelled(takes), **({"refuses": guards} if guards else {})}


def parameters(target: Any) -> dict[str, inspect.Parameter] | None:
    """Return the parameters of a function but `self`; None for one that takes any, or is not written in Python."""
    try:
        signature = inspect.signature(target)
    except (TypeError, ValueError):
        return None
    takes = {name: one for name, one in signature.parameters.items() if name != "self"}
    kinds = {one.kind for one in takes.values()}
    if kinds & {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD, inspect.Parameter.POSITIONAL_ONLY}:
        return None
    return takes


def passed_on(target: Any, owner: type) -> tuple[Any, type, Env] | None:
    """Return the constructor to which another passes all arguments after constants, as that of LSTM does."""
    try:
        source = textwrap.dedent(inspect.getsource(target))
    except (OSError, TypeError):
        return None
    calls = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    inner = [one for one in calls if ast.unparse(one.func) == "super().__init__"]
    above = owner.__mro__[owner.__mro__.index(owner) + 1 :]
    base = next((one for one in above if "__init__" in one.__dict__), None)
    if len(inner) != 1 or base is None or ".pop(" in source or base is torch.nn.Module:
        return None
    *first, last = inner[0].args or [ast.Constant(None)]
    if not isinstance(last, ast.Starred) or not all(isinstance(one, ast.Constant) for one in first):
        return None
    names = [name for name in inspect.signature(base.__init__).parameters if name != "self"]  # type: ignore[misc]
    return vars(base)["__init__"], base, dict(zip(names, first, strict=False))


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
    yield from ((f"torch.{name}", one) for name, one in vars(torch.amp).items() if getattr(torch, name, None) is one)


def main() -> None:
    found = {}
    for path, function in functions():
        one = measured(path, function)
        if one is not None and path.startswith("torch.autograd"):
            one.pop("refuses", None)  # These values have rules of their own.
        if one is not None:
            found[path] = one
        if isinstance(function, type) and issubclass(function, torch.nn.Module):
            one = called(f"{path}.forward", function)
            if one is not None:
                found[f"{path}.forward"] = one
        if isinstance(function, type) and issubclass(function, torch.optim.lr_scheduler.LRScheduler):
            found[f"{path}.step"] = {"takes": spelled(parameters(function.step) or {})}
    for hand in BY_HAND:
        one = found.setdefault(hand.path, {"takes": [*hand.takes], "native": True} if hand.takes else {"takes": []})
        one.setdefault("refuses_by_hand", []).extend(seen(hand, defaults_in(found, hand.path)))
    lines = [f"{json.dumps(path)}: {json.dumps(one)}" for path, one in sorted(found.items())]
    GUARDS.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    main()
