"""Sizes of operations that pick elements: gather, embedding, topk, unique, masks and searches."""

from __future__ import annotations

from gradlint.domain.dtype import is_floating
from gradlint.domain.shape import Dim, Shape, Sym, at_least_two, axis, broadcast, product, replace
from gradlint.shapes.arguments import flag, given, resized, size, tensor
from gradlint.shapes.elementwise import coordinates
from gradlint.shapes.operand import NOTHING, Args, Operand, Result, Several, as_operand
from gradlint.shapes.reduce import values_and_indices
from gradlint.shapes.rule import always, rule, shaped


@rule("gather", "take")
def _gather(args: Args) -> Result:
    return Operand(tensor(args, "index").shape, tensor(args).dtype)


@shaped("index_select")
def _index_select(args: Args, shape: tuple[Dim, ...]) -> Shape:
    index = tensor(args, "index").shape
    return resized(shape, given(args, "dim", "axis"), Sym() if index is None else index[0] if index else 1)


@rule("take_along_dim")
def _take_along_dim(args: Args) -> Result:
    """Flatten both where no dimension is given; else broadcast all other dimensions."""
    self, indices = tensor(args), tensor(args, "indices")
    if args.get("dim") is None:
        return Operand((Sym() if indices.shape is None else product(indices.shape),), self.dtype)
    place = axis(args["dim"], len(self.shape or ()))
    if not self.shape or indices.shape is None or len(self.shape) != len(indices.shape) or place is None:
        return Operand(None, self.dtype)
    shape = broadcast(replace(self.shape, place, 1), replace(indices.shape, place, 1))
    return Operand(None if shape is None else replace(shape, place, indices.shape[place]), self.dtype)


@rule("masked_select")
def _masked_select(args: Args) -> Result:
    return Operand((Sym(),), tensor(args).dtype)


@rule("nonzero", "argwhere")
def _nonzero(args: Args) -> Result:
    """Return one row of coordinates for each element that is not zero."""
    self, apart = tensor(args), flag(args, "as_tuple", False)
    if apart is None:
        return NOTHING
    return coordinates(self) if apart else Operand((Sym(), _rank(self)), "int64")


def _rank(self: Operand) -> Dim:
    return Sym() if self.shape is None else len(self.shape)


@rule("nonzero_static")
def _nonzero_static(args: Args) -> Result:
    return Operand((size(args.get("size")), _rank(tensor(args))), "int64")


@rule("topk")
def _topk(args: Args) -> Result:
    self = tensor(args)
    shape = resized(self.shape, given(args, "dim", "axis", default=-1), size(args.get("k")))
    return values_and_indices(shape, self.dtype)


@rule("embedding")
def _embedding(args: Args) -> Result:
    # `torch.embedding` takes the weight first, and calls the positions `indices`.
    self, weight = tensor(args, "input", "self", "indices"), tensor(args, "weight")
    return Operand(None if self.shape is None else (*self.shape, _columns(weight)), weight.dtype)


def _columns(weight: Operand) -> Dim:
    return weight.shape[1] if weight.shape is not None and len(weight.shape) == 2 else Sym()


@rule("embedding_bag")
def _embedding_bag(args: Args) -> Result:
    """Return one row for each bag: for each row of the input, or for each offset (the last may be only an end)."""
    self, weight, offsets = tensor(args), tensor(args, "weight"), tensor(args, "offsets")
    bags: Dim = Sym()
    if self.shape is not None and len(self.shape) == 2:
        bags = self.shape[0]
    elif self.shape is not None and offsets.shape and flag(args, "include_last_offset", False) is False:
        bags = offsets.shape[0]
    return Operand((bags, _columns(weight)), weight.dtype)


@rule("one_hot")
def _one_hot(args: Args) -> Result:
    """Return a new last dimension, as long as there are classes; -1 counts them at run time."""
    self, classes = tensor(args, "input", "tensor", "self"), args.get("num_classes", -1)
    return Operand(None if self.shape is None else (*self.shape, Sym() if classes == -1 else size(classes)), "int64")


@rule("searchsorted", "bucketize")
def _searchsorted(args: Args) -> Result:
    short = flag(args, "out_int32", False)
    return Operand(_asked(given(args, "input", "self")), None if short is None else "int32" if short else "int64")


def _asked(value: object) -> Shape:
    return value.shape if isinstance(value, Operand) else () if isinstance(value, int | float) else None


@rule("isin")
def _isin(args: Args) -> Result:
    return Operand(_asked(given(args, "elements", "element", "self")), "bool")


@rule("bincount")
def _bincount(args: Args) -> Result:
    weights = args.get("weights")
    dtype = as_operand(weights).dtype
    return Operand((Sym(),), "int64" if weights is None else dtype if dtype in ("float32", "float64") else None)


@rule("histc")
def _histc(args: Args) -> Result:
    return Operand((size(args.get("bins", 100)),), tensor(args).dtype)


@rule("unique", "unique_consecutive", "_unique2")
def _unique(args: Args) -> Result:
    """Return the values, then where they came from and how many there were, if asked for."""
    self = tensor(args)
    inverse, counts = flag(args, "return_inverse", False), flag(args, "return_counts", False)
    values = Operand((Sym(),) if args.get("dim") is None else resized(self.shape, args["dim"], Sym()), self.dtype)
    if inverse is False and counts is False:
        return values
    if inverse is None or counts is None:
        return NOTHING
    where = Operand(_inverse(self.shape, args.get("dim")), "int64")
    extra = [where] * inverse + [Operand((Sym(),), "int64")] * counts
    return Several((values, *extra))


def _inverse(shape: Shape, dim: object) -> Shape:
    return shape if dim is None else (Sym(),) if isinstance(dim, int) else None


@shaped("multinomial", dtype=always("int64"))
def _multinomial(args: Args, shape: tuple[Dim, ...]) -> Shape:
    return (*shape[:-1], size(args.get("num_samples")))


@rule("diff")
def _diff(args: Args) -> Result:
    self, order = tensor(args), args.get("n", 1)
    place = axis(args.get("dim", -1), len(self.shape or ()))
    if not self.shape or place is None:
        return Operand(None, self.dtype)
    length = self.shape[place]
    extended = args.get("prepend") is not None or args.get("append") is not None
    if isinstance(length, int) and isinstance(order, int) and not extended:
        return Operand(replace(self.shape, place, max(length - order, 0)), self.dtype)
    return Operand(replace(self.shape, place, Sym()), None if extended else self.dtype)


@rule("trapezoid")
def _trapezoid(args: Args) -> Result:
    y = tensor(args, "y")
    place = axis(args.get("dim", -1), len(y.shape or ()))
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
