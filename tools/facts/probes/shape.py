"""Probe: which rules of size and dtype hold for the result of one call, and of what Python shape it is."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch

from tools.facts.call import Call, Run, tensors_in
from tools.facts.probes import Facts


def observe(call: Call, state: Run) -> Facts:
    """Return every rule that holds; the fit keeps those that hold on all calls."""
    facts: Facts = {"result": frozenset({structure(state.result)})}
    first = next(iter(state.outputs.values()), None)
    shapes = {label: [t.shape for t in ts] for label, ts in state.before.items() if label in call.named}
    if first is None or not _telling(shapes):
        return facts
    facts["size"] = frozenset(_size_rules(call, first, state))
    facts["scalar"] = frozenset(label for label, t in state.outputs.items() if t.ndim == 0)
    return facts


def _telling(shapes: dict[str, list[torch.Size]]) -> bool:
    """Empty and 0-dimensional inputs satisfy almost any rule, so they tell nothing."""
    flat = [shape for group in shapes.values() for shape in group]
    return all(shape.numel() > 0 for shape in flat) and (not flat or all(len(s) > 0 for s in flat))


def _size_rules(call: Call, output: torch.Tensor, state: Run) -> Iterator[str]:
    inputs = {label: state.before[label] for label in state.before if label in call.named}
    for label, tensors in inputs.items():
        if all(t.shape == output.shape for t in tensors):
            yield f"same:{label}"
        if len(tensors) == 1 and tensors[0].numel() == output.numel():
            yield f"numel:{label}"
    if output.ndim == 0:
        yield "0d"
    if inputs and _broadcast(inputs) == output.shape:
        yield "bcast"
    if inputs and _reduced(call, next(iter(inputs.values()))[0]) == output.shape:
        yield "reduce"
    sizes = [v for k, v in call.named.items() if k in {"size", "shape"} and isinstance(v, (tuple, list))]
    if sizes and tuple(sizes[0]) == tuple(output.shape):
        yield "arg:size"


def _broadcast(inputs: dict[str, list[torch.Tensor]]) -> torch.Size | None:
    meet: Callable[..., torch.Size] = torch.broadcast_shapes
    try:
        return meet(*(t.shape for tensors in inputs.values() for t in tensors))
    except RuntimeError:  # These shapes do not meet, so the rule does not hold.
        return None


def _reduced(call: Call, tensor: torch.Tensor) -> torch.Size | None:
    dim = call.named.get("dim")
    keep = bool(call.named.get("keepdim", False))
    if dim is None or dim == ():
        dims = tuple(range(tensor.ndim))
    elif isinstance(dim, int):
        dims = (dim,)
    elif isinstance(dim, (tuple, list)) and all(isinstance(d, int) for d in dim):
        dims = tuple(dim)
    else:
        return None
    dims = tuple(d % tensor.ndim for d in dims)
    sizes = [1 if i in dims else n for i, n in enumerate(tensor.shape) if keep or i not in dims]
    return torch.Size(sizes)


def structure(result: object) -> str:
    """Describe the Python shape of a result: `Tensor`, `tuple(Tensor,Tensor)`, `int`."""
    if isinstance(result, torch.Tensor):
        return "Tensor" if type(result) is not torch.nn.Parameter else "Parameter"
    if isinstance(result, (list, tuple)) and not isinstance(result, torch.Size):
        names = [f for f in dir(result) if f in _FIELDS] if hasattr(result, "n_fields") else []
        inner = ",".join(structure(item) for item in result)
        return f"{'named' if names else type(result).__name__}({_in_order(result, names) if names else inner})"
    return type(result).__name__


_FIELDS = frozenset([
    "values", "indices", "mode", "eigenvalues", "eigenvectors", "U", "S", "Vh", "sign", "logabsdet", "Q",
    "R", "L", "P", "LU", "pivots", "info", "solution", "residuals", "rank", "singular_values", "inverse",
    "result", "mantissa", "exponent", "hist", "bin_edges", "min", "max", "logdet", "cloned", "H", "tau",
    "X",
])  # fmt: skip


def _in_order(result: object, names: list[str]) -> str:
    items = list(tensors_in(result))
    places = {next((i for i, t in enumerate(items) if t is getattr(result, n)), -1): n for n in names}
    return ",".join(places.get(i, "_") for i in range(len(items)))


def dtype_rules(call: Call, state: Run) -> frozenset[str]:
    """Return the rules that give the dtype of the first output."""
    output = next(iter(state.outputs.values()), None)
    if output is None:
        return frozenset()
    operands = [v for v in call.named.values() if isinstance(v, torch.Tensor)]
    flat = [t for v in call.named.values() for t in tensors_in(v)]
    rules = {str(output.dtype).removeprefix("torch.")}
    if flat and flat[0].dtype == output.dtype:
        rules.add("same")
    if operands:
        promoted = operands[0].dtype
        for operand in operands[1:]:
            promoted = torch.promote_types(promoted, operand.dtype)
        rules |= {"promote"} if promoted == output.dtype else set()
        floated = promoted if promoted.is_floating_point or promoted.is_complex else torch.get_default_dtype()
        rules |= {"float"} if floated == output.dtype else set()
    if flat and flat[0].dtype.to_real() == output.dtype:
        rules.add("real")
    if call.named.get("dtype") is output.dtype:
        rules.add("arg:dtype")
    return frozenset(rules)
