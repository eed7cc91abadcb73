"""Sizes of matrix products and what is built of them: einsum, linear, attention, distances."""

from __future__ import annotations

from collections.abc import Sequence

from gradlint.domain import dtype as dtypes
from gradlint.domain.dtype import DType
from gradlint.domain.shape import Dim, Shape, Sym, at_least_two, axis, broadcast, replace
from gradlint.shapes.arguments import axes, flag, given, tensor, tensors, unpacked
from gradlint.shapes.operand import NOTHING, Args, Operand, Result, Several, as_operand, combined, promoted
from gradlint.shapes.rule import rule


def agreed(*operands: Operand) -> DType:
    """Return the type of operands that torch demands to be of one type: the first that is known exactly."""
    known = [operand.dtype for operand in operands if operand.dtype is not None]
    exact = [dtype for dtype in known if dtype not in ("float", "int")]
    return exact[0] if exact else known[0] if known else None


def multiplied(one: Shape, other: Shape) -> Shape:
    """Return the shape of a matrix product, of vectors, matrices or batches of matrices."""
    if one is None or other is None or not one or not other:
        return None
    if len(one) == 1 or len(other) == 1:
        return (*one[:-1], *((*other[:-2], other[-1]) if len(other) > 1 else ()))
    batch = broadcast(one[:-2], other[:-2])
    return None if batch is None else (*batch, one[-2], other[-1])


@rule("matmul", "mm", "bmm", "mv")
def _matmul(args: Args) -> Result:
    one, other = tensor(args), tensor(args, "other", "mat2", "vec", "tensor")
    return Operand(multiplied(one.shape, other.shape), agreed(one, other))


@rule("dot", "vdot")
def _dot(args: Args) -> Result:
    """Return a number: torch takes vectors only, and refuses anything else."""
    return Operand((), agreed(tensor(args), tensor(args, "other", "tensor")))


@rule("__rmatmul__")
def _rmatmul(args: Args) -> Result:
    return _matmul({"self": args.get("other"), "other": tensor(args)})


@rule("multi_dot", "chain_matmul")
def _multi_dot(args: Args) -> Result:
    items = tensors(given(args, "tensors", "matrices"))
    if not items:
        return NOTHING
    first, last = items[0].shape, items[-1].shape
    known = len(items) > 1 and first is not None and last is not None
    return Operand(multiplied(first, last) if known else None, agreed(*items))


@rule("addmm", "addmv", "sspaddmm", "baddbmm")
def _addmm(args: Args) -> Result:
    """Return the shape of the product, into which the input is broadcast."""
    one, other = tensor(args, "mat1", "mat", "batch1"), tensor(args, "mat2", "vec", "batch2")
    return Operand(multiplied(one.shape, other.shape), agreed(tensor(args), one, other))


@rule("addbmm")
def _addbmm(args: Args) -> Result:
    """Sum the products of the batch."""
    one, other = tensor(args, "batch1"), tensor(args, "batch2")
    full = multiplied(one.shape, other.shape)
    return Operand(None if full is None else full[1:], agreed(tensor(args), one, other))


@rule("addr")
def _addr(args: Args) -> Result:
    one, other = tensor(args, "vec1"), tensor(args, "vec2")
    known = one.shape is not None and other.shape is not None
    shape = (*one.shape, *other.shape) if known else None  # type: ignore[misc]
    return Operand(shape, promoted((tensor(args), one, other)))


@rule("outer")
def _outer(args: Args) -> Result:
    vectors = tensor(args), tensor(args, "vec2")
    known = all(one.shape is not None for one in vectors)
    return Operand(tuple([one.shape[0] if known and one.shape else Sym() for one in vectors]), promoted(vectors))


@rule("inner")
def _inner(args: Args) -> Result:
    one, other = tensor(args), tensor(args, "other")
    dtype = agreed(one, other)
    if one.shape is None or other.shape is None:
        return Operand(None, dtype)
    if not one.shape or not other.shape:
        return Operand(one.shape or other.shape, promoted((one, other)))
    return Operand((*one.shape[:-1], *other.shape[:-1]), dtype)


@rule("tensordot")
def _tensordot(args: Args) -> Result:
    one, other = tensor(args, "a", "input", "self"), tensor(args, "b", "other")
    shape = _contracted(one.shape, other.shape, args.get("dims", 2))
    return Operand(shape, agreed(one, other))


def _contracted(one: Shape, other: Shape, dims: object) -> Shape:
    if one is None or other is None:
        return None
    if isinstance(dims, int):
        return (*one[: len(one) - dims], *other[dims:]) if 0 <= dims <= min(len(one), len(other)) else None
    if not isinstance(dims, tuple | list) or len(dims) != 2:
        return None
    left, right = axes(dims[0], len(one)), axes(dims[1], len(other))
    if left is None or right is None:
        return None
    kept = [dim for index, dim in enumerate(one) if index not in left]
    return (*kept, *[dim for index, dim in enumerate(other) if index not in right])


@rule("einsum")
def _einsum(args: Args) -> Result:
    equation, operands = args.get("equation"), given(args, "operands", "tensors")
    items = unpacked(operands)
    if not isinstance(equation, str) or items is None:
        return NOTHING
    return Operand(summed(equation.replace(" ", ""), [item.shape for item in items]), agreed(*items))


def summed(equation: str, shapes: Sequence[Shape]) -> Shape:
    """Return the shape that an einsum equation without blanks gives."""
    left, arrow, right = equation.partition("->")
    terms = left.split(",")
    if len(terms) != len(shapes):
        return None
    sizes: dict[str, Dim] = {}
    ellipsis: Shape = ()
    for term, shape in zip(terms, shapes, strict=True):
        ellipsis = _bind_labels(term, shape, sizes, ellipsis)
    letters = left.replace(",", "").replace("...", "")
    if not arrow:
        once = sorted(letter for letter in set(letters) if letters.count(letter) == 1)
        right = ("..." if "..." in left else "") + "".join(once)
    before, dots, after = right.partition("...")
    if dots and ellipsis is None:
        return None
    middle = ellipsis if dots and ellipsis is not None else ()
    first = [sizes.setdefault(letter, Sym()) for letter in before]
    return (*first, *middle, *[sizes.setdefault(letter, Sym()) for letter in after])


def _bind_labels(term: str, shape: Shape, sizes: dict[str, Dim], ellipsis: Shape) -> Shape:
    """Note the size of each label; return what the ellipses stand for so far."""
    before, dots, after = term.partition("...")
    if shape is None:
        return None if dots else ellipsis
    if len(before) + len(after) > len(shape) or (not dots and len(before) != len(shape)):
        return None
    end = len(shape) - len(after)
    for letter, dim in (*zip(before, shape, strict=False), *zip(after, shape[end:], strict=False)):
        sizes[letter] = _label(sizes.get(letter), dim)
    return broadcast(ellipsis, shape[len(before) : end]) if dots else ellipsis


def _label(known: Dim | None, dim: Dim) -> Dim:
    """Return the one size of a label, though an operand in which it is one is broadcast."""
    if known is None or known == 1:
        return dim
    if dim == 1 or known is dim or isinstance(known, int):
        return known
    if isinstance(dim, int) or at_least_two(dim):
        return dim
    return known if at_least_two(known) else Sym()


@rule("linear")
def _linear(args: Args) -> Result:
    self, weight = tensor(args), tensor(args, "weight")
    known = self.shape is not None and weight.shape is not None
    return Operand((*_lead(self), *_lead(weight)) if known else None, agreed(self, weight))


def _lead(operand: Operand) -> tuple[Dim, ...]:
    return (operand.shape or ())[:-1]


@rule("bilinear")
def _bilinear(args: Args) -> Result:
    one, weight = tensor(args, "input1"), tensor(args, "weight")
    shape = None if one.shape is None else (*_lead(one), weight.shape[0] if weight.shape else Sym())
    return Operand(shape, agreed(one, tensor(args, "input2"), weight))


@rule("scaled_dot_product_attention")
def _attention(args: Args) -> Result:
    query, key, value = tensor(args, "query"), tensor(args, "key"), tensor(args, "value")
    dtype = agreed(query, key, value)
    if query.shape is None or value.shape is None or len(query.shape) < 2 or len(value.shape) < 2:
        return Operand(None, dtype)
    # With grouped queries the heads of key and value are fewer than those of the query.
    grouped = flag(args, "enable_gqa", False) is not False
    batch = query.shape[:-2] if grouped else broadcast(query.shape[:-2], value.shape[:-2])
    if batch is not None and key.shape is not None and not grouped:
        batch = broadcast(batch, key.shape[:-2])
    elif not grouped:
        batch = None
    return Operand(None if batch is None else (*batch, query.shape[-2], value.shape[-1]), dtype)


@rule("cdist")
def _cdist(args: Args) -> Result:
    one, other = tensor(args, "x1", "input", "self"), tensor(args, "x2", "other")
    dtype = promoted((one, other))
    if one.shape is None or other.shape is None or len(one.shape) < 2 or len(other.shape) < 2:
        return Operand(None, dtype)
    batch = broadcast(one.shape[:-2], other.shape[:-2])
    return Operand(None if batch is None else (*batch, one.shape[-2], other.shape[-2]), dtype)


@rule("pdist")
def _pdist(args: Args) -> Result:
    self = tensor(args)
    rows = self.shape[0] if self.shape else None
    return Operand((rows * (rows - 1) // 2 if isinstance(rows, int) else Sym(),), self.dtype)


@rule("cosine_similarity")
def _cosine_similarity(args: Args) -> Result:
    operands = tensor(args, "x1"), tensor(args, "x2")
    return Operand(_along(operands, args.get("dim", 1)), promoted(operands))


def _along(operands: tuple[Operand, Operand], dim: object) -> Shape:
    """Return the shape of two operands broadcast together, without the dimension along which they are compared."""
    shape = broadcast(operands[0].shape, operands[1].shape)
    index = None if shape is None else axis(dim, len(shape))
    return None if shape is None or index is None else replace(shape, index)


@rule("pairwise_distance")
def _pairwise_distance(args: Args) -> Result:
    """Return the norm of the difference along the last dimension."""
    one, other = tensor(args, "x1"), tensor(args, "x2")
    shape, keepdim = broadcast(one.shape, other.shape), flag(args, "keepdim", False)
    dtype = dtypes.to_real(dtypes.to_float(promoted((one, other))))
    if not shape or keepdim is None:
        return Operand(None, dtype)
    return Operand((*shape[:-1], 1) if keepdim else shape[:-1], dtype)


@rule("cross")
def _cross(args: Args) -> Result:
    return combined((tensor(args), as_operand(args.get("other"))))


@rule("vecdot")
def _vecdot(args: Args) -> Result:
    operands = tensor(args, "x", "input"), tensor(args, "y")
    return Operand(_along(operands, args.get("dim", -1)), agreed(*operands))


@rule("multi_head_attention_forward")
def _multi_head_attention(args: Args) -> Result:
    """Return the shape of the query, which comes before batch, and weights only if they are asked for."""
    query, key = tensor(args, "query"), tensor(args, "key")
    averaged = flag(args, "average_attn_weights", True)
    output = Operand(query.shape, query.dtype)
    lengthened = any(args.get(name) is not None for name in ("bias_k", "bias_v", "static_k", "static_v"))
    if not flag(args, "need_weights", True) or lengthened or flag(args, "add_zero_attn", False) is not False:
        return Several((output, NOTHING))
    return Several((output, attention_weights(query, key, args.get("num_heads"), averaged, batch_first=False)))


def attention_weights(
    query: Operand, key: Operand, heads: object, averaged: bool | None, *, batch_first: bool | None
) -> Operand:
    """Return the weights of attention: batch, heads unless they are averaged, target length, source length."""
    if query.shape is None or key.shape is None or averaged is None or batch_first is None:
        return Operand(None, query.dtype)
    if len(query.shape) not in (2, 3) or len(key.shape) != len(query.shape):
        return Operand(None, query.dtype)
    length = -2 if batch_first or len(query.shape) == 2 else -3
    batch = () if len(query.shape) == 2 else (query.shape[0 if batch_first else 1],)
    middle: tuple[Dim, ...] = () if averaged else (heads if isinstance(heads, int) else Sym(),)
    source: Dim = key.shape[length]
    return Operand((*batch, *middle, query.shape[length], source), query.dtype)
