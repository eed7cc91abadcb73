"""Measure what each release of torch has: `python -m tools.measure_versions measure FOLDER`, under each in turn, twice.

The second time each is also asked for the names that the others have: some are there though no list names them. Then
`python -m tools.measure_versions join FOLDER` writes what differs between the releases.
"""

from __future__ import annotations

import importlib
import inspect
import json
import pkgutil
import sys
import warnings
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import click

from gradlint.domain.release import Release
from tools.measure_names import (
    CLASSES,
    DEPRECATED,
    INSTANCE_NAMES,
    NAMESPACES,
    REPLACEMENTS,
    is_refused,
    keywords_of_all,
    warns,
)

OUTPUT = Path(__file__).parent.parent / "gradlint" / "facts" / "versions.json"

MORE = (
    *("torch.accelerator", "torch.autograd.forward_ad", "torch.autograd.functional", "torch.autograd.graph"),
    *("torch.autograd.profiler", "torch.backends.cuda", "torch.backends.mps", "torch.compiler", "torch.cpu"),
    *("torch.cpu.amp", "torch.distributed", "torch.distributed.checkpoint", "torch.distributed.fsdp"),
    *("torch.distributed.optim", "torch.distributed.tensor", "torch.distributed.tensor.parallel"),
    *("torch.distributed.device_mesh", "torch.distributions.constraints", "torch.distributions.transforms"),
    *("torch.export", "torch.func", "torch.futures", "torch.fx", "torch.hub", "torch.jit", "torch.library"),
    *("torch.masked", "torch.mps", "torch.multiprocessing", "torch.nested", "torch.nn.attention"),
    *("torch.nn.attention.bias", "torch.nn.attention.flex_attention", "torch.nn.modules", "torch.nn.parameter"),
    *("torch.nn.utils.parametrize", "torch.nn.utils.prune", "torch.nn.utils.stateless", "torch.onnx"),
    *("torch.optim.swa_utils", "torch.overrides", "torch.package", "torch.profiler", "torch.random"),
    *("torch.serialization", "torch.signal", "torch.signal.windows", "torch.sparse", "torch.testing", "torch.types"),
    *(
        "torch.utils.checkpoint",
        "torch.utils.cpp_extension",
        "torch.utils.data.distributed",
        "torch.utils.flop_counter",
    ),
    *("torch.utils.mobile_optimizer", "torch.xpu"),
)
"""Namespaces of which only the differences are of interest."""


@click.group()
def main() -> None:
    """Measure releases of torch, and compare them."""


@main.command()
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
def measure(folder: Path) -> None:
    """Write what the torch has that is installed here into a file of the folder, named after its release."""
    import torch

    warnings.simplefilter("ignore")
    known = [json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))]
    paths = (*NAMESPACES, *MORE, *CLASSES)
    wanted = {path: {name for one in known for name in one["names"].get(path, "").split()} for path in paths}
    found: dict[str, Any] = {"names": {}, "foreign": {}}
    for path in paths:
        names, foreign = _names_of(path, wanted[path])
        found["names"][path], found["foreign"][path] = " ".join(sorted(names)), " ".join(sorted(foreign))
    found["deprecated"], refused = _by_calls()
    found["refused"] = [*refused, *(path for path in REPLACEMENTS if _is_there(path) and is_refused(path))]
    found["keywords"] = keywords_of_all()
    folder.mkdir(exist_ok=True)
    release = Release.of(torch.__version__)
    (folder / f"{release}.json").write_text(json.dumps(found, indent=0) + "\n")


def _owner(path: str) -> object | None:
    """Return the namespace or class of that path; None where this release does not have it."""
    if path in CLASSES:
        module, _, name = path.rpartition(".")
        return getattr(importlib.import_module(module), name)  # type: ignore[no-any-return]
    try:
        return importlib.import_module(path)
    except ModuleNotFoundError as error:
        if error.name is None or not path.startswith(error.name):
            raise
    head, _, name = path.rpartition(".")  # A module that was made without a file, such as `torch.classes`.
    return getattr(_owner(head), name, None) if "." in head else None


def _names_of(path: str, wanted: Iterable[str]) -> tuple[set[str], set[str]]:
    """Return the public names of a namespace or class: its own, and what it has imported from elsewhere than torch."""
    owner = _owner(path)
    if owner is None:
        return set(), set()
    listed = {*dir(owner), *(one.name for one in pkgutil.iter_modules(getattr(owner, "__path__", ())))}
    names = {name for name in listed if not name.startswith("_")} | {name for name in wanted if _has(owner, name)}
    names |= {*INSTANCE_NAMES.get(path, "").split()} - {"__dict__"}
    if path in CLASSES:
        return names, set()
    foreign = {name for name in names if _is_foreign(vars(owner).get(name))}
    return names - foreign, foreign


def _has(owner: object, name: str) -> bool:
    """Return whether a name can be read, be it that a property has no value here."""
    try:
        getattr(owner, name)
    except (AttributeError, ImportError):
        return False
    except Exception:  # Whatever a namespace that asks a device may raise.
        return True
    return True


def _is_foreign(value: object) -> bool:
    """Return whether a value is one of Python's own: a module, or something of `typing` and its like."""
    home = value.__name__ if inspect.ismodule(value) else getattr(value, "__module__", None)
    return isinstance(home, str) and home.partition(".")[0] in sys.stdlib_module_names | {"typing_extensions", "numpy"}


def _is_there(path: str) -> bool:
    owner, _, name = path.rpartition(".")
    return _has(_owner(owner), name)


def _by_calls() -> tuple[list[str], list[str]]:
    """Return the names of which torch warns when they are called, and those that only say that they are removed."""
    warned, refused = [], []
    for path, (_, call) in DEPRECATED.items():
        try:
            if _is_there(path) and warns(path, call):
                warned.append(path)
        except RuntimeError as error:
            if "is now removed" not in str(error):
                raise
            refused.append(path)
    return warned, refused


@main.command()
@click.argument("folder", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option("--output", type=click.Path(path_type=Path), default=OUTPUT, help="Where the differences go.")
def join(folder: Path, output: Path) -> None:
    """Write in which releases the names are that not all have."""
    measured = {}
    for path in folder.glob("*.json"):
        release = Release.of(path.stem)
        assert release is not None
        measured[release] = json.loads(path.read_text())
    measured = dict(sorted(measured.items()))
    releases = [*measured]
    refused = {release: set(one["refused"]) for release, one in measured.items()}
    names: dict[str, str] = {}
    for owner in (*NAMESPACES, *MORE, *CLASSES):
        own = set().union(*(one["names"][owner].split() for one in measured.values()))
        there = {
            release: {
                name
                for name in (*one["names"][owner].split(), *one["foreign"][owner].split())
                if f"{owner}.{name}" not in refused[release]
            }
            for release, one in measured.items()
        }
        names[owner] = " ".join(_differing(own, there))
    arguments = {}
    for function in sorted(set().union(*(one["keywords"] for one in measured.values()))):
        taken = {release: set(one["keywords"].get(function, "").split()) for release, one in measured.items()}
        every = set().union(*taken.values())
        # Where a function is not there, or takes whatever it is given, nothing can be said.
        arguments[function] = " ".join(_differing(every, {release: one or every for release, one in taken.items()}))
    warned = {release: set(one["deprecated"]) for release, one in measured.items()}
    deprecated = dict(word.split(":") for word in _differing(set().union(*warned.values()), warned))
    found = {
        "releases": [str(one) for one in releases],
        "names": {owner: spans for owner, spans in names.items() if spans},
        "arguments": {function: spans for function, spans in arguments.items() if spans},
        "deprecated": deprecated,
    }
    output.write_text(json.dumps(found, indent=0) + "\n")


def _differing(names: Iterable[str], there: Mapping[Release, Collection[str]]) -> Iterator[str]:
    """Yield each name that some of the releases lack, with the spans of those that have it."""
    for name in sorted(names):
        having = [release for release, found in there.items() if name in found]
        if 0 < len(having) < len(there):
            yield f"{name}:{_spans(having, [*there])}"


def _spans(having: Collection[Release], releases: Sequence[Release]) -> str:
    """Return the releases that have a name as a text: `-2.3,2.6-`."""
    groups = [[*group] for has, group in groupby(releases, having.__contains__) if has]
    return ",".join(
        "-".join(
            ("" if group[0] == releases[0] else str(group[0]), "" if group[-1] == releases[-1] else str(group[-1]))
        )
        for group in groups
    )


if __name__ == "__main__":
    main()
