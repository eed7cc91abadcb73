"""Sizes and types of operations that work element by element: functions, arithmetic, comparisons, casts."""

from __future__ import annotations

from gradlint.domain import dtype as dtypes
from gradlint.domain.dtype import is_name
from gradlint.domain.shape import Sym, broadcast_all
from gradlint.shapes.rule import (
    RULES,
    Args,
    Operand,
    Result,
    Rule,
    Several,
    as_operand,
    given,
    met,
    promoted,
    rule,
    tensor,
    type_of,
    typed,
    unpacked,
)

_KEEPING = """
    alias_copy bernoulli ceil clone conj conj_physical contiguous coalesce cpu cuda data detach dropout
    feature_dropout fill fix floor frac hardshrink mps nan_to_num neg negative pin_memory positive relu
    renorm resolve_conj resolve_neg retain_grad round sgn sign threshold
    trunc to_dense xpu __neg__ __pos__ native_channel_shuffle channel_shuffle
    alpha_dropout feature_alpha_dropout bitwise_not __invert__ fliplr flipud
    nn.functional.alpha_dropout nn.functional.celu nn.functional.channel_shuffle nn.functional.dropout
    nn.functional.dropout1d nn.functional.dropout2d nn.functional.dropout3d nn.functional.elu
    nn.functional.feature_alpha_dropout nn.functional.gelu nn.functional.hardshrink nn.functional.hardsigmoid
    nn.functional.hardswish nn.functional.hardtanh nn.functional.leaky_relu nn.functional.logsigmoid
    nn.functional.mish nn.functional.prelu nn.functional.relu nn.functional.relu6 nn.functional.rrelu
    nn.functional.selu nn.functional.silu nn.functional.softplus nn.functional.softshrink
    nn.functional.threshold celu selu rrelu prelu
    nn.functional.group_norm nn.functional.instance_norm nn.functional.layer_norm nn.functional.rms_norm
    nn.functional.batch_norm batch_norm grad to_mkldnn to_sparse group_norm instance_norm layer_norm
    rms_norm index_add index_copy index_fill index_put index_reduce scatter scatter_add scatter_reduce
    put select_scatter slice_scatter diagonal_scatter as_strided_scatter
    tril triu flip roll matrix_exp linalg.matrix_exp cholesky linalg.cholesky cholesky_inverse
    linalg.inv inverse matrix_power linalg.matrix_power linalg.householder_product fft.fftshift fft.ifftshift
    msort
    """
"""The result has the size and the type of the input."""

_FLOATING = """
    acos acosh arccos arccosh arcsin arcsinh arctan arctanh asin asinh atan atanh cos cosh deg2rad digamma erf
    erfc erfinv exp exp2 expm1 i0 lgamma log log10 log1p log2 logit mvlgamma polygamma rad2deg reciprocal
    rsqrt sigmoid sin sinc sinh sqrt tan tanh special.airy_ai special.bessel_j0 special.bessel_j1
    special.bessel_y0 special.bessel_y1 special.digamma special.entr special.erf special.erfc special.erfcx
    special.erfinv special.exp2 special.expit special.expm1 special.gammaln special.i0 special.i0e special.i1
    special.i1e special.log1p special.log_ndtr special.logit special.modified_bessel_i0
    special.modified_bessel_i1 special.modified_bessel_k0 special.modified_bessel_k1 special.multigammaln
    special.ndtr special.ndtri special.psi special.scaled_modified_bessel_k0 special.scaled_modified_bessel_k1
    special.sinc special.spherical_bessel_j0 nn.functional.sigmoid nn.functional.tanh nn.functional.softsign
    nn.functional.tanhshrink
"""
"""The result has the size of the input; integers become the default type."""

_TESTING = "isfinite isinf isnan isneginf isposinf isreal logical_not signbit"
"""The result has the size of the input and is bool."""

_MEETING = """
    add sub subtract mul multiply maximum minimum fmax fmin fmod remainder floor_divide
    bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift gcd lcm nextafter rsub logaddexp
    logaddexp2 heaviside __add__ __radd__ __sub__ __rsub__ __mul__ __rmul__ __floordiv__ __rfloordiv__ __mod__
    __rmod__ __and__ __rand__ __or__ __ror__ __xor__ __rxor__ __lshift__ __rlshift__ __rshift__ __rrshift__
    clamp_min clamp_max
"""
"""The operands are broadcast and promoted."""

_MEETING_FLOATING = """
    atan2 arctan2 copysign hypot igamma igammac special.gammainc special.gammaincc xlogy true_divide
    __truediv__ __rtruediv__ __rdiv__ __div__ special.xlogy special.xlog1py special.zeta
    special.chebyshev_polynomial_t special.chebyshev_polynomial_u special.chebyshev_polynomial_v
    special.chebyshev_polynomial_w special.hermite_polynomial_h special.hermite_polynomial_he
    special.laguerre_polynomial_l special.legendre_polynomial_p special.shifted_chebyshev_polynomial_t
    special.shifted_chebyshev_polynomial_u special.shifted_chebyshev_polynomial_v
    special.shifted_chebyshev_polynomial_w
"""
"""The operands are broadcast and promoted; integers become the default type."""

_COMPARING = """
    eq ge greater greater_equal gt isclose le less less_equal logical_and logical_or logical_xor lt ne
    not_equal __eq__ __ge__ __gt__ __le__ __lt__ __ne__
"""
"""The operands are broadcast; the result is bool."""

_CASTS = {
    "bfloat16": "bfloat16",
    "bool": "bool",
    "byte": "uint8",
    "cdouble": "complex128",
    "cfloat": "complex64",
    "chalf": "complex32",
    "char": "int8",
    "double": "float64",
    "float": "float32",
    "half": "float16",
    "int": "int32",
    "long": "int64",
    "short": "int16",
}

_OTHERS = ("other", "exponent", "tensor2", "n", "k")


def keep(args: Args) -> Result:
    """The input's own size and type."""
    self = tensor(args)
    return Operand(self.shape, self.dtype)


def _floating(args: Args) -> Result:
    self = tensor(args, "input", "self", "a", "x")
    return Operand(self.shape, dtypes.to_float(self.dtype))


def _testing(args: Args) -> Result:
    return Operand(tensor(args).shape, "bool")


def pair_of(args: Args) -> tuple[Operand, Operand]:
    """The two operands of a binary operation."""
    left = tensor(args, "input", "self", "x", "real", "abs")
    return left, tensor(args, *_OTHERS, "imag", "angle", "min", "max", "values", "q")


def _meeting(args: Args) -> Result:
    return met(pair_of(args))


def _meeting_floating(args: Args) -> Result:
    result = met(pair_of(args))
    return Operand(result.shape, dtypes.to_float(result.dtype))


def _comparing(args: Args) -> Result:
    left, right = pair_of(args)
    return Operand(broadcast_all((left.shape, right.shape)), "bool")


def _register(names: str, function: Rule) -> None:
    for name in names.split():
        rule(name)(function)


for _names, _function in (
    (_KEEPING, keep),
    (_FLOATING, _floating),
    (_TESTING, _testing),
    (_MEETING, _meeting),
    (_MEETING_FLOATING, _meeting_floating),
    (_COMPARING, _comparing),
):
    _register(_names, _function)


def _cast(dtype: str) -> Rule:
    def cast(args: Args) -> Result:
        return Operand(tensor(args).shape, dtype)

    return cast


for _name, _dtype in _CASTS.items():
    RULES[f"Tensor.{_name}"] = _cast(_dtype)


@rule("abs", "absolute", "__abs__", "real", "imag")
def _real(args: Args) -> Result:
    self = tensor(args)
    return Operand(self.shape, dtypes.to_real(self.dtype))


@rule("angle")
def _angle(args: Args) -> Result:
    self = tensor(args)
    return Operand(self.shape, dtypes.to_real(dtypes.to_float(self.dtype)))


@rule("square")
def _square(args: Args) -> Result:
    """A square is the power with the Python number 2, so bool becomes int64."""
    self = tensor(args)
    return Operand(self.shape, promoted((self, as_operand(2))))


@rule("pow", "__pow__", "__rpow__")
def _pow(args: Args) -> Result:
    base, exponent = pair_of(args)
    return met((base, exponent))


@rule("float_power")
def _float_power(args: Args) -> Result:
    result = met(pair_of(args))
    complicated = dtypes.is_complex(result.dtype)
    dtype = None if complicated is None else "complex128" if complicated else "float64"
    return Operand(result.shape, dtype)


@rule("div", "divide")
def _div(args: Args) -> Result:
    """Division computes in floating point unless a rounding mode keeps the operands' type."""
    result = met(pair_of(args))
    mode = args.get("rounding_mode")
    if mode is None:
        return Operand(result.shape, dtypes.to_float(result.dtype))
    floating = dtypes.is_floating(result.dtype)
    return result if floating or isinstance(mode, str) else Operand(result.shape, None)


@rule("ldexp")
def _ldexp(args: Args) -> Result:
    """Computed as `input * 2.0 ** other`, and the power of an integer tensor has the default type."""
    left, right = pair_of(args)
    power = Operand(right.shape, promoted((Operand((), dtypes.DEFAULT, scalar=True), right)))
    return met((left, power))


@rule("complex", "polar")
def _complex(args: Args) -> Result:
    result = met(pair_of(args))
    return Operand(result.shape, dtypes.to_complex(result.dtype))


@rule("frexp")
def _frexp(args: Args) -> Result:
    self = tensor(args)
    return Several((Operand(self.shape, self.dtype), Operand(self.shape, "int32")), fields=("mantissa", "exponent"))


@rule("clamp", "clip")
def _clamp(args: Args) -> Result:
    return met([tensor(args), *_present(args, "min", "max")])


@rule("lerp")
def _lerp(args: Args) -> Result:
    operands = [tensor(args), *_present(args, "end", "weight")]
    return Operand(broadcast_all([operand.shape for operand in operands]), operands[0].dtype)


@rule("addcmul", "addcdiv")
def _addcmul(args: Args) -> Result:
    return met([tensor(args), *_present(args, "tensor1", "tensor2")])


@rule("masked_fill", "masked_scatter")
def _masked_fill(args: Args) -> Result:
    """The mask is broadcast with the input both ways; the value takes the input's type."""
    self = tensor(args)
    return Operand(broadcast_all((self.shape, tensor(args, "mask").shape)), self.dtype)


def _present(args: Args, *names: str) -> list[Operand]:
    return [as_operand(args[name]) for name in names if args.get(name) is not None]


@rule("where")
def _where(args: Args) -> Result:
    condition = tensor(args, "condition")
    if "other" not in args:
        return _positions(condition)
    branches = (tensor(args), tensor(args, "other"))
    shapes = [operand.shape for operand in (condition, *branches)]
    return Operand(broadcast_all(shapes), promoted(branches))


def _positions(condition: Operand) -> Result:
    """The coordinates of the true elements: one index tensor for each dimension, at least one."""
    index = Operand((Sym(),), "int64")
    if condition.shape is None:
        return Several(None, index)
    return Several((index,) * max(len(condition.shape), 1))


@rule("type_as")
def _type_as(args: Args) -> Result:
    return Operand(tensor(args).shape, tensor(args, "other").dtype)


@rule("to", "type")
def _to(args: Args) -> Result:
    """A cast or a move. Given an argument of which nothing is known, it may be either.

    The overloads differ in what their first argument is, so it is told by its value rather than by its name.
    """
    self = tensor(args)
    dtype = self.dtype
    for name in ("device", "dtype", "other", "tensor"):
        value = args.get(name)
        if isinstance(value, Operand):
            dtype = value.dtype
        elif isinstance(value, str):
            dtype = value if is_name(value) else dtype
        elif value is not None and not isinstance(value, int):
            dtype = type_of(value)
    return Operand(self.shape, dtype)


@rule("softmax", "log_softmax", "nn.functional.softmax", "nn.functional.log_softmax", "nn.functional.softmin",
      "special.softmax", "special.log_softmax")  # fmt: skip
def _softmax(args: Args) -> Result:
    self = tensor(args)
    return Operand(self.shape, typed(args, self.dtype))


@rule("nn.functional.gumbel_softmax")
def _gumbel_softmax(args: Args) -> Result:
    self = tensor(args, "logits")
    return Operand(self.shape, self.dtype)


@rule("nn.functional.local_response_norm")
def _local_response_norm(args: Args) -> Result:
    """Integers become floating unless there are none."""
    self = tensor(args)
    return Operand(self.shape, self.dtype if dtypes.is_floating(self.dtype) else None)


@rule("nn.functional.normalize")
def _normalize(args: Args) -> Result:
    self = tensor(args)
    return Operand(self.shape, self.dtype)


@rule("broadcast_tensors")
def _broadcast_tensors(args: Args) -> Result:
    items = unpacked(given(args, "tensors"))
    if items is None:
        return Several(None)
    shape = broadcast_all([item.shape for item in items])
    return Several(tuple([Operand(shape, item.dtype) for item in items]))


@rule("empty_like", "zeros_like", "ones_like", "rand_like", "randn_like", "randint_like", "full_like")
def _like(args: Args) -> Result:
    self = tensor(args)
    return Operand(self.shape, typed(args, self.dtype))
