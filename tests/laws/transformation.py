"""Changes of a program's text that leave what it does as it is, each with where its lines went."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

INDENT = "    "
DEAD = (
    ("unused_number = 1 + 2",),
    ('unused_text = "some text".upper()',),
    ("for unused_index in range(3):", "    unused_number = unused_index"),
    ("unused_table = {'key': [1, 2, 3]}",),
    ("try:", "    unused_number = int('3')", "except ValueError:", "    unused_number = 0"),
    ("if len('abc') == 3:", "    unused_flag = True"),
    ("unused_function = lambda item: item",),
    ("assert True",),
    ("pass",),
    ("with open('no_such_file', 'w') as unused_file:", "    unused_file.write('text')"),
)
"""Statements that touch no tensor. Nothing is run, so the file is never written."""


class Changed(NamedTuple):
    """A program changed: its text, and for each line of the old one its line in the new one."""

    text: str
    lines: dict[int, int]


def renamed(text: str) -> Changed:
    """Every variable and parameter that no attribute, keyword, or import shares its name with has another name."""
    tree = ast.parse(text)
    bound = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    bound |= {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    fixed = set(_fixed_names(tree)) | {"self", "cls", "ctx"}
    names = {name: f"renamed_{position}" for position, name in enumerate(sorted(bound - fixed))}
    return _same_lines(_with_names(text, names))


def _fixed_names(tree: ast.Module) -> Iterator[str]:
    """Names that stand for more than a variable."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.keyword) and node.arg:
            yield node.arg
        elif isinstance(node, ast.alias):
            yield node.asname or node.name
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield node.name
        elif isinstance(node, (ast.Global, ast.Nonlocal)):
            yield from node.names
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def aliased(text: str) -> Changed:
    """Every import of torch or below binds another name."""
    tree = ast.parse(text)
    names: dict[str, str] = {}
    lines = text.split("\n")
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)) and len(node.names) == 1:
            statement, bound = _import_as(node, f"alias_{node.lineno}")
            if bound is not None:
                lines[node.lineno - 1] = " " * node.col_offset + statement
                names[bound] = f"alias_{node.lineno}"
    return _same_lines(_with_names("\n".join(lines), names))


def _import_as(node: ast.Import | ast.ImportFrom, name: str) -> tuple[str, str | None]:
    """The same import under another name, and the name it had; None where it is left as it is."""
    (alias,) = node.names
    if isinstance(node, ast.ImportFrom):
        known = (node.module or "").split(".")[0] == "torch"
        return f"from {node.module} import {alias.name} as {name}", (alias.asname or alias.name) if known else None
    if alias.name.split(".")[0] != "torch" or (alias.asname is None and "." in alias.name):
        return "", None
    package, _, last = alias.name.rpartition(".")
    statement = f"from {package} import {last} as {name}" if package else f"import {alias.name} as {name}"
    return statement, alias.asname or alias.name


def _with_names(text: str, names: dict[str, str]) -> str:
    """Replace variables and parameters; attributes, keywords of calls, and imports stay."""
    lines = [line.encode() for line in text.split("\n")]
    places = [(node.lineno, node.col_offset, name) for node, name in _variables(ast.parse(text)) if name in names]
    for row, start, name in sorted(places, reverse=True):
        line = lines[row - 1]
        lines[row - 1] = line[:start] + names[name].encode() + line[start + len(name.encode()) :]
    return "\n".join(line.decode() for line in lines)


def _variables(tree: ast.Module) -> Iterator[tuple[ast.Name | ast.arg, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            yield node, node.id
        elif isinstance(node, ast.arg):
            yield node, node.arg


def _same_lines(text: str) -> Changed:
    return Changed(text, {line: line for line in range(1, text.count("\n") + 2)})


def in_main(text: str) -> Changed | None:
    """The whole program in a function that is called; None where it says `global`, which would mean other names."""
    if any(isinstance(node, (ast.Global, ast.Nonlocal)) for node in ast.walk(ast.parse(text))):
        return None
    lines = text.rstrip("\n").split("\n")
    body = [INDENT + line if line else line for line in lines]
    wrapped = "\n".join(["def main():", *body, "", "", "main()", ""])
    return Changed(wrapped, {line: line + 1 for line in range(1, len(lines) + 1)})


def with_dead_statements(text: str, every: int = 3) -> Changed:
    """Statements that touch no tensor before every third one of the program."""
    places = sorted({(line, column) for line, column in _statements(ast.parse(text))})[::every]
    added = {line: (column, DEAD[position % len(DEAD)]) for position, (line, column) in enumerate(places)}
    lines: list[str] = []
    moved: dict[int, int] = {}
    for number, line in enumerate(text.split("\n"), start=1):
        column, statement = added.get(number, (0, ()))
        lines.extend(" " * column + part for part in statement)
        lines.append(line)
        moved[number] = len(lines)
    return Changed("\n".join(lines), moved)


def _statements(tree: ast.Module) -> Iterator[tuple[int, int]]:
    """Where statements begin that another may stand before; not in class bodies, not before a docstring."""
    for node in ast.walk(tree):
        for block in _blocks(node):
            first = block[0]
            docstring = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
            for statement in block[docstring:]:
                if not isinstance(statement, (ast.FunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom)):
                    yield statement.lineno, statement.col_offset


def _blocks(node: ast.AST) -> Iterator[list[ast.stmt]]:
    """The blocks of statements in a node; an `elif` is no statement of its own."""
    if isinstance(node, ast.ClassDef):
        return
    for name in ("body", "orelse", "finalbody"):
        block = getattr(node, name, None)
        if isinstance(block, list) and block and isinstance(block[0], ast.stmt):
            is_elif = name == "orelse" and isinstance(node, ast.If) and isinstance(block[0], ast.If)
            if not is_elif:
                yield block


def under_a_flag(text: str, position: int, *, first: bool) -> Changed | None:
    """One simple statement of the top level under an unknown flag, before or behind an empty branch."""
    tree = ast.parse(text)
    simple = [node for node in tree.body if isinstance(node, (ast.Expr, ast.AugAssign)) and not _is_text(node)]
    if not simple:
        return None
    statement = simple[position % len(simple)]
    start, end = statement.lineno, statement.end_lineno or statement.lineno
    lines = text.split("\n")
    body = [INDENT + line for line in lines[start - 1 : end]]
    flag = "if unknown_flag_of_the_run:" if first else "if not unknown_flag_of_the_run:"
    block = [flag, *body, "else:", INDENT + "pass"] if first else [flag, INDENT + "pass", "else:", *body]
    shift = 1 if first else 3
    moved = {line: line for line in range(1, start)}
    moved |= {line: line + shift for line in range(start, end + 1)}
    moved |= {line: line + 3 for line in range(end + 1, len(lines) + 1)}
    return Changed("\n".join([*lines[: start - 1], *block, *lines[end:]]), moved)


class _Arms(NamedTuple):
    """The rows of an `if`: that of its `else`, if there is one, and its last."""

    node: ast.If
    middle: int | None
    last: int


def arms_swapped(text: str) -> Changed | None:
    """Each `if` with its arms exchanged and its test negated; None where there is none."""
    lines = text.split("\n")
    ifs = {node.lineno: _arms_of(node, lines) for node in ast.walk(ast.parse(text)) if isinstance(node, ast.If)}
    arms = {row: found for row, found in ifs.items() if found is not None}
    if not arms:
        return None
    rows = list(_swapped(1, len(lines), lines, arms))
    moved = {old: new for new, (old, _) in enumerate(rows, start=1) if old is not None}
    return Changed("\n".join(line for _, line in rows), moved)


def _arms_of(node: ast.If, lines: list[str]) -> _Arms | None:
    """The arms of an `if` that has its test on one row, and no `elif` behind it."""
    last = node.end_lineno or node.lineno
    test = lines[node.lineno - 1].encode()[node.test.end_col_offset :]
    if node.test.end_lineno != node.lineno or test.split(b"#")[0].strip() != b":":
        return None
    if not node.orelse:
        return _Arms(node, None, last)
    between = range((node.body[-1].end_lineno or 0) + 1, node.orelse[0].lineno)
    middle = next((row for row in between if lines[row - 1].split("#")[0].strip() == "else:"), None)
    return None if middle is None else _Arms(node, middle, last)


def _swapped(first: int, last: int, lines: list[str], ifs: dict[int, _Arms]) -> Iterator[tuple[int | None, str]]:
    """Rows with the arms of each `if` exchanged, and the number that each had."""
    row = first
    while row <= last:
        arms = ifs.get(row)
        if arms is None:
            yield row, lines[row - 1]
            row += 1
            continue
        indent = " " * (len(lines[row - 1]) - len(lines[row - 1].lstrip()))
        end = arms.last if arms.middle is None else arms.middle - 1
        yield row, _negated(lines[row - 1], arms.node.test)
        if arms.middle is None:
            yield None, f"{indent}{INDENT}pass"
        else:
            yield from _swapped(arms.middle + 1, arms.last, lines, ifs)
        yield arms.middle, f"{indent}else:"
        yield from _swapped(row + 1, end, lines, ifs)
        row = arms.last + 1


def _negated(line: str, test: ast.expr) -> str:
    start, end = test.col_offset, test.end_col_offset or 0
    text = line.encode()
    return (text[:start] + b"not (" + text[start:end] + b")" + text[end:]).decode()


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def with_hidden(text: str, position: int) -> str | None:
    """One value behind a function that is not known, which may be the identity; None where there is no value."""
    tree = ast.parse(text)
    values = sorted(_values(tree), key=lambda node: (node.lineno, node.col_offset, node.end_col_offset))
    if not values:
        return None
    node = values[position % len(values)]
    lines = [line.encode() for line in text.split("\n")]
    last, end = (node.end_lineno or node.lineno) - 1, node.end_col_offset or 0
    lines[last] = lines[last][:end] + b")" + lines[last][end:]
    first, start = node.lineno - 1, node.col_offset
    lines[first] = lines[first][:start] + b"hidden(" + lines[first][start:]
    return "\n".join(["from elsewhere import hidden", *(line.decode() for line in lines)])


def _values(tree: ast.Module) -> Iterator[ast.expr]:
    """Values that a program uses: not what it names, imports, or says of types."""
    named = {*_imported(tree), "self", "cls", "ctx", "__name__"}
    named |= {node.name for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    kept = {id(part) for node in ast.walk(tree) for whole in _not_values(node) for part in ast.walk(whole)}
    kept |= {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    kept |= {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if not isinstance(node, _HIDEABLE) or id(node) in kept:
            continue
        if isinstance(node, (ast.Name, ast.Attribute, ast.Subscript)) and not isinstance(node.ctx, ast.Load):
            continue
        root: ast.expr = node
        while isinstance(root, ast.Attribute):
            root = root.value
        if not (isinstance(root, ast.Name) and root.id in named):
            yield node


_HIDEABLE = (ast.Call, ast.Name, ast.BinOp, ast.Subscript, ast.Attribute, ast.List, ast.Compare)


def _imported(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            for alias in node.names:
                yield alias.asname or alias.name.split(".")[0]


def _not_values(node: ast.AST) -> Iterator[ast.AST]:
    """Parts of a node that are no values which a program could get from elsewhere."""
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        yield from node.decorator_list
    if isinstance(node, ast.ClassDef):
        yield from node.bases
    if isinstance(node, ast.FunctionDef) and node.returns is not None:
        yield node.returns
    if isinstance(node, (ast.arg, ast.AnnAssign)) and node.annotation is not None:
        yield node.annotation
    if isinstance(node, ast.JoinedStr):
        yield node
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("reveal", "super"):
        yield node


Transformation = Callable[[str], "Changed | None"]
TRANSFORMATIONS: dict[str, Transformation] = {
    "renamed": renamed,
    "aliased": aliased,
    "in main": in_main,
    "dead statements": with_dead_statements,
}


def moved(findings: Iterable[tuple[int, str]], lines: dict[int, int]) -> list[tuple[int, str]]:
    """Findings at the lines where a change has put them."""
    return sorted((lines[line], code) for line, code in findings)
