"""What operations refuse that torch computes in C++: as functions, and as methods of tensors by the same row."""

from __future__ import annotations

from tools.guards_by_hand.written import ByHand, ones

_CUBE = ones((3, 3, 3), (3, 3))
_TWICE = "len(set([dim % input.dim() for dim in dims])) != len(dims)"
_DTYPES = ("torch.ones(3)", "torch.ones(3, dtype=torch.float64)", "torch.ones(3, dtype=torch.int64)")
_REAL = "('float32', 'float64', 'float16', 'bfloat16', 'int64', 'int32', 'bool')"


def _of_dimensions(name: str, text: str, rank: str) -> ByHand:
    """Return that an operation takes no dimension twice."""
    values = {"input": _CUBE, "dims": ("(0, 1, 2)", "(0, 1)", "(1, 1, 1)", "(0, -3, 1)", "(0, 0)")}
    return ByHand(f"torch.{name}", values, ((f"{rank}{_TWICE}", f"{text!r}"),), ("input", "*dims"))


def _of_two_types(name: str, one: str, other: str) -> ByHand:
    """Return that the parts of a complex number are of one type."""
    test = f"{one}.dtype in ('float32', 'float64') and {other}.dtype in ('float32', 'float64')"
    test += f" and {one}.dtype != {other}.dtype"
    values = {one: _DTYPES[:2], other: _DTYPES[:2]}
    return ByHand(f"torch.{name}", values, ((test, "'Expected object of scalar type'"),), (one, other))


OPERATIONS: tuple[ByHand, ...] = (
    _of_dimensions("permute", "duplicate dims are not allowed", "len(dims) == input.dim() and "),
    _of_dimensions("flip", "appears multiple times in the list of dims", ""),
    ByHand(
        "torch.rot90",
        {"input": _CUBE, "k": ("1",), "dims": ("(0, 1)", "(0, 0)", "[1, 1]", "(0, -3)")},
        (("dims[0] == dims[1]", "'rotation dims to be different'"),),
        ("input", "k=1", "dims=(0, 1)"),
    ),
    ByHand(
        "torch.movedim",
        {"input": _CUBE, "source": ("(0, 1)", "(0, 0)", "0"), "destination": ("(1, 0)", "(0, 0)", "1")},
        (
            ("isinstance(source, tuple) and len(set(source)) != len(source)", "''"),
            ("isinstance(destination, tuple) and len(set(destination)) != len(destination)", "''"),
            ("isinstance(source, int) and isinstance(destination, (tuple, list))", "''"),
        ),
        ("input", "source", "destination"),
    ),
    ByHand(
        "torch.diag_embed",
        {"input": ones((3,), (2, 3)), "offset": ("0",), "dim1": ("0", "-2", "1"), "dim2": ("1", "-1")},
        (("dim1 == dim2", "'diagonal dimensions cannot be identical'"),),
        ("input", "offset=0", "dim1=-2", "dim2=-1"),
    ),
    ByHand(
        "torch.flatten",
        {"input": _CUBE, "start_dim": ("0", "1", "-1"), "end_dim": ("-1", "0", "1")},
        (("start_dim % input.dim() > end_dim % input.dim()", "'start_dim cannot come after end_dim'"),),
        ("input", "start_dim=0", "end_dim=-1"),
    ),
    ByHand(
        "torch.tensor_split",
        {"input": _CUBE, "sections": ("2", "0", "-1")},
        (("isinstance(sections, int) and sections <= 0", "'number of sections must be larger than 0'"),),
        ("input", "sections", "dim=0"),
    ),
    ByHand(
        "torch.topk",
        {"input": ones((3, 4), (5,)), "k": ("1", "4", "5", "6"), "dim": ("-1", "0")},
        (("k > input.size(dim)", "'selected index k out of range'"),),
        ("input", "k", "dim=-1"),
    ),
    ByHand(
        "torch.kthvalue",
        {"input": ones((3, 4), (5,)), "k": ("1", "4", "5", "0"), "dim": ("-1", "0")},
        (("k > input.size(dim) or k < 1", "'selected number k out of range'"),),
        ("input", "k", "dim=-1"),
    ),
    ByHand(
        "torch.view_as_real",
        {"input": (*_DTYPES, "torch.ones(3, dtype=torch.complex64)")},
        ((f"input.dtype in {_REAL}", "'view_as_real is only supported for complex tensors'"),),
        ("input",),
    ),
    _of_two_types("complex", "real", "imag"),
    _of_two_types("polar", "abs", "angle"),
    ByHand(
        "torch.nn.functional.one_hot",
        {"input": ("torch.tensor([0, 3])", "torch.tensor([1, 2])"), "num_classes": ("-1", "2", "4")},
        (("num_classes > 0 and input.max() >= num_classes", "'Class values must be smaller than num_classes'"),),
        ("input", "num_classes=-1"),
    ),
    ByHand(
        "torch.index_select",
        {"input": _CUBE, "dim": ("0", "1"), "index": ("torch.tensor([0])", "torch.tensor([3])", "torch.tensor([-1])")},
        (("index.max() >= input.size(dim) or index.min() < 0", "'out of'"),),
        ("input", "dim", "index"),
    ),
)
