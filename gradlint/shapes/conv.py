"""Sizes of convolutions, pooling, resampling and what else works on the spatial dimensions of images."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from gradlint.domain.shape import Dim, Shape, Sym, axis, product, replace, unknowns
from gradlint.shapes.arguments import flag, listed, pair, size, sizes, tensor
from gradlint.shapes.operand import NOTHING, Args, Operand, Result, Several
from gradlint.shapes.product import agreed
from gradlint.shapes.rule import Rule, rule, shaped
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


def _convolved(self: Shape, weight: tuple[Dim, ...], args: Args, count: int) -> Shape:
    parts = _split_rank(self, count)
    if parts is None:
        return None
    batch, _, lengths = parts
    channels, _, *kernels = weight
    padding = args.get("padding", 0)
    if padding == "same":
        return (*batch, channels, *lengths)
    paddings = (0,) * count if padding == "valid" else _spatial(args, "padding", count, 0)
    strides, dilations = _spatial(args, "stride", count, 1), _spatial(args, "dilation", count, 1)
    places = zip(lengths, kernels, strides, paddings, dilations, strict=True)
    return (*batch, channels, *[window(*place) for place in places])


def _deconvolved(self: Shape, weight: tuple[Dim, ...], args: Args, count: int) -> Shape:
    parts = _split_rank(self, count)
    if parts is None:
        return None
    batch, _, lengths = parts
    _, grouped, *kernels = weight
    channels = product((grouped, size(args.get("groups", 1))))
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


def _convolution(shape_of: Callable[[Shape, tuple[Dim, ...], Args, int], Shape], count: int) -> Rule:
    """Return the rule of a convolution over `count` dimensions."""

    def convolution(args: Args) -> Result:
        self, weight = tensor(args), tensor(args, "weight")
        known = weight.shape is not None and len(weight.shape) == count + 2
        kernel = weight.shape if known and weight.shape is not None else unknowns(count + 2)
        return Operand(shape_of(self.shape, kernel, args, count), agreed(self, weight))

    return convolution


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
    """Return the shape of the size asked for, and of the input's own where None is asked for."""
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
            return NOTHING
        return Several((output, Operand(output.shape, "int64"))) if indices else output

    return pool


def _with_indices(args: Args) -> dict[str, object]:
    return {**args, "return_indices": True}


def _register(count: int) -> None:
    end = f"{count}d"
    rule(f"conv{end}")(_convolution(_convolved, count))
    rule(f"conv_transpose{end}")(_convolution(_deconvolved, count))
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


@shaped("interpolate", "upsample", "upsample_nearest", "upsample_bilinear")
def _interpolate(args: Args, shape: tuple[Dim, ...]) -> Shape:
    if len(shape) < 3:
        return None
    lead, lengths = shape[:2], shape[2:]
    wanted = args.get("size")
    entries = pair(args.get("scale_factor") if wanted is None else wanted, len(lengths)) or (None,) * len(lengths)
    if wanted is not None:
        return (*lead, *map(size, entries))
    return (*lead, *[_scaled(dim, by) for dim, by in zip(lengths, entries, strict=True)])


def _scaled(length: Dim, factor: object) -> Dim:
    if factor == 1:
        return length
    if isinstance(length, int) and isinstance(factor, int | float):
        with suppress(OverflowError, ValueError):  # The product is no finite double.
            return int(float(length) * factor)
    return Sym()


@shaped("pixel_shuffle")
def _pixel_shuffle(args: Args, shape: tuple[Dim, ...]) -> Shape:
    if len(shape) < 3:
        return None
    *batch, channels, height, width = shape
    factor = size(args.get("upscale_factor"))
    return (*batch, _divided(channels, product((factor, factor))), product((height, factor)), product((width, factor)))


@shaped("pixel_unshuffle")
def _pixel_unshuffle(args: Args, shape: tuple[Dim, ...]) -> Shape:
    if len(shape) < 3:
        return None
    *batch, channels, height, width = shape
    factor = size(args.get("downscale_factor"))
    return (*batch, product((channels, factor, factor)), _divided(height, factor), _divided(width, factor))


def _divided(dim: Dim, by: Dim) -> Dim:
    return dim // by if isinstance(dim, int) and isinstance(by, int) and by else Sym()


@shaped("nn.functional.unfold")
def _im2col(args: Args, shape: tuple[Dim, ...]) -> Shape:
    """Make a column of the elements of every place of a window."""
    parts = _split_rank(shape, 2)
    if parts is None:
        return None
    batch, channels, lengths = parts
    kernels = _spatial(args, "kernel_size", 2, None)
    settings = [_spatial(args, name, 2, default) for name, default in (("stride", 1), ("padding", 0), ("dilation", 1))]
    places = [window(*place) for place in zip(lengths, kernels, *settings, strict=True)]
    return (*batch, product((*channels, *map(size, kernels))), product(places))


@shaped("fold")
def _fold(args: Args, shape: tuple[Dim, ...]) -> Shape:
    wanted = sizes(args.get("output_size"))
    if wanted is None or len(shape) not in (2, 3):
        return None
    area = product([size(kernel) for kernel in _spatial(args, "kernel_size", 2, None)])
    return (*shape[:-2], _divided(shape[-2], area), *(wanted * 2 if len(wanted) == 1 else wanted))


@shaped("grid_sampler", "grid_sample", "grid_sampler_2d", "grid_sampler_3d")
def _grid_sample(args: Args, shape: tuple[Dim, ...]) -> Shape:
    grid = tensor(args, "grid").shape
    return None if grid is None or len(shape) < 3 or len(grid) < 3 else (*shape[:2], *grid[1:-1])


@rule("affine_grid", "affine_grid_generator")
def _affine_grid(args: Args) -> Result:
    shape = reshaped(None, listed(args.get("size"))) or ()
    known = len(shape) >= 3
    return Operand((shape[0], *shape[2:], len(shape) - 2) if known else None, tensor(args, "theta").dtype)


@shaped("max_unpool1d", "max_unpool2d", "max_unpool3d")
def _max_unpool(args: Args, shape: tuple[Dim, ...]) -> Shape:
    wanted = args.get("output_size")
    known = any(pair(args.get("kernel_size"), count) for count in (1, 2, 3))
    lengths = sizes(wanted) if wanted is not None else None
    if not known or lengths is None or len(lengths) > len(shape):
        return unknowns(len(shape))
    return (*shape[: len(shape) - len(lengths)], *lengths)


@shaped("glu")
def _glu(args: Args, shape: tuple[Dim, ...]) -> Shape:
    """Halve a dimension, which torch demands to be even."""
    place = axis(args.get("dim", -1), len(shape))
    return None if not shape or place is None else replace(shape, place, _divided(shape[place], 2))
