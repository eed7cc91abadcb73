"""Execute one repro in this process, behind the walls, and write down what happened."""

from __future__ import annotations

import ast
import builtins
import linecache
import os
import random
import sys
import types
import warnings
from collections.abc import Callable, Collection, Mapping
from typing import Any, Literal, NamedTuple, NoReturn

import torch
import torch.autograd.graph
import torch.nn.functional
from torch.utils.data import dataloader

from gradlint.confirm.gate import allowlist as allowed
from gradlint.confirm.run.protocol import Probed, Ran, Request, encode
from gradlint.confirm.worker.blame import Blame, known_errors, text_of
from gradlint.confirm.worker.reread import Reader
from gradlint.confirm.worker.walls import Walls
from gradlint.confirm.worker.watch import Watch, parsed, watched

FILENAME = "<repro>"
_MESSAGE = 4000
_SWALLOWED = 2000
_TEXT = 500
_NUMPY_SEEDS = 1 << 32

Tell = Callable[[Ran], NoReturn]
Names = dict[str, Any]


class Snapshot:
    """The functions and classes that stand in torch's namespaces now."""

    def __init__(self) -> None:
        self._then = _namespaces()
        self._sizes = {path: len(vars(owner)) for owner, path, _ in self._then}

    def replaced(self) -> str | None:
        """Return the dotted name of something that is no longer what it was."""
        for owner, path, then in self._then:
            now = vars(owner)
            for name, value in then.items():
                if now.get(name) is not value:
                    return f"{path}.{name}"
            # A new name in a class may hide one that the class inherits; modules do get new names, of submodules.
            if isinstance(owner, type) and len(now) != self._sizes[path]:
                return path
        return None


def _namespaces() -> list[tuple[object, str, Mapping[str, object]]]:
    modules = (
        *(torch, torch.nn, torch.nn.functional, torch.nn.init, torch.nn.utils, torch.autograd, torch.autograd.graph),
        *(torch.optim, torch.optim.lr_scheduler, torch.linalg, torch.distributions, torch.utils.data),
    )
    owners: dict[int, tuple[object, str]] = {id(builtins): (builtins, "builtins")}
    for module in modules:
        owners[id(module)] = (module, module.__name__)
        for name, value in vars(module).items():
            if isinstance(value, type) and value.__module__.startswith("torch"):
                owners.setdefault(id(value), (value, f"{module.__name__}.{name}"))
    return [
        (owner, path, {n: v for n, v in vars(owner).items() if _is_lasting(n, v)}) for owner, path in owners.values()
    ]


def _is_lasting(name: str, value: object) -> bool:
    """Return whether a name is code: settings and caches change in innocence, and `Storage` with the default type."""
    return name != "Storage" and (callable(value) or isinstance(value, (property, staticmethod, classmethod)))


class Prepared(NamedTuple):
    """What is made once in the worker and lives on in each child."""

    walls: Walls
    snapshot: Snapshot
    errors: frozenset[type[BaseException]]
    watch: Watch
    reader: Reader

    @classmethod
    def now(cls, without: Collection[str]) -> Prepared:
        """After torch is loaded: the walls stand from here on, but for those to leave out."""
        # They read tables of gradlint, which lie outside of what may be read after.
        watch, reader = Watch(), Reader()
        return cls(Walls(os.path.dirname(torch.__file__), without), Snapshot(), known_errors(), watch, reader)


def be_the_child(request: Request, prepared: Prepared, answer: int, *kept: int) -> NoReturn:
    """Execute the request, write the answer to a descriptor, and end the process; others of `kept` stay open, too."""
    where = prepared.walls.prepare(answer, *kept)
    tell = _teller(where, request.token)
    try:
        tell(_run(request, prepared, tell))
    except BaseException as error:
        # A mistake of ours must be seen, and must not lead back into the loop of the worker.
        tell(Ran("crashed", type(error).__name__, f"the sandbox failed: {error!r}"[:_MESSAGE]))


def _run(request: Request, prepared: Prepared, tell: Tell) -> Ran:
    def deny(what: str) -> NoReturn:
        tell(Ran("denied", message=what[:_TEXT]))

    try:
        code = compile(_tree(request, request.script, "exec"), FILENAME, "exec", dont_inherit=True)
        probes = [compile(_tree(request, one, "eval"), FILENAME, "eval", dont_inherit=True) for one in request.probes]
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return Ran("crashed", type(error).__name__, f"the repro is no program: {error}"[:_MESSAGE])
    if request.watched and (doubt := prepared.reader.doubt(request.script, request.probes)) is not None:
        return Ran("denied", message=f"read again: {doubt}"[:_TEXT])
    blame = Blame(code, prepared.errors)
    names = _namespace(request.script, deny, prepared.watch)
    torch.manual_seed(request.seed)
    random.seed(request.seed)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(request.seed % _NUMPY_SEEDS)
    warnings.simplefilter("ignore")
    if request.watched:
        _without_workers(deny)
    sys.settrace(blame)
    prepared.walls.enclose(request.seconds, frozenset([code, *probes]), deny)
    ran = _execute(code, names, blame)
    replaced = prepared.snapshot.replaced()
    if replaced is not None:
        return Ran("denied", message=f"{replaced} was replaced")
    # What was noted before an error is worth reading too.
    if ran.outcome in ("finished", "raised"):
        swallowed = tuple(one._replace(message=one.message[:_SWALLOWED]) for one in blame.swallowed())
        ran = ran._replace(values=tuple(_probe(probe, names) for probe in probes), swallowed=swallowed)
    return ran


def _tree(request: Request, text: str, mode: Literal["exec", "eval"]) -> ast.Module | ast.Expression:
    return watched(text, mode) if request.watched else parsed(text, mode)


def _teller(descriptor: int, token: str) -> Tell:
    """Writes the answer, under a token that stands nowhere a repro could look, and ends the process."""
    write, leave = os.write, os._exit

    def tell(ran: Ran) -> NoReturn:
        text = f"{token} {encode(ran)}\n".encode()
        while text:
            text = text[write(descriptor, text) :]
        leave(0)

    return tell


def _namespace(script: str, deny: Callable[[str], NoReturn], watch: Watch) -> Names:
    """Return a module `__main__` with the builtins that the gate allows, and nothing of gradlint in sight."""
    module = types.ModuleType("__main__")
    names = module.__dict__
    offered = {name: vars(builtins)[name] for name in allowed.BUILTINS if hasattr(builtins, name)}
    names["__builtins__"] = {**offered, "__import__": _importer(deny), **watch.questions(deny, offered)}
    # The lines are put where tracebacks and `inspect` look for them.
    linecache.cache[FILENAME] = (len(script), None, script.splitlines(keepends=True), FILENAME)
    for name in [name for name in sys.modules if name.split(".")[0] == "gradlint"]:
        del sys.modules[name]
    sys.modules["__main__"] = module
    return names


def _without_workers(deny: Callable[[str], NoReturn]) -> None:
    """Deny the iterator of a loader that starts processes, whoever made the loader."""

    def iterate(_: object) -> NoReturn:
        deny("a loader that starts processes")

    vars(dataloader)["_MultiProcessingDataLoaderIter"] = iterate


def _importer(deny: Callable[[str], NoReturn]) -> Callable[..., types.ModuleType]:
    load, modules = builtins.__import__, allowed.MODULES

    def importer(name: str, scope: object = None, local: object = None, wanted: Any = (), level: int = 0) -> Any:
        """Stand in for `__import__`: a repro imports what the gate allows, and C code in its name what it needs."""
        if type(name) is not str or level or not (name in modules or name.startswith(("torch.", "numpy."))):
            deny(f"import {name}"[:_TEXT])
        return load(name, {}, {}, wanted, 0)

    return importer


def _execute(code: types.CodeType, names: Names, blame: Blame) -> Ran:
    try:
        exec(code, names)
    except MemoryError:
        return Ran("memory", "MemoryError", "the repro needs more memory than it is given")
    except SystemExit:
        return Ran("finished", "SystemExit")
    except BaseException as error:
        return _raised(error, blame)
    return Ran("finished")


def _raised(error: BaseException, blame: Blame) -> Ran:
    forced, lines = blame.is_forced(error), blame.lines_of(error)
    if type(error) not in blame.genuine:
        return Ran("raised", "an error of its own", "", lines[-1] if lines else None, lines, True)
    text = text_of(error)[:_MESSAGE]
    if "can't allocate memory" in text or "bad_alloc" in text:
        return Ran("memory", type(error).__name__, text)
    return Ran("raised", type(error).__name__, text, lines[-1] if lines else None, lines, forced)


def _probe(probe: types.CodeType, names: Mapping[str, object]) -> Probed:
    try:
        return Probed(_plain(eval(probe, {**names})))
    except BaseException as error:
        return Probed(error=f"{type(error).__name__}: {text_of(error)}"[:_TEXT])


def _plain(value: object) -> bool | int | float | str | None:
    if type(value) is torch.Tensor and value.numel() == 1 and not value.is_meta:
        value = value.item()
    if value is None or isinstance(value, bool):
        return value
    if type(value) is int and abs(value) < 1 << 63:
        return value
    if type(value) is float and abs(value) < float("inf"):
        return value
    return str.encode(value if type(value) is str else repr(value), "utf-8", "replace").decode()[:_TEXT]
