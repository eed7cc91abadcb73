"""Calls that torch's own samples do not make: creation, attributes, conversions, subscripts, initialisers.

Only the calls are written here; every fact about them is measured. A line is a Python expression in which
`call` records what it is given: `call("Tensor.data", x)`.
"""

from __future__ import annotations

import functools
import math

import torch

from tools.facts import recipes_functions, recipes_layouts
from tools.facts.recipe_inputs import Recipe, call, cube, i, image, ints, mask, one, square, v, x, y, zero_d

_PROPERTIES = [
    "data", "grad", "is_leaf", "requires_grad", "grad_fn", "shape", "dtype", "device", "ndim", "layout",
    "T", "mT", "H", "mH", "real", "imag", "is_sparse", "is_cuda", "itemsize", "nbytes", "is_quantized",
    "retains_grad", "output_nr", "_version",
]  # fmt: skip

_TO_PYTHON = [
    "item", "tolist", "numpy", "size", "dim", "numel", "nelement", "element_size", "is_contiguous",
    "is_floating_point", "is_complex", "stride", "storage_offset", "data_ptr", "get_device", "type",
    "ndimension", "__len__", "__bool__", "__float__", "__int__", "__array__", "__iter__", "__repr__",
    "is_shared", "is_signed", "is_pinned", "is_inference", "untyped_storage", "storage", "__reversed__",
    "__index__", "__complex__", "__hash__",
]  # fmt: skip

_SAME = [
    "detach", "detach_", "clone", "cpu", "float", "double", "half", "bfloat16", "int", "long", "short",
    "char", "byte", "bool", "contiguous", "requires_grad_", "retain_grad", "share_memory_", "cfloat",
    "cdouble", "to_dense", "to_sparse", "zero_", "positive", "dense_dim", "flatten", "squeeze", "squeeze_",
    "t", "t_", "unbind", "nonzero", "argwhere", "relu", "relu_", "adjoint", "is_nonzero", "pin_memory",
    "coalesce", "is_coalesced",
]  # fmt: skip

_CREATE = ["zeros", "ones", "empty", "rand", "randn"]
_LIKE = ["zeros_like", "ones_like", "empty_like", "rand_like", "randn_like"]
_NEW = ["new_zeros", "new_ones", "new_empty"]

_INIT_SIMPLE = [
    "uniform_", "normal_", "ones_", "zeros_", "xavier_uniform_", "xavier_normal_", "kaiming_uniform_",
    "kaiming_normal_", "trunc_normal_", "orthogonal_", "eye_", "sparse_",
]  # fmt: skip

_FILL = [
    "normal_", "uniform_", "exponential_", "log_normal_", "cauchy_", "geometric_", "random_", "bernoulli_",
]  # fmt: skip
_FILL_ARGUMENTS: dict[str, tuple[object, ...]] = {"geometric_": (0.5,), "bernoulli_": (0.5,)}


def _attributes() -> list[Recipe]:
    found = []
    for part in _PROPERTIES:
        found += [call(f"Tensor.{part}", x), call(f"Tensor.{part}", square)]
        found += [call(f"Tensor.{part}", torch.complex(x, y))] if part in {"real", "imag", "data", "shape"} else []
        found += [call(f"Tensor.{part}", cube)] if part not in {"T", "H"} else []
    return found


def _conversions() -> list[Recipe]:
    found = []
    for part in _TO_PYTHON:
        for tensor in (one, zero_d, x, v, ints):
            found.append(call(f"Tensor.{part}", tensor))
    for part in _SAME:
        found += [call(f"Tensor.{part}", t) for t in (x, v, ints, square, x.double())]
    for dtype in (torch.float64, torch.float32, torch.int64):
        found += [call("Tensor.to", t, dtype) for t in (x, ints, square)]
        found += [call("Tensor.to", t, dtype=dtype) for t in (x, ints)]
        found += [call("Tensor.type", t, dtype) for t in (x, ints)]
        found += [call("Tensor.to", t, "cpu", dtype) for t in (x, ints)]
    found += [call("Tensor.to", t, "cpu") for t in (x, cube)]
    found += [call("Tensor.to", t, device="cpu") for t in (x, cube)]
    found += [call("Tensor.to", t, other) for t, other in ((x, y), (x, y.double()), (ints, x))]
    found += [call("Tensor.to", t, torch.float32, copy=True) for t in (x, cube)]
    found += [call("Tensor.size", t, 0) for t in (x, cube)]
    found += [call("Tensor.numpy", t, force=True) for t in (x, cube)]
    found += [call("Tensor.requires_grad_", t, mode) for t in (x, cube) for mode in (True, False)]
    return found


def _creation() -> list[Recipe]:
    found = []
    for name in _CREATE:
        for arguments in ((2, 3), ((2, 3),), (4,), ([4, 2],)):
            found += [call(name, *arguments), call(name, *arguments, requires_grad=True)]
        found += [call(name, 2, 3, dtype=d) for d in (torch.float64, torch.float32)]
    for name in _LIKE:
        for tensor in (x, cube, x.double()):
            found += [call(name, tensor), call(name, tensor, requires_grad=True)]
        found += [call(name, x, dtype=torch.float64)]
    for name in _NEW:
        found += [call(f"Tensor.{name}", t, s) for t in (x, cube) for s in ((2, 2), (3,))]
        found += [
            call(f"Tensor.{name}", x, (2, 2), requires_grad=True),
            call(f"Tensor.{name}", x, (3,), requires_grad=True),
        ]
        found += [call(f"Tensor.{name}", t, 3, 2) for t in (x, cube)]
    for grad in ({}, {"requires_grad": True}):
        found += [call("full", s, 0.5, **grad) for s in ((2, 3), (4,))]
        found += [call("full_like", t, 0.5, **grad) for t in (x, cube)]
        found += [call("Tensor.new_full", t, (2, 2), 0.5, **grad) for t in (x, cube)]
        found += [call("Tensor.new_tensor", x, d, **grad) for d in ([1.0, 2.0], [[1.0], [2.0]])]
        found += [call("tensor", d, **grad) for d in ([1.0, 2.0], [[1.0], [2.0]])]
        found += [call("linspace", 0.0, 1.0, n, **grad) for n in (3, 5)]
        found += [call("arange", *a, **grad) for a in ((4.0,), (0.0, 4.0), (0.0, 4.0, 0.5))]
        found += [call("eye", *a, **grad) for a in ((3,), (3, 2))]
        found += [call("logspace", 0.0, 1.0, n, **grad) for n in (3, 5)]
        found += [call("normal", 0.0, 1.0, s, **grad) for s in ((2, 3), (4,))]
    found += [call("tensor", d) for d in (1, 2.5, True, [1, 2], [True, False], x, zero_d, v, ints)]
    found += [call("tensor", d, dtype=torch.float64) for d in ([1, 2], 2.5)]
    found += [call("as_tensor", d) for d in (1, 2.5, [1.0, 2.0], x, cube, zero_d, ints)]
    found += [call("asarray", d) for d in (x, cube, [1.0, 2.0], [3.0])]
    found += [call("randint", 5, s) for s in ((2, 3), (4,))] + [
        call("randint", 1, 5, (2,)),
        call("randint", 1, 5, (3, 2)),
    ]
    found += [call("randperm", n) for n in (3, 5)] + [call("arange", n) for n in (3, 5)]
    found += [call("randint_like", t, 5) for t in (x, cube)]
    found += [call("from_numpy", t.numpy()) for t in (x, cube, ints)]
    found += [call("Tensor.new", t) for t in (x, cube)]
    found += [call("multinomial", t.abs(), 2) for t in (x, v)] + [
        call("bernoulli", t.abs().clamp(max=1)) for t in (x, v)
    ]
    found += [call("tril_indices", 3, 3), call("triu_indices", 3, 3), call("empty_strided", (2, 3), (3, 1))]
    found += [call("complex", x, y), call("complex", v, v), call("polar", x, y), call("polar", v, v)]
    found += [call("poisson", x.abs()), call("poisson", cube.abs())]
    found += [
        call("cartesian_prod", v, v),
        call("cartesian_prod", v),
        call("combinations", v),
        call("vander", v),
    ]
    found += [call("Tensor.set_", x, y), call("Tensor.set_", cube, cube)]
    return found


_INDEXES: tuple[tuple[torch.Tensor, object], ...] = (
    (x, 0), (x, slice(0, 1)), (x, (slice(None), 1)), (x, (0, 1)), (x, None), (x, Ellipsis),
    (x, (slice(None), None)), (cube, 1), (cube, (Ellipsis, 0)), (cube, slice(None, None, 2)), (v, 0),
    (v, slice(1, None)), (cube, (1, 2)), (x, mask), (x, torch.tensor([0, 1])), (x, [0, 1]),
    (x, (slice(None), torch.tensor([0, 2]))), (cube, mask[:, :, None].expand(2, 3, 4)),
    (cube, torch.tensor([0])), (v, v > 0), (v, i),
    (x, (torch.tensor([0, 1]), torch.tensor([1, 2]))), (x, [True, False]),
)  # fmt: skip


def _subscripts() -> list[Recipe]:
    found = [call("Tensor.__getitem__", t, index) for t, index in _INDEXES]
    for tensor, index in _INDEXES:
        value = tensor[index].clone() + 1  # type: ignore[index]
        found += [
            call("Tensor.__setitem__", tensor, index, value),
            call("Tensor.__setitem__", tensor, index, 0.5),
        ]
    return found


def _initialisers() -> list[Recipe]:
    found = [
        call(f"nn.init.{name}", t, *((0.5,) if name == "sparse_" else ())) for name in _INIT_SIMPLE for t in (x, square)
    ]
    found += [call("nn.init.constant_", t, 0.3) for t in (x, v)]
    found += [call("nn.init.dirac_", t) for t in (cube, image)]
    found += [call(f"Tensor.{name}", t, *_FILL_ARGUMENTS.get(name, ())) for name in _FILL for t in (x, v)]
    found += [call("Tensor.fill_", t, n) for t in (x, v) for n in (0.5, zero_d)]
    found += [call("Tensor.copy_", t, s) for t, s in ((x, y), (cube, cube), (x, v), (x, ints), (x, zero_d))]
    found += [call("Tensor.fill_diagonal_", t, 0.5) for t in (x, square)]
    return found


def _operators() -> list[Recipe]:
    binary = ["add", "sub", "mul", "truediv", "floordiv", "mod", "pow"]
    found = []
    for stem in binary:
        for prefix in ("", "i", "r"):
            name = f"Tensor.__{prefix}{stem}__"
            left, right = x.abs(), y.abs()
            found += [
                call(name, left, 2.0),
                call(name, left, 3.0),
                call(name, cube.abs(), 0.5),
                call(name, left, 2),
            ]
            if prefix != "r":
                found += [
                    call(name, left, right),
                    call(name, cube.abs(), cube.abs() + 1),
                    call(name, left, v.abs()),
                ]
    for stem in ["eq", "ne", "lt", "le", "gt", "ge"]:
        found += [call(f"Tensor.__{stem}__", x, other) for other in (y, v, 0.5, 1)]
    for stem in ("and", "or", "xor", "iand", "ior", "ixor"):
        found += [call(f"Tensor.__{stem}__", t, t) for t in (mask, ints)]
    for stem in ("lshift", "rshift", "ilshift", "irshift"):
        found += [call(f"Tensor.__{stem}__", ints, other) for other in (ints, 1)]
    found += [call("Tensor.__invert__", t) for t in (mask, ints)]
    for stem in ("neg", "pos", "abs"):
        found += [call(f"Tensor.__{stem}__", t) for t in (x, cube)]
    found += [
        call("Tensor.__matmul__", a, b)
        for a, b in ((square, square), (square, x), (x, v), (cube, v.new_ones(4)), (v, v))
    ]
    return found


def _products() -> list[Recipe]:
    """Return products of all ranks that meet; what is saved hangs on which side is broadcast."""
    shapes: dict[int, list[tuple[int, ...]]] = {
        1: [(3,)],
        2: [(3, 3), (2, 3)],
        3: [(2, 3, 3), (4, 2, 3)],
        4: [(2, 1, 3, 3)],
    }
    left = [torch.linspace(-1, 1, math.prod(s)).reshape(s) for r in shapes for s in shapes[r]]
    right = [
        torch.linspace(0.5, 2, 3 ** min(r, 2) * k).reshape((k,) * (r > 2) + (1,) * (r > 3) + (3,) * min(r, 2))
        for r in shapes
        for k in ((2, 1) if r > 2 else (1,))
    ]
    names = ("matmul", "Tensor.matmul", "Tensor.__matmul__")
    pairs = [(a, b) for a in left for b in right if _meet(a, b)]
    return [call(name, a, b) for name in names for a, b in pairs]


def _meet(a: torch.Tensor, b: torch.Tensor) -> bool:
    batches = zip(reversed(a.shape[:-2]), reversed(b.shape[:-2]), strict=False)
    return all(m == n or 1 in (m, n) for m, n in batches)


@functools.cache
def groups() -> dict[str, list[Recipe]]:
    """Return the recipes by the name of the operation they call."""
    found: dict[str, list[Recipe]] = {}
    parts = (
        _products,
        _attributes,
        _conversions,
        _creation,
        _subscripts,
        _initialisers,
        _operators,
        recipes_functions.others,
        recipes_functions.quantized,
        recipes_functions.norms_and_pools,
        recipes_functions.losses,
        recipes_functions.queries,
        recipes_functions.methods,
        recipes_layouts.layouts,
    )
    for recipe in [recipe for part in parts for recipe in part()]:
        found.setdefault(recipe.name, []).append(recipe)
    return found
