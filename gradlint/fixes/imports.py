"""How a module calls what a fix needs: by a name it has imported already, or by an import to add."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

_STORES = (cst.Param, cst.AssignTarget, cst.AnnAssign, cst.AugAssign, cst.NamedExpr, cst.For, cst.CompFor)


class Imports:
    """The names that the imports at the top level of one module bind, and that nothing else binds."""

    def __init__(self, module: cst.Module) -> None:
        self._module = module
        bound = dict(_imported(module))
        stores = _Stores()
        module.visit(stores)
        self._names = {path: name for path, name in bound.items() if name not in stores.names}
        self._clashes = stores.names | set(bound.values())

    def spell(self, text: str, path: str) -> str | None:
        """The text with a dotted path as this module calls it; None where it has no name for it.

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
        """Whether `import` of the path's package would bind a name that means nothing else here."""
        return path.partition(".")[0] not in self._clashes

    def place(self) -> cst.CSTNode | None:
        """The statement at the top level before which an import may stand; None for an empty module."""
        for statement in self._module.body:
            if not _comes_first(statement):
                return statement
        return None


def _as_word(path: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w.]){re.escape(path)}\b")


def _imported(module: cst.Module) -> Iterator[tuple[str, str]]:
    """(dotted path, name) of the imports at the top level; of several names for one path the last counts."""
    for statement in module.body:
        small = statement.body if isinstance(statement, cst.SimpleStatementLine) else ()
        for one in small:
            if isinstance(one, cst.Import):
                yield from _plain(one)
            elif isinstance(one, cst.ImportFrom) and not one.relative and one.module is not None:
                yield from _from(one, _dotted(one.module))


def _plain(statement: cst.Import) -> Iterator[tuple[str, str]]:
    for alias in statement.names:
        path = _dotted(alias.name)
        if alias.asname is not None and isinstance(alias.asname.name, cst.Name):
            yield path, alias.asname.name.value
        elif alias.asname is None:
            top = path.partition(".")[0]
            yield top, top


def _from(statement: cst.ImportFrom, origin: str) -> Iterator[tuple[str, str]]:
    if isinstance(statement.names, cst.ImportStar):
        return
    for alias in statement.names:
        path = f"{origin}.{_dotted(alias.name)}"
        bound = alias.asname.name if alias.asname is not None else alias.name
        if isinstance(bound, cst.Name):
            yield path, bound.value


def _dotted(node: cst.BaseExpression) -> str:
    if isinstance(node, cst.Attribute):
        return f"{_dotted(node.value)}.{node.attr.value}"
    assert isinstance(node, cst.Name)
    return node.value


def _comes_first(statement: cst.CSTNode) -> bool:
    """Whether a statement has to stay before the imports: the docstring, and what comes from the future."""
    if not isinstance(statement, cst.SimpleStatementLine):
        return False
    first = statement.body[0]
    if isinstance(first, cst.Expr):
        return isinstance(first.value, (cst.SimpleString, cst.ConcatenatedString))
    return isinstance(first, cst.ImportFrom) and first.module is not None and _dotted(first.module) == "__future__"


class _Stores(cst.CSTVisitor):
    """All names that something other than an import binds, anywhere in the module."""

    def __init__(self) -> None:
        self.names: set[str] = set()

    def on_visit(self, node: cst.CSTNode) -> bool:
        if isinstance(node, _STORES):
            target = node.name if isinstance(node, cst.Param) else node.target
            self._store(target)
        elif isinstance(node, (cst.FunctionDef, cst.ClassDef)):
            self.names.add(node.name.value)
        elif isinstance(node, cst.WithItem) and node.asname is not None:
            self._store(node.asname.name)
        elif isinstance(node, cst.ExceptHandler) and node.name is not None:
            self._store(node.name.name)
        return True

    def _store(self, target: cst.CSTNode) -> None:
        if isinstance(target, cst.Name):
            self.names.add(target.value)
        elif isinstance(target, (cst.Tuple, cst.List)):
            for element in target.elements:
                self._store(element.value)
        elif isinstance(target, cst.StarredElement):
            self._store(target.value)
