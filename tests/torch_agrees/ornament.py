"""What changes the look of a program and nothing it does: blocks around it, comments, annotations."""

from __future__ import annotations

import ast
import re

from .pieces import flag
from .program import Program

COMMENTS = (
    "# forward",
    "# TODO: tune",
    "# in place",
    "# update",
    "# shape: (N, D)",
    "# see the paper",
    "# why?",
    "# step",
    "# noqa: E501",
)

HEADERS = (
    "for _ in range(1):", "with {t}.enable_grad():", "if True:", "while True:", "try:", "for epoch in [0]:",
    "with {t}.set_grad_enabled(True):", "if {flag}:", "if {flag}:",
    "with {t}.autograd.set_detect_anomaly(False):",
)  # fmt: skip


def wrap_tail(p: Program) -> None:
    """Put the last statements into a block that is entered once."""
    statements = ast.parse("\n".join(p.body)).body
    if len(statements) < 2 or not p.chance(0.15):
        return
    start = p.rng.choice(statements).lineno - 1
    header = p.pick(*HEADERS)
    tail = ["    " + line for line in p.body[start:]]
    end: list[str] = []
    if header == "while True:":
        end = ["    break"]
    elif header == "try:":
        end = p.pick(["finally:", "    print('end')"], ["except KeyboardInterrupt:", "    print('stopped')"])
    text = p.text(header, flag=flag(p)) if "{flag}" in header else p.text(header)
    p.body[start:] = [text, *tail, *end]


def ornament(p: Program, lines: list[str]) -> list[str]:
    """Return the lines with comments, empty lines, annotations, and long calls over several lines."""
    if p.chance(0.25):
        lines = [_commented(p, line) for line in lines]
    if p.chance(0.1) and not any("global " in line for line in lines):
        lines = [_annotated(p, line) for line in lines]
    if p.chance(0.2):
        lines = [part for line in lines for part in _broken(line)]
    return lines


def _commented(p: Program, line: str) -> str:
    if not line or line.rstrip().endswith(("\\", '"""')) or not p.chance(0.12):
        return line
    return f"{line}  {p.pick(*COMMENTS)}"


def _annotated(p: Program, line: str) -> str:
    torch = re.escape(p.module("t"))
    return re.sub(
        rf"^(\s*\w+) = ({torch}\.(?:randn|rand|zeros|ones|tensor|full)\()",
        lambda match: f"{match[1]}: {p.module('t')}.Tensor = {match[2]}",
        line,
    )


def _broken(line: str) -> list[str]:
    """Break a call or a right side that is long, as formatters do."""
    match = re.match(r"^(\s*)((?:[\w.]+ = )?[\w.]+\()(.+)(\))$", line)
    if match is None or len(line) < 60 or "#" in line or not _balanced(match[3]):
        return [line]
    indent, opening, inside, closing = match.groups()
    return [indent + opening, f"{indent}    {inside},", indent + closing]


def _balanced(text: str) -> bool:
    """Tell whether the text is the arguments of one call, none of them a generator."""
    try:
        call = ast.parse(f"f({text})", mode="eval").body
    except SyntaxError:
        return False
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
        return False
    return not any(isinstance(argument, ast.GeneratorExp) for argument in call.args)
