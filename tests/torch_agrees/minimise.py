"""Make a disagreement small: take statements away as long as torch and gradlint disagree in the same way."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from .judge import Judgement, judge
from .oracle import Outcome, run
from .several_files import has_several

Holds = Callable[[str], bool]


def minimise(source: str, outcome: Outcome, judgement: Judgement) -> str:
    """Return a smaller program of the same disagreement; one of several files stays as it is."""
    if has_several(source):
        return source
    codes = {said.code for said in judgement.said}

    def holds(candidate: str) -> bool:
        now = run(candidate)
        if (now.kind, now.error) != (outcome.kind, outcome.error):
            return False
        again = judge(candidate, now)
        if again.verdict != judgement.verdict:
            return False
        return judgement.verdict != "false alarm" or bool(codes & {said.code for said in again.said})

    return shrink(source, holds)


def shrink(source: str, holds: Holds) -> str:
    """Return the program without every statement that can go while `holds` stays true."""
    smaller = True
    while smaller:
        smaller = False
        for candidate in _smaller(source):
            if candidate != source and holds(candidate):
                source, smaller = candidate, True
                break
    return source


def _smaller(source: str) -> Iterator[str]:
    """Yield programs with one statement less, or with a block replaced by its body; large cuts first."""
    lines = source.split("\n")
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return
    for body in _bodies(tree):
        for statement in body:
            yield _without(lines, statement, only=len(body) == 1)
    for node in ast.walk(tree):
        if isinstance(node, (ast.For, ast.If, ast.With, ast.While, ast.Try)):
            yield _unwrapped(lines, node, node.body)


def _bodies(tree: ast.Module) -> Iterator[list[ast.stmt]]:
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            yield body


def _first_line(statement: ast.stmt) -> int:
    first = statement.lineno
    if isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
        first = min([first, *(decorator.lineno for decorator in statement.decorator_list)])
    return first - 1


def _without(lines: list[str], statement: ast.stmt, *, only: bool) -> str:
    first, last = _first_line(statement), statement.end_lineno or statement.lineno
    rest = [" " * statement.col_offset + "pass"] if only and statement.col_offset else []
    return "\n".join([*lines[:first], *rest, *lines[last:]])


def _unwrapped(lines: list[str], node: ast.stmt, body: list[ast.stmt]) -> str:
    first, last = body[0].lineno - 1, body[-1].end_lineno or body[-1].lineno
    less = body[0].col_offset - node.col_offset
    inner = [line[less:] if line[:less].isspace() else line for line in lines[first:last]]
    return "\n".join([*lines[: node.lineno - 1], *inner, *lines[node.end_lineno or node.lineno :]])
