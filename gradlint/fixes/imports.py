"""How a module calls what a fix needs: by a name it has imported already, or by an import to add."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache

import libcst as cst
from libcst.helpers import get_full_name_for_node_or_raise as dotted

from gradlint.source.lower.syntax import parts

_STORES = (cst.Param, cst.AssignTarget, cst.AnnAssign, cst.AugAssign, cst.NamedExpr, cst.For, cst.CompFor)


_BINDING = frozenset(
    {
        *(*_STORES, cst.FunctionDef, cst.ClassDef, cst.WithItem, cst.ExceptHandler, cst.MatchAs, cst.MatchStar),
        *(cst.Import, cst.ImportFrom),
    }
)
"""What `_Stores` looks at: nothing else is asked for its kind, one after the other."""


class Imports:
    """The names that the imports at the top level of one module bind, and that nothing else binds."""

    def __init__(self, module: cst.Module) -> None:
        self._module = module
        imported = list(_imported(module))
        bound = dict(imported)
        stores = _Stores()
        waiting: list[cst.CSTNode] = [module]
        while waiting:
            node = waiting.pop()
            if type(node) in _BINDING:
                stores.add(node)
            waiting.extend(parts(node))
        taken = stores.names | _renamed(stores.imported, bound)
        self._names = {path: name for path, name in bound.items() if name not in taken}
        elsewhere = stores.imported.difference(imported)
        self._clashes = taken | set(bound.values()) | {path.partition(".")[0] for path, _ in elsewhere}

    def spell(self, text: str, path: str) -> str | None:
        """Return the text with a dotted path as this module calls it; None where it has no name for it.

        >>> Imports(cst.parse_module("import torch.nn.functional as F")).spell("torch.nn.functional.relu(x)",
        ...     "torch.nn.functional")
        'F.relu(x)'
        """
        parts = path.split(".")
        for size in range(len(parts), 0, -1):
            name = self._names.get(".".join(parts[:size]))
            if name is not None:
                return _as_word(path).sub(".".join([name, *parts[size:]]), text)
        return None

    def can_add(self, path: str) -> bool:
        """Return whether `import` of the path's package would bind a name that means nothing else here."""
        return path.partition(".")[0] not in self._clashes

    def place(self, path: str) -> cst.CSTNode | None:
        """Return the statement at the top level before which an import of the path's package may stand.

        That is the first import that sorts after it, or else what follows the docstring and the imports from the
        future; None for an empty module.
        """
        package = path.partition(".")[0]
        rest = [statement for statement in self._module.body if not _comes_first(statement)]
        for statement in rest:
            modules = _modules(statement)
            if not modules:
                break
            if package <= modules[0]:
                return statement
        same = (one for one in rest if any(module.split(".")[0] == package for module in _modules(one)))
        return next(same, next(iter(rest), None))


@cache
def _as_word(path: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w.]){re.escape(path)}\b")


def _imported(module: cst.Module) -> Iterator[tuple[str, str]]:
    """Yield (dotted path, name) of the imports at the top level; of several names for one path the last counts.

    An import in a `try` may fail, but its name is used.
    """
    for statement in module.body:
        for part in statement.body.body if isinstance(statement, cst.Try) else (statement,):
            for one in _small(part):
                yield from _bound(one)


def _small(statement: cst.CSTNode) -> Sequence[cst.BaseSmallStatement]:
    return statement.body if isinstance(statement, cst.SimpleStatementLine) else ()


def _bound(statement: cst.CSTNode) -> Iterator[tuple[str, str]]:
    if isinstance(statement, cst.Import):
        yield from _plain(statement)
    elif isinstance(statement, cst.ImportFrom) and not statement.relative and statement.module is not None:
        yield from _from(statement, dotted(statement.module))


def _renamed(imported: set[tuple[str, str]], bound: dict[str, str]) -> set[str]:
    """Return the names that some import, perhaps in a function, binds to another thing than the top level does."""
    meant = {name: path for path, name in bound.items()}
    return {name for path, name in imported if meant.get(name, path) != path}


def _modules(statement: cst.CSTNode) -> list[str]:
    """Return what a line of imports imports from; nothing for other statements."""
    found = []
    for one in _small(statement):
        if isinstance(one, cst.Import):
            found += [dotted(alias.name) for alias in one.names]
        elif isinstance(one, cst.ImportFrom):
            found.append("~" if one.module is None or one.relative else dotted(one.module))
    return found


def _plain(statement: cst.Import) -> Iterator[tuple[str, str]]:
    for alias in statement.names:
        path = dotted(alias.name)
        if alias.asname is not None and isinstance(alias.asname.name, cst.Name):
            yield path, alias.asname.name.value
        elif alias.asname is None:
            top = path.partition(".")[0]
            yield top, top


def _from(statement: cst.ImportFrom, origin: str) -> Iterator[tuple[str, str]]:
    if isinstance(statement.names, cst.ImportStar):
        return
    for alias in statement.names:
        path = f"{origin}.{dotted(alias.name)}"
        bound = alias.asname.name if alias.asname is not None else alias.name
        if isinstance(bound, cst.Name):
            yield path, bound.value


def _comes_first(statement: cst.CSTNode) -> bool:
    """Return whether a statement has to stay before the imports: the docstring, and what comes from the future."""
    if not isinstance(statement, cst.SimpleStatementLine):
        return False
    first = statement.body[0]
    if isinstance(first, cst.Expr):
        return isinstance(first.value, (cst.SimpleString, cst.ConcatenatedString))
    return isinstance(first, cst.ImportFrom) and first.module is not None and dotted(first.module) == "__future__"


class _Stores:
    """All names that something other than an import binds, anywhere in the module, and all imports: (path, name).

    `torch = None` after an import that failed counts for nothing: then no line about torch runs.
    """

    def __init__(self) -> None:
        self.names: set[str] = set()
        self.imported: set[tuple[str, str]] = set()
        self._fallbacks: set[cst.CSTNode] = set()

    def add(self, node: cst.CSTNode) -> None:
        """Take a node in, after those around it."""
        if isinstance(node, cst.ExceptHandler):
            self._fallbacks.update(_fallbacks(node))
        if isinstance(node, _STORES) and node not in self._fallbacks:
            target = node.name if isinstance(node, cst.Param) else node.target
            self._store(target)
        elif isinstance(node, (cst.FunctionDef, cst.ClassDef)):
            self.names.add(node.name.value)
        elif isinstance(node, cst.WithItem) and node.asname is not None:
            self._store(node.asname.name)
        elif isinstance(node, cst.ExceptHandler) and node.name is not None:
            self._store(node.name.name)
        elif isinstance(node, (cst.MatchAs, cst.MatchStar)) and node.name is not None:
            self._store(node.name)
        elif isinstance(node, (cst.Import, cst.ImportFrom)):
            self.imported.update(_bound(node))

    def _store(self, target: cst.CSTNode) -> None:
        if isinstance(target, cst.Name):
            self.names.add(target.value)
        elif isinstance(target, (cst.Tuple, cst.List)):
            for element in target.elements:
                self._store(element.value)
        elif isinstance(target, cst.StarredElement):
            self._store(target.value)


def _fallbacks(handler: cst.ExceptHandler) -> Iterator[cst.AssignTarget]:
    """Yield the targets of `name = None` in a handler."""
    for statement in handler.body.body:
        for one in _small(statement):
            if isinstance(one, cst.Assign) and isinstance(one.value, cst.Name) and one.value.value == "None":
                yield from one.targets
