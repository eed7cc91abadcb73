"""Sizes and types of operations that work element by element: functions, arithmetic, comparisons, casts."""

from __future__ import annotations

from gradlint.domain import dtype as dtypes
from gradlint.domain.dtype import DType, is_name
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
from gradlint.shapes.arguments import given, tensor, type_of, typed, unpacked
from gradlint.shapes.operand import Args, Operand, Result, Several, as_operand, combined, promoted
from gradlint.shapes.rule import Rule, TypeChange, always, keeping, rule, same


def pair_of(args: Args) -> tuple[Operand, Operand]:
    """Return the two operands of a binary operation."""
    left = tensor(args, "input", "self", "x", "real", "abs")
    others = ("other", "exponent", "tensor2", "n", "k", "imag", "angle", "min", "max", "values", "q")
    return left, tensor(args, *others)


def _broadcasting(dtype: TypeChange = same) -> Rule:
    """Return the rule of what broadcasts and promotes its two operands."""

    def answer(args: Args) -> Result:
        result = combined(pair_of(args))
        return Operand(result.shape, dtype(result.dtype))

    return answer


def _comparing(args: Args) -> Result:
    left, right = pair_of(args)
    return Operand(broadcast_all((left.shape, right.shape)), "bool")


for _trait, _function in (
    (UNARY_SAME | SAME_SIZE, keeping(same)),
    (UNARY_FLOATING, keeping(dtypes.to_float, "input", "self", "a", "x")),
    (TESTS, keeping(always("bool"))),
    (BROADCASTS, _broadcasting()),
    (BROADCASTS_FLOATING, _broadcasting(dtypes.to_float)),
    (COMPARES, _comparing),
):
    rule(*_trait)(_function)

for _name, _dtype in CASTS.items():
    rule(_name)(keeping(always(_dtype)))

rule("normalize", "logcumsumexp")(keeping(same))
rule("gumbel_softmax")(keeping(same, "logits"))
rule("abs", "real", "imag")(keeping(dtypes.to_real))
rule("angle")(keeping(lambda dtype: dtypes.to_real(dtypes.to_float(dtype))))
rule("pow", "__rpow__")(_broadcasting())
rule("complex", "polar")(_broadcasting(dtypes.to_complex))
# Integers become floating in `local_response_norm` unless there are none.
rule("local_response_norm")(keeping(lambda dtype: dtype if dtypes.is_floating(dtype) else None))


@rule("square")
def _square(args: Args) -> Result:
    """Compute the power with the Python number 2, so bool becomes int64."""
    self = tensor(args)
    return Operand(self.shape, promoted((self, as_operand(2))))


def _power_type(dtype: DType) -> DType:
    complicated = dtypes.is_complex(dtype)
    return None if complicated is None else "complex128" if complicated else "float64"


rule("float_power")(_broadcasting(_power_type))


@rule("div")
def _div(args: Args) -> Result:
    """Divide in floating point unless a rounding mode keeps the operands' type."""
    result = combined(pair_of(args))
    mode = args.get("rounding_mode")
    if mode is None:
        return Operand(result.shape, dtypes.to_float(result.dtype))
    floating = dtypes.is_floating(result.dtype)
    return result if floating or isinstance(mode, str) else Operand(result.shape, None)


@rule("ldexp")
def _ldexp(args: Args) -> Result:
    """Compute `input * 2.0 ** other`, where the power of an integer tensor has the default type."""
    left, right = pair_of(args)
    power = Operand(right.shape, promoted((Operand((), dtypes.DEFAULT, scalar=True), right)))
    return combined((left, power))


@rule("frexp")
def _frexp(args: Args) -> Result:
    self = tensor(args)
    return Several((Operand(self.shape, self.dtype), Operand(self.shape, "int32")), fields=("mantissa", "exponent"))


@rule("clamp", "addcmul", "addcdiv")
def _combined(args: Args) -> Result:
    return combined([tensor(args), *_present(args, "min", "max", "tensor1", "tensor2")])


@rule("lerp")
def _lerp(args: Args) -> Result:
    operands = [tensor(args), *_present(args, "end", "weight")]
    return Operand(broadcast_all([operand.shape for operand in operands]), operands[0].dtype)


@rule("masked_fill", "masked_scatter")
def _masked_fill(args: Args) -> Result:
    """Broadcast the mask with the input both ways; the value takes the input's type."""
    self = tensor(args)
    return Operand(broadcast_all((self.shape, tensor(args, "mask").shape)), self.dtype)


def _present(args: Args, *names: str) -> list[Operand]:
    return [as_operand(args[name]) for name in names if args.get(name) is not None]


@rule("where")
def _where(args: Args) -> Result:
    condition = tensor(args, "condition")
    if "other" not in args:
        return coordinates(condition)
    branches = (tensor(args), tensor(args, "other"))
    shapes = [operand.shape for operand in (condition, *branches)]
    return Operand(broadcast_all(shapes), promoted(branches))


def coordinates(condition: Operand) -> Several:
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

    The overloads differ in what their first argument is, so its value decides rather than its name.
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


@rule("broadcast_tensors")
def _broadcast_tensors(args: Args) -> Result:
    items = unpacked(given(args, "tensors"))
    if items is None:
        return Several(None)
    shape = broadcast_all([item.shape for item in items])
    return Several(tuple([Operand(shape, item.dtype) for item in items]))


@rule("empty_like", "zeros_like", "ones_like", "rand_like", "randn_like", "randint_like", "full_like")
@rule("softmax", "log_softmax", "softmin")
def _like(args: Args) -> Result:
    self = tensor(args)
    return Operand(self.shape, typed(args, self.dtype))
