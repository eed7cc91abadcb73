"""The saved tensors of the table against torch's own derivative formulas, which ship with torch in `derivatives.yaml`.

A formula names the inputs and outputs that it reads; torch saves these and no others. The probe has to have seen the
same of each operation that is one node of the graph. Where the two differ, torch decides by hand-written programs, and
the reason stands here.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gradlint.facts import load

torch = pytest.importorskip("torch")
pytest.importorskip("yaml")
torchgen = pytest.importorskip("torchgen")
if torch.__version__.split("+")[0] != load().torch.split("+")[0]:
    pytest.skip(f"the table speaks of torch {load().torch}", allow_module_level=True)

from tools.facts.agree import possible  # noqa: E402 (this imports torch)

autograd = pytest.importorskip("torchgen.packaged.autograd.load_derivatives")

DIFFER = {
    ("matmul", "self"): "composite but on nested tensors: the products that it is made of save one operand each",
    ("matmul", "other"): "composite but on nested tensors: the products that it is made of save one operand each",
    ("max", "self"): "`max(input, other)` is `maximum`, which has a formula of its own",
    ("min", "self"): "`min(input, other)` is `minimum`, which has a formula of its own",
    ("binary_cross_entropy_with_logits", "self"): "no sample of the function below torch has weights; that of F has",
    ("binary_cross_entropy_with_logits", "target"): "no sample of the function below torch has weights; that of F has",
    ("celu", "self"): "the result is read in place only",
}
"""By operation and input that requires grad: why the table and the formula differ."""


def formulas() -> Iterator[tuple[str, str, frozenset[str], frozenset[str]]]:
    """Yield an operation, an input that has a formula, the tensors that this formula reads, and those that any does.

    What several formulas of an operation read is kept whichever input requires grad.
    """
    package = Path(torchgen.__file__).parent / "packaged"
    native = package / "ATen" / "native"
    infos, _ = autograd.load_derivatives(
        str(package / "autograd" / "derivatives.yaml"), str(native / "native_functions.yaml"), str(native / "tags.yaml")
    )
    for schema, by_key in infos.items():
        if "Default" not in by_key or schema.name.overload_name.endswith(("out", "_scalar_Tensor")):
            continue
        tensors = {one.name for one in schema.arguments.flat_all if one.type.is_tensor_like()}
        derivatives = by_key["Default"].derivatives
        every = frozenset[str]().union(*(_read(one, tensors) for one in derivatives))
        for derivative in derivatives:
            for name in derivative.var_names:
                yield schema.name.name.base, name, _read(derivative, tensors), every


def _read(derivative: Any, tensors: set[str]) -> frozenset[str]:
    """Return the tensors that a formula reads: inputs as the table calls them, outputs as `>`."""
    names = {str(getattr(one.nctype.name, "name", one.nctype.name)) for one in derivative.saved_inputs}
    results = {">" for one in derivative.saved_outputs}
    return frozenset({"input" if name == "self" else name for name in names & tensors} | results)


def disagreements() -> dict[tuple[str, str], str]:
    """Return where the table's labels and all formulas of an operation differ."""
    read: dict[tuple[str, str], list[tuple[frozenset[str], frozenset[str]]]] = {}
    for op, name, own, every in formulas():
        read.setdefault((op, name), []).append((own, every))
    found = {}
    for (op, name), sets in read.items():
        entry = load().find(op)
        label = "input" if name == "self" else name
        if entry is None or label not in entry.row.saved:
            continue
        told = {one.partition("!")[0] for one in possible(entry.row.saved[label])}
        told = {">" if one.startswith(">") else one for one in told}
        own, every = (frozenset[str]().union(*group) for group in zip(*sets, strict=True))
        if not own <= told <= every:
            found[op, name] = f"the table says {sorted(told)}, the formula {sorted(own)}, all formulas {sorted(every)}"
    return found


def test_the_table_saves_what_the_formulas_read() -> None:
    found = disagreements()
    assert {place: text for place, text in found.items() if place not in DIFFER} == {}
    assert DIFFER.keys() - found.keys() == set()
