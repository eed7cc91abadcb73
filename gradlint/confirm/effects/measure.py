"""What a measure of a silent effect consists of: what is watched, what is noted, and what of that shows the effect."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple

from gradlint.confirm.check.places import Place, Role
from gradlint.confirm.gate.admit import bound_by
from gradlint.confirm.prepare.syntax import stretch_of
from gradlint.domain.finding import Finding


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
    the ones of the first variant unless others are given. Without one the program itself raises what holds the text
    `raises`. What is shown `early` counts although the program raises
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
    raises: str = ""
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

    def _nodes(self) -> Iterator[ast.AST]:
        """Yield the nodes of all its texts."""
        variants = (*self.variants, *self.shown)
        blocks = (f"{variant.block}    pass" for variant in variants if variant.block)
        for text in (*(variant.before for variant in variants), *blocks, *self.probes, self.compared or "", self.proof):
            yield from ast.walk(ast.parse(text))

    def beside(self, bound: Collection[str], taken: Collection[str]) -> tuple[Measure, Mapping[str, str]]:
        """Return the measure for a program that has names of its own, and the new names by the old ones.

        What the measure defines gets other names where the program has these, as a variable or in any other way
        (`taken`). What it reads, as `len`, is kept under another name where the program binds it (`bound`).
        """
        nodes = list(self._nodes())
        defined = {name for node in nodes if isinstance(node, ast.Module) for name in defined_in(node)}
        read = {node.id for node in nodes if isinstance(node, ast.Name) and _is_given(node.id)} - defined
        used = {*defined, *read, *taken}
        new = {name: _unused(name, used) for name in sorted((defined & set(taken)) | (read & set(bound)))}
        if not new:
            return self, new
        kept = "".join(
            f"import {name} as {new[name]}\n" if name == "torch" else f"{new[name]} = {name}\n"
            for name in new.keys() - defined
        )

        def renamed(text: str) -> str:
            tree = _Renamed(new).visit(ast.parse(text))
            return ast.unparse(tree)

        def renamed_all(variants: tuple[Variant, ...]) -> tuple[Variant, ...]:
            return tuple(
                Variant(
                    f"{kept}{renamed(variant.before)}\n",
                    f"{renamed(f'{variant.block}    pass').splitlines()[0]}\n" if variant.block else "",
                )
                for variant in variants
            )

        beside = self._replace(
            variants=renamed_all(self.variants),
            probes=tuple(map(renamed, self.probes)),
            compared=self.compared and renamed(self.compared),
            shown=renamed_all(self.shown),
            proof=renamed(self.proof),
        )
        return beside, new


def defined_in(tree: ast.Module) -> Iterator[str]:
    """Yield the names that a text binds at its top level: those in functions are nobody else's."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            yield node.name
        elif isinstance(node, ast.Assign):
            yield from (name for target in node.targets for part in ast.walk(target) for name in bound_by(part))


def _is_given(name: str) -> bool:
    """Return whether a name means something in each program."""
    return name == "torch" or hasattr(builtins, name)


def _unused(name: str, used: Collection[str]) -> str:
    found = f"{name}_of_the_run"
    while found in used:
        found += "_"
    return found


class _Renamed(ast.NodeTransformer):
    """Gives other names to variables, parameters, and functions."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self._names = names

    def visit_Name(self, node: ast.Name) -> ast.Name:
        """Rename a variable."""
        node.id = self._names.get(node.id, node.id)
        return node

    def visit_arg(self, node: ast.arg) -> ast.arg:
        """Rename a parameter; no instrument is given one by name."""
        node.arg = self._names.get(node.arg, node.arg)
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        """Rename a function, and what is in it."""
        node.name = self._names.get(node.name, node.name)
        self.generic_visit(node)
        return node


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
