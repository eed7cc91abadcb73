"""What is measured of one call: each probe adds label sets to the record of the call."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

Facts = dict[str, frozenset[str]]


@dataclass
class Record:
    """What one call showed: its flags, and per fact the set of labels for which it holds.

    A fact that could not be observed on this call has no entry; an entry with an empty set was observed not
    to hold.
    """

    name: str
    flags: Mapping[str, str]
    facts: Facts = field(default_factory=dict)
    failure: str | None = None
