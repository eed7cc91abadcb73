"""Refusals of Python: a value that torch has given is used as what it is not."""

from __future__ import annotations

from typing import Literal, TypeAlias

from gradlint.domain.event import Refusal

Kind: TypeAlias = Literal[
    "tensor", "scalar", "gradient", "size", "tuple", "list", "number", "iterator", "loader", "layer", "method", "None",
]  # fmt: skip
"""What a value is: "scalar" is a tensor without dimensions, "loader" a `DataLoader`, "layer" one of `torch.nn`,
"method" one of a tensor."""

Use: TypeAlias = Literal["attribute", "call", "index", "length", "loop", "next", "operand", "argument"]


class WrongKind(Refusal):
    """A value of a `kind` is used as one of another kind.

    `name`: of an attribute, the attribute that it does not have; of a method, its own; of an operand, what the other
    one is; of an argument, the operation that takes a tensor there.
    """

    kind: Kind
    use: Use
    name: str = ""


class WrongCount(Refusal):
    """A tuple or tensor is unpacked into `wanted` names, or at least so many, and has `given` parts."""

    kind: Kind
    wanted: int
    given: int
    at_least: bool = False
