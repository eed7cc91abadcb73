"""Which parameters optimizers hold, what becomes of the others, and what is a fault if nothing trains them."""

from __future__ import annotations

from collections.abc import Iterator, Set
from dataclasses import dataclass, field
from typing import NamedTuple

import libcst as cst

from gradlint.domain.event import Fault
from gradlint.domain.value import Ref


class Candidate(NamedTuple):
    """A fault, if none of these leaves is ever held by an optimizer.

    `used`: it is one only if a gradient may arrive at one of them, and the program does nothing with it by hand.
    `unless`: and if no loss depends on one of these. `vague`: that no optimizer holds these leaves may have a reason,
    which another fault names.
    """

    leaves: frozenset[int]
    fault: Fault
    used: bool = False
    unless: frozenset[int] = frozenset()
    vague: bool = False


@dataclass
class Membership:
    """The leaves of a program, by address, and what becomes of them on any path.

    `reached`: a gradient may flow to them, from a backward or from what a method returns. `cut_off`: a loss depends on
    them, and no gradient arrives. `fed`: certainly given a gradient, by which backward. `handled`: the program asks for
    their gradients itself, or gives them to something unknown; modules and other objects given away stand here, too.
    `judged`: looked at already. `unknown_holder`: some optimizer holds parameters that are not known, and not those of
    a module. `listed`: the module whose parameters an iterator gives, or whose state a dict. `sources`: the modules all
    of whose parameters an optimizer was given. `replaced`: what stands in the place of a module that was part of
    another. `missed`: leaves that an optimizer was seen to miss, by the memory their values stand in. `offered`: where
    leaves were made of which an optimizer was given no more than what was computed from them. `used_up`: an optimizer
    was given a used-up iterator.
    """

    reached: set[int] = field(default_factory=set)
    cut_off: set[int] = field(default_factory=set)
    fed: dict[int, cst.CSTNode] = field(default_factory=dict)
    handled: set[int] = field(default_factory=set)
    judged: set[int] = field(default_factory=set)
    unknown_holder: bool = False
    listed: dict[int, Ref] = field(default_factory=dict)
    sources: dict[int, tuple[Ref, ...]] = field(default_factory=dict)
    replaced: dict[int, Ref] = field(default_factory=dict)
    missed: dict[int, int] = field(default_factory=dict)
    offered: set[cst.CSTNode] = field(default_factory=set)
    used_up: bool = False
    candidates: list[Candidate] = field(default_factory=list)

    def copy(self) -> Membership:
        """Return the same, to go on from without changing this."""
        fresh = Membership()
        for name, value in vars(self).items():
            setattr(fresh, name, value if isinstance(value, bool) else value.copy())
        return fresh

    def verdicts(self, held: Set[int]) -> Iterator[Fault]:
        """Yield the candidates that nothing dispels; leaves that one fault explains need no second one.

        `held` are the leaves that some optimizer was given.
        """
        explained: set[int] = set()
        for one in sorted(self.candidates, key=lambda one: one.vague):
            if not self._dispelled(one, held) and not (one.vague and one.leaves & explained):
                explained |= one.leaves
                yield one.fault

    def _dispelled(self, one: Candidate, held: Set[int]) -> bool:
        if one.leaves & held or one.unless & (self.reached | self.cut_off):
            return True
        return one.used and (self.unknown_holder or bool(one.leaves & self.handled) or not one.leaves & self.reached)
