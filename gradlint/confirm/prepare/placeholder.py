"""Values made up for what is not known: their kinds, what to try one by one, and how torch's errors correct them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import TypeAlias

from gradlint.domain.frozen import Frozen

# Distinct small primes, so that sizes that must agree do, and others do not by accident.
_ROWS, _COLUMNS = 2, 3


class MadeTensor(Frozen):
    """A tensor made up: its shape, whether it is one of class numbers, requires grad, or lies between 0 and 1."""

    shape: tuple[int, ...] = (_ROWS, _COLUMNS)
    integer: bool = False
    grad: bool = False
    unit: bool = False

    @property
    def text(self) -> str:
        """The expression that makes it."""
        if self.integer:
            return f"torch.randint(0, 2, {self.shape})"
        sizes = ", ".join(str(size) for size in self.shape) or "()"
        return f"torch.rand{'' if self.unit else 'n'}({sizes}{', requires_grad=True' if self.grad else ''})"


class MadeModule(Frozen):
    """A small network made up."""

    ins: int = _COLUMNS
    outs: int = _COLUMNS

    @property
    def text(self) -> str:
        """The expression that makes it."""
        return f"torch.nn.Linear({self.ins}, {self.outs})"


class MadeText(Frozen):
    """Any other value made up, by its expression."""

    text: str


class MadeBatches(Frozen):
    """What gives batches, made up: a list of them, or a data set of two rows; of one tensor, or of two."""

    first: MadeTensor = MadeTensor()
    second: MadeTensor | None = MadeTensor()
    dataset: bool = False

    @property
    def text(self) -> str:
        """The expression that makes it."""
        parts = [part.text for part in (self.first, self.second) if part is not None]
        if self.dataset:
            return f"torch.utils.data.TensorDataset({', '.join(parts)})"
        return f"[{parts[0] if self.second is None else f'({parts[0]}, {parts[1]})'} for _ in range(2)]"


Made: TypeAlias = MadeTensor | MadeModule | MadeText | MadeBatches

_PLAIN: dict[str, tuple[str, ...]] = {
    "int": ("3", "2", "1", "0", "-1"),
    "float": ("0.1", "1.0", "-1.0"),
    "bool": ("True", "False"),
    "str": ("'mean'", "'cpu'", "''"),
    "none": ("None",),
    "device": ("'cpu'",),
    "criterion": ("torch.nn.MSELoss()", "torch.nn.CrossEntropyLoss()", "torch.nn.functional.mse_loss"),
    "optimizer": ("torch.optim.SGD([torch.randn(3, requires_grad=True)], lr=0.1)",),
    "parameters": ("[torch.randn(3, requires_grad=True)]",),
    "batch": ("(torch.randn(2, 3), torch.randn(2, 3))", "(torch.randn(2, 3), torch.randint(0, 2, (2,)))"),
    "pair": ("(torch.randn(2, 3), torch.randn(2, 3))", "(2, 3)"),
    "triple": ("(torch.randn(2, 3), torch.randn(2, 3), torch.randn(2, 3))", "(2, 3, 5)"),
    "list": ("[torch.randn(2, 3), torch.randn(2, 3)]", "[]", "[3, 3]"),
    "dict": ("{}",),
    "shape": ("(2, 3)",),
    "function": ("torch.nn.Linear(3, 3)", "torch.nn.functional.mse_loss", "lambda *args, **kwargs: torch.randn(2, 3)"),
    "gives_batches": (
        "lambda *args, **kwargs: [(torch.randn(2, 3), torch.randn(2, 3))]",
        "lambda *args, **kwargs: [(torch.randn(2, 3), torch.randint(0, 2, (2,)))]",
        "lambda *args, **kwargs: [torch.randn(2, 3)]",
    ),
    "gives2": ("lambda *args, **kwargs: (torch.randn(2, 3), torch.randn(2, 3))",),
    "gives3": ("lambda *args, **kwargs: (torch.randn(2, 3), torch.randn(2, 3), torch.randn(2, 3))",),
    "gives": ("lambda *args, **kwargs: torch.randn(2, 3)",),
    "path": ("''",),
    "array": ("torch.randn(2, 3).numpy()", "torch.randn(3).numpy()", "torch.randint(0, 2, (2,)).numpy()"),
    "dtype": ("torch.float32",),
}

_CLASSES, _IMAGES = MadeTensor((_ROWS,), integer=True), MadeTensor((_ROWS, _COLUMNS, 8, 8))
_TENSORS = (
    *(MadeTensor(), MadeTensor((_COLUMNS,)), MadeTensor(()), MadeTensor(grad=True), MadeTensor((_COLUMNS, _COLUMNS))),
    *(_IMAGES, MadeTensor((_ROWS, _COLUMNS, 5)), _CLASSES),
    *(MadeTensor((), grad=True), MadeTensor((_ROWS, _COLUMNS), integer=True)),
)

_BATCHES = (MadeBatches(), MadeBatches(second=_CLASSES), MadeBatches(second=None), MadeBatches(_IMAGES, _CLASSES))

_MODULES = (
    *("torch.nn.Conv2d(3, 3, 3, padding=1)", "torch.nn.Identity()"),
    "torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.ReLU(), torch.nn.Linear(3, 3))",
    "torch.nn.Sequential(torch.nn.Conv2d(3, 3, 3, padding=1), torch.nn.ReLU())",
)


def made_of(kind: str) -> tuple[Made, ...]:
    """Return what to try for a kind, the likeliest first."""
    if kind in ("tensor", "target"):
        return (*((_CLASSES,) if kind == "target" else ()), *_TENSORS)
    if kind in ("loader", "dataset"):
        return tuple(replace(one, dataset=kind == "dataset") for one in _BATCHES)
    if kind == "module":
        return (MadeModule(), *(MadeText(text) for text in _MODULES))
    return tuple(MadeText(text) for text in _PLAIN[kind])


def choices(kinds: tuple[str, ...]) -> tuple[Made, ...]:
    """Return what to try for something that is of one of the kinds: the first of each, then the rest."""
    lists = [made_of(kind) for kind in kinds]
    return tuple(dict.fromkeys([*(made[0] for made in lists), *(one for made in lists for one in made[1:])]))


def corrected(made: Made, message: str) -> Iterator[Made]:
    """Yield other values to try for one that took part in an error of torch, as its message suggests."""
    if isinstance(made, MadeTensor):
        yield from _corrected_tensor(made, message)
    elif isinstance(made, MadeModule):
        yield from _corrected_module(made, message)
    elif isinstance(made, MadeBatches):
        yield from (replace(made, first=other) for other in _corrected_tensor(made.first, message))
        if made.second is not None:
            yield from (replace(made, second=other) for other in _corrected_tensor(made.second, message))
    if _COUNT.search(message):
        yield MadeText(str(_COLUMNS))
    if _ARRAY.search(message) and isinstance(made, MadeTensor):
        yield MadeText(f"{made.text}.numpy()")


_PRODUCT = re.compile(r"shapes cannot be multiplied \((\d+)x(\d+) and (\d+)x(\d+)\)")
_CHANNELS = re.compile(r"weight of size \[([\d, ]+)\], expected input(?:\[[\d, ]+\])? to have (\d+) channels")
_SIZES = re.compile(r"size of tensor a \((\d+)\) must match the size of tensor b \((\d+)\)")
_RANKS = re.compile(
    r"Expected (\d)D|[Ee]xpected (?:a )?(\d)-?D|or (\d)D \(batched\)|input\.dim\(\) == (\d)"
    r"|must be (\d)-D|[Ee]xpected (\d) dim"
)
_COUNT = re.compile(
    r"tuple of ints|cannot be interpreted as an integer|must be int\b|got float|type must be|converted to an index"
)
_ARRAY = re.compile(r"expected np\.ndarray")
_INVALID = re.compile(r"shape '\[-1, ([\d, ]+)\]' is invalid for input of size")
_SIDES = (28, 32, 64, 16)
"""Of images, as networks expect them after their convolutions."""
_RUNNING = re.compile(r"running_mean should contain (\d+) elements not (\d+)")
_NORMALISED = re.compile(r"normalized_shape=\[(\d+)\]")
_INTEGER = re.compile(r"type Long|expected .*Long|Long, Int|scalar type Long|must be integer|integral type|int64")
_FLOAT = re.compile(
    r"floating|scalar type Float|Float but|but found Long|'Long'|not implemented for|[Gg]ot Long|Long instead"
)


def _corrected_tensor(made: MadeTensor, message: str) -> Iterator[MadeTensor]:
    shape = made.shape
    if found := _PRODUCT.search(message):
        yield from (replace(made, shape=(*shape[:-1], int(size))) for size in found.group(3, 2) if shape)
        yield from (replace(made, shape=(*shape[:2], side, side)) for side in _SIDES if len(shape) == len("NCHW"))
    if found := _CHANNELS.search(message):
        rank = found.group(1).count(",") + 1
        yield from (replace(made, shape=(_ROWS, int(found.group(2)), *[side] * (rank - 2))) for side in (16, 8))
    if found := _SIZES.search(message):
        sizes = [int(size) for size in found.groups()]
        for old, new in (sizes, sizes[::-1]):
            if old in shape:
                yield replace(made, shape=tuple(new if size == old else size for size in shape))
    if found := _INVALID.search(message):
        rest = [int(size) for size in found.group(1).split(",")]
        yield from (replace(made, shape=(_ROWS, *sizes)) for sizes in (rest, [math.prod(rest)]))
    if (found := _RUNNING.search(message)) and len(shape) > 1:
        yield replace(made, shape=(shape[0], int(found.group(1)), *shape[2:]))
    if (found := _NORMALISED.search(message)) and shape:
        yield replace(made, shape=(*shape[:-1], int(found.group(1))))
    for found in _RANKS.finditer(message):
        rank = int(next(group for group in found.groups() if group))
        yield replace(made, shape=(*shape, 8, 8, 8, 8)[:rank])
    if _INTEGER.search(message) and not made.integer:
        yield replace(made, integer=True, grad=False)
        yield _CLASSES
    if "between 0 and 1" in message and not made.unit:
        yield replace(made, unit=True)
    if _FLOAT.search(message) and made.integer:
        yield replace(made, integer=False)


def _corrected_module(made: MadeModule, message: str) -> Iterator[Made]:
    if found := _PRODUCT.search(message):
        yield MadeModule(int(found.group(2)), made.outs)
        yield MadeModule(made.ins, int(found.group(3)))
