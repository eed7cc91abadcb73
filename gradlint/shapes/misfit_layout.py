"""What torch refuses for sizes where tensors are joined, rearranged, split and picked from.

Each was executed under torch 2.13, as those of `misfit` were.
"""

from __future__ import annotations

from itertools import pairwise

from gradlint.domain.shape import Dim, Shape, axis, numel, replace
from gradlint.shapes.arguments import given, listed, pair, size, tensor, tensors
from gradlint.shapes.misfit import Check, Misfit, check, clash, differ
from gradlint.shapes.operand import Args

# Joining and rearranging.


@check("cat")
def _cat(args: Args) -> Misfit | None:
    """Refuse tensors that differ elsewhere than in the dimension along which they are joined."""
    shapes = _known(given(args, "tensors", "input"))
    dim = given(args, "dim", "axis", default=0)
    for first, other in pairwise(shapes):
        place = axis(dim, len(first))
        if len(other) != len(first):
            return Misfit("ranks", (first, other))
        if place is not None and any(map(differ, replace(first, place), replace(other, place))):
            return Misfit("joined", (first, other), (place,))
    return None


@check("stack")
def _stack(args: Args) -> Misfit | None:
    shapes = _known(args.get("tensors"), empty=True)
    for first, other in pairwise(shapes):
        if len(other) != len(first) or any(map(differ, first, other)):
            return Misfit("equal", (first, other))
    return None


def _known(value: object, empty: bool = False) -> list[tuple[Dim, ...]]:
    """Return the shapes that are known of a list; `cat` passes over tensors of shape [0], or what may be such."""
    shapes = [item.shape for item in tensors(value) or () if item.shape is not None]
    return [shape for shape in shapes if empty or len(shape) != 1 or (isinstance(shape[0], int) and shape[0] > 0)]


@check("view", "reshape")
def _view(args: Args) -> Misfit | None:
    """Refuse a view of other than the tensor's own number of elements."""
    self, entries = tensor(args).shape, listed(given(args, "size", "shape"))
    total = numel(self)
    if self is None or total is None or entries is None or not all(type(one) is int for one in entries):
        return None
    wanted = tuple([int(one) for one in entries if isinstance(one, int)])
    rest = numel(tuple([one for one in wanted if one != -1])) or 0
    free = wanted.count(-1)
    fits = free > 1 or (rest != 0 and total % rest == 0 if free else rest == total)
    return None if fits else Misfit("elements", (self,), wanted)


@check("expand", "broadcast_to")
def _expand(args: Args) -> Misfit | None:
    self, entries = tensor(args).shape, listed(given(args, "size", "shape"))
    if self is None or entries is None:
        return None
    wanted = tuple([size(one) for one in entries])
    pairs = zip(reversed(self), reversed(wanted), strict=False)
    wrong = any(mine != 1 and want != -1 and differ(mine, want) for mine, want in pairs)
    return Misfit("expanded", (self,), wanted) if wrong or len(wanted) < len(self) else None


# Splitting.


def _whole(value: object) -> tuple[int, ...] | None:
    """Return numbers given as one or several, or None where one is not known."""
    entries = listed(value)
    if entries is None or not all(type(one) is int for one in entries):
        return None
    return tuple([one for one in entries if isinstance(one, int)])


def _along(args: Args, default: int = 0) -> tuple[tuple[Dim, ...], int, int] | None:
    """Return the shape, the dimension that an operation works along, and its size, where all are known."""
    shape = tensor(args).shape
    place = None if not shape else axis(given(args, "dim", "dimension", "axis", default=default), len(shape))
    length = None if not shape or place is None else shape[place]
    return (shape, place, length) if shape and place is not None and isinstance(length, int) else None


@check("split", "split_with_sizes")
def _split(args: Args) -> Misfit | None:
    """Refuse parts that are not together as long as the dimension."""
    found, parts = _along(args), given(args, "split_size_or_sections", "split_size", "split_sizes")
    numbers = _whole(parts) if isinstance(parts, (tuple, list)) else None
    if found is None or numbers is None or sum(numbers) == found[2]:
        return None
    return Misfit("said", (found[0],), said=f"the parts have {sum(numbers)} of its {found[2]} places together")


@check("chunk")
def _chunk(args: Args) -> Misfit | None:
    found, chunks = _along(args), args.get("chunks")
    if found is None or type(chunks) is not int or chunks > 0:
        return None
    return Misfit("said", (found[0],), said="the number of chunks must be greater than 0")


@check("narrow")
def _narrow(args: Args) -> Misfit | None:
    found, start, length = _along(args), args.get("start"), args.get("length")
    if found is None or type(start) is not int or type(length) is not int:
        return None
    begin = start + found[2] if start < 0 else start
    fits = begin >= 0 and length >= 0 and begin + length <= found[2]
    return None if fits else Misfit("said", (found[0],), said=f"no {length} places begin at {start}")


@check("unfold")
def _unfold(args: Args) -> Misfit | None:
    found, length = _along(args), args.get("size")
    if found is None or type(length) is not int or length <= found[2]:
        return None
    return Misfit("said", (found[0],), said=f"dimension {found[1]} has not as many as {length} places")


@check("unflatten")
def _unflatten(args: Args) -> Misfit | None:
    found, numbers = _along(args), _whole(given(args, "sizes", "unflattened_size"))
    if found is None or numbers is None or -1 in numbers or numel(numbers) == found[2]:
        return None
    return Misfit("said", (found[0],), said=f"dimension {found[1]} has not as many elements as {[*numbers]}")


def _sections(place: int) -> Check:
    """Return the check of hsplit, vsplit and dsplit."""

    def refuse(args: Args) -> Misfit | None:
        shape, sections = tensor(args).shape, given(args, "indices_or_sections", "sections")
        dim = 0 if shape is not None and len(shape) == 1 else place
        if shape is None or len(shape) <= dim or type(sections) is not int or sections <= 0:
            return None
        length = shape[dim]
        wrong = isinstance(length, int) and length % sections != 0
        return Misfit("said", (shape,), said=f"{length} is not divisible by {sections}") if wrong else None

    return refuse


for _name, _place in (("hsplit", 1), ("vsplit", 0), ("dsplit", 2)):
    check(_name)(_sections(_place))


@check("flip")
def _flip(args: Args) -> Misfit | None:
    shape, dims = tensor(args).shape, _whole(args.get("dims"))
    wrong = next((dim for dim in dims or () if shape is not None and axis(dim, len(shape)) is None), None)
    return None if wrong is None or shape is None else Misfit("dimension", (shape,), (wrong,))


@check("roll")
def _roll(args: Args) -> Misfit | None:
    shape, shifts, dims = tensor(args).shape, _whole(args.get("shifts")), _whole(args.get("dims", ()))
    if shape is None or shifts is None or not dims or len(shifts) == len(dims):
        return None
    return Misfit("said", (shape,), said=f"{len(shifts)} shifts do not go with {len(dims)} dimensions")


@check("repeat")
def _repeat(args: Args) -> Misfit | None:
    shape, entries = tensor(args).shape, listed(given(args, "repeats", "sizes", "size"))
    if shape is None or entries is None or len(entries) >= len(shape):
        return None
    return Misfit("said", (shape,), said=f"is repeated along {len(entries)} dimensions only")


# Picking.


@check("gather", "scatter", "scatter_add", "scatter_reduce")
def _gather(args: Args) -> Misfit | None:
    """Refuse an index of another number of dimensions; one without any counts as one of one."""
    shape, index = tensor(args).shape, tensor(args, "index").shape
    if shape is None or index is None or max(len(shape), 1) == max(len(index), 1) or 0 in index:
        return None
    return Misfit("said", (shape, index), said="the index needs as many dimensions")


@check("index_select")
def _index_select(args: Args) -> Misfit | None:
    shape, index = tensor(args).shape, tensor(args, "index").shape
    wrong = shape is not None and index is not None and len(index) > 1
    return Misfit("said", (shape or (), index or ()), said="the index must have one dimension") if wrong else None


@check("index_add", "index_copy")
def _index_add(args: Args) -> Misfit | None:
    """Refuse a source with another number of places than there are indices."""
    index, source = tensor(args, "index").shape, tensor(args, "source", "tensor").shape
    dim = args.get("dim")
    place = axis(dim, len(source)) if source else None
    if source is None or place is None or index is None or len(index) != 1 or not differ(index[0], source[place]):
        return None
    return Misfit("said", (source, index), said="there are not as many indices as places")


@check("masked_fill", "masked_select", "masked_scatter")
def _masked(args: Args) -> Misfit | None:
    shape, mask = tensor(args).shape, tensor(args, "mask").shape
    return Misfit("broadcast", (shape or (), mask or ())) if clash(shape, mask) else None


# Products of other kinds.


@check("tensordot")
def _tensordot(args: Args) -> Misfit | None:
    one, other, dims = tensor(args, "a").shape, tensor(args, "b").shape, args.get("dims", 2)
    if one is None or other is None or type(dims) is not int or not 0 < dims <= min(len(one), len(other)):
        return None
    return Misfit("product", (one, other[dims - 1 :])) if differ(one[-1], other[dims - 1]) else None


@check("linalg.cross")
def _cross(args: Args) -> Misfit | None:
    found = _along(args, -1)
    if found is None or found[2] == 3:
        return None
    return Misfit("said", (found[0],), said=f"dimension {found[1]} must have 3 places")


# Layers without weights.


def _pooled(count: int) -> Check:
    """Return the check of pooling over windows, which must not be larger than the input with its padding."""

    def refuse(args: Args) -> Misfit | None:
        shape, kernels = tensor(args).shape, pair(args.get("kernel_size"), count)
        paddings, dilations = pair(args.get("padding", 0), count), pair(args.get("dilation", 1), count)
        if shape is None or kernels is None or paddings is None or dilations is None or args.get("ceil_mode", False):
            return None
        if len(shape) not in (count + 1, count + 2):
            return None
        for length, kernel, padding, dilation in zip(shape[-count:], kernels, paddings, dilations, strict=True):
            numbers = [one for one in (length, kernel, padding, dilation) if type(one) is int]
            if len(numbers) == 4 and numbers[0] + 2 * numbers[2] < numbers[3] * (numbers[1] - 1) + 1:
                return Misfit("kernel", (shape,), tuple([size(one) for one in kernels]))
        return None

    return refuse


for _count in (1, 2, 3):
    check(f"max_pool{_count}d", f"avg_pool{_count}d")(_pooled(_count))


@check("pad")
def _pad(args: Args) -> Misfit | None:
    """Refuse half of a pair, and a reflection of more than there is."""
    shape, numbers = tensor(args).shape, _whole(args.get("pad"))
    if shape is None or numbers is None:
        return None
    if len(numbers) % 2:
        return Misfit("said", (shape,), said="the padding needs a pair for each dimension")
    if args.get("mode") != "reflect" or len(numbers) > 2 * len(shape):
        return None
    for place, (before, after) in enumerate(zip(numbers[::2], numbers[1::2], strict=True), 1):
        length = shape[-place]
        if isinstance(length, int) and max(before, after) >= length:
            return Misfit("said", (shape,), said=f"{length} places cannot be reflected by {max(before, after)}")
    return None


def _divided(shape: Shape, place: int, by: object, what: str) -> Misfit | None:
    """Refuse a size that a number does not divide."""
    if shape is None or not -len(shape) <= place < len(shape) or type(by) is not int or by < 1:
        return None
    length = shape[place]
    wrong = isinstance(length, int) and length % by != 0
    return Misfit("said", (shape,), said=f"{what} {length}, not divisible by {by}") if wrong else None


@check("pixel_shuffle")
def _pixel_shuffle(args: Args) -> Misfit | None:
    factor = args.get("upscale_factor")
    return _divided(tensor(args).shape, -3, factor**2 if type(factor) is int else None, "the channels are")


@check("group_norm")
def _group_norm(args: Args) -> Misfit | None:
    return _divided(tensor(args).shape, 1, args.get("num_groups"), "the channels are")


@check("glu")
def _glu(args: Args) -> Misfit | None:
    found = _along(args, -1)
    return None if found is None else _divided(found[0], found[1], 2, f"dimension {found[1]} has")
