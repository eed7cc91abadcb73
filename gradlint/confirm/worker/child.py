"""Execute one repro in this process and write down what happened."""

from __future__ import annotations

import builtins
import linecache
import types
import warnings
from collections.abc import Mapping, Sequence

import torch

from gradlint.confirm.ran import Probed, Ran
from gradlint.confirm.worker.blame import is_forced, lines_of
from gradlint.confirm.worker.measures import MEASURES

FILENAME = "<repro>"
_MESSAGE = 4000
_TEXT = 500


def execute(script: str, probes: Sequence[str], device: str) -> Ran:
    """Run a repro as `__main__` in a namespace of its own, then evaluate the probes in it."""
    module = types.ModuleType("__main__")
    names = module.__dict__
    names["__builtins__"] = builtins
    # The lines are put where tracebacks and `inspect` look for them.
    linecache.cache[FILENAME] = (len(script), None, script.splitlines(keepends=True), FILENAME)
    torch.manual_seed(0)
    warnings.simplefilter("ignore")
    try:
        code = compile(script, FILENAME, "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError) as error:
        return Ran("crashed", type(error).__name__, f"the repro is no program: {error}"[:_MESSAGE])
    if device != "cpu":
        torch.set_default_device(device)
    try:
        exec(code, names)
    except MemoryError:
        return Ran("memory", "MemoryError", "the repro needs more memory than it is given")
    except BaseException as error:
        return _raised(error)
    return Ran("finished", values=tuple(_probe(probe, names) for probe in probes))


def _raised(error: BaseException) -> Ran:
    lines, text = lines_of(error, FILENAME), str(error)[:_MESSAGE]
    if "can't allocate memory" in text or "bad_alloc" in text:
        return Ran("memory", type(error).__name__, text)
    line = lines[-1] if lines else None
    return Ran("raised", type(error).__name__, text, line, lines, is_forced(error, FILENAME))


def _probe(probe: str, names: Mapping[str, object]) -> Probed:
    """The value of one expression; the names of the measures win over those of the repro."""
    try:
        value = eval(compile(probe, "<probe>", "eval", dont_inherit=True), {**names, **MEASURES})
        return Probed(_plain(value))
    except BaseException as error:
        return Probed(error=f"{type(error).__name__}: {error}"[:_TEXT])


def _plain(value: object) -> bool | int | float | str | None:
    if value is None or type(value) in (bool, int, float):
        return value  # type: ignore[return-value]
    return (value if type(value) is str else repr(value))[:_TEXT]
