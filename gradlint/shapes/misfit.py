"""What torch refuses for the sizes of its operands.

A check is a pure function of the same arguments as a size rule. It answers only where each size that decides is a
number: two symbols, or a symbol and a number, may always be the same. Each was executed under torch 2.13.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, TypeAlias

from gradlint.domain.refusal.shapes import Demand
from gradlint.domain.shape import Dim, Shape, axis, broadcast
from gradlint.facts.aliases import canonical
from gradlint.facts.traits import BROADCASTS, BROADCASTS_FLOATING, COMPARES
from gradlint.shapes.arguments import given, listed, pair, size, tensor, unpacked
from gradlint.shapes.elementwise import pair_of
from gradlint.shapes.operand import Args, Operand, as_operand


class Misfit(NamedTuple):
    """Shapes that are at odds with one another, or with what is `wanted`: sizes, a rank, or a dimension."""

    demand: Demand
    shapes: tuple[tuple[Dim, ...], ...]
    wanted: tuple[Dim, ...] = ()
    said: str = ""
    """For the demand "said", the end of a sentence that begins with the shapes."""

    @property
    def of_nothing(self) -> bool:
        """Whether a tensor has no elements: it may hold the place of one that comes later."""
        return any(0 in shape for shape in self.shapes)


Check: TypeAlias = Callable[[Args], Misfit | None]

CHECKS: dict[str, Check] = {}
"""The check of each operation by its canonical name, that of a module by the function it calls."""


def check(*names: str) -> Callable[[Check], Check]:
    """Register a function as the check of the named operations."""

    def register(function: Check) -> Check:
        CHECKS.update(dict.fromkeys(map(canonical, names), function))
        return function

    return register


def differ(one: Dim, other: Dim) -> bool:
    """Return whether two sizes are numbers, and different ones."""
    return isinstance(one, int) and isinstance(other, int) and one != other


def clash(one: Shape, other: Shape) -> bool:
    """Return whether two shapes certainly do not broadcast."""
    if one is None or other is None or one == other:
        return False
    pairs = zip(reversed(one), reversed(other), strict=False)
    return any(mine != 1 and theirs != 1 and differ(mine, theirs) for mine, theirs in pairs)


def _crossed(operands: Iterable[Operand]) -> Misfit | None:
    """Return the first shape that does not broadcast with those before it."""
    whole: Shape = ()
    for operand in operands:
        if operand.shape is not None and whole is not None and clash(whole, operand.shape):
            return Misfit("broadcast", (whole, operand.shape))
        whole = whole if operand.shape is None else broadcast(whole, operand.shape)
    return None


@check(*BROADCASTS, *BROADCASTS_FLOATING, *COMPARES)
@check("pow", "__rpow__", "complex", "polar", "float_power", "div", "ldexp")
def _binary(args: Args) -> Misfit | None:
    one, other = pair_of(args)
    return Misfit("broadcast", (one.shape or (), other.shape or ())) if clash(one.shape, other.shape) else None


@check("clamp", "addcmul", "addcdiv", "lerp", "where")
def _several(args: Args) -> Misfit | None:
    names = ("condition", "input", "self", "other", "min", "max", "tensor1", "tensor2", "end", "weight")
    return _crossed([as_operand(args[name]) for name in names if args.get(name) is not None])


@check("cosine_similarity", "pairwise_distance")
def _paired(args: Args) -> Misfit | None:
    return _crossed((tensor(args, "x1"), tensor(args, "x2")))


@check("mse_loss", "smooth_l1_loss", "huber_loss", "l1_loss", "poisson_nll_loss", "soft_margin_loss", "kl_div")
def _compared(args: Args) -> Misfit | None:
    return _crossed((tensor(args), tensor(args, "target")))


@check("binary_cross_entropy", "binary_cross_entropy_with_logits")
def _alike(args: Args) -> Misfit | None:
    """Refuse a target of another shape, even one that broadcasts."""
    one, other = tensor(args).shape, tensor(args, "target").shape
    if one is None or other is None or (len(one) == len(other) and not any(map(differ, one, other))):
        return None
    return Misfit("equal", (one, other))


@check("cross_entropy", "nll_loss")
def _classified(args: Args) -> Misfit | None:
    """Refuse targets that are neither a class for each sample and place nor a probability for each class of these."""
    scores, target = tensor(args).shape, tensor(args, "target")
    if not scores or target.shape is None:
        return None
    if len(target.shape) == len(scores):
        wrong = target.dtype == "int64" or any(map(differ, scores, target.shape))
        return Misfit("target", (scores, target.shape)) if wrong else None
    places = (scores[0], *scores[2:]) if len(scores) > 1 else ()
    fits = len(places) == len(target.shape) and not any(map(differ, places, target.shape))
    return None if fits else Misfit("target", (scores, target.shape))


# Products.


def _product(one: tuple[Dim, ...], other: tuple[Dim, ...]) -> Misfit | None:
    """Refuse rows and columns that do not meet, and batches that do not broadcast."""
    if not one or not other:
        return Misfit("number", (one, other))
    if differ(one[-1], other[-2] if len(other) > 1 else other[0]):
        return Misfit("product", (one, other))
    return Misfit("batch", (one, other)) if clash(one[:-2], other[:-2]) else None


@check("matmul")
def _matmul(args: Args) -> Misfit | None:
    one, other = tensor(args).shape, tensor(args, "other", "tensor2", "tensor").shape
    return None if one is None or other is None else _product(one, other)


@check("__rmatmul__")
def _rmatmul(args: Args) -> Misfit | None:
    return _matmul({"self": args.get("other"), "other": tensor(args)})


def _ranked(ranks: tuple[int, int], *names: str) -> Check:
    """Return the check of a product of tensors of certain ranks; `names` are those of the operands."""

    def refuse(args: Args) -> Misfit | None:
        one, other = tensor(args, *names[0].split()).shape, tensor(args, *names[1].split()).shape
        for shape, rank in ((one, ranks[0]), (other, ranks[1])):
            if shape is not None and len(shape) != rank:
                return Misfit("rank", (shape,), (rank,))
        if one is None or other is None:
            return None
        if ranks in ((1, 1), (3, 3)) and differ(one[0], other[0]):
            return Misfit("batch" if ranks == (3, 3) else "equal", (one, other))
        return _product(one, other)

    return refuse


def _vectors(*names: str) -> Check:
    """Return the check of an operation on vectors."""

    def refuse(args: Args) -> Misfit | None:
        shapes = (tensor(args, *name.split()).shape for name in names)
        return next((Misfit("rank", (one,), (1,)) for one in shapes if one is not None and len(one) != 1), None)

    return refuse


@check("solve")
def _solve(args: Args) -> Misfit | None:
    """Refuse a right side of another number of rows than the matrix; a vector, or a batch of these, has no columns."""
    matrix, right = tensor(args, "A").shape, tensor(args, "B").shape
    if matrix is None or right is None or len(matrix) < 2 or len(right) < 2 or args.get("left", True) is not True:
        return None
    vectors = len(right) == len(matrix) - 1 and not any(map(differ, right, matrix))
    return Misfit("product", (matrix, right)) if not vectors and differ(matrix[-1], right[-2]) else None


_FIRST = "input self"
check("mm")(_ranked((2, 2), _FIRST, "mat2"))
check("bmm")(_ranked((3, 3), _FIRST, "mat2"))
check("mv")(_ranked((2, 1), _FIRST, "vec"))
check("dot", "vdot")(_ranked((1, 1), _FIRST, "other tensor"))
check("outer")(_vectors(_FIRST, "vec2"))


def _added(product: Check, left: str, right: str, kept: slice) -> Check:
    """Return the check of a product that is added to `input`; of its two operands' sizes, the result has these."""

    def refuse(args: Args) -> Misfit | None:
        misfit = product(args)
        one, other, added = tensor(args, left).shape, tensor(args, right).shape, tensor(args, "input", "self").shape
        if misfit is not None or one is None or other is None:
            return misfit
        sizes = (*one[:-1], *other[-1:])[kept] if len(other) > 1 else one[:-1]
        return Misfit("broadcast", (added or (), sizes)) if clash(added, sizes) else None

    return refuse


check("addmm")(_added(_ranked((2, 2), "mat1", "mat2"), "mat1", "mat2", slice(None)))
check("addmv")(_added(_ranked((2, 1), "mat", "vec"), "mat", "vec", slice(None)))
check("baddbmm")(_added(_ranked((3, 3), "batch1", "batch2"), "batch1", "batch2", slice(None)))
check("addbmm")(_added(_ranked((3, 3), "batch1", "batch2"), "batch1", "batch2", slice(1, None)))


@check("einsum")
def _einsum(args: Args) -> Misfit | None:
    """Refuse a letter that stands for two sizes, neither of them one, and another number of letters or tensors."""
    equation, items = args.get("equation"), unpacked(args.get("operands"))
    terms = equation.replace(" ", "").partition("->")[0].split(",") if isinstance(equation, str) else ()
    for term, item in zip(terms, items or (), strict=False):
        if item.shape is not None and term.isalpha() and len(term) != len(item.shape):
            return Misfit("said", (item.shape,), said=f"`{term}` names {len(term)} dimensions")
    sizes: dict[str, tuple[Dim, tuple[Dim, ...]]] = {}
    for term, item in zip(terms, items or (), strict=False):
        if item.shape is None or len(item.shape) != len(term):
            continue
        for letter, dim in zip(term, item.shape, strict=True):
            known, shape = sizes.get(letter, (dim, item.shape))
            if known != 1 and dim != 1 and differ(known, dim):
                return Misfit("letters", (shape, item.shape))
            sizes[letter] = (known if dim == 1 else dim, item.shape)
    return None


@check("linear")
def _linear(args: Args) -> Misfit | None:
    self, weight = tensor(args).shape, tensor(args, "weight").shape
    wanted = size(args["in_features"]) if "in_features" in args else weight[-1] if weight else None
    if not self or wanted is None:
        return None
    return Misfit("features", (self,), (wanted,)) if differ(self[-1], wanted) else None


# Convolutions and normalisations.


def _channels(count: int, shape: tuple[Dim, ...], wanted: Dim) -> Misfit | None:
    """Refuse an input over `count` dimensions of another rank, or with another number of channels."""
    if len(shape) not in (count + 1, count + 2):
        return Misfit("rank", (shape,), (count + 1, count + 2))
    return Misfit("channels", (shape,), (wanted,)) if differ(shape[-count - 1], wanted) else None


def _convolution(count: int, transposed: bool) -> Check:
    """Return the check of a convolution: a function over weights, or a module that says its channels."""

    def refuse(args: Args) -> Misfit | None:
        self, weight = tensor(args).shape, tensor(args, "weight").shape
        if self is None:
            return None
        if "in_channels" in args:
            wanted: Dim | None = size(args["in_channels"])
        elif weight is None or len(weight) != count + 2:
            return None
        else:
            groups = args.get("groups", 1)
            per = weight[0] if transposed else weight[1]
            known = isinstance(per, int) and isinstance(groups, int)
            wanted = per if transposed else per * groups if known else None  # type: ignore[operator]
        if wanted is None:
            return None
        return _channels(count, self, wanted) or (None if transposed else _reached(args, self, weight, count))

    return refuse


def _reached(args: Args, self: tuple[Dim, ...], weight: Shape, count: int) -> Misfit | None:
    """Refuse a kernel that is larger than the input with its padding."""
    kernels = pair(args.get("kernel_size"), count) if weight is None else weight[2:]
    paddings, dilations = pair(args.get("padding", 0), count), pair(args.get("dilation", 1), count)
    if kernels is None or paddings is None or dilations is None:
        return None
    for length, kernel, padding, dilation in zip(self[-count:], kernels, paddings, dilations, strict=True):
        if not all(isinstance(one, int) for one in (length, kernel, padding, dilation)):
            continue
        if length + 2 * padding < dilation * (kernel - 1) + 1:  # type: ignore[operator]
            return Misfit("kernel", (self,), tuple(size(one) for one in kernels))
    return None


for _count in (1, 2, 3):
    check(f"conv{_count}d")(_convolution(_count, transposed=False))
    check(f"conv_transpose{_count}d")(_convolution(_count, transposed=True))


def _normalised(ranks: tuple[int, ...]) -> Check:
    """Return the check of a batch normalisation of tensors of certain ranks."""

    def refuse(args: Args) -> Misfit | None:
        self, wanted = tensor(args).shape, size(args.get("num_features"))
        if self is None:
            return None
        if len(self) not in ranks:
            return Misfit("rank", (self,), ranks)
        return Misfit("channels", (self,), (wanted,)) if differ(self[1], wanted) else None

    return refuse


for _count in (1, 2, 3):
    CHECKS[f"nn.BatchNorm{_count}d"] = _normalised((2, 3) if _count == 1 else (_count + 2,))


@check("layer_norm")
def _layer_norm(args: Args) -> Misfit | None:
    self, wanted = tensor(args).shape, listed(args.get("normalized_shape"))
    if self is None or not wanted:
        return None
    sizes = tuple([size(one) for one in wanted])
    fits = len(self) >= len(sizes) and not any(map(differ, self[-len(sizes) :], sizes))
    return None if fits else Misfit("normalized", (self,), sizes)


@check("nn.LSTM", "nn.GRU", "nn.RNN")
def _recurrent(args: Args) -> Misfit | None:
    self, wanted = tensor(args).shape, size(args.get("input_size"))
    if self is None:
        return None
    if len(self) not in (2, 3):
        return Misfit("rank", (self,), (2, 3))
    return Misfit("features", (self,), (wanted,)) if differ(self[-1], wanted) else None


# Dimensions.


def dimension(args: Args) -> Misfit | None:
    """Refuse a dimension that the tensor does not have."""
    dims = args.get("dim")
    if dims is None:
        return None
    self = next((args[name] for name in ("input", "self") if name in args), None)
    if not isinstance(self, Operand) or self.shape is None or self.scalar:
        return None
    for dim in dims if isinstance(dims, Sequence) and not isinstance(dims, str) else (dims,):
        if type(dim) is int and axis(dim, len(self.shape)) is None:
            return Misfit("dimension", (self.shape,), (dim,))
    return None


@check("view_as_complex")
def _view_as_complex(args: Args) -> Misfit | None:
    self = tensor(args).shape
    return Misfit("features", (self,), (2,)) if self and differ(self[-1], 2) else None


@check("transpose")
def _transpose(args: Args) -> Misfit | None:
    dims = (given(args, "dim0", "axis0"), given(args, "dim1", "axis1"))
    return dimension({"input": tensor(args), "dim": dims})


@check("unsqueeze", "unsqueeze_copy")
def _unsqueeze(args: Args) -> Misfit | None:
    self, dim = tensor(args).shape, args.get("dim")
    wrong = self is not None and type(dim) is int and axis(dim, len(self) + 1) is None
    return Misfit("dimension", (self or (),), (size(dim),)) if wrong else None


@check("permute")
def _permute(args: Args) -> Misfit | None:
    self, dims = tensor(args).shape, listed(args.get("dims"))
    if self is None or dims is None or len(dims) == len(self):
        return dimension({"input": tensor(args), "dim": dims or ()})
    return Misfit("permuted", (self,), tuple([size(dim) for dim in dims]))
