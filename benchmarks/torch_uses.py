"""The torch calls in a file: which function, class, or method each call site means, by a rough rule.

Imports and their aliases are resolved through the whole file, whatever scope they stand in. A method is counted
where its receiver is known to be torch's (it was assigned from a torch call, annotated, or computed from such a
value), or where nothing that programs use besides torch has a method of that name.
"""

from __future__ import annotations

import ast
import pathlib
import re
from collections.abc import Iterator
from typing import NamedTuple

import numpy
import torch
from torch import nn

from gradlint.facts import load, resolve

OTHER = "other"
"""What a value is that is known to be none of torch's."""

_LITERALS = (ast.Constant, ast.List, ast.Dict, ast.Set, ast.JoinedStr, ast.ListComp, ast.DictComp, ast.SetComp)
_TENSOR_PROPERTIES = frozenset({"data", "grad", "T", "mT", "H", "mH", "real", "imag"})
_ARRAY_LIBRARIES = ("numpy", "pandas", "scipy", "sklearn", "jax", "tensorflow", "PIL", "networkx", "polars", "cv2")


def _methods(*classes: type) -> frozenset[str]:
    """The public methods of classes."""
    names = ((cls, name) for cls in classes for name in dir(cls) if not name.startswith("_"))
    return frozenset(name for cls, name in names if callable(getattr(cls, name, None)))


_PLAIN = _methods(str, bytes, list, dict, set, tuple, int, float, complex, pathlib.Path, re.Pattern, re.Match)
_OF_ARRAYS = _methods(numpy.ndarray)
_CONTAINERS = (nn.Sequential, nn.ModuleList, nn.ModuleDict, nn.ParameterList, nn.ParameterDict)
_METHODS = {
    "Tensor": _methods(torch.Tensor),
    "Module": _methods(nn.Module, *_CONTAINERS),
    "Optimizer": _methods(torch.optim.Optimizer, torch.optim.SGD),
    "Distribution": _methods(torch.distributions.Distribution),
    "Scheduler": _methods(torch.optim.lr_scheduler.LRScheduler),
    "GradScaler": _methods(torch.amp.GradScaler),
}
_TELLING = {"Tensor": _METHODS["Tensor"] - _PLAIN, "Module": _methods(nn.Module) - _PLAIN}
"""The methods by whose name alone a receiver is told."""


class Use(NamedTuple):
    """One call site: the path below `torch` that it calls, or a method such as `Tensor.add_`.

    `Tensor|Module.to` is a method of either, where nothing more is known of the receiver.
    """

    name: str
    line: int


def uses_in(text: str, module: str = "") -> list[Use]:
    """The torch calls of a file; `module` is its dotted name, for relative imports."""
    tree = ast.parse(text)
    finder = _Finder(_imports(tree, module))
    finder.visit(tree)
    return finder.uses


def _imports(tree: ast.Module, module: str) -> dict[str, str]:
    """The dotted path behind each name that any import of the file binds."""
    paths: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                bound = alias.asname or alias.name.partition(".")[0]
                paths[bound] = alias.name if alias.asname else bound
        elif isinstance(node, ast.ImportFrom):
            source = _source_of(node, module)
            paths.update((alias.asname or alias.name, f"{source}.{alias.name}") for alias in node.names)
    return paths


def _source_of(node: ast.ImportFrom, module: str) -> str:
    if not node.level:
        return node.module or ""
    package = module.split(".")[: -node.level]
    return ".".join([*package, node.module] if node.module else package)


class _Finder(ast.NodeVisitor):
    """Walks a file in the order of its text, and remembers what variables are as it goes."""

    def __init__(self, imports: dict[str, str]) -> None:
        self.uses: list[Use] = []
        self._paths = imports
        self._scopes: list[dict[str, str]] = [{}]
        self._has_arrays = any(path.split(".")[0] in _ARRAY_LIBRARIES for path in imports.values())

    # Scopes.

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        """A function: its parameters are what their annotations say."""
        for decorator in node.decorator_list:
            self.visit(decorator)
        self._scopes.append(dict(self._parameters(node.args)))
        for statement in node.body:
            self.visit(statement)
        self._scopes.pop()

    visit_AsyncFunctionDef = visit_FunctionDef  # The name is ast's.

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        """A class: attributes of `self` stand in its scope, under their dotted name."""
        self._scopes.append({})
        self.generic_visit(node)
        self._scopes.pop()

    def _parameters(self, arguments: ast.arguments) -> Iterator[tuple[str, str]]:
        for parameter in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
            yield parameter.arg, self._annotated(parameter.annotation)

    def _annotated(self, annotation: ast.expr | None) -> str:
        """What an annotation says; of a union, what any part of it says."""
        if annotation is None:
            return ""
        if isinstance(annotation, ast.BinOp):
            return self._annotated(annotation.left) or self._annotated(annotation.right)
        if isinstance(annotation, ast.Subscript) and ast.unparse(annotation.value).endswith("Optional"):
            return self._annotated(annotation.slice)
        text = annotation.value if isinstance(annotation, ast.Constant) else self._path(annotation)
        last = str(text).rpartition(".")[2]
        return last if last in _METHODS and (last == text or str(text).startswith("torch.")) else ""

    # Assignments.

    def visit_Assign(self, node: ast.Assign) -> None:
        """A variable is what its value is."""
        self.visit(node.value)
        for target in node.targets:
            self._bind(target, self._kind(node.value))

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        """A variable with an annotation is what that says."""
        if node.value is not None:
            self.visit(node.value)
            self._bind(node.target, self._annotated(node.annotation) or self._kind(node.value))

    def visit_NamedExpr(self, node: ast.NamedExpr) -> None:
        """An assignment inside an expression."""
        self.visit(node.value)
        self._bind(node.target, self._kind(node.value))

    def visit_For(self, node: ast.For) -> None:
        """The items of a tensor are tensors."""
        self.visit(node.iter)
        kind = self._kind(node.iter)
        self._bind(node.target, kind if kind == "Tensor" else "")
        for statement in (*node.body, *node.orelse):
            self.visit(statement)

    def _bind(self, target: ast.expr, kind: str) -> None:
        if isinstance(target, (ast.Tuple, ast.List)):
            for part in target.elts:
                self._bind(part, kind if kind == "Tensor" else "")
        elif isinstance(target, ast.Starred):
            self._bind(target.value, OTHER)
        elif isinstance(target, ast.Name):
            self._scopes[-1][target.id] = kind
        elif isinstance(target, ast.Attribute):
            self._scopes[max(len(self._scopes) - 2, 0)][ast.unparse(target)] = kind

    # Calls.

    def visit_Call(self, node: ast.Call) -> None:
        """Count the call if it is torch's."""
        self.generic_visit(node)
        name = self._called(node)
        if name:
            self.uses.append(Use(name, node.lineno))

    def _called(self, node: ast.Call) -> str:
        path = self._path(node.func)
        if path.startswith("torch."):
            return path.removeprefix("torch.")
        if path or not isinstance(node.func, ast.Attribute):
            return ""
        return self._method(node.func)

    def _method(self, func: ast.Attribute) -> str:
        kind, name = self._kind(func.value), func.attr
        if kind in _METHODS:
            # Anything else is an attribute that the program has added itself.
            return f"{kind}.{name}" if name in _METHODS[kind] else ""
        if kind or _is_super(func.value) or (name in _OF_ARRAYS and self._has_arrays):
            return ""
        owners = [owner for owner, names in _TELLING.items() if name in names]
        return f"{'|'.join(owners)}.{name}" if owners and not self._is_own(func.value) else ""

    def _is_own(self, receiver: ast.expr) -> bool:
        """Whether the receiver is a class or module that the file imports, or the object of the class at hand."""
        root = receiver
        while isinstance(root, (ast.Attribute, ast.Subscript, ast.Call)):
            root = root.func if isinstance(root, ast.Call) else root.value
        imported = isinstance(root, ast.Name) and root.id in self._paths
        return imported or (isinstance(receiver, ast.Name) and receiver.id in ("self", "cls"))

    def _path(self, node: ast.expr) -> str:
        """The dotted path that an expression of names stands for, or nothing."""
        if isinstance(node, ast.Name):
            return "" if any(node.id in scope for scope in self._scopes) else self._paths.get(node.id, "")
        if isinstance(node, ast.Attribute):
            before = self._path(node.value)
            return f"{before}.{node.attr}" if before else ""
        return ""

    def _kind(self, node: ast.expr) -> str:
        """What the value of an expression is: a key of `_METHODS`, `OTHER`, or nothing where it is not known."""
        if isinstance(node, _LITERALS):
            return OTHER
        if isinstance(node, ast.Name):
            return next((scope[node.id] for scope in reversed(self._scopes) if node.id in scope), "")
        if isinstance(node, ast.Attribute):
            return self._kind_of_attribute(node)
        if isinstance(node, ast.Call):
            return self._kind_of_call(node)
        parts = _operands(node)
        if "Tensor" in (kinds := [self._kind(part) for part in parts]):
            return "Tensor"
        return OTHER if kinds and all(kind == OTHER for kind in kinds) else ""

    def _kind_of_attribute(self, node: ast.Attribute) -> str:
        if self._kind(node.value) == "Tensor":
            return "Tensor" if node.attr in _TENSOR_PROPERTIES else OTHER
        name = ast.unparse(node) if isinstance(node.value, ast.Name) else ""
        return next((scope[name] for scope in reversed(self._scopes) if name in scope), "")

    def _kind_of_call(self, node: ast.Call) -> str:
        path = self._path(node.func)
        if path.partition(".")[0] in _ARRAY_LIBRARIES:
            return OTHER
        name = self._called(node)
        return _result(name) if name else ("Tensor" if self._kind(node.func) == "Module" else "")


def _operands(node: ast.expr) -> list[ast.expr]:
    """The expressions that decide what an expression is."""
    if isinstance(node, ast.BinOp):
        return [node.left, node.right]
    if isinstance(node, ast.UnaryOp):
        return [node.operand]
    if isinstance(node, ast.Compare):
        return [node.left, *node.comparators]
    if isinstance(node, ast.IfExp):
        return [node.body, node.orelse]
    if isinstance(node, (ast.Subscript, ast.NamedExpr)):
        return [node.value]
    return []


def _is_super(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "super"


def _result(name: str) -> str:
    """What a torch call gives, as far as names and the table tell."""
    owner, _, last = name.rpartition(".")
    if last[:1].isupper():
        return _instance(owner, last)
    if name in ("Module.to", "Module.train", "Module.eval", "Module.requires_grad_"):
        return "Module"
    if owner == "Distribution":
        return "Tensor"
    entry = load().find(name)
    return "Tensor" if entry is not None and "Tensor" in resolve(entry.row.result, {}).may else ""


def _instance(owner: str, last: str) -> str:
    """What an object of a class of torch's is."""
    if last in ("Parameter", "Variable") or last.endswith("Tensor"):
        return "Tensor"
    if "lr_scheduler" in owner:
        return "Scheduler"
    for package, kind in (("nn", "Module"), ("optim", "Optimizer"), ("distributions", "Distribution")):
        if owner.split(".")[0] == package:
            return kind
    return last if last == "GradScaler" else ""
