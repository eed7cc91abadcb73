"""A program without what a repro has no use for: docstrings, annotations, the guard of the main part."""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterator

from gradlint.confirm.gate import allowlist as allowed
from gradlint.confirm.prepare.candidates import holes_in
from gradlint.confirm.prepare.syntax import is_main_guard, is_name, name_of


def strip(tree: ast.Module) -> int:
    """Take out what does not matter for what is computed; `if __name__ == "__main__"` becomes its body.

    All is computed on the CPU. The number says how many values would have been moved elsewhere by a program that does
    not ask whether there is such a place: where that makes another tensor, it is no longer the same program.
    """
    stripper = _Stripper()
    stripper.visit(tree)
    _Renamed(_shadowing(tree), _kept_on_self(tree)).visit(tree)
    tree.body = [one for part in tree.body for one in (part.body if is_main_guard(part) else [part])]
    asks = any(isinstance(node, ast.Attribute) and node.attr == "is_available" for node in ast.walk(tree))
    return 0 if asks else stripper.moved


def flags_of(tree: ast.Module) -> dict[str, str]:
    """Return the defaults of command line options, by the name of the attribute, as expressions."""
    flags: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "add_argument":
            names = [part.value for part in node.args if isinstance(part, ast.Constant) and isinstance(part.value, str)]
            words = {word.arg: word.value for word in node.keywords}
            if names:
                long = next((name for name in names if name.startswith("--")), names[0])
                dest = words.get("dest")
                name = dest.value if isinstance(dest, ast.Constant) else long.lstrip("-").replace("-", "_")
                flags[str(name)] = _default(words)
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith(("Namespace", "Config", "EasyDict")):
            flags.update({word.arg: _constant(word.value) for word in node.keywords if word.arg})
        elif isinstance(node, ast.ClassDef):
            flags.update({name: value for name, value in _fields(node) if name not in flags})
    return {name: value for name, value in flags.items() if value}


def has_defaults_only(tree: ast.Module) -> bool:
    """Return whether the command line that a program reads is an empty one that stands in its text."""
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and name_of(node.func) == "parse_args"]
    return bool(calls) and all(one.args and ast.unparse(one.args[0]) in ("[]", "()", "''.split()") for one in calls)


def _fields(node: ast.ClassDef) -> Iterator[tuple[str, str]]:
    """Yield the defaults in the body of a class, as of a dataclass that holds a configuration."""
    for part in node.body:
        if isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name) and part.value is not None:
            yield part.target.id, _constant(part.value)


def _constant(node: ast.expr) -> str:
    return ast.unparse(node) if isinstance(node, (ast.Constant, ast.UnaryOp, ast.List, ast.Tuple)) else ""


def _default(words: dict[str | None, ast.expr]) -> str:
    if "default" in words:
        return _constant(words["default"])
    action = words.get("action")
    if isinstance(action, ast.Constant):
        return {"store_true": "False", "store_false": "True"}.get(str(action.value), "")
    return ""


def _shadowing(tree: ast.Module) -> frozenset[str]:
    """Return variables of the program that bear names of builtins that no repro may name, or of made-up values."""
    stored = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    refused = {name for name in stored if hasattr(builtins, name) and name not in allowed.BUILTINS}
    return frozenset(refused | set(filter(holes_in, stored)))


def _kept_on_self(tree: ast.Module) -> frozenset[str]:
    """Return the attributes that no repro may read, and under which the program keeps values of its own."""
    stored = (node for node in ast.walk(tree) if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store))
    own = {node.attr for node in stored if is_name(node.value, "self", "ctx")} & allowed.NEVER
    return frozenset(name for name in own if not name.startswith("_"))


class _Renamed(ast.NodeTransformer):
    def __init__(self, names: frozenset[str], attributes: frozenset[str]) -> None:
        self._names = names
        self._attributes = attributes

    def visit_Attribute(self, node: ast.Attribute) -> ast.Attribute:
        """`self.args` becomes `self.args_`."""
        self.generic_visit(node)
        node.attr += "_" if node.attr in self._attributes else ""
        return node

    def visit_Name(self, node: ast.Name) -> ast.Name:
        """`input` becomes `input_`."""
        return ast.copy_location(ast.Name(f"{node.id}_", node.ctx), node) if node.id in self._names else node

    def visit_arg(self, node: ast.arg) -> ast.arg:
        """A parameter is a variable like any other; arguments by name are rare for such names."""
        node.arg += "_" if node.arg in self._names else ""
        return node


def _is_given(node: ast.Call, name: str, place: int) -> bool:
    return len(node.args) > place or any(word.arg in (name, None) for word in node.keywords)


_CUDA = re.compile(r"cuda(:\d+)?")


class _Stripper(ast.NodeTransformer):
    def __init__(self) -> None:
        self.moved = 0

    def visit_Constant(self, node: ast.Constant) -> ast.Constant:
        """Replace the names of devices and of types."""
        there = node.value if isinstance(node.value, str) else ""
        here = "cpu" if _CUDA.fullmatch(there) else re.sub(r"^torch\.cuda\.", "torch.", there)
        self.moved += here != there
        return node if here == there else ast.copy_location(ast.Constant(here), node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Replace a question whether torch has a name: modules are no values, but the allowlist knows."""
        self.generic_visit(node)
        if isinstance(node.func, ast.Attribute) and node.func.attr == "cuda":
            self.moved += 1
            return node.func.value
        if name_of(node.func) == "DistributedSampler" and not _is_given(node, "num_replicas", 1):
            # Nobody else is there to ask; the first of two is one of them.
            node.keywords += [ast.keyword("num_replicas", ast.Constant(2)), ast.keyword("rank", ast.Constant(0))]
        if is_name(node.func, "print"):
            node.keywords = [word for word in node.keywords if word.arg not in ("file", "flush")]
        if is_name(node.func, "hasattr") and len(node.args) == 2 and isinstance(node.args[1], ast.Constant):
            owner = ast.unparse(node.args[0])
            if owner in allowed.MODULES:
                return ast.copy_location(ast.Constant(allowed.is_allowed(f"{owner}.{node.args[1].value!s}")), node)
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        """Replace the name of a class by its text, which has the name in it: such names are for comparisons."""
        self.generic_visit(node)
        inner = node.value
        if node.attr == "_modules" and isinstance(node.ctx, ast.Load):
            children = ast.Call(ast.Attribute(node.value, "named_children", ast.Load()), [], [])
            return ast.copy_location(ast.Call(ast.Name("dict", ast.Load()), [children], []), node)
        if node.attr == "__name__" and isinstance(inner, ast.Attribute) and inner.attr == "__class__":
            kind = ast.Call(ast.Name("type", ast.Load()), [inner.value], [])
            return ast.Call(ast.Name("str", ast.Load()), [kind], [])
        return node

    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        """Remove a docstring, or another constant statement."""
        return None if isinstance(node.value, ast.Constant) else self.generic_visit(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        """Treat a coroutine as a function: what it computes is the same."""
        sync = ast.FunctionDef(node.name, node.args, node.body, node.decorator_list, None)
        return self.visit_FunctionDef(ast.copy_location(sync, node))

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """Remove annotations and docstrings."""
        node.returns = None
        for arg in ast.walk(node.args):
            if isinstance(arg, ast.arg):
                arg.annotation = None
        return _filled(self.generic_visit(node))

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        """Keep that fields of a dataclass are annotated, which is what makes them fields."""
        kept: list[ast.stmt | None] = []
        for part in node.body:
            if isinstance(part, ast.AnnAssign):
                part.annotation = ast.copy_location(ast.Name("object", ast.Load()), part.annotation)
            kept.append(part if isinstance(part, ast.AnnAssign) else self.visit(part))
        node.body = [part for part in kept if part is not None]
        return _filled(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST | None:
        """Replace an annotated assignment by an assignment."""
        plain = None if node.value is None else ast.copy_location(ast.Assign([node.target], node.value), node)
        return None if plain is None else self.generic_visit(plain)


def _filled(node: ast.AST) -> ast.AST:
    assert isinstance(node, (ast.FunctionDef, ast.ClassDef)), "only definitions come here"
    node.body = node.body or [ast.copy_location(ast.Pass(), node)]
    return node
