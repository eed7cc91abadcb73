"""Sizes of operations that pick elements: gather, embedding, topk, unique, masks and searches."""

from __future__ import annotations

from gradlint.domain.dtype import is_floating
from gradlint.domain.shape import Dim, Shape, Sym, at_least_two, axis, broadcast, product, replace
from gradlint.shapes.reduce import values_and_indices
from gradlint.shapes.rule import NOTHING, Args, Operand, Result, Several, flag, given, rule, size, tensor


@rule("gather", "take")
def _gather(args: Args) -> Result:
    return Operand(tensor(args, "index").shape, tensor(args).dtype)


@rule("index_select")
def _index_select(args: Args) -> Result:
    self, index = tensor(args), tensor(args, "index")
    place = None if self.shape is None else axis(given(args, "dim", "axis"), len(self.shape))
    if self.shape is None or place is None:
        return Operand(None, self.dtype)
    if not self.shape:
        return Operand((), self.dtype)
    length: Dim = Sym() if index.shape is None else index.shape[0] if index.shape else 1
    return Operand(replace(self.shape, place, length), self.dtype)


@rule("take_along_dim")
def _take_along_dim(args: Args) -> Result:
    """Without a dimension both are flattened; else all other dimensions are broadcast."""
    self, indices = tensor(args), tensor(args, "indices")
    if args.get("dim") is None:
        return Operand((_flat(indices.shape),), self.dtype)
    if self.shape is None or indices.shape is None or len(self.shape) != len(indices.shape):
        return Operand(None, self.dtype)
    place = axis(args["dim"], len(self.shape))
    if place is None or not self.shape:
        return Operand(None, self.dtype)
    shape = broadcast(replace(self.shape, place, 1), replace(indices.shape, place, 1))
    return Operand(None if shape is None else replace(shape, place, indices.shape[place]), self.dtype)


def _flat(shape: Shape) -> Dim:
    return Sym() if shape is None else product(shape)


@rule("masked_select")
def _masked_select(args: Args) -> Result:
    return Operand((Sym(),), tensor(args).dtype)


@rule("nonzero", "argwhere")
def _nonzero(args: Args) -> Result:
    """Return one row of coordinates for each element that is not zero."""
    self, apart = tensor(args), flag(args, "as_tuple", False)
    if apart is False:
        return Operand((Sym(), Sym() if self.shape is None else len(self.shape)), "int64")
    index = Operand((Sym(),), "int64")
    if apart is None:
        return Operand()
    return Several(None, index) if self.shape is None else Several((index,) * max(len(self.shape), 1))


@rule("nonzero_static")
def _nonzero_static(args: Args) -> Result:
    self = tensor(args)
    return Operand((size(args.get("size")), Sym() if self.shape is None else len(self.shape)), "int64")


@rule("topk")
def _topk(args: Args) -> Result:
    self = tensor(args)
    place = None if self.shape is None else axis(given(args, "dim", "axis", default=-1), len(self.shape))
    if self.shape is None or place is None:
        return values_and_indices(None, self.dtype)
    shape = replace(self.shape, place, size(args.get("k"))) if self.shape else ()
    return values_and_indices(shape, self.dtype)


@rule("embedding")
def _embedding(args: Args) -> Result:
    # `torch.embedding` takes the weight first, and calls the positions `indices`.
    self, weight = tensor(args, "input", "self", "indices"), tensor(args, "weight")
    if self.shape is None:
        return Operand(None, weight.dtype)
    columns: Dim = weight.shape[1] if weight.shape is not None and len(weight.shape) == 2 else Sym()
    return Operand((*self.shape, columns), weight.dtype)


@rule("embedding_bag")
def _embedding_bag(args: Args) -> Result:
    """Return one row for each bag: for each row of the input, or for each offset (the last may be only an end)."""
    self, weight, offsets = tensor(args), tensor(args, "weight"), tensor(args, "offsets")
    columns: Dim = weight.shape[1] if weight.shape is not None and len(weight.shape) == 2 else Sym()
    bags: Dim = Sym()
    if self.shape is not None and len(self.shape) == 2:
        bags = self.shape[0]
    elif self.shape is not None and offsets.shape and flag(args, "include_last_offset", False) is False:
        bags = offsets.shape[0]
    return Operand((bags, columns), weight.dtype)


@rule("one_hot")
def _one_hot(args: Args) -> Result:
    """Return a new last dimension, as long as there are classes; -1 counts them at run time."""
    self, classes = tensor(args, "input", "tensor", "self"), args.get("num_classes", -1)
    if self.shape is None:
        return Operand(None, "int64")
    return Operand((*self.shape, Sym() if classes == -1 else size(classes)), "int64")


@rule("searchsorted")
def _searchsorted(args: Args) -> Result:
    asked = given(args, "input", "self")
    dtype = "int32" if flag(args, "out_int32", False) else "int64"
    exact = flag(args, "out_int32", False) is not None
    return Operand(_asked(asked), dtype if exact else None)


@rule("bucketize")
def _bucketize(args: Args) -> Result:
    return _searchsorted(args)


def _asked(value: object) -> Shape:
    return value.shape if isinstance(value, Operand) else () if isinstance(value, int | float) else None


@rule("isin")
def _isin(args: Args) -> Result:
    return Operand(_asked(given(args, "elements", "element", "self")), "bool")


@rule("bincount")
def _bincount(args: Args) -> Result:
    weights = args.get("weights")
    if weights is None:
        return Operand((Sym(),), "int64")
    dtype = tensor(args, "weights").dtype
    return Operand((Sym(),), dtype if dtype in ("float32", "float64") else None)


@rule("histc")
def _histc(args: Args) -> Result:
    return Operand((size(args.get("bins", 100)),), tensor(args).dtype)


@rule("unique", "unique_consecutive", "_unique2")
def _unique(args: Args) -> Result:
    """Return the values, then where they came from and how many there were, if asked for."""
    self = tensor(args)
    inverse, counts = flag(args, "return_inverse", False), flag(args, "return_counts", False)
    values = Operand((Sym(),) if args.get("dim") is None else _along(self.shape, args["dim"]), self.dtype)
    if inverse is False and counts is False:
        return values
    if inverse is None or counts is None:
        return Operand()
    where = Operand(_inverse(self.shape, args.get("dim")), "int64")
    extra = [where] * inverse + [Operand((Sym(),), "int64")] * counts
    return Several((values, *extra))


def _inverse(shape: Shape, dim: object) -> Shape:
    return shape if dim is None else (Sym(),) if isinstance(dim, int) else None


def _along(shape: Shape, dim: object) -> Shape:
    place = None if shape is None else axis(dim, len(shape))
    return None if shape is None or place is None else replace(shape, place, Sym())


@rule("multinomial")
def _multinomial(args: Args) -> Result:
    self = tensor(args)
    samples = size(args.get("num_samples"))
    return Operand(None if self.shape is None else (*self.shape[:-1], samples), "int64")


@rule("diff")
def _diff(args: Args) -> Result:
    self, order = tensor(args), args.get("n", 1)
    place = None if self.shape is None else axis(args.get("dim", -1), len(self.shape))
    dtype = self.dtype
    if self.shape is None or place is None or not self.shape:
        return Operand(None, dtype)
    length = self.shape[place]
    extended = args.get("prepend") is not None or args.get("append") is not None
    if isinstance(length, int) and isinstance(order, int) and not extended:
        return Operand(replace(self.shape, place, max(length - order, 0)), dtype)
    return Operand(replace(self.shape, place, Sym()), None if extended else dtype)


@rule("trapezoid")
def _trapezoid(args: Args) -> Result:
    y = tensor(args, "y")
    place = None if y.shape is None else axis(args.get("dim", -1), len(y.shape))
    if not y.shape or place is None or args.get("x") is not None:
        return NOTHING
    return Operand(replace(y.shape, place), y.dtype if is_floating(y.dtype) else None)


@rule("cov", "corrcoef")
def _cov(args: Args) -> Result:
    self = tensor(args)
    if self.shape is None or len(self.shape) > 2:
        return NOTHING
    weighted = args.get("aweights") is not None or args.get("fweights") is not None
    dtype = self.dtype if is_floating(self.dtype) and not weighted else None
    if len(self.shape) < 2:
        return Operand((), dtype)
    rows = self.shape[0]
    # A single variable has a variance without dimensions.
    return Operand(() if rows == 1 else (rows, rows) if at_least_two(rows) else None, dtype)
