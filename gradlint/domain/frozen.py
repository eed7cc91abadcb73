"""Records: frozen dataclasses that need no decorator."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from typing_extensions import dataclass_transform
else:
    T = TypeVar("T")

    def dataclass_transform(**options: Any) -> Callable[[T], T]:
        """Say nothing: `typing.dataclass_transform` came with Python 3.11, and only type checkers read it."""
        return lambda cls: cls


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
class Frozen:
    """The base of classes each of which is a frozen dataclass, as its subclasses are."""

    def __init_subclass__(cls) -> None:
        dataclass(frozen=True)(cls)
