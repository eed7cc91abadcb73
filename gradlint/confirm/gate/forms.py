"""Forms in which names are harmless that are harmful in others: `type(x)` tells a class, `type(x, (), {})` makes one.

Each such name has the forms that programs need. A use of it in any other form is refused, and so it is never in a
variable, a container, or an argument: what a name does there, no text can tell.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from gradlint.confirm.gate import allowlist

PathOf = Callable[[ast.expr], str | None]

_WORKERS = ("num_workers", "multiprocessing_context")
_BEFORE_WORKERS = 5
_ENUMS = frozenset({"enum.Enum", "enum.IntEnum"})
_BASES = frozenset({"typing.Generic", "typing.Protocol", "typing.NamedTuple", "typing_extensions.Protocol"})
_LOADER = "torch.utils.data.DataLoader"
_ARRAY = "numpy.ndarray"
"""It takes any memory for objects; all other functions of numpy make arrays of what they are given."""

_DISPLAYS = (ast.List, ast.Tuple, ast.ListComp, ast.GeneratorExp)
_FORMED = frozenset(
    {"functools.wraps", "functools.partial", "copy.copy", "copy.deepcopy", "dataclasses.dataclass", _LOADER}
    | {"collections.namedtuple", "torch.set_default_tensor_type", _ARRAY, *_ENUMS}
)
_PLAIN = frozenset({"typing.TYPE_CHECKING", "typing.cast", "typing.overload"})
"""Names of `typing` that are no forms of types: a flag, and functions that return their argument."""


def is_formed(path: str) -> bool:
    """Return whether a name is allowed in some forms only."""
    return path in _FORMED or (path.startswith(("typing.", "typing_extensions.")) and path not in _PLAIN)


def well_formed(tree: ast.AST, path_of: PathOf) -> frozenset[ast.AST]:
    """Return the nodes of a program that name something in one of the forms in which it is harmless.

    `path_of` tells the dotted name that an expression has, if it begins at an import.
    """
    return frozenset(_Forms(tree, path_of).found())


class _Forms:
    def __init__(self, tree: ast.AST, path_of: PathOf) -> None:
        self._path_of = path_of
        self._nodes = list(ast.walk(tree))
        self._parents = {child: node for node in self._nodes for child in ast.iter_child_nodes(node)}

    def found(self) -> Iterator[ast.AST]:
        for node in self._nodes:
            if isinstance(node, ast.Call):
                if self._is_harmless(node):
                    yield node.func
            elif isinstance(node, ast.ClassDef):
                yield from self._in_class(node)
            elif isinstance(node, (ast.Name, ast.Attribute)):
                if self._path_of(node) == _ARRAY and self._is_asked_for(node):
                    yield node
            elif isinstance(node, ast.Subscript):
                literal = self._path_of(node.value) in ("typing.Literal", "typing_extensions.Literal")
                if literal or (self._is_typing(node.value) and not _has_text(node.slice)):
                    yield from (part for part in ast.walk(node) if isinstance(part, (ast.Name, ast.Attribute)))
            elif isinstance(node, (ast.arg, ast.AnnAssign)) and node.annotation is not None:
                yield from self._bare(node.annotation)
            elif isinstance(node, ast.FunctionDef) and node.returns is not None:
                yield from self._bare(node.returns)

    def _bare(self, node: ast.expr) -> Iterator[ast.AST]:
        """Yield an annotation that is one name, which is a type without arguments."""
        if isinstance(node, (ast.Name, ast.Attribute)):
            yield node

    def _in_class(self, node: ast.ClassDef) -> Iterator[ast.AST]:
        for base in node.bases:
            path = self._path_of(base)
            if path in _BASES or (path in _ENUMS and _has_members(node)):
                yield base
        yield from (one for one in node.decorator_list if self._path_of(one) == "dataclasses.dataclass")

    def _is_typing(self, node: ast.expr) -> bool:
        return (self._path_of(node) or "").startswith(("typing.", "typing_extensions."))

    def _is_harmless(self, node: ast.Call) -> bool:
        """Return whether a call has the form that its function allows."""
        if isinstance(node.func, ast.Name) and node.func.id == "type":
            return len(node.args) == 1 and not node.keywords and self._asks(node)
        path = self._path_of(node.func)
        starred = any(isinstance(argument, ast.Starred) for argument in node.args)
        named = all(word.arg is not None for word in node.keywords)
        match path:
            case "copy.copy" | "copy.deepcopy":
                return len(node.args) == 1 and not starred and not node.keywords
            case "functools.wraps":
                return self._wraps_a_parameter(node)
            case "functools.partial":
                return bool(node.args) and not isinstance(node.args[0], ast.Starred)
            case "dataclasses.dataclass":
                constant = all(isinstance(word.value, ast.Constant) for word in node.keywords)
                return self._decorates_class(node) and not node.args and named and constant
            case "collections.namedtuple":
                return _has_literal_fields(node) and not starred and named
            case "torch.set_default_tensor_type":
                return len(node.args) == 1 and not node.keywords and self._is_tensor_type(node.args[0])
            case "typing.TypeVar":
                return len(node.args) == 1 and isinstance(node.args[0], ast.Constant) and not node.keywords
        return path == _LOADER and not starred and named and len(node.args) <= _BEFORE_WORKERS

    def _asks(self, node: ast.Call) -> bool:
        """Return whether a class is only compared, named, or called to make another object like `self`, or a sequence.

        The class of a class would be called with another one.
        """
        parent = self._parents.get(node)
        if isinstance(parent, ast.Attribute):
            return parent.attr == "__name__" and isinstance(parent.ctx, ast.Load)
        if isinstance(parent, ast.Call):
            if parent.func is node:
                own = isinstance(node.args[0], ast.Name) and node.args[0].id == "self"
                return own or (len(parent.args) == 1 and not parent.keywords and isinstance(parent.args[0], _DISPLAYS))
            return isinstance(parent.func, ast.Name) and parent.func.id in ("print", "str", "repr", "issubclass")
        if isinstance(parent, ast.Compare) and isinstance(parent.ops[0], (ast.In, ast.NotIn)):
            return parent.left is node
        return isinstance(parent, (ast.Compare, ast.FormattedValue))

    def _is_asked_for(self, node: ast.expr) -> bool:
        """Return whether a class is what `isinstance` asks for, alone or among others."""
        parent: ast.AST | None = self._parents.get(node)
        if isinstance(parent, ast.Tuple):
            node, parent = parent, self._parents.get(parent)
        called = parent.func if isinstance(parent, ast.Call) else None
        return isinstance(called, ast.Name) and called.id in ("isinstance", "issubclass") and node is not called

    def _wraps_a_parameter(self, node: ast.Call) -> bool:
        """Return whether this is the decorator of a function that is given another one by its name."""
        function = self._parents.get(node)
        if not isinstance(function, ast.FunctionDef) or node not in function.decorator_list:
            return False
        if len(node.args) != 1 or node.keywords or not isinstance(node.args[0], ast.Name):
            return False
        outer = self._parents.get(function)
        while outer is not None and not isinstance(outer, (ast.FunctionDef, ast.ClassDef)):
            outer = self._parents.get(outer)
        return isinstance(outer, ast.FunctionDef) and node.args[0].id in {arg.arg for arg in outer.args.args}

    def _decorates_class(self, node: ast.Call) -> bool:
        parent = self._parents.get(node)
        return isinstance(parent, ast.ClassDef) and node in parent.decorator_list

    def _is_tensor_type(self, node: ast.expr) -> bool:
        """Return whether this is a type by its own name: torch imports what a text names."""
        said = node.value if isinstance(node, ast.Constant) else self._path_of(node)
        return isinstance(said, str) and said.endswith("Tensor") and allowlist.is_allowed(said)


def _has_members(node: ast.ClassDef) -> bool:
    """Return whether a class of constants has any: of one that has none, a call would make another class."""
    names = {part.id for part in ast.walk(node) if isinstance(part, ast.Name) and not isinstance(part.ctx, ast.Load)}
    names |= {part.name for part in node.body if isinstance(part, ast.FunctionDef)} - allowlist.DEFINABLE
    if node.decorator_list or any(name.startswith("_") for name in names):
        return False
    values = [part for part in node.body if isinstance(part, ast.Assign) and isinstance(part.targets[0], ast.Name)]
    deleted = any(isinstance(part, ast.Delete) for part in ast.walk(node))
    return any(_is_constant(part.value) for part in values) and not deleted


def _is_constant(node: ast.expr) -> bool:
    parts = node.elts if isinstance(node, ast.Tuple) else [node]
    return bool(parts) and all(isinstance(part, (ast.Constant, ast.UnaryOp)) for part in parts)


def _has_text(node: ast.AST) -> bool:
    """Return whether an expression is, or has in it, anything but names of types: texts are compiled by `typing`."""
    kinds = (ast.Name, ast.Attribute, ast.Subscript, ast.Tuple, ast.List, ast.BinOp, ast.BitOr, ast.Load)
    return not all(
        isinstance(part, kinds) or (isinstance(part, ast.Constant) and not isinstance(part.value, (str, bytes)))
        for part in ast.walk(node)
    )


def _has_literal_fields(node: ast.Call) -> bool:
    """Return whether the name of a tuple and those of its fields stand in the text."""
    if len(node.args) != 2 or any(word.arg not in ("defaults", "rename") for word in node.keywords):
        return False
    name, fields = node.args
    parts = fields.elts if isinstance(fields, (ast.Tuple, ast.List)) else [fields]
    return all(isinstance(part, ast.Constant) and isinstance(part.value, str) for part in (name, *parts))
