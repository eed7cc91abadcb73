"""A program of several files put into one: what a file imports from its project stands before it, as far as it is used.

Rows say where a statement came from, so each file gets rows of its own: those of the first begin at 1, the next ones
after them. Names that mean different things in different files are renamed.
"""

from __future__ import annotations

import ast
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple, TypeAlias

from gradlint.confirm.prepare.altered import alteration
from gradlint.confirm.prepare.bindings import Names, bound_by, bound_name
from gradlint.confirm.prepare.ends import may_end
from gradlint.confirm.prepare.paths import Paths
from gradlint.confirm.prepare.syntax import SWITCHES, dotted, is_main_guard, length_of, name_of
from gradlint.domain.finding import Finding, Position, Related, Span
from gradlint.source.layout import Layout
from gradlint.source.read import decode, read_bytes

_MOST_FILES = 12
_MOST_ROWS = 4000
_LONGEST = 200_000
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


class Linked(NamedTuple):
    """One program, and by how many rows the statements of each file stand lower than in it."""

    tree: ast.Module
    rows: dict[str, int]
    effect: str | None = None
    """What an import does, beside defining names, that may change what torch records."""

    def place(self, finding: Finding) -> Finding:
        """Return the finding at its place in the program, without related places in files that are left out."""
        own = os.path.abspath(finding.filename)

        def move(place: Related) -> Related | None:
            path = os.path.abspath(place.filename) if place.filename else own
            if path not in self.rows:
                return None
            return replace(place, span=lowered(place.span, self.rows[path]), filename=None)

        return finding.relocated(lowered(finding.span, self.rows[own]), move)


def lowered(span: Span, rows: int) -> Span:
    """Return the stretch as many rows further down."""
    start, end = (Position(place.row + rows, place.column) for place in (span.start, span.end))
    return Span(start, end)


def linked(filename: str, text: str | None = None, layout: Layout | None = None) -> Linked | None:
    """Return a file with what it imports from its project; None if it is missing or imports nothing."""
    linker = _Linker(layout or Layout())
    main = linker.load(os.path.abspath(filename), text)
    return None if main is None or len(linker.files) == 1 else linker.join(main)


class Importers:
    """Who imports whom among the files of a project; each is looked at once."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._texts: dict[str, str] = {}
        self._targets: dict[str, frozenset[str]] = {}

    def runners(self, path: str, files: Sequence[str]) -> list[str]:
        """Return the files that import a file, if indirectly: those that look like scripts first, then the nearest."""
        found, waiting = [path], [path]
        while waiting and len(found) < _MOST_FILES:
            one = waiting.pop(0)
            new = [other for other in files if other not in found and one in self._imported_by(other, one)]
            found += new
            waiting += new
        return sorted(found[1:], key=lambda one: "__main__" not in self._text(one))

    def _imported_by(self, path: str, wanted: str) -> frozenset[str]:
        """Return the files that one imports; none if it does not mention the name that is looked for."""
        name = Path(wanted).stem
        text = self._text(path)
        if "import" not in text or (Path(wanted).parent.name if name == "__init__" else name) not in text:
            return frozenset()
        if path not in self._targets:
            imports = _imports(parsed(text) or ast.Module([], []), path, self._layout)
            self._targets[path] = frozenset(target for _, _, target in imports)
        return self._targets[path]

    def _text(self, path: str) -> str:
        if path not in self._texts:
            self._texts[path] = _read(path) or ""
        return self._texts[path]


@dataclass
class _File:
    """A file: its syntax, and what the names of its imports lead to."""

    path: str
    tree: ast.Module
    length: int
    leads: dict[str, tuple[str, str | None]] = field(default_factory=dict)
    """By the name in this file: the other file, and the name there; None for the file itself."""
    stars: list[tuple[int, str]] = field(default_factory=list)
    """The rows of imports of all names, and the files that they lead to."""


class _Linker:
    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self.files: dict[str, _File] = {}
        self._finals: dict[tuple[str, str], str] = {}

    def load(self, path: str, text: str | None = None) -> _File | None:
        """Read a file, and before it counts as read all that it imports: those come first in the order."""
        if path in self.files:
            return self.files[path]
        text = _read(path) if text is None else text
        if text is None or (tree := parsed(text)) is None:
            return None
        self.files[path] = file = _File(path, tree, text.count("\n") + 2)
        for node, alias, target in list(_imports(tree, path, self._layout)):
            if len(self.files) < _MOST_FILES and self.load(target) is not None:
                self._lead(file, node, alias, target)
        self.files[path] = self.files.pop(path)  # It comes after what it imports.
        return file

    def _lead(self, file: _File, node: ast.Import | ast.ImportFrom, alias: ast.alias, target: str) -> None:
        name = alias.asname or alias.name
        if alias.name == "*":
            file.stars.append((node.lineno, target))
        elif isinstance(node, ast.Import):
            file.leads[name] = target, None
        else:
            module = self._layout.find(file.path, node.module or "", node.level)
            file.leads[name] = (target, None) if module != target else (target, alias.name)

    def join(self, main: _File) -> Linked | None:
        """Return all files in one, each below its rows."""
        order = list(self.files.values())
        assert order[-1] is main, "the importer comes after what it imports"
        for file in order:
            for _, star in file.stars:
                names = Names(self.files[star].tree).names_of(self.files[star].tree)
                file.leads.update({name: (star, name) for name in names if not name.startswith("_")})
        effect = next(filter(None, map(self._effect, order)), None)
        self._name_all(order)
        rows: dict[str, int] = {}
        body: list[ast.stmt] = []
        lower = 0
        for file in order:
            rows[file.path] = lower
            _Unlinked(self, file).visit(file.tree)
            ast.increment_lineno(file.tree, lower)
            lower += file.length
            body += [one for one in file.tree.body if file is main or not is_main_guard(one)]
        tree = ast.Module(_used(body, rows[main.path]), [])
        return Linked(tree, rows, effect) if length_of(tree) <= _MOST_ROWS else None

    def _effect(self, file: _File) -> str | None:
        """Return what the import of a file, or one in it, may change; none for what only defines."""
        name, body = os.path.basename(file.path), file.tree.body
        if file is not list(self.files.values())[-1] and (said := _on_import(file.tree)) is not None:
            return f"{name} {said} when it is imported"
        for row, star in file.stars:
            before = {one for node in body if node.lineno < row and _computes(node) for one in _bound_in(node)}
            if not before.isdisjoint(one for node in self.files[star].tree.body for one in _bound_in(node)):
                return f"the import in line {row} of {name} gives variables other values"
        return None

    def _name_all(self, order: list[_File]) -> None:
        """Keep the names of the last file; a name of another that means something else gets the file's as a prefix."""
        taken: dict[str, object] = {}
        for file in reversed(order):
            names = Names(file.tree)
            for name in sorted(names.names_of(file.tree) - file.leads.keys()):
                meaning = _meaning(file, name)
                final = name
                while taken.setdefault(final, meaning) != meaning:
                    final = f"{Path(file.path).stem}_{final}"
                self._finals[file.path, name] = final

    def final(self, path: str, name: str, depth: int = 0) -> str | None:
        """Return what a name of a file is called in the program; through files that only pass it on."""
        if (path, name) in self._finals:
            return self._finals[path, name]
        lead = self.files[path].leads.get(name) if path in self.files else None
        if lead is None or lead[1] is None or depth > _MOST_FILES:
            return None
        return self.final(lead[0], lead[1], depth + 1)

    def module(self, file: _File, name: str) -> str | None:
        """Return the file that a name stands for."""
        lead = file.leads.get(name)
        return lead[0] if lead is not None and lead[1] is None else None


class _Unlinked(ast.NodeTransformer):
    """Takes imports from the project out of a file, and calls everything by the name that it has in the program."""

    def __init__(self, linker: _Linker, file: _File) -> None:
        self._linker = linker
        self._file = file
        self._names = Names(file.tree)
        self._targets = {(id(node), alias.name) for node, alias, _ in _imports(file.tree, file.path, linker._layout)}

    def _final(self, node: ast.AST, name: str) -> str:
        """Return the name that a variable of the module has; another is local, and stays."""
        binder = self._names.binder(node, name)
        outside = binder is self._file.tree or (binder is not None and name in self._file.leads)
        own = binder is None and name in self._file.leads
        return (self._linker.final(self._file.path, name) or name) if outside or own else name

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        """`models.Net` is `Net`."""
        name = dotted(node.value)
        module = self._linker.module(self._file, name) if name else None
        final = self._linker.final(module, node.attr) if module else None
        if final is not None:
            return ast.copy_location(ast.Name(final, node.ctx), node)
        return self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        """Rename a variable."""
        return ast.copy_location(ast.Name(self._final(node, node.id), node.ctx), node)

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.ClassDef) -> ast.AST:
        """Rename a definition; its name belongs to the enclosing scope."""
        final = self._final(node, node.name) if self._names.scope_of(node) is self._file.tree else node.name
        self.generic_visit(node)
        node.name = final
        return node

    visit_ClassDef = visit_FunctionDef

    def visit_Global(self, node: ast.Global) -> ast.AST:
        """Variables of the module."""
        node.names = [self._linker.final(self._file.path, name) or name for name in node.names]
        return node

    def visit_Import(self, node: ast.Import | ast.ImportFrom) -> ast.AST | None:
        """Keep imports from outside of the project, under their names in the program."""
        kept = [alias for alias in node.names if (id(node), alias.name) not in self._targets]
        for alias in kept:
            name = alias.asname or alias.name
            final = self._linker.final(self._file.path, name) if "." not in name and name != "*" else None
            if final not in (None, name):
                alias.asname = final
        node.names = kept
        return node if kept else None

    visit_ImportFrom = visit_Import


def _meaning(file: _File, name: str) -> object:
    """Return what a name of a file means: an import of the same is the same everywhere."""
    for node in file.tree.body:
        for alias in node.names if isinstance(node, (ast.Import, ast.ImportFrom)) else ():
            if bound_name(alias) == name:
                whole = alias.name if alias.asname or isinstance(node, ast.ImportFrom) else name
                return getattr(node, "module", None), whole
    return file.path


_Import: TypeAlias = tuple["ast.Import | ast.ImportFrom", ast.alias, str]


def _imports(tree: ast.Module, path: str, layout: Layout) -> Iterator[_Import]:
    """Yield the imports that lead into the project, with the file that each leads to."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            module = layout.find(path, node.module or "", node.level) if isinstance(node, ast.ImportFrom) else None
            for alias in node.names:
                if isinstance(node, ast.Import):
                    target = layout.find(path, alias.name, 0)
                else:
                    target = (layout.below(module, alias.name) or module) if module is not None else None
                if target is not None and target.endswith(".py"):
                    yield node, alias, target


def _used(body: list[ast.stmt], above: int) -> list[ast.stmt]:
    """Return the statements of the last file, below a row, and of the others only the definitions that they use."""
    wanted: set[str] = set()
    chosen = fresh = [node for node in body if node.lineno > above]
    while fresh:
        wanted |= {part.id for node in fresh for part in ast.walk(node) if isinstance(part, ast.Name)}
        fresh = [node for node in body if node not in chosen and _is_wanted(node, wanted)]
        chosen = [*chosen, *fresh]
    return [node for node in body if node in chosen]


def _on_import(tree: ast.Module) -> str | None:
    """Return what the import of a module does to others, by which a fault may vanish; None for nothing."""
    paths = Paths(tree)
    run = [node for node in tree.body if not isinstance(node, _DEFINITIONS) and not is_main_guard(node)]
    parts = [part for node in run for part in ast.walk(node)]
    named = [part for part in parts if isinstance(part, ast.expr)]
    # A library that is missing is missing in every run.
    passed = {part for one in parts if isinstance(one, ast.ExceptHandler) for part in ast.walk(one)}
    if any(name_of(part) in SWITCHES for part in named):
        return "switches what torch records"
    if any(paths.of(part) in _MODULES for part in named) or alteration(tree, sys.maxsize) is not None:
        return "may change torch, or other modules"
    if any(isinstance(part, ast.Raise) for part in parts if part not in passed) or may_end(ast.Module(run, [])):
        return "may end the program"
    if any(isinstance(node, ast.FunctionDef) and node.name == "__getattr__" for node in tree.body):
        return "answers for names that it does not define"
    return None


_MODULES = ("sys.modules", "__main__")


def _computes(node: ast.stmt) -> bool:
    return not isinstance(node, (*_DEFINITIONS, ast.Import, ast.ImportFrom))


def _bound_in(node: ast.stmt) -> Iterator[str]:
    """Yield the names that a statement of a module binds there."""
    for part in [node] if isinstance(node, _DEFINITIONS) else ast.walk(node):
        yield from bound_by(part)


def _is_wanted(node: ast.stmt, wanted: set[str]) -> bool:
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return True
    parts = [node] if isinstance(node, _DEFINITIONS) else ast.walk(node)
    return any(not wanted.isdisjoint(bound_by(part)) for part in parts)


def parsed(text: str) -> ast.Module | None:
    """Return the syntax of a text; None for what this Python does not take for Python."""
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _read(path: str) -> str | None:
    content = read_bytes(Path(path), _LONGEST)
    text = decode(content) if isinstance(content, bytes) else None
    return text if isinstance(text, str) else None
