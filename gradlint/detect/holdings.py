"""What can be judged only when the whole file has been read: parameters that nothing ever trains."""

from __future__ import annotations

from collections.abc import Iterator, Set
from dataclasses import dataclass, field
from typing import NamedTuple

import libcst as cst

from gradlint.domain.event import Event
from gradlint.domain.value import Ref


class Doubt(NamedTuple):
    """A fault, if none of these leaves is ever held by an optimizer.

    `used`: it is one only if a gradient may arrive at one of them, and the program does nothing with it by hand.
    `unless`: and if no loss depends on one of these. `vague`: that these leaves are held by nobody may have a
    reason, told by another doubt.
    """

    leaves: frozenset[int]
    event: Event
    used: bool = False
    unless: frozenset[int] = frozenset()
    vague: bool = False


@dataclass
class Holdings:
    """The leaves of a program, by address, and what becomes of them on any path.

    `reached`: a gradient may flow to them, from a backward or from what a method gives
    back. `cut_off`: a loss depends on them, and no gradient arrives. `fed`: certainly given a gradient, by which
    backward. `handled`: the program asks for their gradients itself, or gives them to something unknown; modules and
    other objects given away stand here, too. `suspected`: looked at already.
    `unknown_holder`: some optimizer holds parameters that are not known, and not those of a module. `listed`: the
    module whose parameters an iterator gives, or whose state a dict. `replaced`: what stands in the place of a module
    that was part of another. `strangers`: leaves that an optimizer was seen to miss, by the memory their values stand
    in. `offered`: where leaves were made of which an optimizer was given no more than what was computed from them.
    """

    reached: set[int] = field(default_factory=set)
    handled: set[int] = field(default_factory=set)
    unknown_holder: bool = False
    cut_off: set[int] = field(default_factory=set)
    fed: dict[int, cst.CSTNode] = field(default_factory=dict)
    replaced: dict[int, Ref] = field(default_factory=dict)
    strangers: dict[int, int] = field(default_factory=dict)
    suspected: set[int] = field(default_factory=set)
    listed: dict[int, Ref] = field(default_factory=dict)
    offered: set[cst.CSTNode] = field(default_factory=set)
    doubts: list[Doubt] = field(default_factory=list)

    def copy(self) -> Holdings:
        """The same, to go on from without changing this."""
        fresh = Holdings()
        for name, value in vars(self).items():
            setattr(fresh, name, value if isinstance(value, bool) else value.copy())
        return fresh

    def verdicts(self, held: Set[int]) -> Iterator[Event]:
        """The doubts that nothing has dispelled; whose leaves have an explanation already need no second one.

        `held` are the leaves that some optimizer was given.
        """
        explained: set[int] = set()
        for doubt in sorted(self.doubts, key=lambda doubt: doubt.vague):
            if not self._dispelled(doubt, held) and not (doubt.vague and doubt.leaves & explained):
                explained |= doubt.leaves
                yield doubt.event

    def _dispelled(self, doubt: Doubt, held: Set[int]) -> bool:
        leaves = doubt.leaves
        if leaves & held or doubt.unless & (self.reached | self.cut_off):
            return True
        return doubt.used and (self.unknown_holder or bool(leaves & self.handled) or not leaves & self.reached)
