"""Measure the names below torch: `python -m tools.measure_names`.

What each namespace and class has, and which names of old programs are gone: those that are missing, and those that
are left to say so when they are called.
"""

from __future__ import annotations

import importlib
import json
import pkgutil
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import click
import torch

OUTPUT = Path(__file__).parent.parent / "gradlint" / "facts" / "names.json"

NAMESPACES = (
    *("torch", "torch.nn", "torch.nn.functional", "torch.nn.init", "torch.nn.utils", "torch.nn.utils.rnn"),
    *("torch.nn.parallel", "torch.optim", "torch.optim.lr_scheduler", "torch.autograd", "torch.linalg", "torch.fft"),
    *("torch.special", "torch.distributions", "torch.utils", "torch.utils.data", "torch.cuda", "torch.cuda.amp"),
    *("torch.amp", "torch.backends", "torch.backends.cudnn", "torch.nn.utils.parametrizations"),
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


@click.command()
@click.option("--output", type=click.Path(path_type=Path), default=OUTPUT, help="Where the names go.")
def measure(output: Path) -> None:
    """Write the names of each namespace and class, and the removed names."""
    output.write_text(json.dumps(names(), indent=0) + "\n")


def names() -> dict[str, object]:
    """Everything that the file holds."""
    return {
        "torch": torch.__version__.partition("+")[0],
        "names": {path: " ".join(sorted(_names_of(path))) for path in (*NAMESPACES, *CLASSES)},
        "removed": {path: instead for path, instead in REPLACEMENTS.items() if is_refused(path)},
    }


def _names_of(path: str) -> set[str]:
    if path in CLASSES:
        return {*dir(_found(path)), *INSTANCE_NAMES.get(path, "").split()}
    namespace = importlib.import_module(path)
    return {*dir(namespace), *_submodules(namespace)}


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


if __name__ == "__main__":
    measure()
