"""The sizes and dimensions that views refuse."""

from __future__ import annotations

from collections.abc import Sequence

from gradlint.domain.shape import axis, numel
from gradlint.shapes.arguments import given, listed, size, tensor
from gradlint.shapes.checks import Misfit, check, differ
from gradlint.shapes.operand import Args, Operand


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


def refuse_dimension(args: Args) -> Misfit | None:
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
    return refuse_dimension({"input": tensor(args), "dim": dims})


@check("unsqueeze", "unsqueeze_copy")
def _unsqueeze(args: Args) -> Misfit | None:
    self, dim = tensor(args).shape, args.get("dim")
    wrong = self is not None and type(dim) is int and axis(dim, len(self) + 1) is None
    return Misfit("dimension", (self or (),), (size(dim),)) if wrong else None


@check("permute")
def _permute(args: Args) -> Misfit | None:
    self, dims = tensor(args).shape, listed(args.get("dims"))
    if self is None or dims is None or len(dims) == len(self):
        return refuse_dimension({"input": tensor(args), "dim": dims or ()})
    return Misfit("permuted", (self,), tuple([size(dim) for dim in dims]))
