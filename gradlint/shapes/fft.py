"""Sizes and types of Fourier transforms."""

from __future__ import annotations

from collections.abc import Callable

from gradlint.domain import dtype as dtypes
from gradlint.domain.dtype import DType
from gradlint.domain.shape import Dim, Shape, Sym, axis, replace
from gradlint.shapes.arguments import axes, flag, pair, size, tensor, typed
from gradlint.shapes.create import vector
from gradlint.shapes.operand import NOTHING, Args, Operand, Result
from gradlint.shapes.rule import ShapeRule, rule, shaped


def _same(dim: Dim) -> Dim:
    return dim


def _transform(length: Callable[[Dim], Dim]) -> ShapeRule:
    """Return a transform along one dimension, of which `n` may cut or pad the input."""

    def transform(args: Args, shape: tuple[Dim, ...]) -> Shape:
        index = axis(args.get("dim", -1), len(shape)) if shape else None
        return index if index is None else replace(shape, index, _transformed(shape[index], args.get("n"), length))

    return transform


def _transformed(dim: Dim, wanted: object, length: Callable[[Dim], Dim]) -> Dim:
    """Return the size after a transform: `length` maps the input's own; the one asked for is of the longer side."""
    if wanted is None:
        return length(dim)
    return size(wanted) if length is not _half else _half(size(wanted))


def _half(dim: Dim) -> Dim:
    return dim // 2 + 1 if isinstance(dim, int) else Sym()


def _twice(dim: Dim) -> Dim:
    return 2 * (dim - 1) if isinstance(dim, int) else Sym()


def _to_float_real(dtype: DType) -> DType:
    return dtypes.to_real(dtypes.to_float(dtype))


def _transform_many(last: Callable[[Dim], Dim], default: object) -> ShapeRule:
    """Return a transform along several dimensions, the last of which may change its length."""
    return lambda args, shape: _many(shape, args.get("s"), args.get("dim", default), last)


def _many(shape: tuple[Dim, ...], wanted: object, dim: object, last: Callable[[Dim], Dim]) -> Shape:
    if wanted is not None and not isinstance(wanted, tuple | list):
        return None
    count = len(shape) if wanted is None else len(wanted)
    indices = tuple(range(len(shape) - count, len(shape))) if dim is None else axes(dim, len(shape))
    if not shape or not indices or min(indices) < 0:
        return None
    entries = (None,) * len(indices) if wanted is None else pair(wanted, len(indices))
    if entries is None:
        return None
    dims = list(shape)
    for index, entry in zip(indices, entries, strict=True):
        own = isinstance(entry, int) and entry == -1
        dims[index] = _transformed(dims[index], None if own else entry, last if index == indices[-1] else _same)
    return tuple(dims)


for _forward, _backward, _dtype, _length in (
    ("fft", "ifft", dtypes.to_complex, _same),
    ("rfft", "ihfft", dtypes.to_complex, _half),
    ("irfft", "hfft", _to_float_real, _twice),
):
    shaped(f"fft.{_forward}", f"fft.{_backward}", dtype=_dtype)(_transform(_length))
    for _end, _default in (("2", (-2, -1)), ("n", None)):
        shaped(f"fft.{_forward}{_end}", f"fft.{_backward}{_end}", dtype=_dtype)(_transform_many(_length, _default))


rule("fft.fftfreq")(vector("n", dtypes.DEFAULT))


@rule("fft.rfftfreq")
def _rfftfreq(args: Args) -> Result:
    return Operand((_half(size(args.get("n"))),), typed(args, dtypes.DEFAULT))


@rule("stft")
def _stft(args: Args) -> Result:
    """Return frequencies by frames, after the batch if there is one."""
    self, width = tensor(args), size(args.get("n_fft"))
    if flag(args, "return_complex", False) is not True or not self.shape:
        return NOTHING
    rows, frames = _frequencies(args, self.dtype, width), _frames(args, self.shape[-1], width)
    return Operand((*self.shape[:-1], rows, frames), dtypes.to_complex(self.dtype))


def _frequencies(args: Args, dtype: DType, width: Dim) -> Dim:
    """Return how many frequencies there are: half of them, unless the input or the window is complex."""
    one_sided = args.get("onesided")
    if one_sided is None:
        one_sided = dtypes.is_complex(dtype) is False if args.get("window") is None else None
    if not isinstance(one_sided, bool) or (not one_sided and args.get("onesided") is None):
        return Sym()
    return _half(width) if one_sided else width


def _frames(args: Args, length: Dim, width: Dim) -> Dim:
    hop, center = args.get("hop_length"), flag(args, "center", True)
    if not isinstance(length, int) or not isinstance(width, int) or center is None:
        return Sym()
    hop = width // 4 if hop is None else hop
    if not isinstance(hop, int) or hop <= 0:
        return Sym()
    # Centred frames reach over both ends by half of their width.
    return (length + (width // 2 * 2 if center else 0) - width) // hop + 1


@rule("istft")
def _istft(args: Args) -> Result:
    self, length = tensor(args), args.get("length")
    real = flag(args, "return_complex", False) is False
    shape = None if self.shape is None else (*self.shape[:-2], size(length))
    return Operand(shape, dtypes.to_real(self.dtype) if real else None)
