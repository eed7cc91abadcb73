"""Load the shipped table; rows are decoded when they are first asked for."""

from __future__ import annotations

import ast
import functools
import json
from collections.abc import Iterator, Mapping
from importlib import resources
from types import MappingProxyType
from typing import Any, Literal, TypedDict

from gradlint.domain.frozen import Frozen
from gradlint.domain.release import Release
from gradlint.facts.row import NO_CONSTANT, Cond, MustMay, Param, Point, Row, Signature, Sum, Value
from gradlint.facts.versions import stated

_ORIGINS: Mapping[str, Literal["op_db", "module_db", "recipe"]] = {"": "op_db", "m": "module_db", "r": "recipe"}

_VALUES = {
    "v": "views",
    "w": "writes",
    "h": "hidden_writes",
    "g": "requires_grad",
    "G": "requires_grad_anyway",
    "r": "raises_if_requires_grad",
    "x": "no_derivative",
    "q": "silent_wrong",
    "l": "scalar",
    "k": "size",
    "d": "dtype",
    "y": "result",
    "P": "parameters",
    "B": "buffers",
}
_PER_INPUT = {"s": "saved", "c": "copies", "t": "freed", "z": "zero", "u": "no_gradient"}


class Entry(Frozen):
    """What the table knows under one name."""

    name: str
    row: Row
    sig: Signature


class Table:
    """The facts, by name."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        self._data = data
        self._entries: dict[str, Entry] = {}
        self._rows: dict[int, Row] = {}
        self._signatures: dict[int, Signature] = {}
        self.torch: str = data["torch"]
        self.dtypes: Mapping[str, str] = MappingProxyType(data.get("dtypes", {}))
        self.plain: frozenset[str] = frozenset(data.get("plain", ()))

    def find(self, name: str) -> Entry | None:
        """Return the entry of a name below `torch`, or None."""
        place = None if name in self._entries else self._data["names"].get(name)
        if place is not None:
            self._entries[name] = Entry(name, self._row(place[0]), self._signature(place[1]))
        return self._entries.get(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._data["names"])

    def __len__(self) -> int:
        return len(self._data["names"])

    def __contains__(self, name: str) -> bool:
        return name in self._data["names"]

    def _row(self, index: int) -> Row:
        if index not in self._rows:
            self._rows[index] = decode_row(self._data["rows"][index])
        return self._rows[index]

    def _signature(self, index: int) -> Signature:
        if index not in self._signatures:
            self._signatures[index] = decode_signature(self._data["sigs"][index])
        return self._signatures[index]


@functools.cache
def load() -> Table:
    """Return the table that is shipped with the package."""
    text = resources.files("gradlint.facts").joinpath("torch.json").read_text(encoding="utf-8")
    return Table(json.loads(text))


def fact(name: str) -> Entry | None:
    """Return the entry of a name below `torch`, in the release that the project uses; None if the table has none."""
    release = stated()
    return load().find(name) if release is None else _fact(name, release)


@functools.cache
def _fact(name: str, release: Release) -> Entry | None:
    entry, raw = load().find(name), older(release)["rows"].get(name)
    return entry if entry is None or raw is None else Entry(name, decode_row(raw), entry.sig)


class Older(TypedDict):
    """What an older release does otherwise: rows by name, and operations whose derivative has none, as words."""

    rows: dict[str, dict[str, Any]]
    once_only: str


@functools.cache
def _olders() -> dict[str, Older]:
    found: dict[str, Older] = json.loads(
        resources.files("gradlint.facts").joinpath("older.json").read_text(encoding="utf-8")
    )
    return found


@functools.cache
def older(release: Release | None) -> Older:
    """Return what the first release of those measured does that is this one or a later one."""
    measured = {one: found for text, found in _olders().items() if (one := Release.of(text)) is not None}
    first = None if release is None else min((one for one in measured if one >= release), default=None)
    return {"rows": {}, "once_only": ""} if first is None else measured[first]


def method_fact(name: str) -> Entry | None:
    """Return the entry of a method of tensors."""
    return fact(f"Tensor.{name}")


@functools.cache
def star_names(path: str) -> frozenset[str]:
    """Return the names that `from path import *` binds, as far as the table knows them."""
    prefix = path.removeprefix("torch").removeprefix(".")
    prefix = f"{prefix}." if prefix else ""
    names = {name.removeprefix(prefix) for name in load() if name.startswith(prefix)}
    names |= _OWN.get(prefix, set())
    return frozenset(name for name in names if "." not in name)


_OWN = {
    "": {"nn", "optim", "autograd", "Tensor", "no_grad", "enable_grad", "tensor", "inference_mode"},
    "nn.": {"Module", "Parameter", "Sequential", "ModuleList", "ModuleDict", "ParameterList", "ParameterDict"},
}


def decode_row(raw: Mapping[str, Any]) -> Row:
    """Return the row that the JSON object stands for."""
    fields: dict[str, Any] = {_VALUES[k]: decode_value(v) for k, v in raw.items() if k in _VALUES}
    for letter, name in _PER_INPUT.items():
        if letter in raw:
            fields[name] = MappingProxyType({label: decode_value(v) for label, v in raw[letter].items()})
    if "b" in raw:
        fields["nonfinite"] = MappingProxyType({k: MappingProxyType(v) for k, v in raw["b"].items()})
    if "e" in raw:
        fields["points"] = tuple(Point(*point) for point in raw["e"])
    if "f" in raw:
        fields["forward"] = decode_signature(raw["f"])
    return Row(
        **fields,
        out_with_grad=raw.get("O", ""),
        samples=raw.get("n", 0),
        origin=_ORIGINS[raw.get("o", "")],
        is_module="f" in raw,
    )


def decode_value(raw: Any) -> Value:
    """Return the value that a text of labels, a must/may pair or a test stands for."""
    if isinstance(raw, str):
        labels = frozenset(raw.split())
        return MustMay(labels, labels)
    if isinstance(raw, list):
        return Sum(tuple(decode_value(part) for part in raw))
    if raw["?"] == "":
        return MustMay(frozenset(raw["must"].split()), frozenset(raw["may"].split()))
    cases = {key: decode_value(value) for key, value in raw.items() if key not in ("?", "*")}
    return Cond(raw["?"], MappingProxyType(cases), decode_value(raw["*"]))


def decode_signature(text: str) -> Signature:
    """Return the overloads that a text such as `input~,other~#,*,alpha=1|...` stands for."""
    return Signature(tuple(_overload(part) for part in text.split("|") if part))


def _overload(text: str) -> tuple[Param, ...]:
    parts = text.split(",")
    star = parts.index("*") if "*" in parts else len(parts)
    return tuple(_param(part, index > star) for index, part in enumerate(parts) if part != "*")


def _param(text: str, keyword_only: bool) -> Param:
    head, equals, default = text.partition("=")
    name = head.strip("*~#")
    constant = NO_CONSTANT if default in ("", "?") else ast.literal_eval(default)
    return Param(name, "~" in head, "#" in head, bool(equals), keyword_only, head.startswith("*"), constant)
