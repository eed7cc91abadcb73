"""A program cut down to what one statement depends on: the function around it becomes the program.

What a whole file needs to run is mostly beside the point of a finding: command lines, data sets, logging. A slice
keeps the statements before the one in question that bind what it reads, and what these read, with the definitions
of the file that they use. Parameters have no value then, and are made up like everything that is not known.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Collection, Iterable, Iterator

from gradlint.confirm.prepare.bindings import bound_by
from gradlint.confirm.prepare.syntax import (
    BLOCKS,
    Stretch,
    blocks_of,
    header_of,
    is_name,
    place_of,
    root_of,
    stretch_of,
)
from gradlint.domain.finding import Span

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_DEEP = 99
_DEPTHS = (2, 1, 3)
_WALKS = frozenset({"backward", "step", "zero_grad", "unscale_", "update", "retain_grad", "requires_grad_"})


class Slice:
    """The statements of a program that one of them depends on; those that fail can be taken out one by one."""

    def __init__(self, tree: ast.Module, stretch: Stretch, *, effects: bool = False, depth: int = _DEEP) -> None:
        """With `effects` also what is done to the same values on the way, and each walk and step.

        What the fault reads is bound at a depth of 1, what that reads at 2; nothing deeper than `depth` is bound.
        """
        self._stretch = stretch
        self._effects = effects
        self._most = depth
        self._needed: dict[str, int] = {}
        self.aliases: dict[str, str] = {}
        """The variables for which a name that nothing binds stands now."""
        self._direct: set[str] = set()
        self.tree = ast.Module([], [])
        path = _path(tree, stretch[0])
        if path:
            self._build(tree, path)

    @property
    def is_one(self) -> bool:
        """Whether there is a statement at the place at all, with something before it that counts."""
        return len(self.tree.body) > 0

    def cut(self, row: int) -> bool:
        """Put made-up values in the place of what a statement computes; what the fault reads itself stays."""
        for block in _blocks(self.tree):
            for index, node in enumerate(block):
                if isinstance(node, ast.For) and node.lineno <= row < node.body[0].lineno:
                    return self._cut_loop(node)
                if node.lineno <= row <= (node.end_lineno or 0) and self._may_go(node):
                    block[index : index + 1] = [*self._unknown(node)] or [ast.copy_location(ast.Pass(), node)]
                    return True
        return False

    def fresh(self) -> ast.Module:
        """Return a copy that others may change."""
        return copy.deepcopy(self.tree)

    # What is needed, and how far from the fault.

    def _need(self, names: Iterable[str], depth: int) -> None:
        if depth <= self._most:
            for name in names:
                self._needed[name] = min(depth, self._needed.get(name, depth))

    def _forget(self, names: Iterable[str]) -> None:
        for name in names:
            self._needed.pop(name, None)

    def _depth(self, names: Iterable[str]) -> int:
        """Return the depth of what needs one of the names most; a statement that is kept for its effect is near."""
        return min((self._needed[name] for name in names if name in self._needed), default=1)

    # What is kept.

    def _build(self, tree: ast.Module, path: list[ast.stmt]) -> None:
        target = path[-1]
        self._direct = _read(_at(target, self._stretch) or target)
        self._need(_names_in(header_of(target)), 1)
        scopes = [tree, *(node for node in path[:-1] if isinstance(node, _SCOPES))]
        kept: list[ast.stmt] = []
        inner = target
        for scope in reversed(scopes):
            if not isinstance(scope, ast.ClassDef):
                kept = [*self._kept(scope.body, path, inner), *kept]
            if isinstance(scope, (ast.FunctionDef, ast.AsyncFunctionDef)):
                kept = [*self._defaults(scope), *kept]
            if isinstance(scope, ast.stmt):
                inner = scope
        body = [*self._definitions(tree, kept), *kept]
        if len(scopes) == 1:
            body.sort(key=lambda node: node.lineno)
        self.tree = ast.fix_missing_locations(_Straight().visit(ast.Module(copy.deepcopy(body), [])))

    def _kept(self, block: list[ast.stmt], path: list[ast.stmt], target: ast.stmt) -> list[ast.stmt]:
        """Return the statements of a block up to the target, or to the statement around it, last to first."""
        last = next((index for index, node in enumerate(block) if node is target or node in path), None)
        if last is None:
            return []
        kept = self._around(block[last], path, target)
        for node in reversed(block[:last]):
            if self._counts(node):
                depth, bound = self._depth(_bound(node)), set(_bound(node))
                self._forget(_replaced(node))
                self._need(_read(node), depth + 1)
                # `x = f(x)` needs what it replaces as much as it is needed.
                self._need(_read(node) & bound, depth)
                kept.insert(0, node)
        return kept

    def _iterated(self, loop: ast.For | ast.While, inner: list[ast.stmt], path: list[ast.stmt]) -> list[ast.stmt]:
        """Return the body of a loop that iterates: what follows the target precedes it in the next iteration."""
        kept = [*inner, *self._chosen(loop.body, [*inner, *path], self._counts)]
        around = next(index for index, node in enumerate(loop.body) if node in path)
        before = [node for node in loop.body[:around] if node in kept]
        after = [node for node in loop.body[around:] if node in kept and node not in path]
        own = [node for node in inner if node not in loop.body or node in path]
        return [*before, *own, *after]

    def _chosen(
        self, block: list[ast.stmt], known: Collection[ast.stmt], wanted: Callable[[ast.stmt], bool]
    ) -> list[ast.stmt]:
        """Return the statements of a block that are wanted, also by others of them, and are not known."""
        chosen: list[ast.stmt] = []
        size = -1
        while len(chosen) > size:
            size = len(chosen)
            for node in block:
                if node not in chosen and node not in known and wanted(node):
                    chosen.append(node)
                    self._need(_read(node), self._depth(_bound(node)) + 1)
        return chosen

    def _around(self, node: ast.stmt, path: list[ast.stmt], target: ast.stmt) -> list[ast.stmt]:
        """Return the target, or the statement around it with what is kept of its block."""
        if node is target:
            return [] if isinstance(node, _SCOPES) else [_bare(node, [])]
        arms = list(blocks_of(node))
        arm = next((arm for arm in arms if any(part is target or part in path for part in arm)), [])
        inner = self._kept(arm, path, target)
        iterates = isinstance(node, (ast.For, ast.While))
        if self._effects and isinstance(node, (ast.For, ast.While)) and arm is node.body:
            inner = self._iterated(node, inner, path)
        if isinstance(node, ast.If) and self._needed.keys().isdisjoint(_read(node.test)):
            # The condition has nothing to do with it, and the program gets here for some value of it.
            return inner
        if not (iterates or isinstance(node, (ast.With, ast.If))) or arm is not arms[0]:
            return inner
        depth = self._depth(_replaced(node))
        self._forget(_replaced(node) if iterates else ())
        self._need(_names_in(header_of(node)), depth + 1)
        return [_bare(node, inner)]

    def _counts(self, node: ast.stmt) -> bool:
        if isinstance(node, (ast.Import, ast.ImportFrom, *_SCOPES)):
            return False
        if not self._needed.keys().isdisjoint(_bound(node)):
            return True
        if not self._effects or not isinstance(node, (ast.Expr, ast.If, ast.For, ast.With, ast.Delete)):
            return False
        calls = [part.func for part in ast.walk(node) if isinstance(part, ast.Call)]
        walks = any(isinstance(func, ast.Attribute) and func.attr in _WALKS for func in calls)
        changes = any(root_of(func) in self._needed for func in calls if isinstance(func, ast.Attribute))
        return walks or (isinstance(node, ast.Expr) and changes)

    def _defaults(self, function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[ast.stmt]:
        """Parameters that have a plain default have that value."""
        arguments = function.args
        positional = [*arguments.posonlyargs, *arguments.args]
        with_default = zip(positional[len(positional) - len(arguments.defaults) :], arguments.defaults, strict=True)
        for arg, value in (*with_default, *zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)):
            if isinstance(value, ast.Constant) and value.value is not None and arg.arg in self._needed:
                yield ast.copy_location(ast.Assign([ast.Name(arg.arg, ast.Store())], value), function)

    def _definitions(self, tree: ast.Module, kept: list[ast.stmt]) -> list[ast.stmt]:
        """Return the imports, and what of the module is used: definitions and variables."""

        def is_used(node: ast.stmt) -> bool:
            defines = isinstance(node, (*_SCOPES, ast.Assign, ast.AnnAssign)) and not self._is_around(node)
            return defines and not self._needed.keys().isdisjoint(_bound(node))

        chosen = self._chosen(tree.body, kept, is_used)
        return [node for node in tree.body if node in chosen or isinstance(node, (ast.Import, ast.ImportFrom))]

    def _is_around(self, node: ast.stmt) -> bool:
        return node.lineno <= self._stretch[0] <= (node.end_lineno or 0)

    # What is taken out.

    def _may_go(self, node: ast.stmt) -> bool:
        if self._is_around(node):
            return False
        if isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign)):
            return self._direct.isdisjoint(_bound(node))
        return isinstance(node, ast.Expr) and not self._effects

    def _cut_loop(self, node: ast.For) -> bool:
        """Put a made-up value in the place of what a loop iterates over, once."""
        if is_name(node.iter, *self.aliases):
            return False
        alias = f"loader_{len(self.aliases)}"
        self.aliases[alias] = alias
        node.iter = ast.copy_location(ast.Name(alias, ast.Load()), node.iter)
        return True

    def _unknown(self, node: ast.stmt) -> Iterator[ast.stmt]:
        """Yield the variables that a statement binds, with values that nobody knows."""
        for name in dict.fromkeys(_bound(node)) if isinstance(node, (ast.Assign, ast.AnnAssign)) else ():
            alias = f"{name}_{len(self.aliases)}"
            self.aliases[alias] = name
            value = ast.Name(alias, ast.Load())
            made = ast.Assign([ast.Name(name, ast.Store())], value)
            yield ast.fix_missing_locations(ast.copy_location(made, node))


class _Straight(ast.NodeTransformer):
    """Replaces what makes sense in a function only by what it means without one."""

    def visit_FunctionDef(self, node: ast.AST) -> ast.AST:
        """Keep a definition as it is."""
        return node

    visit_ClassDef = visit_AsyncFunctionDef = visit_Lambda = visit_FunctionDef

    def visit_Return(self, node: ast.Return) -> ast.AST:
        """Compute what is returned."""
        self.generic_visit(node)
        return ast.copy_location(ast.Pass() if node.value is None else ast.Expr(node.value), node)

    def visit_Yield(self, node: ast.Yield) -> ast.AST:
        """Nobody sends anything."""
        self.generic_visit(node)
        return node.value or ast.copy_location(ast.Constant(None), node)

    def visit_Await(self, node: ast.Await) -> ast.AST:
        """There is nobody to wait for."""
        self.generic_visit(node)
        return node.value

    def visit_Global(self, node: ast.stmt) -> ast.AST:
        """All is global, and the block around `continue` may be no loop any more."""
        return ast.copy_location(ast.Pass(), node)

    visit_Nonlocal = visit_Continue = visit_Break = visit_Global


def _bare(node: ast.stmt, body: list[ast.stmt]) -> ast.stmt:
    """Return a statement with another body, and without other arms."""
    if not hasattr(node, "body"):
        return node
    bare = copy.copy(node)
    for name in BLOCKS:
        if getattr(bare, name, None):
            setattr(bare, name, [])
    bare.body = body or [ast.copy_location(ast.Pass(), node)]
    return bare


def _replaced(node: ast.stmt) -> set[str]:
    """Return the names that have another value after a statement, whatever they had before."""
    if isinstance(node, ast.If):
        arms = [set[str]().union(*map(_replaced, arm)) for arm in (node.body, node.orelse)]
        return arms[0] & arms[1]
    targets = node.targets if isinstance(node, ast.Assign) else []
    if isinstance(node, (ast.For, ast.AnnAssign)):
        targets = [node.target]
    parts = [part for one in targets for part in (one.elts if isinstance(one, (ast.Tuple, ast.List)) else [one])]
    return {part.id for part in parts if isinstance(part, ast.Name)}


def _path(tree: ast.Module, row: int) -> list[ast.stmt]:
    """Return the statements around a row, the innermost last."""
    path: list[ast.stmt] = []
    inside: ast.AST | None = tree
    while inside is not None:
        children = [node for block in blocks_of(inside) for node in block]
        inside = next((node for node in children if _first_row(node) <= row <= (node.end_lineno or 0)), None)
        if inside is not None:
            path.append(inside)
    return path


def _first_row(node: ast.stmt) -> int:
    rows: list[int] = [one.lineno for one in getattr(node, "decorator_list", ())]
    return min([node.lineno, *rows])


def _blocks(tree: ast.Module) -> Iterator[list[ast.stmt]]:
    """Yield all blocks outside of definitions, the innermost last."""
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop(0)
        for block in blocks_of(node):
            yield block
            waiting.extend(part for part in block if not isinstance(part, _SCOPES))


def _at(node: ast.stmt, stretch: Stretch) -> ast.expr | None:
    """Return the expression of a stretch."""
    return next((part for part in ast.walk(node) if isinstance(part, ast.expr) and place_of(part) == stretch), None)


def _read(node: ast.AST) -> set[str]:
    return _names_in(ast.walk(node))


def _names_in(nodes: Iterable[ast.AST]) -> set[str]:
    """Return the names that are read, those that an augmented assignment writes to among them."""
    found: set[str] = set()
    for part in nodes:
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load):
            found.add(part.id)
        elif isinstance(part, ast.AugAssign):
            found.add(root_of(part.target))
    return found


def _bound(node: ast.stmt) -> list[str]:
    """Return the names that a statement binds, and those whose items or attributes it sets."""
    if isinstance(node, _SCOPES):
        return [node.name]
    names = [name for part in ast.walk(node) for name in bound_by(part)]
    stores = [part for part in ast.walk(node) if isinstance(getattr(part, "ctx", None), ast.Store)]
    return [*names, *(root for part in stores if (root := root_of(part)))]


def slices(tree: ast.Module, span: Span, *, local: bool) -> list[Slice]:
    """Return the slices to try; for a fault of the values alone at first those that need little."""
    stretch = stretch_of(span)
    made = [Slice(tree, stretch, depth=depth) for depth in (*_DEPTHS, _DEEP)] if local else []
    made.append(Slice(tree, stretch, effects=True))
    texts = [ast.unparse(one.tree) for one in made]
    return [one for number, one in enumerate(made) if one.is_one and texts[number] not in texts[:number]]
