"""Measure the names below torch: `python -m tools.measure_names`.

What each namespace and class has, which names of old programs are gone (those that are missing, and those that
are left to say so when they are called), and by which names the arguments of functions are passed.
"""

from __future__ import annotations

import importlib
import inspect
import json
import pkgutil
import re
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import click
import torch

from gradlint.facts import load

OUTPUT = Path(__file__).parent.parent / "gradlint" / "facts" / "names.json"
KEYWORDS = OUTPUT.with_name("keywords.json")

NAMESPACES = (
    *("torch", "torch.nn", "torch.nn.functional", "torch.nn.init", "torch.nn.utils", "torch.nn.utils.rnn"),
    *("torch.nn.parallel", "torch.optim", "torch.optim.lr_scheduler", "torch.autograd", "torch.linalg", "torch.fft"),
    *("torch.special", "torch.distributions", "torch.utils", "torch.utils.data", "torch.cuda", "torch.cuda.amp"),
    *("torch.amp", "torch.backends", "torch.backends.cudnn", "torch.nn.utils.parametrizations", "torch.functional"),
    *("torch.nn.utils.parametrize", "torch.nn.utils.prune", "torch.func", "torch.autograd.functional"),
    *("torch.autograd.forward_ad", "torch.autograd.graph", "torch.utils.checkpoint"),
)
CLASSES = ("torch.Tensor", "torch.nn.Module", "torch.optim.Optimizer")

INSTANCE_NAMES = {
    "torch.nn.Module": "training module forward __dict__",
    "torch.optim.Optimizer": "param_groups state defaults step zero_grad __dict__",
}
"""What objects of a class have beside its own names: `module` is that of the wrappers for several devices."""

REPLACEMENTS = {
    "torch.symeig": "torch.linalg.eigh",
    "torch.eig": "torch.linalg.eig",
    "torch.lstsq": "torch.linalg.lstsq",
    "torch.solve": "torch.linalg.solve",
    "torch.matrix_rank": "torch.linalg.matrix_rank",
    "torch.gesv": "torch.linalg.solve",
    "torch.gels": "torch.linalg.lstsq",
    "torch.potrf": "torch.linalg.cholesky",
    "torch.potrs": "torch.cholesky_solve",
    "torch.potri": "torch.cholesky_inverse",
    "torch.pstrf": "torch.linalg.cholesky",
    "torch.trtrs": "torch.linalg.solve_triangular",
    "torch.btrifact": "torch.linalg.lu_factor",
    "torch.btrisolve": "torch.linalg.lu_solve",
    "torch.btriunpack": "torch.lu_unpack",
    "torch.rfft": "torch.fft.rfft",
    "torch.irfft": "torch.fft.irfft",
    "torch.ifft": "torch.fft.ifft",
    "torch.legacy": "torch.nn",
    "torch.nn.backends": "torch.nn",
    "torch.utils.ffi": "torch.utils.cpp_extension",
    "torch.utils.serialization": "torch.save",
    "torch.Tensor.symeig": "torch.linalg.eigh",
    "torch.Tensor.eig": "torch.linalg.eig",
    "torch.Tensor.lstsq": "torch.linalg.lstsq",
    "torch.Tensor.solve": "torch.linalg.solve",
    "torch.Tensor.gesv": "torch.linalg.solve",
    "torch.Tensor.potrf": "torch.linalg.cholesky",
    "torch.Tensor.trtrs": "torch.linalg.solve_triangular",
    "torch.Tensor.btrifact": "torch.linalg.lu_factor",
    "torch.Tensor.rfft": "torch.fft.rfft",
    "torch.Tensor.irfft": "torch.fft.irfft",
    "torch.Tensor.fft": "torch.fft.fft",
    "torch.Tensor.ifft": "torch.fft.ifft",
    "torch.Tensor.creator": "grad_fn",
    "torch.Tensor.masked_copy_": "masked_scatter_",
    "torch.Tensor.cmul": "mul",
    "torch.Tensor.is_variable": "isinstance(x, torch.Tensor)",
}
"""Names of old programs, and what to write instead. Each is kept only if torch refuses it today."""


DEPRECATED: dict[str, tuple[str, Callable[[Any], object]]] = {
    "torch.qr": ("torch.linalg.qr", lambda f: f(torch.eye(2))),
    "torch.cholesky": ("torch.linalg.cholesky", lambda f: f(torch.eye(2))),
    "torch.lu": ("torch.linalg.lu_factor", lambda f: f(torch.eye(2))),
    "torch.chain_matmul": ("torch.linalg.multi_dot", lambda f: f(torch.eye(2), torch.eye(2))),
    "torch.triangular_solve": ("torch.linalg.solve_triangular", lambda f: f(torch.eye(2), torch.eye(2))),
    "torch.range": ("torch.arange", lambda f: f(0, 2)),
    "torch.set_default_tensor_type": ("torch.set_default_dtype", lambda f: f("torch.FloatTensor")),
    "torch.cuda.amp.autocast": ('torch.amp.autocast("cuda")', lambda f: f()),
    "torch.cuda.amp.GradScaler": ('torch.amp.GradScaler("cuda")', lambda f: f()),
    "torch.nn.NLLLoss2d": ("torch.nn.NLLLoss", lambda f: f()),
    "torch.nn.utils.clip_grad_norm": ("torch.nn.utils.clip_grad_norm_", lambda f: f([torch.ones(2)], 1.0)),
    **{
        f"torch.nn.functional.{name}": ("torch.nn.functional.interpolate", lambda f: f(torch.ones(1, 1, 2, 2), 4))
        for name in ("upsample", "upsample_nearest", "upsample_bilinear")
    },
    **{
        f"torch.nn.init.{name}": (f"torch.nn.init.{name}_", lambda f: f(torch.ones(3, 3)))
        for name in ("uniform", "normal", "eye", "xavier_uniform", "xavier_normal", "kaiming_uniform", "kaiming_normal")
    },
    "torch.nn.init.constant": ("torch.nn.init.constant_", lambda f: f(torch.ones(2), 1.0)),
    "torch.nn.init.orthogonal": ("torch.nn.init.orthogonal_", lambda f: f(torch.ones(2, 2))),
    "torch.nn.init.dirac": ("torch.nn.init.dirac_", lambda f: f(torch.ones(2, 2, 2))),
    "torch.nn.init.sparse": ("torch.nn.init.sparse_", lambda f: f(torch.ones(2, 2), 0.5)),
}
"""Names that work and ask to be written in another way: what to write, and a call. Kept only if torch warns."""

CALLED = (
    *("torch", "torch.nn", "torch.nn.functional", "torch.nn.init", "torch.nn.utils", "torch.nn.utils.rnn"),
    *("torch.optim", "torch.optim.lr_scheduler", "torch.autograd", "torch.distributions", "torch.utils.data"),
    *("torch.amp", "torch.cuda.amp", "torch.nn.utils.parametrize", "torch.nn.utils.parametrizations"),
    *("torch.nn.utils.prune", "torch.func", "torch.autograd.functional", "torch.autograd.forward_ad"),
    *("torch.autograd.graph", "torch.utils.checkpoint", *CLASSES),
)
"""Whose functions, classes and methods are asked by which names they take their arguments."""

TWINS = {"dim": ("axis",), "keepdim": ("keepdims",), "input": ("x", "a", "x1"), "other": ("x2",)}
"""Names that all functions written in C++ take in place of others (torch/csrc/utils/python_arg_parser.cpp)."""

NO_NAMES = ("self", "args", "kwargs")


@click.command()
@click.option("--output", type=click.Path(path_type=Path), default=OUTPUT, help="Where the names go.")
@click.option("--keywords", type=click.Path(path_type=Path), default=KEYWORDS, help="Where those of arguments go.")
def measure(output: Path, keywords: Path) -> None:
    """Write the names of each namespace and class, the removed names, and those of arguments."""
    output.write_text(json.dumps(names(), indent=0) + "\n")
    keywords.write_text(json.dumps(keywords_of_all(), indent=0) + "\n")


def names() -> dict[str, object]:
    """Everything that the file holds."""
    return {
        "torch": torch.__version__.partition("+")[0],
        "names": {path: " ".join(sorted(_names_of(path))) for path in (*NAMESPACES, *CLASSES)},
        "attributes": " ".join(sorted(_attributes_of_modules())),
        "removed": {path: instead for path, instead in REPLACEMENTS.items() if is_refused(path)},
        "deprecated": {path: instead for path, (instead, call) in DEPRECATED.items() if warns(path, call)},
    }


def _names_of(path: str) -> set[str]:
    if path in CLASSES:
        return {*dir(_found(path)), *INSTANCE_NAMES.get(path, "").split()}
    namespace = importlib.import_module(path)
    return {*dir(namespace), *_submodules(namespace)}


def _attributes_of_modules() -> set[str]:
    """What torch's module classes have: their own names, and those that their code reads or sets on `self`."""
    sources = [
        inspect.getsource(importlib.import_module(f"{torch.nn.modules.__name__}.{one.name}"))
        for one in pkgutil.iter_modules(torch.nn.modules.__path__)
    ]
    classes = [one for one in vars(torch.nn).values() if inspect.isclass(one)]
    return {name for source in sources for name in _ON_SELF.findall(source)}.union(
        _names_of("torch.nn.Module"), *map(dir, classes)
    )


_ON_SELF = re.compile(r"""(?:\bself\.|\bregister_\w+\(\s*["'])(\w+)""")


def _submodules(namespace: ModuleType) -> Iterator[str]:
    """Modules below a package are attributes of it once anything has imported them."""
    return (found.name for found in pkgutil.iter_modules(getattr(namespace, "__path__", ())))


def _found(path: str) -> object:
    owner, _, name = path.rpartition(".")
    return getattr(_found(owner) if owner != "torch" else torch, name) if owner else torch


def is_refused(path: str) -> bool:
    """Whether a name is missing, or a function that only raises an error to say that it is removed."""
    owner, _, name = path.rpartition(".")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if not hasattr(_found(owner), name):
            return True
        function = getattr(_found(owner), name)
        return callable(function) and any(_says_removed(function, count) for count in (1, 2))


def _says_removed(function: Callable[..., object], count: int) -> bool:
    """Whether a function refuses matrices with the words that it is removed."""
    try:
        function(*[torch.eye(2)] * count)
    except RuntimeError as error:
        return "is now removed" in str(error)
    except TypeError:  # Another number of arguments.
        return False
    return False


def warns(path: str, call: Callable[[Any], object]) -> bool:
    """Whether torch says of a name that it is deprecated."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        call(_found(path))
    return any("deprecated" in str(one.message) for one in said)


def keywords_of_all() -> dict[str, str]:
    """For each function, class and method: all names of its arguments, where they can be told."""
    found = {}
    for owner in CALLED:
        namespace = _found(owner) if owner in CLASSES else importlib.import_module(owner)
        for name in sorted(dir(namespace)):
            function = getattr(namespace, name)
            if not callable(function) or name.startswith("_") or inspect.ismodule(function):
                continue
            taken = _of_python(function) if hasattr(function, "__code__") or inspect.isclass(function) else None
            taken = _of_extension(f"{owner}.{name}", function) if taken is None else taken
            names = sorted(one for one in taken if re.fullmatch("[a-z][a-z0-9_]*", one) and one not in NO_NAMES)
            if names:
                found[f"{owner}.{name}"] = " ".join(names)
    return found


def _of_python(function: Callable[..., object]) -> set[str] | None:
    """The names in a signature. One that passes on whatever it gets says nothing, nor does a class in C++."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except ValueError:
        return None
    if any(one.kind is one.VAR_KEYWORD for one in parameters):
        return None
    return {one.name for one in parameters if one.kind is not one.VAR_POSITIONAL}


def _of_extension(path: str, function: object) -> set[str]:
    """The names that the table of facts, the documentation, and torch's own complaint know of a function in C++.

    All three together: a name too many only costs a finding.
    """
    entry = load().find(path.removeprefix("torch."))
    if entry is None:
        return set(_UNDOCUMENTED.get(path, ()))
    taken = {param.name for overload in entry.sig.overloads for param in overload if not param.variadic}
    if not inspect.isclass(function):
        heading = (getattr(function, "__doc__", None) or "").strip().partition("->")[0].partition("\n\n")[0]
        taken |= set(re.findall(r"\b(\w+)(?=[,)=])", heading)) | _in_complaint(function)
    return taken.union(*(twins for name, twins in TWINS.items() if name in taken))


_UNDOCUMENTED = {"torch.autograd.Variable": ("data", "requires_grad", "volatile")}
"""What classes in C++ take that say it nowhere (torch/csrc/autograd/python_variable.cpp)."""


def _in_complaint(function: object) -> set[str]:
    """The overloads that torch prints where none takes the arguments."""
    assert callable(function)
    try:
        function(object(), gradlint=1)
    except TypeError as error:
        overloads = str(error).partition("but expected one of:")[2]
        return set(re.findall(r"\b(\w+)(?: = [^,)]+)?(?=[,)])", overloads))
    return set()


if __name__ == "__main__":
    measure()
