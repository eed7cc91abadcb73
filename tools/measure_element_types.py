"""Measure which element types torch's operations refuse: `python -m tools.measure_element_types`.

In each call of torch's own samples (`op_db`), one tensor is given another element type, and then all that have the same
sort of type. An argument refuses a type if torch raises in every call, both ways: what raises only beside others is a
matter of pairs. An operation in place `casts` if it refuses a result that its target cannot hold.

It is measured on the CPU. What torch's samples say that CUDA takes beside (`dtypesIfCUDA`), as integers in `histc`, is
left out.
"""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, NamedTuple

import torch
from torch.testing._internal.common_methods_invocations import op_db

from gradlint.facts import load
from gradlint.facts.aliases import canonical
from tools.measure_names import OUTPUT

ELEMENT_TYPES = OUTPUT.with_name("element_types.json")
SAMPLES = 16
LEAST = 1
TYPES = ("bool", "uint8", "int32", "int64", "float32", "complex64")
UNCAST = re.compile(r"result type \w+ can't be cast to the desired output type")


class Call(NamedTuple):
    """A call of a sample: its arguments by name."""

    function: Callable[..., object]
    names: tuple[str, ...]
    values: tuple[Any, ...]
    keywords: dict[str, Any]

    def given(self, change: Callable[[str, torch.Tensor], torch.Tensor]) -> Call:
        """Return the call with its tensors changed."""
        pairs = zip(self.names, self.values, strict=True)
        values = tuple([change(name, one) if isinstance(one, torch.Tensor) else one for name, one in pairs])
        named = {
            name: change(name, one) if isinstance(one, torch.Tensor) else one for name, one in self.keywords.items()
        }
        return Call(self.function, self.names, values, named)

    def tensors(self) -> dict[str, torch.Tensor]:
        """Return the tensors by the names of their arguments."""
        everything = {**dict(zip(self.names, self.values, strict=True)), **self.keywords}
        return {name: one for name, one in everything.items() if isinstance(one, torch.Tensor)}

    def error(self) -> str | None:
        """Return what torch says against the call."""
        try:
            self.function(*self.values, **self.keywords)
        except (RuntimeError, TypeError, ValueError, IndexError) as found:
            return str(found) or type(found).__name__
        return None


def calls(op: Any, function: Callable[..., object]) -> Iterator[Call]:
    """Yield the calls of the samples that torch takes."""
    entry = load().find(op.name)
    if entry is None or not entry.sig.overloads:
        return
    names = [param.name for param in entry.sig.overloads[0] if not param.keyword_only and not param.variadic]
    try:
        samples = list(op.sample_inputs("cpu", torch.float32, requires_grad=False))
    except Exception:  # Samples of some operations need libraries that are not there.
        return
    for one in samples:
        values = (one.input, *one.args)
        if len(values) > len(names) or "dtype" in one.kwargs or "out" in one.kwargs:
            continue
        call = Call(function, ("input", *names[1 : len(values)]), values, dict(one.kwargs))
        if call.given(lambda _, tensor: tensor.clone()).error() is None:
            yield call


def converted(tensor: torch.Tensor, wanted: torch.dtype) -> torch.Tensor:
    return (tensor.abs() if tensor.dtype.is_floating_point and wanted is torch.uint8 else tensor).to(wanted)


def refused(op: Any) -> dict[str, str] | None:
    """For each argument of an operation, the types that it takes in no call; None where no call was tried."""
    tried: dict[tuple[str, str], list[bool]] = {}
    for call in islice(calls(op, op.op), SAMPLES):
        for name, tensor in call.tensors().items():
            if tensor.numel() == 0 or tensor.is_sparse or tensor.layout is not torch.strided:
                continue
            tried.setdefault((name, str(tensor.dtype).removeprefix("torch.")), []).append(False)
            for spelled in TYPES:
                wanted = getattr(torch, spelled)
                if wanted is not tensor.dtype:
                    tried.setdefault((name, spelled), []).append(_is_refused(call, name, tensor.dtype, wanted))
    found: dict[str, list[str]] = {}
    elsewhere = {str(one).removeprefix("torch.") for one in set(op.dtypesIfCUDA or ()) - set(op.dtypes)}
    for (name, spelled), answers in tried.items():
        if all(answers) and not (name == "input" and spelled in elsewhere):
            found.setdefault(name, []).append(spelled)
    return {name: " ".join(those) for name, those in found.items()} if tried else None


def _is_refused(call: Call, name: str, former: torch.dtype, wanted: torch.dtype) -> bool:
    alone = call.given(lambda one, tensor: converted(tensor, wanted) if one == name else tensor.clone())
    alike = call.given(lambda _, tensor: converted(tensor, wanted) if tensor.dtype is former else tensor.clone())
    return alone.error() is not None and alike.error() is not None


def casts(op: Any) -> bool:
    """Return whether an operation in place refuses to write floating numbers into integers."""
    if op.inplace_variant is None:
        return False
    said = [
        call.given(lambda name, tensor: tensor.long() if name == "input" else tensor.clone()).error()
        for call in islice(calls(op, op.inplace_variant), SAMPLES)
    ]
    return any(one is not None and UNCAST.search(one) for one in said)


def main() -> None:
    found: dict[str, dict[str, str]] = {}
    casting: set[str] = set()
    for op in op_db:
        of_tests = (getattr(op.op, "__module__", None) or "").startswith("torch.testing")  # It may swap arguments.
        if torch.float32 not in op.dtypes or of_tests or op.name.startswith("masked."):
            continue
        one = refused(op)
        name = canonical(op.name)
        if one is not None:
            found[name] = _common(found[name], one) if name in found else one
        if casts(op):
            casting.add(canonical(op.name))
    lines = [f"{json.dumps(name)}: {json.dumps(one)}" for name, one in sorted(found.items()) if one]
    text = '{"refuses": {\n' + ",\n".join(lines) + '\n},\n"casts": ' + json.dumps(sorted(casting)) + "}\n"
    ELEMENT_TYPES.write_text(text, encoding="utf-8")


def _common(one: dict[str, str], other: dict[str, str]) -> dict[str, str]:
    """Return what two variants of an operation refuse both."""
    both = {name: [kind for kind in one[name].split() if kind in other[name].split()] for name in one.keys() & other}
    return {name: " ".join(those) for name, those in both.items() if those}


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    main()
