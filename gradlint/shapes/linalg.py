"""Sizes and types of linear algebra."""

from __future__ import annotations

from collections.abc import Callable

from gradlint.domain import dtype as dtypes
from gradlint.domain.shape import Dim, Shape, Sym, broadcast, same_shape
from gradlint.shapes.arguments import flag, tensor, typed
from gradlint.shapes.operand import NOTHING, Args, Operand, Result, Several
from gradlint.shapes.product import agreed
from gradlint.shapes.reduce import reduced
from gradlint.shapes.rule import Rule, TypeChange, always, rule, same


def _matrix(args: Args) -> Operand:
    return tensor(args, "A", "input", "self", "x")


def _batch(shape: Shape) -> Shape:
    return shape[:-2] if shape is not None and len(shape) >= 2 else None


def _shaped(batch: Shape, *sides: Dim) -> Shape:
    return None if batch is None else (*batch, *sides)


def _smaller(shape: tuple[Dim, ...]) -> Dim:
    rows, columns = shape[-2:]
    if rows is columns:
        return rows
    return min(rows, columns) if isinstance(rows, int) and isinstance(columns, int) else Sym()


def _diagonal(self: Operand) -> Shape:
    """Return one number for each element of the diagonal: singular values, pivots."""
    batch = _batch(self.shape)
    return (*batch, _smaller(self.shape)) if self.shape and batch is not None else None


def _of_matrix(shape_of: Callable[[Operand], Shape], dtype: TypeChange) -> Rule:
    """Return the rule of what depends on a matrix alone."""
    return lambda args: Operand(shape_of(_matrix(args)), dtype(_matrix(args).dtype))


def _of_batch(self: Operand) -> Shape:
    return _batch(self.shape)


def _eigenvalues(self: Operand) -> Shape:
    return self.shape[:-1] if self.shape else None


def _transposed(self: Operand) -> Shape:
    shape = self.shape or ()
    return (*shape[:-2], shape[-1], shape[-2]) if len(shape) >= 2 else None


rule("cond")(_of_matrix(_of_batch, dtypes.to_real))
rule("det", "logdet")(_of_matrix(_of_batch, same))
rule("matrix_rank")(_of_matrix(_of_batch, always("int64")))
rule("pinverse", "pinv")(_of_matrix(_transposed, same))
rule("svdvals")(_of_matrix(_diagonal, dtypes.to_real))
rule("eigvalsh")(_of_matrix(_eigenvalues, dtypes.to_real))
rule("eigvals")(_of_matrix(_eigenvalues, dtypes.to_complex))


@rule("slogdet")
def _slogdet(args: Args) -> Result:
    self = _matrix(args)
    sign, logarithm = (Operand(_batch(self.shape), dtype) for dtype in (self.dtype, dtypes.to_real(self.dtype)))
    return Several((sign, logarithm), fields=("sign", "logabsdet"))


@rule("linalg.norm")
def _norm(args: Args) -> Result:
    """Return the norm of a flattened tensor, of vectors along one dimension, or of matrices along two."""
    self, dim, order = _matrix(args), args.get("dim"), args.get("ord")
    keepdim = flag(args, "keepdim", False)
    dtype = typed(args, dtypes.to_real(self.dtype))
    if dim is None and order is not None and self.shape is not None and len(self.shape) not in (1, 2):
        return Operand(None, dtype)
    return Operand(reduced(self.shape, dim, keepdim), dtype)


@rule("matrix_norm")
def _matrix_norm(args: Args) -> Result:
    self = _matrix(args)
    shape = reduced(self.shape, args.get("dim", (-2, -1)), flag(args, "keepdim", False))
    return Operand(shape, typed(args, dtypes.to_real(self.dtype)))


def solved(left: Shape, right: Shape) -> Shape:
    """Return the shape of X in `A X = B`; B is a batch of vectors if it has the shape of A without the last size."""
    if left is None or right is None or len(left) < 2 or not right:
        return None
    if len(right) == 1:
        return (*left[:-2], left[-1])
    if len(right) == len(left) - 1 and (vectors := same_shape(left[:-1], right)) is not False:
        return right if vectors else None
    batch = broadcast(left[:-2], right[:-2])
    return None if batch is None else (*batch, *right[-2:])


@rule("solve")
def _solve(args: Args) -> Result:
    left, right = tensor(args, "A"), tensor(args, "B")
    side = flag(args, "left", True)
    return Operand(solved(left.shape, right.shape) if side else None, agreed(left, right))


@rule("solve_triangular", "cholesky_solve", "lu_solve")
def _solve_triangular(args: Args) -> Result:
    if "B" in args:
        left, right = tensor(args, "A", "self", "input"), tensor(args, "B")
    else:
        left, right = tensor(args, "input2", "L", "LU_data"), tensor(args)
    shape: Shape = None
    if left.shape is not None and right.shape is not None and len(right.shape) >= 2:
        shape = _shaped(broadcast(left.shape[:-2], right.shape[:-2]), *right.shape[-2:])
    return Operand(shape, agreed(left, right))


@rule("svd")
def _svd(args: Args) -> Result:
    """Return orthogonal columns, cut to the smaller side unless asked not to; V is not transposed."""
    return _decomposed(args, flag(args, "some", True), ("U", "S", "V"), transposed=False)


@rule("linalg.svd")
def _linalg_svd(args: Args) -> Result:
    full = flag(args, "full_matrices", True)
    return _decomposed(args, None if full is None else not full, ("U", "S", "Vh"), transposed=True)


def _decomposed(args: Args, cut: bool | None, fields: tuple[str, ...], *, transposed: bool) -> Result:
    self = _matrix(args)
    batch, real = _batch(self.shape), dtypes.to_real(self.dtype)
    if batch is None or self.shape is None:
        return Several((Operand(None, self.dtype), Operand(None, real), Operand(None, self.dtype)), fields=fields)
    (rows, columns), least = self.shape[-2:], _smaller(self.shape)
    left = _shaped(batch, rows, rows if cut is False else least if cut else Sym())
    width: Dim = columns if cut is False else least if cut else Sym()
    right = _shaped(batch, width, columns) if transposed else _shaped(batch, columns, width)
    if flag(args, "compute_uv", True) is not True:
        left, right = None, None
    parts = (Operand(left, self.dtype), Operand(_shaped(batch, least), real), Operand(right, self.dtype))
    return Several(parts, fields=fields)


def _decomposition(dtype: TypeChange, *, vectors: TypeChange) -> Rule:
    def answer(args: Args) -> Result:
        self = _matrix(args)
        values = Operand(_eigenvalues(self), dtype(self.dtype))
        return Several((values, Operand(self.shape, vectors(self.dtype))), fields=("eigenvalues", "eigenvectors"))

    return answer


rule("eigh")(_decomposition(dtypes.to_real, vectors=same))
rule("eig")(_decomposition(dtypes.to_complex, vectors=dtypes.to_complex))


@rule("qr")
def _qr(args: Args) -> Result:
    self = _matrix(args)
    mode, some = args.get("mode", "reduced"), flag(args, "some", True)
    batch = _batch(self.shape)
    if self.shape is None or batch is None or mode not in ("reduced", "complete") or some is None:
        return Several((Operand(None, self.dtype), Operand(None, self.dtype)), fields=("Q", "R"))
    rows, columns = self.shape[-2:]
    inner = _smaller(self.shape) if some and mode == "reduced" else rows
    left, right = _shaped(batch, rows, inner), _shaped(batch, inner, columns)
    return Several((Operand(left, self.dtype), Operand(right, self.dtype)), fields=("Q", "R"))


@rule("solve_ex")
def _solve_ex(args: Args) -> Result:
    solution = _solve(args)
    info = Operand(_batch(tensor(args, "A").shape), "int32")
    return Several((solution, info), fields=("result", "info"))


@rule("lu_factor")
def _lu_factor(args: Args) -> Result:
    self = _matrix(args)
    pivots = Operand(_diagonal(self), "int32")
    return Several((Operand(self.shape, self.dtype), pivots), fields=("LU", "pivots"))


@rule("lstsq")
def _lstsq(args: Args) -> Result:
    """Return the solution; what the other three are depends on the driver."""
    left, right = tensor(args, "A", "self", "input"), tensor(args, "B", "b")
    shape: Shape = None
    if left.shape and right.shape and len(left.shape) == len(right.shape) == 2:
        shape = (left.shape[1], right.shape[1])
    fields = ("solution", "residuals", "rank", "singular_values")
    return Several((Operand(shape, agreed(left, right)), NOTHING, NOTHING, NOTHING), fields=fields)


@rule("inv_ex", "cholesky_ex")
def _with_info(args: Args) -> Result:
    self = _matrix(args)
    name = "inverse" if "A" in args else "L"
    return Several((Operand(self.shape, self.dtype), Operand(_batch(self.shape), "int32")), fields=(name, "info"))
