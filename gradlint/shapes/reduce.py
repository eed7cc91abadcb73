"""Sizes and types of reductions: over all elements, over some dimensions, with and without keeping them."""

from __future__ import annotations

from gradlint.domain import dtype as dtypes
from gradlint.domain.dtype import DType
from gradlint.domain.shape import Dim, Shape, unknowns
from gradlint.shapes.arguments import axes, flag, given, tensor, typed
from gradlint.shapes.operand import NOTHING, Args, Operand, Result, Several, combined
from gradlint.shapes.rule import Rule, TypeChange, always, keeping, rule, same


def reduced(shape: Shape, dim: object, keepdim: bool | None) -> Shape:
    """Return the shape after reducing `dim`: one or several dimensions, or all of them if it is None or empty."""
    if dim is None or dim == ():
        if keepdim is False:
            return ()
        return None if shape is None or keepdim is None else (1,) * len(shape)
    if shape is None or keepdim is None:
        return None
    indices = axes(dim, len(shape))
    if indices is None:
        return _reduced_somewhere(shape, dim, keepdim)
    if len(indices) == 1 and not keepdim:
        (index,) = indices
        return (*shape[:index], *shape[index + 1 :])
    if keepdim:
        return tuple([1 if index in indices else size for index, size in enumerate(shape)])
    return tuple([size for index, size in enumerate(shape) if index not in indices])


def _reduced_somewhere(shape: tuple[Dim, ...], dim: object, keepdim: bool) -> Shape:
    """Return the shape after reducing one dimension of which only that is known: the rank is known then."""
    if not isinstance(dim, Operand) or not dim.scalar:
        return None
    return unknowns(len(shape) if keepdim else max(len(shape) - 1, 0))


def _dim_of(args: Args) -> object:
    dim = given(args, "dim", "axis")
    return () if dim == [] else dim


def _shape(args: Args) -> Shape:
    return reduced(tensor(args).shape, _dim_of(args), flag(args, "keepdim", False))


def _reduction(dtype: TypeChange) -> Rule:
    def reduction(args: Args) -> Result:
        return Operand(_shape(args), typed(args, dtype(tensor(args).dtype)))

    return reduction


def _truth(dtype: DType) -> DType:
    """Return the type of `all` and `any`, which torch keeps for bytes: of uint8 they are uint8."""
    return dtype if dtype == "uint8" else None if dtype in (None, "int") else "bool"


rule("sum", "nansum", "prod")(_reduction(dtypes.to_sum))
rule("mean", "nanmean", "amax", "amin")(_reduction(same))
rule("argmax", "argmin", "count_nonzero")(_reduction(always("int64")))
rule("norm", "vector_norm", "nuclear_norm", "frobenius_norm")(_reduction(dtypes.to_real))
rule("logsumexp")(_reduction(dtypes.to_float))


@rule("all", "any")
def _all(args: Args) -> Result:
    """Unlike other reductions, reduce no dimension where an empty tuple is given."""
    self = tensor(args)
    shape = self.shape if _dim_of(args) == () else _shape(args)
    return Operand(shape, _truth(self.dtype))


def _spread_shape(args: Args) -> Shape:
    """Tell the overloads apart by what is given: a truth value is `unbiased`, anything else the dimension."""
    dim, unbiased = _dim_of(args), args.get("unbiased", True)
    if isinstance(dim, bool):
        dim = None
    elif dim is None and not isinstance(unbiased, bool):
        dim = unbiased
    return reduced(tensor(args).shape, dim, flag(args, "keepdim", False))


@rule("std", "var")
def _spread(args: Args) -> Result:
    return Operand(_spread_shape(args), dtypes.to_real(tensor(args).dtype))


@rule("std_mean", "var_mean")
def _spread_and_mean(args: Args) -> Result:
    self, shape = tensor(args), _spread_shape(args)
    return Several((Operand(shape, dtypes.to_real(self.dtype)), Operand(shape, self.dtype)))


def values_and_indices(shape: Shape, dtype: DType) -> Several:
    """Return the named tuple of an operation that picks elements and says where they were."""
    return Several((Operand(shape, dtype), Operand(shape, "int64")), fields=("values", "indices"))


@rule("max", "min", "median", "nanmedian")
def _extreme(args: Args) -> Result:
    """Return the extreme of all elements, of one dimension with indices, or of two tensors."""
    self, other = tensor(args), args.get("other")
    if isinstance(other, Operand) and not other.scalar:
        return combined((self, other))
    if other is not None:
        # Whoever binds arguments by their number alone takes the dimension for the other tensor.
        number = isinstance(other, int | Operand)
        return values_and_indices(reduced(self.shape, other, False), self.dtype) if number else NOTHING
    if given(args, "dim", "axis") is None:
        return Operand((), self.dtype)
    return values_and_indices(_shape(args), self.dtype)


@rule("mode", "kthvalue")
def _mode(args: Args) -> Result:
    self = tensor(args)
    shape = reduced(self.shape, given(args, "dim", "axis", default=-1), flag(args, "keepdim", False))
    return values_and_indices(shape, self.dtype)


@rule("aminmax")
def _aminmax(args: Args) -> Result:
    extreme = Operand(_shape(args), tensor(args).dtype)
    return Several((extreme, extreme), fields=("min", "max"))


@rule("quantile", "nanquantile")
def _quantile(args: Args) -> Result:
    """Return one result where one number is asked for, and a row of results for a row of numbers."""
    self, asked = tensor(args), tensor(args, "q")
    shape = _shape(args)
    if shape is None or asked.shape is None:
        return Operand(None, self.dtype)
    return Operand((*asked.shape, *shape), self.dtype)


@rule("cumsum", "cumprod")
def _cumulative(args: Args) -> Result:
    self = tensor(args)
    return Operand(self.shape, typed(args, dtypes.to_sum(self.dtype)))


rule("cummax", "cummin", "sort")(lambda args: values_and_indices(tensor(args).shape, tensor(args).dtype))
rule("argsort")(keeping(always("int64")))


@rule("dist")
def _dist(args: Args) -> Result:
    return Operand((), dtypes.to_real(combined((tensor(args), tensor(args, "other"))).dtype))


@rule("trace")
def _trace(args: Args) -> Result:
    return Operand((), dtypes.to_sum(tensor(args).dtype))


rule(
    *("equal", "allclose", "is_nonzero", "item", "tolist", "numpy", "numel", "dim", "ndimension", "size", "stride"),
    *("storage_offset", "is_contiguous", "is_tensor", "broadcast_shapes", "result_type", "promote_types", "can_cast"),
)(lambda args: NOTHING)  # The result is no tensor.
