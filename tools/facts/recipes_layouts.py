"""Recipes of calls whose saved tensors hang on layouts and settings that torch's own samples never vary alone.

In these samples a number as `dilation` comes with `padding="same"` only, `dim=1` of a transform with another length
only, and the two operands of a product are turned together only: what is measured of them is true of the companion.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch

from tools.facts.recipe_inputs import Recipe, call, cube, image, square, v, x


def layouts() -> list[Recipe]:
    """Return all of them."""
    return [*_products(), *_convolutions(), *_transforms(), *_fills()]


def _turned(tensor: torch.Tensor) -> torch.Tensor:
    """Return the numbers laid out with the last two dimensions turned."""
    return tensor.transpose(-1, -2).contiguous().transpose(-1, -2)


def _products() -> Iterator[Recipe]:
    """Matrices and vectors after batches of matrices: torch folds the batch into rows, with a copy if it has to."""
    for first, rows in ((cube, 4), (image, 4), (torch.linspace(-1, 1, 48).reshape(1, 2, 3, 2, 4), 4), (x, 3)):
        weight = torch.linspace(-1, 1, rows * 2).reshape(rows, 2)
        for one in (first, _turned(first)):
            for other in (weight, _turned(weight), *[weight[:, 0].contiguous()] * 2):
                for name in ("matmul", "Tensor.matmul", "Tensor.__matmul__"):
                    yield call(name, one, other)
            for other in (weight.t().contiguous(), weight.t()):
                yield call("nn.functional.linear", one, other)
                yield call("nn.functional.linear", one, other, torch.tensor([0.5, -0.5]))


def _convolutions() -> Iterator[Recipe]:
    """Settings as numbers, each alone; for `same`, torch pads a copy where the kernel reaches further to one side."""
    inputs = (torch.linspace(-1, 1, 24).reshape(1, 2, 12), torch.linspace(-1, 1, 200).reshape(1, 2, 10, 10))
    for count, first in enumerate((*inputs, torch.linspace(-1, 1, 432).reshape(1, 2, 6, 6, 6)), start=1):
        weight = torch.linspace(-1, 1, 4 * 3**count).reshape(2, 2, *[3] * count)
        bias = torch.tensor([0.5, -0.5])
        for settings in (
            {"dilation": 1},
            {"dilation": 2},
            {"padding": 1},
            {"stride": 2},
            {"dilation": 2, "padding": 2},
        ):
            for given in ((), (bias,)):
                yield call(f"nn.functional.conv{count}d", first, weight, *given, **settings)
                yield call(f"nn.functional.conv_transpose{count}d", first, weight, *given, **settings)
        for given in ((), (bias,)):
            for kernel in (weight, torch.linspace(-1, 1, 4 * 2**count).reshape(2, 2, *[2] * count)):
                for dilation in (1, [1] * count):
                    yield call(f"nn.functional.conv{count}d", first, kernel, *given, padding="same", dilation=dilation)
                yield call(f"nn.functional.conv{count}d", first, kernel, *given, padding="same")


def _transforms() -> Iterator[Recipe]:
    """Dimensions alone, with the length that the tensor has; and other lengths alone."""
    for stem in ("fft", "ifft", "rfft", "ihfft"):
        for dim in (0, 1, -1):
            yield from [call(f"fft.{stem}", one, dim=dim) for one in (x, cube)]
        yield from [call(f"fft.{stem}", one, n) for one in (x, cube) for n in (3, 9)]
    for stem in ("rfft2", "rfftn", "ihfft2", "ihfftn"):
        for dims in ((0, 1), (-2, -1)):
            yield from [call(f"fft.{stem}", one, dim=dims) for one in (x, cube)]


def _fills() -> Iterator[Recipe]:
    """A tensor as the value."""
    for value in (torch.tensor(0.8), torch.tensor(-0.3)):
        yield from [call("fill", one, value) for one in (x, v, square)]
