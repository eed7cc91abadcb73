"""The element types that operations refuse, on whatever device."""

from __future__ import annotations

from gradlint.facts.element_types import refused_types


def test_what_another_device_takes_is_not_refused() -> None:
    """Integers in `histc`, and a bool in `trace`, raise on the CPU alone (`dtypesIfCUDA` of torch's samples)."""
    assert not {"int64", "int32", "uint8"} & refused_types("histc")["input"]
    assert "bool" in refused_types("histc")["input"]
    assert "bool" not in refused_types("trace").get("input", ())
