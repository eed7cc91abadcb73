"""One transform under way."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import libcst as cst

from gradlint.domain.state import fresh_address

Kind: TypeAlias = Literal["reverse", "forward", "map"]


@dataclass
class Level:
    """A transform that runs its function now; what is older than `since` comes from outside.

    `mapped` are the nodes of the values that differ from one run to the next. `random`: numbers may be drawn; `apart`:
    they differ from one run to the next.
    """

    kind: Kind
    name: str
    node: cst.CSTNode
    random: bool = True
    apart: bool = False
    since: int = field(default_factory=fresh_address)
    mapped: set[int] = field(default_factory=set)
