"""Sizes and types of Fourier transforms."""

from __future__ import annotations

from collections.abc import Callable

from gradlint.domain import dtype as dtypes
from gradlint.domain.dtype import DType
from gradlint.domain.shape import Dim, Shape, Sym, axis, replace
from gradlint.shapes.rule import NOTHING, Args, Operand, Result, Rule, axes, flag, pair, rule, size, tensor, typed


def _transform(dtype: Callable[[DType], DType], length: Callable[[Dim], Dim]) -> Rule:
    """Return a transform along one dimension, of which `n` may cut or pad the input."""

    def transform(args: Args) -> Result:
        self = tensor(args)
        index = None if self.shape is None else axis(args.get("dim", -1), len(self.shape))
        kind = dtype(self.dtype)
        if not self.shape or index is None:
            return Operand(None, kind)
        wanted = args.get("n")
        return Operand(replace(self.shape, index, _transformed(self.shape[index], wanted, length)), kind)

    return transform


def _transformed(dim: Dim, wanted: object, length: Callable[[Dim], Dim]) -> Dim:
    """`length` says what becomes of the input's own size; the size asked for is that of the longer side."""
    if wanted is None:
        return length(dim)
    return size(wanted) if length is not _half else _half(size(wanted))


def _same(dim: Dim) -> Dim:
    return dim


def _half(dim: Dim) -> Dim:
    return dim // 2 + 1 if isinstance(dim, int) else Sym()


def _twice(dim: Dim) -> Dim:
    return 2 * (dim - 1) if isinstance(dim, int) else Sym()


def _to_float_real(dtype: DType) -> DType:
    return dtypes.to_real(dtypes.to_float(dtype))


rule("fft.fft", "fft.ifft")(_transform(dtypes.to_complex, _same))
rule("fft.rfft", "fft.ihfft")(_transform(dtypes.to_complex, _half))
rule("fft.irfft", "fft.hfft")(_transform(_to_float_real, _twice))


def _transform_many(dtype: Callable[[DType], DType], last: Callable[[Dim], Dim], default: object) -> Rule:
    """Return a transform along several dimensions, the last of which may change its length."""

    def transform(args: Args) -> Result:
        self = tensor(args)
        return Operand(_many(self.shape, args.get("s"), args.get("dim", default), last), dtype(self.dtype))

    return transform


def _many(shape: Shape, wanted: object, dim: object, last: Callable[[Dim], Dim]) -> Shape:
    if shape is None:
        return None
    if dim is None:
        count = len(wanted) if isinstance(wanted, tuple | list) else len(shape)
        if wanted is not None and not isinstance(wanted, tuple | list):
            return None
        indices: tuple[int, ...] | None = tuple(range(len(shape) - count, len(shape)))
    else:
        indices = axes(dim, len(shape))
    if not shape or not indices or min(indices) < 0:
        return None
    entries = (None,) * len(indices) if wanted is None else pair(wanted, len(indices))
    if entries is None or isinstance(wanted, int):
        return None
    dims = list(shape)
    for index, entry in zip(indices, entries, strict=True):
        own = isinstance(entry, int) and entry == -1
        dims[index] = _transformed(dims[index], None if own else entry, last if index == indices[-1] else _same)
    return tuple(dims)


for _end, _default in (("2", (-2, -1)), ("n", None)):
    rule(f"fft.fft{_end}", f"fft.ifft{_end}")(_transform_many(dtypes.to_complex, _same, _default))
    rule(f"fft.rfft{_end}", f"fft.ihfft{_end}")(_transform_many(dtypes.to_complex, _half, _default))
    rule(f"fft.irfft{_end}", f"fft.hfft{_end}")(_transform_many(_to_float_real, _twice, _default))


@rule("fft.fftfreq")
def _fftfreq(args: Args) -> Result:
    return Operand((size(args.get("n")),), typed(args, dtypes.DEFAULT))


@rule("fft.rfftfreq")
def _rfftfreq(args: Args) -> Result:
    return Operand((_half(size(args.get("n"))),), typed(args, dtypes.DEFAULT))


@rule("stft")
def _stft(args: Args) -> Result:
    """Frequencies by frames, after the batch if there is one."""
    self, width = tensor(args), size(args.get("n_fft"))
    if flag(args, "return_complex", False) is not True or not self.shape:
        return NOTHING
    rows, frames = _frequencies(args, self.dtype, width), _frames(args, self.shape[-1], width)
    return Operand((*self.shape[:-1], rows, frames), dtypes.to_complex(self.dtype))


def _frequencies(args: Args, dtype: DType, width: Dim) -> Dim:
    """Half of the frequencies tell the others, unless the input or the window is complex."""
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
    if hop is None:
        hop = width // 4
    if not isinstance(hop, int) or hop <= 0:
        return Sym()
    # Centred frames reach over both ends by half of their width.
    return (length + (width // 2 * 2 if center else 0) - width) // hop + 1


@rule("istft")
def _istft(args: Args) -> Result:
    self, length = tensor(args), args.get("length")
    batch = None if self.shape is None else self.shape[:-2]
    real = flag(args, "return_complex", False) is False
    return Operand(
        None if batch is None else (*batch, Sym() if length is None else size(length)),
        dtypes.to_real(self.dtype) if real else None,
    )
