"""The examples of the rules as claims: what is found in the bad ones, and what may be forced on the good ones."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from gradlint.check import check_source
from gradlint.confirm.check.evidence import MEASURES
from gradlint.domain.finding import Evidence, Fact, Finding, Position, Related, Span
from gradlint.rules.base import Rule
from gradlint.rules.registry import all_rules
from gradlint.settings.config import Config
from gradlint.settings.selection import Selection
from tests.rules.examples import Bad, Good, bad_of, good_of


class Claim(NamedTuple):
    """A finding of a rule in one of its examples; the example and the row name it."""

    place: str
    rule: Rule
    code: str
    finding: Finding


BAD: dict[str, tuple[Rule, Bad]] = {
    name: (rule, bad) for rule in all_rules() if not rule.run_only for name, bad in bad_of(rule).items()
}
GOOD: dict[str, tuple[Rule, Good]] = {
    name: (rule, good) for rule in all_rules() for name, good in good_of(rule).items() if rule.effect != "invalid"
}
"""The good examples: of a file that cannot be read there is none to run."""


@cache
def found_in(name: str) -> tuple[Claim, ...]:
    """What its rule finds in a bad example."""
    rule, bad = BAD[name]
    return tuple(Claim(f"{name}:{one.span.start.row}", rule, bad.code, one) for one in _findings(rule, bad.code))


def forced_on(name: str) -> Iterator[Claim]:
    """What its rule does not find in a good example, and might."""
    rule, good = GOOD[name]
    return (Claim(name, rule, good.code, finding) for finding in forced_on_good(rule, good.code))


def _findings(rule: Rule, code: str) -> list[Finding]:
    selected = Config(selections=(Selection(extend_select=(rule.code,)),))
    return [finding for finding in check_source(code, config=selected) if finding.code == rule.code]


def forced_on_good(rule: Rule, code: str) -> Iterator[Finding]:
    """Findings of a rule in a right program: of an error on each line, of another effect on what looks like a fault."""
    if rule.error is not None:
        yield from _on_each_line(rule, code)
    if rule.name in MEASURES:
        yield from _on_each_look(rule, code)


def _on_each_line(rule: Rule, code: str) -> Iterator[Finding]:
    for row, line in enumerate(code.splitlines(), 1):
        if line.strip() and not line.startswith(("import", "from", "#")):
            place = Position(row, 1)
            span = Span(place, Position(row, len(line)))
            yield Finding(rule.code, rule.name, "forced", "error", "raises", "good.py", span, (row, row))


class _Explained(NamedTuple):
    """A place that explains a finding: how it looks, what is said of it, and the fields of the fault it stands in."""

    look: str
    message: str
    fields: tuple[str, ...]


class _Look(NamedTuple):
    """How the place of a finding looks, with the message, what explains it, and what its fault says of itself."""

    own: str
    message: str
    explained: tuple[_Explained, ...]
    fault: str
    facts: tuple[Fact, ...]


def _on_each_look(rule: Rule, code: str) -> Iterator[Finding]:
    """A finding at each place that looks like one of a bad example, with each that looks like what explains it."""
    places = _by_look(ast.parse(code))
    for look in _looks(rule):
        explaining = [(one, other) for one in look.explained for other in places.get(one.look, ())]
        for node in places.get(look.own, ()):
            if not look.explained:
                yield _finding(rule, look, node)
            for one, other in explaining:
                yield _finding(rule, look, node, one, other)


@cache
def _looks(rule: Rule) -> tuple[_Look, ...]:
    """How the places of the findings in bad examples look."""
    claims = [one for name in bad_of(rule) for one in found_in(name) if one.finding.effect != "raises"]
    return tuple(sorted({_look_of(claim.finding, claim.code) for claim in claims}, key=repr))


def _look_of(finding: Finding, code: str) -> _Look:
    looks = {span: look for look, nodes in _by_look(ast.parse(code)).items() for span in map(span_of, nodes)}
    evidence = finding.evidence or Evidence("")
    said = {one.span: one.message for one in finding.related}
    fields: dict[Span, tuple[str, ...]] = dict.fromkeys(said, ())
    for name, place in evidence.places:
        fields[place.span] = (*fields.get(place.span, ()), name)
    explained = (_Explained(looks.get(span, ""), said.get(span, ""), names) for span, names in fields.items())
    return _Look(looks.get(finding.span, ""), finding.message, tuple(explained), evidence.fault, evidence.facts)


def _by_look(tree: ast.Module) -> dict[str, list[ast.expr | ast.stmt]]:
    """The nodes of a program by what they look like: the kind of syntax, and the names that are called or read."""
    places: dict[str, list[ast.expr | ast.stmt]] = {}
    for above in ast.walk(tree):
        for node in ast.iter_child_nodes(above):
            if isinstance(node, (ast.expr, ast.stmt)):
                bare = isinstance(node, ast.Name)
                places.setdefault(f"{type(above).__name__} {_look(node)}" if bare else _look(node), []).append(node)
    return places


def _look(node: ast.AST | None) -> str:
    if isinstance(node, ast.Call):
        return f"{_look(node.func)}()"
    if isinstance(node, ast.Attribute):
        return f".{node.attr}"
    if isinstance(node, ast.FunctionDef):
        return f"def {node.name}"
    inner = _look(node.value) if isinstance(node, (ast.Assign, ast.AugAssign, ast.Expr, ast.Subscript)) else ""
    return f"{type(node).__name__} {inner}"


def span_of(node: ast.expr | ast.stmt) -> Span:
    """Where a finding at a node stands: of a loop or a function, the header."""
    start = Position(node.lineno, node.col_offset + 1)
    if isinstance(node, (ast.For, ast.FunctionDef)):
        last = node.iter if isinstance(node, ast.For) else node.args
        header = [part for part in ast.walk(last) if isinstance(part, (ast.expr, ast.arg))]
        ends = [((part.end_lineno or 0), (part.end_col_offset or 0) + 1) for part in header]
        row, column = max(ends, default=(node.lineno, node.col_offset + len("def ():") + 1))
        return Span(start, Position(row, column + isinstance(node, ast.FunctionDef)))
    return Span(start, Position(node.end_lineno or 0, (node.end_col_offset or 0) + 1))


def _finding(
    rule: Rule,
    look: _Look,
    node: ast.expr | ast.stmt,
    one: _Explained | None = None,
    other: ast.expr | ast.stmt | None = None,
) -> Finding:
    """A finding at one node, which another explains."""
    span = span_of(node)
    rows = (span.start.row, span.end.row)
    related: tuple[Related, ...] = ()
    places: tuple[tuple[str, Related], ...] = ()
    if one is not None and other is not None:
        related = (Related(span_of(other), one.message),)
        places = tuple((name, Related(span_of(other), "")) for name in one.fields)
    evidence = Evidence(look.fault, look.facts, places)
    return Finding(
        *(rule.code, rule.name, look.message, "error", "silent", "good.py", span, rows),
        related=related,
        evidence=evidence,
    )
