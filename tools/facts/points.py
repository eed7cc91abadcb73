"""Gradients at the points where people expect them otherwise: ties, kinks, poles, masks.

Here stand expressions of a tensor `x` and where to evaluate them; what comes out is measured.
"""

from __future__ import annotations

import warnings

import torch

Point = tuple[str, list[float]]

POINTS: dict[str, tuple[Point, ...]] = {
    "max": (
        ("x.max()", [1.0, 3.0, 3.0]),
        ("x.max(dim=0).values", [1.0, 3.0, 3.0]),
        ("torch.max(x, torch.tensor(3.0))", [1.0, 3.0, 5.0]),
    ),
    "min": (
        ("x.min()", [1.0, 1.0, 3.0]),
        ("x.min(dim=0).values", [1.0, 1.0, 3.0]),
        ("torch.min(x, torch.tensor(3.0))", [1.0, 3.0, 5.0]),
    ),
    "amax": (("x.amax()", [1.0, 3.0, 3.0]), ("x.amax(dim=0)", [1.0, 3.0, 3.0])),
    "amin": (("x.amin()", [1.0, 1.0, 3.0]), ("x.amin(dim=0)", [1.0, 1.0, 3.0])),
    "maximum": (("torch.maximum(x, torch.tensor(3.0))", [1.0, 3.0, 5.0]),),
    "minimum": (("torch.minimum(x, torch.tensor(3.0))", [1.0, 3.0, 5.0]),),
    "median": (("x.median()", [1.0, 3.0, 3.0]), ("x.median(dim=0).values", [1.0, 3.0, 3.0])),
    "kthvalue": (("x.kthvalue(2).values", [1.0, 3.0, 3.0]),),
    "topk": (("x.topk(1).values", [1.0, 3.0, 3.0]),),
    "sort": (("x.sort().values[:2]", [3.0, 1.0, 1.0]),),
    "abs": (("x.abs()", [-2.0, 0.0, 2.0]),),
    "sign": (("x.sign()", [-2.0, 0.0, 2.0]),),
    "sgn": (("x.sgn()", [-2.0, 0.0, 2.0]),),
    "ceil": (("x.ceil()", [0.5, 1.0]),),
    "floor": (("x.floor()", [0.5, 1.0]),),
    "round": (("x.round()", [0.5, 1.2]),),
    "trunc": (("x.trunc()", [0.5, 1.0]),),
    "frac": (("x.frac()", [0.5, 1.0]),),
    "where": (
        ("torch.where(x > 0, x, 2 * x)", [-1.0, 0.0, 1.0]),
        ("torch.where(x > 0, x.log(), 0.0)", [0.0, 1.0]),
        ("torch.where(x > 0, torch.where(x > 0, x, 1.0).log(), 0.0)", [0.0, 1.0]),
        ("torch.where(x > 0, x.sqrt(), 0.0)", [0.0, 1.0]),
    ),
    "masked_fill": (("x.log().masked_fill(x == 0, 0.0)", [0.0, 1.0]),),
    "clamp": (("x.clamp(0.0, 1.0)", [-1.0, 0.0, 0.5, 1.0, 2.0]), ("x.clamp(min=0.0)", [-1.0, 0.0, 1.0])),
    "nn.functional.relu": (("torch.relu(x)", [-1.0, 0.0, 1.0]),),
    "relu": (("torch.relu(x)", [-1.0, 0.0, 1.0]),),
    "nn.functional.relu6": (("F.relu6(x)", [-1.0, 0.0, 3.0, 6.0, 7.0]),),
    "nn.functional.leaky_relu": (("F.leaky_relu(x, 0.1)", [-1.0, 0.0, 1.0]),),
    "nn.functional.hardtanh": (("F.hardtanh(x)", [-2.0, -1.0, 0.0, 1.0, 2.0]),),
    "nn.functional.hardsigmoid": (("F.hardsigmoid(x)", [-4.0, 0.0, 4.0]),),
    "nn.functional.softplus": (("F.softplus(x)", [-100.0, 0.0, 100.0]),),
    "nn.functional.l1_loss": (("F.l1_loss(x, torch.zeros(3), reduction='sum')", [-1.0, 0.0, 1.0]),),
    "nn.functional.binary_cross_entropy": (("F.binary_cross_entropy(x, torch.ones(2), reduction='sum')", [0.0, 0.5]),),
    "nn.functional.kl_div": (("F.kl_div(torch.zeros(2), x, reduction='sum')", [0.0, 0.5]),),
    "nn.functional.cosine_similarity": (("F.cosine_similarity(x, torch.ones(2), dim=0)", [0.0, 0.0]),),
    "nn.functional.normalize": (("F.normalize(x, dim=0)", [0.0, 0.0]),),
    "sigmoid": (("torch.sigmoid(x)", [-200.0, 0.0, 200.0]), ("torch.sigmoid(x).log()", [-200.0, 0.0])),
    "tanh": (("torch.tanh(x)", [-50.0, 0.0, 50.0]),),
    "sqrt": (("x.sqrt()", [0.0, 4.0]), ("x.sqrt()", [-1.0])),
    "rsqrt": (("x.rsqrt()", [0.0, 4.0]),),
    "reciprocal": (("x.reciprocal()", [0.0, 2.0]),),
    "div": (("1.0 / x", [0.0, 2.0]), ("x / 0.0", [0.0, 2.0])),
    "log": (("x.log()", [0.0, 2.0]), ("x.log()", [-1.0]), ("(x + 1e-8).log()", [0.0, 2.0])),
    "log2": (("x.log2()", [0.0, 2.0]),),
    "log10": (("x.log10()", [0.0, 2.0]),),
    "log1p": (("x.log1p()", [-1.0, 0.0]),),
    "exp": (("x.exp()", [0.0, 100.0]), ("x.exp() / x.exp().sum()", [0.0, 100.0])),
    "softmax": (
        ("x.softmax(0)[0]", [0.0, 0.0]),
        ("x.softmax(0).log()[0]", [0.0, 200.0]),
        ("x.softmax(0)[0]", [float("-inf"), float("-inf")]),
    ),
    "log_softmax": (("x.log_softmax(0)[0]", [0.0, 200.0]),),
    "logsumexp": (("x.logsumexp(0)", [0.0, 200.0]), ("x.logsumexp(0)", [float("-inf"), float("-inf")])),
    "pow": (
        ("x ** 2", [0.0, 3.0]),
        ("x ** 0.5", [0.0, 4.0]),
        ("x ** 0", [0.0, 4.0]),
        ("x ** -1", [0.0, 2.0]),
        ("x ** 0.5", [-1.0]),
        ("2.0 ** x", [0.0, 1.0]),
        ("0.0 ** x", [0.0, 1.0]),
    ),
    "float_power": (("x.float_power(0.5)", [0.0, 4.0]),),
    "norm": (("x.norm()", [0.0, 0.0]), ("x.norm(p=1)", [0.0, 2.0])),
    "linalg.norm": (("torch.linalg.norm(x)", [0.0, 0.0]),),
    "linalg.vector_norm": (("torch.linalg.vector_norm(x)", [0.0, 0.0]),),
    "cdist": (("torch.cdist(x[None], x[None].detach())", [1.0, 2.0]),),
    "std": (("x.std()", [1.0, 1.0]), ("x.std()", [1.0])),
    "var": (("x.var()", [1.0, 1.0]), ("x.var()", [1.0])),
    "mean": (("x.mean()", [1.0, 2.0, 3.0, 4.0]),),
    "sum": (("x.sum()", [1.0, 2.0, 3.0]),),
    "prod": (("x.prod()", [0.0, 2.0, 3.0]), ("x.prod()", [0.0, 0.0, 3.0])),
    "cumprod": (("x.cumprod(0)", [0.0, 2.0, 3.0]),),
    "cat": (("torch.cat([x, 2 * x])", [1.0, 2.0]),),
    "stack": (("torch.stack([x, 2 * x])", [1.0, 2.0]),),
    "asin": (("x.asin()", [0.0, 1.0]),),
    "acos": (("x.acos()", [0.0, 1.0]),),
    "acosh": (("x.acosh()", [1.0, 2.0]),),
    "atanh": (("x.atanh()", [0.0, 1.0]),),
    "atan2": (("torch.atan2(x, torch.zeros(2))", [0.0, 1.0]),),
    "hypot": (("torch.hypot(x, torch.zeros(2))", [0.0, 1.0]),),
    "xlogy": (("torch.xlogy(x, x)", [0.0, 1.0]),),
    "nan_to_num": (("x.log().nan_to_num(neginf=0.0)", [0.0, 1.0]), ("x.nan_to_num()", [float("nan"), 1.0])),
    "remainder": (("x % 2.0", [0.5, 2.0]),),
    "floor_divide": (("x // 2.0", [0.5, 2.0]),),
    "argmax": (("x.argmax()", [1.0, 3.0]),),
    "argmin": (("x.argmin()", [1.0, 3.0]),),
    "eq": (("x == 1.0", [1.0, 3.0]),),
    "ne": (("x != 1.0", [1.0, 3.0]),),
    "lt": (("x < 2.0", [1.0, 3.0]),),
    "le": (("x <= 2.0", [1.0, 3.0]),),
    "gt": (("x > 2.0", [1.0, 3.0]),),
    "ge": (("x >= 2.0", [1.0, 3.0]),),
}


def measured(name: str) -> list[list[str]]:
    """Return expression, value and gradient at each special point of the operation."""
    return [_measure(expression, numbers) for expression, numbers in POINTS.get(name, ())]


def _measure(expression: str, numbers: list[float]) -> list[str]:
    x = torch.tensor(numbers, requires_grad=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # The deviation of a single number is asked for on purpose.
        value = eval(expression, {"torch": torch, "F": torch.nn.functional, "x": x})
    place = f"{expression} at x = {_shown(x)}"
    if not value.requires_grad:
        return [place, _shown(value), "none: the result does not require grad"]
    try:
        value.sum().backward()
    except RuntimeError as error:  # The answer to the question is the refusal itself.
        return [place, _shown(value), f"backward raises: {str(error).splitlines()[0]}"]
    assert x.grad is not None
    return [place, _shown(value), _shown(x.grad)]


def _shown(tensor: torch.Tensor) -> str:
    numbers = tensor.detach().double().tolist() if tensor.dtype.is_floating_point else tensor.tolist()
    return _text(numbers)


def _text(value: object) -> str:
    if isinstance(value, list):
        return f"[{', '.join(_text(item) for item in value)}]"
    if isinstance(value, float):
        return f"{value:.4g}"
    return str(value)
