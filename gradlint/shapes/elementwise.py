"""Sizes and types of operations that work element by element: functions, arithmetic, comparisons, casts."""

from __future__ import annotations

from gradlint.domain import dtype as dtypes
from gradlint.domain.dtype import is_name
from gradlint.domain.shape import Sym, broadcast_all
from gradlint.facts.traits import (
    BROADCASTS,
    BROADCASTS_FLOATING,
    CASTS,
    COMPARES,
    SAME_SIZE,
    TESTS,
    UNARY_FLOATING,
    UNARY_SAME,
)
from gradlint.shapes.rule import (
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

_OTHERS = ("other", "exponent", "tensor2", "n", "k")


def keep(args: Args) -> Result:
    """Return the input's own size and type."""
    self = tensor(args)
    return Operand(self.shape, self.dtype)


def _floating(args: Args) -> Result:
    self = tensor(args, "input", "self", "a", "x")
    return Operand(self.shape, dtypes.to_float(self.dtype))


def _testing(args: Args) -> Result:
    return Operand(tensor(args).shape, "bool")


def pair_of(args: Args) -> tuple[Operand, Operand]:
    """Return the two operands of a binary operation."""
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


for _trait, _function in (
    (UNARY_SAME | SAME_SIZE, keep),
    (UNARY_FLOATING, _floating),
    (TESTS, _testing),
    (BROADCASTS, _meeting),
    (BROADCASTS_FLOATING, _meeting_floating),
    (COMPARES, _comparing),
):
    rule(*_trait)(_function)


def _cast(dtype: str) -> Rule:
    def cast(args: Args) -> Result:
        return Operand(tensor(args).shape, dtype)

    return cast


for _name, _dtype in CASTS.items():
    rule(_name)(_cast(_dtype))


@rule("abs", "real", "imag")
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


@rule("pow", "__rpow__")
def _pow(args: Args) -> Result:
    base, exponent = pair_of(args)
    return met((base, exponent))


@rule("float_power")
def _float_power(args: Args) -> Result:
    result = met(pair_of(args))
    complicated = dtypes.is_complex(result.dtype)
    dtype = None if complicated is None else "complex128" if complicated else "float64"
    return Operand(result.shape, dtype)


@rule("div")
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


@rule("clamp")
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
    """Return the coordinates of the true elements: one index tensor for each dimension, at least one."""
    index = Operand((Sym(),), "int64")
    if condition.shape is None:
        return Several(None, index)
    return Several((index,) * max(len(condition.shape), 1))


@rule("type_as")
def _type_as(args: Args) -> Result:
    return Operand(tensor(args).shape, tensor(args, "other").dtype)


@rule("to", "type")
def _to(args: Args) -> Result:
    """Return a cast or a move. Given an argument of which nothing is known, it may be either.

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


@rule("softmax", "log_softmax", "softmin")
def _softmax(args: Args) -> Result:
    self = tensor(args)
    return Operand(self.shape, typed(args, self.dtype))


@rule("gumbel_softmax")
def _gumbel_softmax(args: Args) -> Result:
    self = tensor(args, "logits")
    return Operand(self.shape, self.dtype)


@rule("local_response_norm")
def _local_response_norm(args: Args) -> Result:
    """Integers become floating unless there are none."""
    self = tensor(args)
    return Operand(self.shape, self.dtype if dtypes.is_floating(self.dtype) else None)


@rule("normalize")
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
