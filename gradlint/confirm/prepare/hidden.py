"""What a program does without a visible call, and a repro does not: after that nothing shows what the program does.

A finalizer, a metaclass, or what is given to a library to be called may release a leaf, or switch off what records.
What a repro lacks is found by comparing: the nodes of the program that are in its sketch no more.
"""

from __future__ import annotations

import ast
import copy
import re
import sys
from collections.abc import Collection, Iterable, Iterator

from gradlint.confirm.prepare.altered import on_the_way
from gradlint.confirm.prepare.bindings import bound_by
from gradlint.confirm.prepare.ends import ends
from gradlint.confirm.prepare.paths import Paths
from gradlint.confirm.prepare.sketch import sketch
from gradlint.confirm.prepare.syntax import SWITCHES, blocks_of, header_of, is_name, name_of, root_of
from gradlint.facts.traits import RELEASING

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_DEFINITIONS = (*_FUNCTIONS, ast.ClassDef)

_RELEASING = RELEASING | SWITCHES
"""Methods and functions after which autograd takes another way."""
_FLAGS = frozenset({"requires_grad", "data", "grad", "__class__"})
"""Attributes of tensors that are set to the same end."""
_NAMESPACES = frozenset({"__globals__", "f_globals", "f_locals", "__code__"})
_ANYTHING = frozenset({"exec", "eval", "globals", "compile", "__import__"})
_LOADING = frozenset({"importlib.import_module", "importlib.reload", "runpy.run_path", "runpy.run_module"})
"""What executes another file."""
_BY_TEXT = frozenset({"getattr", "setattr", "delattr", "methodcaller", "attrgetter"})
_TRAINING = frozenset({"backward", "step", "zero_grad", "load_state_dict", "apply", "retain_grad"})
_FILLING = frozenset({"append", "add", "update", "extend", "insert", "setdefault", "pop", "clear", "remove"})
_CLOSING = frozenset({"throw", "send", "close", "athrow", "asend", "aclose"})
"""Methods of generators, after which their functions run on."""
_GIVEN = frozenset({"builtins", "argparse", "typing", "warnings"})
"""Modules whose answers stand in the program itself, as the defaults of a command line do."""
_ATTRIBUTE_ERRORS = frozenset({"__getattr__", "__setattr__", "__delattr__", "__getattribute__"})


def hidden_effect(tree: ast.Module, row: int, slips: Collection[str] = ()) -> str | None:
    """Return what a program may do before a row, and a repro does not, by which a fault may vanish; None for nothing.

    What runs is known by names alone. Other libraries may call what they are given; that they alter what they are given
    themselves is not assumed.
    """
    lost, own = _lost(tree, slips), _Own(tree, row)
    for statement in _before(tree, row):
        if (node := own.released_by(statement, lost)) is not None:
            return f"line {getattr(node, 'lineno', statement.lineno)} is left out, and it may release a tensor"
        if own.is_decided_outside(statement, lost):
            return f"whether the place is reached is decided outside of the program, in line {statement.lineno}"
    return None


def leaves_out_effects(part: ast.Module, tree: ast.Module, row: int) -> bool:
    """Return whether a part of a program lacks a statement before a row that calls what may release a tensor.

    What a statement releases itself is released of the variables that it names, or else switches for all.
    """
    kept = {node.lineno for node in ast.walk(part) if isinstance(node, ast.stmt)}
    own = _Own(tree, row)
    lacking = (node for node in _before(tree, row) if node.lineno not in kept and not isinstance(node, _DEFINITIONS))
    return any(own.releases_by_call(node) for node in lacking)


def _before(tree: ast.Module, row: int) -> list[ast.stmt]:
    """Return the statements that may run before a row; of those at the top only what stands before it."""
    top = next((node for node in tree.body if node.lineno <= row <= (node.end_lineno or 0)), None)
    last = sys.maxsize if top is None or isinstance(top, _DEFINITIONS) else top.end_lineno or top.lineno
    late = {node for node in tree.body if node.lineno > last}
    return [node for node in on_the_way(tree, row) if isinstance(node, ast.stmt) and node not in late]


def _lost(tree: ast.Module, slips: Collection[str]) -> frozenset[ast.AST]:
    """Return the nodes of a program that its sketch does not have, or in which something made up is asked."""
    program = copy.deepcopy(tree)
    pairs = list(zip(ast.walk(tree), ast.walk(program), strict=True))
    made = sketch(program, slips)
    kept = {node for part in made.body for node in ast.walk(part)}
    lost = {node for node, other in pairs if other not in kept} - _annotations(tree)
    imports = (ast.Import, ast.ImportFrom)
    known = {name for part in made.body if isinstance(part, imports) for name in bound_by(part)}
    unknown = {name for node in lost if isinstance(node, imports) for name in bound_by(node)} - known
    for node in reversed([node for node, _ in pairs]):
        inner = node.func if isinstance(node, ast.Call) else getattr(node, "value", None)
        chain = isinstance(node, (ast.Call, ast.Attribute, ast.Subscript))
        if is_name(node, *unknown) or (chain and inner in lost):
            lost.add(node)
    return frozenset(lost)


def _annotations(program: ast.Module) -> set[ast.AST]:
    """Return the nodes of annotations that call nothing: they only name types."""
    found = [node.annotation for node in ast.walk(program) if isinstance(node, (ast.arg, ast.AnnAssign))]
    found += [node.returns for node in ast.walk(program) if isinstance(node, _FUNCTIONS)]
    given = [note for note in found if note is not None]
    return {
        part
        for note in given
        if not any(isinstance(part, (ast.Call, ast.NamedExpr)) for part in ast.walk(note))
        for part in ast.walk(note)
    }


class _Own:
    """The definitions of a program, and what may be done by those that are given to others."""

    def __init__(self, tree: ast.Module, row: int) -> None:
        self._paths = Paths(tree)
        self._row = row
        self._named: dict[str, list[ast.AST]] = {}
        self._methods: dict[str, list[ast.AST]] = {}
        nodes = list(ast.walk(tree))
        inside = {part for node in nodes if isinstance(node, ast.ClassDef) for part in node.body}
        for node in nodes:
            if isinstance(node, _DEFINITIONS):
                (self._methods if node in inside else self._named).setdefault(node.name, []).append(node)
            elif isinstance(node, ast.Assign) and isinstance(node.value, (ast.Name, ast.Attribute, ast.Lambda)):
                for target in node.targets:
                    known = self._named if isinstance(target, ast.Name) else self._methods
                    known.setdefault(name_of(target), []).append(node.value)
        self._functions = [node for node in nodes if isinstance(node, _FUNCTIONS)]
        self._asked = {
            target.id: list(ast.walk(node.value))
            for node in nodes
            if isinstance(node, ast.Assign)
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        relative = (node for node in nodes if isinstance(node, ast.ImportFrom) and node.level)
        self._relative = {name for node in relative for name in bound_by(node)}
        self._generators = {
            name: [node.value.func.id]
            for node in nodes
            if isinstance(node, ast.Assign)
            and isinstance(node.value, ast.Call)
            and is_name(node.value.func, *self._named)
            for name in map(name_of, node.targets)
            if isinstance(node.value.func, ast.Name)
        }

    def released_by(self, statement: ast.stmt, lost: frozenset[ast.AST]) -> ast.AST | None:
        """Return what of a statement is lost and may release a tensor."""
        if isinstance(statement, _FUNCTIONS) and statement in lost and statement.name.startswith("__"):
            return next(self._acts(statement), None)
        if isinstance(statement, (ast.Try, ast.If)) and (found := self._other_arm(statement, lost)) is not None:
            return found
        if isinstance(statement, ast.Expr) and self._paths.of(getattr(statement.value, "func", statement)) in _LOADING:
            return statement
        header = [node for node in header_of(statement) if node in lost and not isinstance(node, ast.stmt)]
        if not header:
            return None
        # What a call that is lost was given is computed all the same, and called by nobody.
        called = [one for node in header if isinstance(node, ast.Call) for one in (*node.args, *node.keywords)]
        given: list[ast.AST] = [part for one in (*header, *called) for part in ast.walk(one) if self._leads_on(part)]
        if isinstance(statement, _DEFINITIONS):
            # What decorates it, and what a class is derived from, may call it.
            given.append(statement)
        strangers = any(self._is_strange(node) for node in header_of(statement))
        for node in (*header, *self._reached(given)):
            if self._releases(node) or (not (strangers or node in header) and self._changes(node)):
                return node
        return None

    def is_decided_outside(self, statement: ast.stmt, lost: frozenset[ast.AST]) -> bool:
        """Return whether a condition that the environment of a program decides leads to the row, or away from it."""
        asked: list[ast.expr] = []
        if isinstance(statement, (ast.If, ast.While)):
            asked = [statement.test] if self._is_around(statement) or self._leads_away(statement) else []
        elif isinstance(statement, ast.Assert):
            asked = [statement.test] if statement.lineno <= self._row else []
        elif self._is_around(statement) and not any(blocks_of(statement)):
            for node in header_of(statement):
                if isinstance(node, ast.IfExp):
                    asked.append(node.test)
                elif isinstance(node, ast.BoolOp):
                    asked += node.values[:-1]
        return any(self._is_outside(part, lost) for one in asked for part in ast.walk(one))

    def _leads_away(self, statement: ast.If | ast.While) -> bool:
        """Return whether a statement before the row may end what leads there."""
        if statement.lineno > self._row:
            return False
        leaves = (ast.Return, ast.Break, ast.Continue) if self._is_in_scope(statement) else ()
        return any(
            isinstance(node, (ast.Raise, *leaves)) or (isinstance(node, ast.expr) and ends(self._paths.of(node)))
            for node in _inner(part for block in blocks_of(statement) for part in block)
        )

    def _is_in_scope(self, statement: ast.stmt) -> bool:
        """Return whether a statement stands in the function in which the row stands, or outside of all."""
        around = [one for one in self._functions if one.lineno <= statement.lineno <= (one.end_lineno or 0)]
        return all(map(self._is_around, around))

    def _is_outside(self, node: ast.AST, lost: frozenset[ast.AST]) -> bool:
        """Return whether a node that is lost asks Python's own library for what stands nowhere in the program."""
        if isinstance(node, ast.Name) and node.id in self._asked:
            return any(part in lost and self._asks(part) for part in self._asked[node.id])
        return node in lost and self._asks(node)

    def _asks(self, node: ast.AST) -> bool:
        if not isinstance(node, ast.expr):
            return False
        top = self._paths.of(node).partition(".")[0]
        return is_name(node, "__file__") or (top in sys.stdlib_module_names and top not in _GIVEN)

    def releases_by_call(self, statement: ast.stmt) -> bool:
        """Return whether a statement names a definition that may release a tensor, or switches off what records."""
        header = list(header_of(statement))
        switches = any(isinstance(node, ast.Attribute) and node.attr in SWITCHES for node in header)
        return switches or any(
            map(self._releases, self._reached(one for node in header for one in self._leads_on(node)))
        )

    def _other_arm(self, statement: ast.Try | ast.If, lost: frozenset[ast.AST]) -> ast.AST | None:
        """Return what releases a tensor in a block that may run where a part of what leads there is lost."""
        if isinstance(statement, ast.Try):
            leads = any(
                node in lost or isinstance(node, (ast.Import, ast.ImportFrom)) for node in _inner(statement.body)
            )
            blocks: list[ast.stmt] = [part for handler in statement.handlers for part in handler.body]
        else:
            leads = any(
                (node in lost and isinstance(node, ast.Call)) or self._is_outside(node, lost)
                for node in ast.walk(statement.test)
            )
            blocks = [part for block in blocks_of(statement) for part in block]
        if not leads or any(self._is_around(part) for part in blocks):
            return None
        return next((node for node in self._reached(blocks) if self._releases(node)), None)

    # What a name may lead to.

    def _reached(self, starts: Iterable[ast.AST]) -> Iterator[ast.AST]:
        """Yield the nodes of what is given, and of definitions that these name, but for those around the row."""
        seen: set[ast.AST] = set()
        waiting = list(starts)
        while waiting:
            start = waiting.pop()
            if start in seen or (isinstance(start, _FUNCTIONS) and self._is_around(start)):
                continue
            seen.add(start)
            nodes = [start]
            while nodes:
                node = nodes.pop()
                yield node
                nodes.extend(part for part in ast.iter_child_nodes(node) if not self._is_function_around(part))
                waiting.extend(self._leads_on(node))

    def _leads_on(self, node: ast.AST) -> list[ast.AST]:
        """Return the definitions that a node names."""
        if isinstance(node, ast.Lambda):
            return [node]
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            return self._named.get(node.id, [])
        if isinstance(node, ast.Attribute):
            run = self._generators.get(root_of(node), []) if node.attr in _CLOSING else []
            return [*self._methods.get(node.attr, []), *(one for name in run for one in self._named[name])]
        return []

    def _is_around(self, node: ast.AST) -> bool:
        return getattr(node, "lineno", 0) <= self._row <= (getattr(node, "end_lineno", 0) or 0)

    def _is_function_around(self, node: ast.AST) -> bool:
        return isinstance(node, _FUNCTIONS) and self._is_around(node)

    def _is_strange(self, node: ast.AST) -> bool:
        """Return whether an expression is of a library other than Python's, or of another file."""
        if root_of(node) in self._relative:
            return True
        top = self._paths.of(node).partition(".")[0] if isinstance(node, ast.expr) else ""
        return top not in ("", "builtins", *sys.stdlib_module_names)

    # What a node does.

    def _releases(self, node: ast.AST) -> bool:
        """Return whether a node may change which tensors are recorded, or replace what a variable holds."""
        match node:
            case ast.Attribute(attr=name) if name in _RELEASING or name in _NAMESPACES:
                return True
            case ast.Attribute(attr=name, ctx=ast.Store() | ast.Del()) if name in _FLAGS:
                return True
            case ast.Constant(str(text)) if text in _RELEASING:
                return True
            case ast.Call(ast.Name(name)) if name in _ANYTHING:
                return True
            case ast.Call(ast.Name("vars" | "locals"), []):
                return True
            case ast.Call(func, given) if name_of(func) in _BY_TEXT:
                return self._names_release(given)
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                return _rebinds(node)
        return isinstance(node, ast.expr) and self._paths.of(node) in ("sys.modules", "__main__")

    def _names_release(self, given: list[ast.expr]) -> bool:
        """Return whether a text that is computed may be the name of what releases."""
        names = [one for one in given if not isinstance(one, (ast.Name, ast.Attribute, ast.Call))] or given[1:2]
        owner = self._paths.of(given[0]) if given else ""
        if not given or root_of(given[0]) == "self" or (owner and owner != "torch.Tensor"):
            return False
        words = (*_RELEASING, *_FLAGS, "__enter__")
        return any(re.fullmatch(_pattern(one), word) for one in names for word in words)

    def _changes(self, node: ast.AST) -> bool:
        """Return whether a node may do something to what the program sees later."""
        match node:
            case ast.Attribute(value, name, ast.Load()) if root_of(value) != "self":
                return name in _TRAINING or name in _FILLING or re.fullmatch(r"[a-z]\w*[^_]_", name) is not None
            case ast.Attribute(value, _, ast.Store()) | ast.Subscript(value, _, ast.Store()):
                return root_of(value) != "self"
            case ast.Call(ast.Attribute(attr="__setattr__"), [*_, given]):
                return not isinstance(given, ast.Name)
        return False

    def _acts(self, function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[ast.AST]:
        """Yield what is done by a method that Python calls by itself, whatever it is."""
        given = {arg.arg for arg in ast.walk(function.args) if isinstance(arg, ast.arg)}
        own = {name for node in ast.walk(function) for name in bound_by(node)} - given
        for node in self._reached([function]):
            stored = isinstance(node, (ast.Attribute, ast.Subscript)) and not isinstance(node.ctx, ast.Load)
            stores = stored and root_of(node) not in own
            ends = isinstance(node, ast.Raise) and function.name not in _ATTRIBUTE_ERRORS
            if stores or ends or self._releases(node) or self._changes(node):
                yield node


def _inner(body: Iterable[ast.stmt]) -> Iterator[ast.AST]:
    return (node for part in body for node in ast.walk(part))


def _rebinds(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Return whether a function gives variables of the module other values than numbers and texts."""
    names = {name for node in ast.walk(function) if isinstance(node, (ast.Global, ast.Nonlocal)) for name in node.names}
    assigned = [node for node in ast.walk(function) if isinstance(node, (ast.Assign, ast.AnnAssign, ast.NamedExpr))]
    return any(
        isinstance(part, ast.Name) and part.id in names and not isinstance(node.value, ast.Constant)
        for node in assigned
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        for part in ast.walk(target)
    )


def _pattern(text: ast.expr) -> str:
    """Return which texts an expression may stand for."""
    match text:
        case ast.Constant(str(value)):
            return re.escape(value)
        case ast.JoinedStr(parts):
            return "".join(map(_pattern, parts))
        case ast.BinOp(left, ast.Add(), right):
            return _pattern(left) + _pattern(right)
    return ".*"
