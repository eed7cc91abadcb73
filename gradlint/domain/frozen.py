"""Records: frozen dataclasses that need no decorator."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from typing_extensions import Self, dataclass_transform
else:
    T = TypeVar("T")

    def dataclass_transform(**options: Any) -> Callable[[T], T]:
        """Say nothing: `typing.dataclass_transform` came with Python 3.11, and only type checkers read it."""
        return lambda cls: cls


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
class Frozen:
    """The base of classes each of which is a frozen dataclass, as its subclasses are.

    A class becomes a dataclass when its first object is made: one run uses few of some two hundred, and to generate
    the methods of all takes longer than to check a file.
    """

    def __new__(cls, *values: object, **named: object) -> Self:
        """Make an object, and the class and its bases dataclasses unless they are."""
        if "__dataclass_fields__" not in cls.__dict__:
            for base in cls.__mro__[-2::-1]:
                if "__dataclass_fields__" not in base.__dict__:
                    dataclass(frozen=True)(base)
        return object.__new__(cls)
