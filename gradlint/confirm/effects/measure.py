"""What a measure of a silent effect consists of: what is watched, what is noted, and what of that shows the effect."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import NamedTuple

from gradlint.confirm.check.places import Place, Role
from gradlint.confirm.prepare.syntax import stretch_of
from gradlint.domain.finding import Finding

_DEFINED = re.compile(r"^(?:def (\w+)|([\w, ]+) = )", re.MULTILINE)


class Variant(NamedTuple):
    """A program around the one with instruments: what precedes it, and the header of the `with` that holds it."""

    before: str
    block: str = ""

    def around(self, text: str) -> str:
        """Return the whole program."""
        inner = "".join(f"    {line}\n" for line in text.splitlines()) if self.block else text
        return f"import torch\n{self.before}{self.block}{inner}"


class Watch(NamedTuple):
    """What is watched: the place of the finding, or the places that its fault names in fields of the names in `at`.

    With `alone` it is watched only where none of those before it has a place.
    """

    role: Role
    alone: bool = False
    at: tuple[str, ...] = ()


class Measure(NamedTuple):
    """A silent effect.

    `probes` must be true after the program ran in the first variant; the first of them says whether there was
    anything to measure, and the last may be false, which refutes the effect. If there are more variants, `compared`
    must differ between the first and one of the others; with `same`, it must not differ. `proof` is the statement
    that fails by itself, after the program with the instruments of the first of `shown` with which it does; those are
    the ones of the first variant unless others are given. What is shown `early` counts although the program raises
    after it. With `refutes` a whole program that does not show the effect refutes it. `iterated` asks for what is kept
    from iteration to iteration, `own_losses` for those alone that are walked at the place.
    """

    said: str
    variants: tuple[Variant, ...]
    probes: tuple[str, ...]
    compared: str | None = None
    same: bool = False
    shown: tuple[Variant, ...] = ()
    proof: str = ""
    watches: tuple[Watch, ...] = ()
    iterated: bool = False
    own_losses: bool = False
    early: bool = False
    refutes: bool = True

    def places(self, finding: Finding) -> list[Place]:
        """Return where to look, in the file of the finding."""
        places: list[Place] = []
        for role, alone, at in self.watches:
            if at:
                named = () if finding.evidence is None else finding.evidence.at(*at)
                here = (other for other in named if other.filename in (None, finding.filename))
                places.extend(Place(stretch_of(other.span), role) for other in here)
            elif not (alone and places):
                places.append(Place(stretch_of(finding.span), role))
        return places

    def beside(self, taken: Collection[str]) -> Measure:
        """Return the same measure with other names for what it keeps, where a program has variables of these names."""
        defined = {
            name.strip()
            for variant in (*self.variants, *self.shown)
            for found in _DEFINED.finditer(variant.before)
            for name in (found[1] or found[2]).split(",")
        }
        clashing = defined & set(taken)
        if not clashing:
            return self
        names = re.compile(rf"(?<!\.)\b({'|'.join(sorted(clashing))})\b")

        def renamed(text: str) -> str:
            return names.sub(r"\1_of_the_run", text)

        def renamed_all(variants: tuple[Variant, ...]) -> tuple[Variant, ...]:
            return tuple(variant._replace(before=renamed(variant.before)) for variant in variants)

        return self._replace(
            variants=renamed_all(self.variants),
            probes=tuple(map(renamed, self.probes)),
            compared=self.compared and renamed(self.compared),
            shown=renamed_all(self.shown),
            proof=renamed(self.proof),
        )


LEAVES = """\
def leaves_of(value):
    parts = value.parameters() if isinstance(value, torch.nn.Module) else [value]
    return [part for part in parts if isinstance(part, torch.Tensor) and part.requires_grad and part.is_leaf]
"""

# Also what stands in containers, and in the graph of a tensor that is computed.
ALL_LEAVES = """\
def leaves_of(value):
    if isinstance(value, torch.nn.Module):
        return list(value.parameters())
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return [leaf for part in value for leaf in leaves_of(part)]
    return graph_leaves(value)
"""

GRAPH_LEAVES = """\
def graph_leaves(value):
    if not isinstance(value, torch.Tensor) or value.grad_fn is None:
        return [value] if isinstance(value, torch.Tensor) and value.requires_grad else []
    found, seen, waiting = [], set(), [value.grad_fn]
    while waiting:
        node = waiting.pop()
        if node is not None and node not in seen:
            seen.add(node)
            waiting.extend(following for following, _ in node.next_functions)
            if hasattr(node, 'variable'):
                found.append(node.variable)
    return found
"""

VALUES = """\
values = []
def watched(value):
    values.append(value)
    return value
"""

# Shorter and slower: each node is looked for in the list.
SHORT_GRAPH_LEAVES = """\
def graph_leaves(value):
    nodes = [value.grad_fn] if value.grad_fn else []
    for node in nodes:
        nodes.extend(other for other, _ in node.next_functions if other and other not in nodes)
    return [node.variable for node in nodes if hasattr(node, 'variable')]
"""
