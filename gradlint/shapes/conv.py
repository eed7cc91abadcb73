"""Sizes of convolutions, pooling, resampling and what else works on the spatial dimensions of images."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from gradlint.domain.shape import Dim, Shape, Sym, product
from gradlint.shapes.product import agreed
from gradlint.shapes.rule import (
    Args,
    Operand,
    Result,
    Rule,
    Several,
    flag,
    given,
    listed,
    pair,
    rule,
    size,
    sizes,
    tensor,
)
from gradlint.shapes.view import reshaped


def window(
    length: Dim, kernel: object, stride: object, padding: object, dilation: object, *, ceil: bool | None = False
) -> Dim:
    """Return how many places a window takes along one dimension; `ceil` lets the last one hang over the end."""
    if not isinstance(kernel, int) or not isinstance(padding, int) or not isinstance(dilation, int):
        return Sym()
    reach = dilation * (kernel - 1)
    if stride == 1 and 2 * padding == reach:
        return length
    if not isinstance(stride, int) or not isinstance(length, int) or stride <= 0:
        return Sym()
    room = length + 2 * padding - reach - 1
    if not ceil:
        return room // stride + 1 if ceil is False or room % stride == 0 else Sym()
    count = -(-room // stride) + 1
    # A window has to begin inside the input or its left padding.
    return count - 1 if (count - 1) * stride >= length + padding else count


def _spatial(args: Args, name: str, count: int, default: object) -> tuple[object, ...]:
    entries = pair(args.get(name, default), count)
    return (None,) * count if entries is None else entries


def _split_rank(shape: Shape, count: int) -> tuple[tuple[Dim, ...], tuple[Dim, ...], tuple[Dim, ...]] | None:
    """Return the batch (empty without one), the channels and the spatial dimensions of an input."""
    if shape is None or len(shape) not in (count + 1, count + 2):
        return None
    batch = shape[: len(shape) - count - 1]
    return batch, shape[len(batch) : len(batch) + 1], shape[len(shape) - count :]


def convolved(self: Shape, weight: Shape, args: Args, count: int) -> Shape:
    """Return the shape of a convolution over `count` dimensions."""
    parts = _split_rank(self, count)
    if parts is None:
        return None
    batch, _, lengths = parts
    known = weight is not None and len(weight) == count + 2
    channels: Dim = weight[0] if known and weight is not None else Sym()
    kernels: Sequence[object] = weight[2:] if known and weight is not None else [Sym()] * count
    padding = args.get("padding", 0)
    if padding == "same":
        return (*batch, channels, *lengths)
    paddings = (0,) * count if padding == "valid" else _spatial(args, "padding", count, 0)
    strides, dilations = _spatial(args, "stride", count, 1), _spatial(args, "dilation", count, 1)
    places = zip(lengths, kernels, strides, paddings, dilations, strict=True)
    return (*batch, channels, *[window(*place) for place in places])


def deconvolved(self: Shape, weight: Shape, args: Args, count: int) -> Shape:
    """Return the shape of a transposed convolution over `count` dimensions."""
    parts = _split_rank(self, count)
    if parts is None:
        return None
    batch, _, lengths = parts
    known = weight is not None and len(weight) == count + 2
    groups = args.get("groups", 1)
    channels = product((weight[1], size(groups))) if known and weight is not None else Sym()
    kernels: Sequence[object] = weight[2:] if known and weight is not None else [Sym()] * count
    settings = [
        _spatial(args, name, count, default)
        for name, default in (("stride", 1), ("padding", 0), ("output_padding", 0), ("dilation", 1))
    ]
    return (*batch, channels, *[_widened(*place) for place in zip(lengths, kernels, *settings, strict=True)])


def _widened(length: Dim, kernel: object, stride: object, padding: object, extra: object, dilation: object) -> Dim:
    numbers = [length, kernel, stride, padding, extra, dilation]
    if not all(isinstance(number, int) for number in numbers):
        return Sym()
    n, k, s, p, e, d = [int(number) for number in numbers if isinstance(number, int)]
    return (n - 1) * s - 2 * p + d * (k - 1) + e + 1


def _convolution(count: int) -> Rule:
    def convolution(args: Args) -> Result:
        self, weight = tensor(args), tensor(args, "weight")
        return Operand(convolved(self.shape, weight.shape, args, count), agreed(self, weight))

    return convolution


def _deconvolution(count: int) -> Rule:
    def deconvolution(args: Args) -> Result:
        self, weight = tensor(args), tensor(args, "weight")
        return Operand(deconvolved(self.shape, weight.shape, args, count), agreed(self, weight))

    return deconvolution


def _pooled(args: Args, count: int) -> Shape:
    parts = _split_rank(tensor(args).shape, count)
    if parts is None:
        return None
    batch, channels, lengths = parts
    kernels = _spatial(args, "kernel_size", count, None)
    stride = args.get("stride")
    strides = kernels if stride is None or stride in ((), []) else _spatial(args, "stride", count, None)
    paddings, dilations = _spatial(args, "padding", count, 0), _spatial(args, "dilation", count, 1)
    ceil = flag(args, "ceil_mode", False)
    places = zip(lengths, kernels, strides, paddings, dilations, strict=True)
    return (*batch, *channels, *[window(*place, ceil=ceil) for place in places])


def _adaptive(args: Args, count: int) -> Shape:
    """Return the output has the size asked for, and the input's own where None is asked for."""
    parts = _split_rank(tensor(args).shape, count)
    if parts is None:
        return None
    batch, channels, lengths = parts
    wanted = _spatial(args, "output_size", count, None)
    places = zip(wanted, lengths, strict=True)
    return (*batch, *channels, *[length if want is None else size(want) for want, length in places])


def _pool(shape_of: Callable[[Args, int], Shape], count: int) -> Rule:
    def pool(args: Args) -> Result:
        self, indices = tensor(args), flag(args, "return_indices", False)
        output = Operand(shape_of(args, count), self.dtype)
        if indices is None:
            return Operand()
        return Several((output, Operand(output.shape, "int64"))) if indices else output

    return pool


def _with_indices(args: Args) -> dict[str, object]:
    return {**args, "return_indices": True}


def _register(count: int) -> None:
    end = f"{count}d"
    rule(f"conv{end}")(_convolution(count))
    rule(f"conv_transpose{end}")(_deconvolution(count))
    plain, adaptive = _pool(_pooled, count), _pool(_adaptive, count)
    for kind in ("max", "avg", "lp"):
        rule(f"{kind}_pool{end}")(plain)
    rule(f"adaptive_avg_pool{end}", f"nn.functional.adaptive_max_pool{end}")(adaptive)
    rule(f"max_pool{end}_with_indices")(lambda args: plain(_with_indices(args)))
    rule(f"adaptive_max_pool{end}_with_indices")(lambda args: adaptive(_with_indices(args)))
    if count == 1:
        # Unlike its namesake in `nn.functional` this one always gives the indices, too.
        rule("adaptive_max_pool1d")(lambda args: adaptive(_with_indices(args)))


for _count in (1, 2, 3):
    _register(_count)


def _fractional(args: Args, count: int) -> Shape:
    """The output size is asked for, or it is a ratio of the input's."""
    parts = _split_rank(tensor(args).shape, count)
    if parts is None:
        return None
    batch, channels, lengths = parts
    if args.get("output_size") is not None:
        return (*batch, *channels, *[size(entry) for entry in _spatial(args, "output_size", count, None)])
    ratios = _spatial(args, "output_ratio", count, None)
    return (*batch, *channels, *[_scaled(*place) for place in zip(lengths, ratios, strict=True)])


for _count in (2, 3):
    rule(f"fractional_max_pool{_count}d")(_pool(_fractional, _count))


@rule("interpolate", "upsample", "upsample_nearest", "upsample_bilinear")
def _interpolate(args: Args) -> Result:
    self = tensor(args)
    if self.shape is None or len(self.shape) < 3:
        return Operand(None, self.dtype)
    count = len(self.shape) - 2
    wanted, factor = args.get("size"), args.get("scale_factor")
    if wanted is not None:
        entries = pair(wanted, count) or (None,) * count
        return Operand((*self.shape[:2], *[size(entry) for entry in entries]), self.dtype)
    factors = pair(factor, count) or (None,) * count
    lengths = [_scaled(dim, by) for dim, by in zip(self.shape[2:], factors, strict=True)]
    return Operand((*self.shape[:2], *lengths), self.dtype)


def _scaled(length: Dim, factor: object) -> Dim:
    if factor == 1:
        return length
    if isinstance(length, int) and isinstance(factor, int | float) and math.isfinite(factor):
        return int(float(length) * factor)
    return Sym()


@rule("pixel_shuffle")
def _pixel_shuffle(args: Args) -> Result:
    self, factor = tensor(args), size(args.get("upscale_factor"))
    if self.shape is None or len(self.shape) < 3:
        return Operand(None, self.dtype)
    *batch, channels, height, width = self.shape
    area = factor * factor if isinstance(factor, int) else None
    fewer: Dim = channels // area if isinstance(channels, int) and area else Sym()
    return Operand((*batch, fewer, product((height, factor)), product((width, factor))), self.dtype)


@rule("pixel_unshuffle")
def _pixel_unshuffle(args: Args) -> Result:
    self, factor = tensor(args), size(args.get("downscale_factor"))
    if self.shape is None or len(self.shape) < 3:
        return Operand(None, self.dtype)
    *batch, channels, height, width = self.shape
    sides = [dim // factor if isinstance(dim, int) and isinstance(factor, int) and factor else Sym()
             for dim in (height, width)]  # fmt: skip
    return Operand((*batch, product((channels, factor, factor)), *sides), self.dtype)


@rule("nn.functional.unfold")
def _im2col(args: Args) -> Result:
    """Every place of a window becomes a column of its elements."""
    self = tensor(args)
    parts = _split_rank(self.shape, 2)
    if parts is None:
        return Operand(None, self.dtype)
    batch, channels, lengths = parts
    kernels = _spatial(args, "kernel_size", 2, None)
    settings = [_spatial(args, name, 2, default) for name, default in (("stride", 1), ("padding", 0), ("dilation", 1))]
    places = [window(*place) for place in zip(lengths, kernels, *settings, strict=True)]
    rows = product((*channels, *[size(kernel) for kernel in kernels]))
    return Operand((*batch, rows, product(places)), self.dtype)


@rule("fold")
def _fold(args: Args) -> Result:
    self, wanted = tensor(args), sizes(args.get("output_size"))
    if self.shape is None or wanted is None or len(self.shape) not in (2, 3):
        return Operand(None, self.dtype)
    wanted = wanted * 2 if len(wanted) == 1 else wanted
    kernels = [size(kernel) for kernel in _spatial(args, "kernel_size", 2, None)]
    rows, area = self.shape[-2], product(kernels)
    channels: Dim = rows // area if isinstance(rows, int) and isinstance(area, int) and area else Sym()
    return Operand((*self.shape[:-2], channels, *wanted), self.dtype)


@rule("grid_sampler", "grid_sample", "grid_sampler_2d", "grid_sampler_3d")
def _grid_sample(args: Args) -> Result:
    self, grid = tensor(args), tensor(args, "grid")
    if self.shape is None or grid.shape is None or len(self.shape) < 3 or len(grid.shape) < 3:
        return Operand(None, self.dtype)
    return Operand((*self.shape[:2], *grid.shape[1:-1]), self.dtype)


@rule("affine_grid", "affine_grid_generator")
def _affine_grid(args: Args) -> Result:
    theta, entries = tensor(args, "theta"), listed(args.get("size"))
    shape = reshaped(None, entries)
    if shape is None or len(shape) < 3:
        return Operand(None, theta.dtype)
    return Operand((shape[0], *shape[2:], len(shape) - 2), theta.dtype)


@rule("max_unpool1d", "max_unpool2d", "max_unpool3d")
def _max_unpool(args: Args) -> Result:
    self, wanted = tensor(args), given(args, "output_size")
    if self.shape is None:
        return Operand(None, self.dtype)
    count = next((n for n in (1, 2, 3) if isinstance(pair(args.get("kernel_size"), n), tuple)), 0)
    lengths = sizes(wanted) if wanted is not None else None
    if count == 0 or lengths is None or len(lengths) > len(self.shape):
        return Operand(tuple([Sym() for _ in self.shape]), self.dtype)
    lead = self.shape[: len(self.shape) - len(lengths)]
    return Operand((*lead, *lengths), self.dtype)


@rule("glu")
def _glu(args: Args) -> Result:
    """Half of the dimension, which torch demands to be even."""
    self, dim = tensor(args), args.get("dim", -1)
    if self.shape is None or not isinstance(dim, int) or not -len(self.shape) <= dim < len(self.shape):
        return Operand(None, self.dtype)
    dims = list(self.shape)
    length = dims[dim]
    dims[dim] = length // 2 if isinstance(length, int) else Sym()
    return Operand(tuple(dims), self.dtype)
