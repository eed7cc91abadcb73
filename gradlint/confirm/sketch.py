"""A program made harmless: what may not be run, or is not known, is replaced by holes for made-up values."""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import cast

from gradlint.confirm import allowed
from gradlint.confirm.names import Names
from gradlint.confirm.plain import flags_of, plain
from gradlint.confirm.safety import refused
from gradlint.confirm.standin import choices
from gradlint.confirm.uses import INSTANCE, NAMESPACE, kinds_at, kinds_of

_HOLE = re.compile(r"\bmade_up_(\d+)\b")
_SCALARS = frozenset({"int", "float", "bool", "str", "none", "device", "dtype", "path", "shape"})
_ROUNDS = 8
_SHORTER = {
    "torch.optim.optimizer": "torch.optim",
    "torch.nn.modules": "torch.nn",
    "torch.nn.modules.module": "torch.nn",
    "torch.nn.modules.loss": "torch.nn",
    "torch.autograd.variable": "torch.autograd",
    "torch.utils.data.dataset": "torch.utils.data",
    "torch.utils.data.dataloader": "torch.utils.data",
}
"""Modules whose names stand in another one as well."""


@dataclass
class Hole:
    """A value to make up: what stands for it in the program, what it may be, and what to try first."""

    number: int
    text: str
    kinds: tuple[str, ...]
    first: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The name that stands in the program where the value goes."""
        return f"made_up_{self.number}"


@dataclass
class Sketch:
    """A harmless program with holes: its imports come first, then the variables that are made up, then the rest."""

    body: list[ast.stmt]
    holes: list[Hole] = field(default_factory=list)
    dropped: int = 0
    _head: int = 0
    _new: list[ast.stmt] = field(default_factory=list)

    def hole(self, text: str, kinds: Sequence[str], first: Iterable[str] = ()) -> Hole:
        """A new hole."""
        known = tuple(kind for kind in kinds if kind not in (NAMESPACE, INSTANCE)) or ("tensor", "float", "int")
        hole = Hole(len(self.holes), text, known, tuple(first))
        self.holes.append(hole)
        return hole

    def imports(self, kept: Sequence[ast.stmt]) -> None:
        """Put the imports at the top."""
        self.body[:0] = kept
        self._head += len(kept)

    def needs(self, kept: ast.stmt) -> None:
        """An import that what is made up needs."""
        if ast.unparse(kept) not in {ast.unparse(one) for one in self.body[: self._head]}:
            self._new.insert(0, kept)

    def variable(self, name: str, hole: Hole) -> None:
        """A variable of the module that holds a made-up value."""
        self._new.append(statement(f"{name} = {hole.name}"))

    def settle(self) -> None:
        """Put new variables in their place: no visitor may be under way in the body."""
        self.body[self._head : self._head] = self._new
        self._head += len(self._new)
        self._new.clear()


def statement(text: str) -> ast.stmt:
    """A statement of ours, which comes from no row of the file."""
    made = ast.parse(text).body[0]
    for node in ast.walk(made):
        if isinstance(node, (ast.stmt, ast.expr)):
            node.lineno = node.end_lineno = 0
    return made


def holes_in(text: str) -> list[int]:
    """The numbers of the holes that a text names."""
    return [int(number) for number in _HOLE.findall(text)]


def fill(text: str, values: Sequence[str]) -> str:
    """The text with its holes filled; what fills one may have holes with higher numbers."""
    while _HOLE.search(text):
        text = _HOLE.sub(lambda found: values[int(found.group(1))], text)
    return text


def sketch(tree: ast.Module) -> Sketch:
    """The program of a file, made harmless; the tree is changed."""
    flags = flags_of(tree)
    moved = plain(tree)
    made = _Sketcher(tree, flags).run()
    made.dropped += moved
    return made


class _Sketcher:
    """Replaces in rounds: a name that holds only what is not known is not known either."""

    def __init__(self, tree: ast.Module, flags: dict[str, str]) -> None:
        self._tree = tree
        self._flags = flags
        # The sketch and the tree share the list of statements: what is made up shows in the tree at once.
        self._sketch = Sketch(tree.body)
        self._unknown: set[tuple[ast.AST | None, str]] = set()
        self._known: dict[tuple[ast.AST | None, str], ast.expr] = {}
        self._own: set[str] = set()

    def run(self) -> Sketch:
        """The finished sketch."""
        self._imports()
        for _ in range(_ROUNDS):
            before = len(self._sketch.holes), len(self._unknown)
            self._variables(Names(self._tree))
            self._sketch.settle()
            self._parameters(Names(self._tree))
            self._replace(Names(self._tree), frozenset())
            nodes = refused(self._tree, self._own)
            self._replace(Names(self._tree), nodes)
            if (len(self._sketch.holes), len(self._unknown)) == before:
                break
        _forget_unused(self._tree)
        self._tree.body[:] = _without(self._tree.body, refused(self._tree, self._own), self._sketch)
        return self._sketch

    # Imports.

    def _imports(self) -> None:
        """Harmless ones come first; the names of all others are bound by nothing then."""
        keep = _ImportKeeper(self._tree)
        keep.visit(self._tree)
        kept = {ast.unparse(one): one for one in keep.kept}
        if "import torch" not in kept:
            kept = {"import torch": statement("import torch"), **kept}
        self._sketch.imports(list(kept.values()))
        _fill_empty(self._tree)

    # What is not known.

    def _variables(self, names: Names) -> None:
        """Names that nothing binds: a bag of attributes, or a variable made up."""
        for name in sorted(names.nowhere - {hole.name for hole in self._sketch.holes}):
            kinds = kinds_of(name, ast.walk(self._tree), names.parents)
            if kinds[:1] == (NAMESPACE,) or name[:1].isupper() or hasattr(builtins, name):
                self._unknown.add((None, name))
            else:
                self._sketch.variable(name, self._sketch.hole(name, kinds))

    def _parameters(self, names: Names) -> None:
        """Variables that hold only a hole, and parameters: those that are bags of attributes are not known."""
        for node in ast.walk(self._tree):
            if isinstance(node, ast.Assign) and len(node.targets) == 1:
                self._assigned(node, node.targets[0], names)
            elif isinstance(node, ast.FunctionDef):
                for arg in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs):
                    if arg.arg not in ("self", "cls", "ctx") and self._is_given_nothing(node, arg.arg, names):
                        kinds = kinds_of(arg.arg, ast.walk(node), names.parents)
                        if kinds[:1] == (NAMESPACE,):
                            self._unknown.add((node, arg.arg))

    def _is_given_nothing(self, function: ast.FunctionDef, name: str, names: Names) -> bool:
        """Whether no call in the file says what a parameter holds."""
        owner = names.parents.get(function)
        unnamed = function.name in ("__init__", "forward", "__call__") and isinstance(owner, ast.ClassDef)
        called = owner.name if unnamed and isinstance(owner, ast.ClassDef) else function.name
        calls = [call for call in ast.walk(self._tree) if isinstance(call, ast.Call) and _names(call, called)]
        places = [arg.arg for arg in (*function.args.posonlyargs, *function.args.args)]
        place = places.index(name) - (places[0] in ("self", "cls")) if name in places else None
        passed = [argument for call in calls if (argument := _argument(call, place, name)) is not None]
        unknown = [
            argument
            for argument in passed
            if isinstance(argument, ast.Name) and (holes_in(argument.id) or self.is_unknown(names, argument))
        ]
        return not calls or any(argument.id == name or holes_in(argument.id) for argument in unknown)

    def _assigned(self, node: ast.Assign, target: ast.expr, names: Names) -> None:
        if not isinstance(node.value, ast.Name) or not (numbers := holes_in(node.value.id)):
            return
        scope = names.scope_of(node)
        hole = self._sketch.holes[numbers[0]]
        if isinstance(target, (ast.Tuple, ast.List)):
            parts = [part.id for part in target.elts if isinstance(part, ast.Name)]
            nodes = list(ast.walk(scope))
            kinds_of_parts = [kinds_of(part, nodes, names.parents) for part in parts]
            bags = [part for part, kinds in zip(parts, kinds_of_parts, strict=True) if kinds[:1] == (NAMESPACE,)]
            self._unknown.update((scope, part) for part in bags)
            if len(parts) == len(target.elts) and not hole.first:
                rest = [[kind for kind in kinds if kind not in (NAMESPACE, INSTANCE)] for kinds in kinds_of_parts]
                hole.first = (f"({', '.join(choices(tuple(kinds) or ('tensor',))[0].text for kinds in rest)},)",)
        elif isinstance(target, ast.Name):
            nodes = list(ast.walk(scope))
            kinds = kinds_of(target.id, nodes, names.parents)
            if kinds[:1] == (NAMESPACE,) and "module" in kinds:
                self._parts(hole, target.id, nodes)
                kinds = ("module",)
            if kinds[:1] == (NAMESPACE,):
                self._unknown.add((scope, target.id))
            else:
                known = [kind for kind in kinds if kind not in (NAMESPACE, INSTANCE)]
                hole.kinds = tuple(dict.fromkeys([*known, *hole.kinds]))
                self._keys(hole, target.id, nodes)

    def _parts(self, hole: Hole, name: str, nodes: Sequence[ast.AST]) -> None:
        """A network whose parts the program names has parts of these names."""
        used = {node.attr for node in nodes if isinstance(node, ast.Attribute) and _is_name(node.value, name)}
        parts = sorted(used - allowed.attributes())
        inner = ", ".join(f"{part}=torch.nn.Linear(3, 3)" for part in parts)
        self._own.update(parts)
        if parts:
            hole.first = (*hole.first, f"torch.nn.Sequential(OrderedDict({inner}))")
            self._sketch.needs(ast.parse("from collections import OrderedDict").body[0])

    def _keys(self, hole: Hole, name: str, nodes: Sequence[ast.AST]) -> None:
        """A dict has the keys that the program asks for."""
        keys = {
            node.slice.value: None
            for node in nodes
            if isinstance(node, ast.Subscript) and _is_name(node.value, name) and isinstance(node.slice, ast.Constant)
        }
        if keys and all(isinstance(key, str) for key in keys):
            items = ", ".join(f"{key!r}: torch.randn(2, 3)" for key in keys)
            hole.first = (f"{{{items}}}",)

    # Replacing.

    def _replace(self, names: Names, bad: frozenset[ast.AST]) -> None:
        _Replacer(self, names, bad).visit(self._tree)
        self._sketch.settle()
        _fill_empty(self._tree)

    def is_unknown(self, names: Names, node: ast.Name) -> bool:
        """Whether nothing is known of what a name holds."""
        return (names.binder(node, node.id), node.id) in self._unknown

    def made_up(self, node: ast.expr, names: Names) -> ast.expr:
        """What stands for an expression that is not known; the same attribute is the same value."""
        text = ast.unparse(node)
        if not _is_dotted(node):
            hole = self._sketch.hole(text, _evident(node) or kinds_at(node, names.parents), _wrapped(node))
            return ast.Name(hole.name, ast.Load())
        root = _root(node)
        scope = names.binder(root, root.id) if root is not None else None
        key = (names.scope_of(node) if root is not None and root.id == "self" else scope, text)
        if key not in self._known:
            self._known[key] = self._new(node, text, names)
        return self._known[key]

    def _new(self, node: ast.expr, text: str, names: Names) -> ast.expr:
        kinds = kinds_of(text, ast.walk(self._tree), names.parents)
        flag = self._flags.get(text.rpartition(".")[2])
        hole = self._sketch.hole(text, kinds, () if flag is None else (flag,))
        if flag is not None or hole.kinds[0] in _SCALARS:
            return ast.Name(hole.name, ast.Load())
        name = re.sub(r"\W+|__+", "_", text).strip("_")
        self._sketch.variable(name, hole)
        return ast.Name(name, ast.Load())


class _Replacer(ast.NodeTransformer):
    """Puts made-up values where the longest chain of attributes, calls, and indices starts at something unknown."""

    def __init__(self, sketcher: _Sketcher, names: Names, bad: frozenset[ast.AST]) -> None:
        self._sketcher = sketcher
        self._names = names
        self._bad = bad

    def visit(self, node: ast.AST) -> ast.AST:
        """Chains are looked at from outside in."""
        if isinstance(node, (ast.Attribute, ast.Call, ast.Subscript, ast.Name)) and self._is_bad(node):
            stays = isinstance(node, ast.Name) and self._names.binder(node, node.id) is not None
            if stays or isinstance(getattr(node, "ctx", None), (ast.Store, ast.Del)):
                return node
            return self._sketcher.made_up(node, self._names)
        visited = super().visit(node)
        return cast(ast.AST, visited)

    def visit_Assign(self, node: ast.Assign) -> ast.AST | None:
        """A write to an attribute of something unknown is left out."""
        if any(self._is_bad(target) for target in node.targets if not isinstance(target, ast.Name)):
            return None
        return self.generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> ast.AST | list[ast.stmt] | None:
        """A call of something unknown for its effect is left out; what its arguments do is kept."""
        if not self._is_bad(node.value):
            return self.generic_visit(node)
        inner = node.value
        arguments = [*inner.args, *(word.value for word in inner.keywords)] if isinstance(inner, ast.Call) else []
        kept = [argument for argument in arguments if any(isinstance(part, ast.Call) for part in ast.walk(argument))]
        return [self._kept(ast.copy_location(ast.Expr(argument), node)) for argument in kept]

    def visit_With(self, node: ast.With) -> ast.AST | list[ast.stmt]:
        """An unknown context is left out, its body is not."""
        known = [item for item in node.items if not self._is_bad(item.context_expr)]
        if known:
            node.items = known
            return self.generic_visit(node)
        block = ast.Module(node.body, [])
        self.generic_visit(block)
        return block.body

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """A decorator that is not known is left out."""
        node.decorator_list = [one for one in node.decorator_list if not self._is_bad(one)]
        return self.generic_visit(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        """An unknown base of a class that computes is a module, and of any other nothing."""
        node.decorator_list = [one for one in node.decorator_list if not self._is_bad(one)]
        known = [base for base in node.bases if not self._is_bad(base)]
        if len(known) < len(node.bases) and not known and _computes(node):
            known = [
                ast.Attribute(ast.Attribute(ast.Name("torch", ast.Load()), "nn", ast.Load()), "Module", ast.Load())
            ]
        node.bases, node.keywords = known, []
        return self.generic_visit(node)

    def _kept(self, statement: ast.stmt) -> ast.stmt:
        kept = self.generic_visit(statement)
        assert isinstance(kept, ast.stmt), "a statement stays one"
        return kept

    def _is_bad(self, node: ast.AST) -> bool:
        """Whether a chain starts at something unknown, or has a refused part that is all of its beginning."""
        while True:
            if node in self._bad and not isinstance(node, ast.stmt):
                return True
            if isinstance(node, ast.Call):
                node = node.func
            elif isinstance(node, (ast.Attribute, ast.Subscript)):
                node = node.value
            else:
                break
        return isinstance(node, ast.Name) and self._sketcher.is_unknown(self._names, node)


class _ImportKeeper(ast.NodeTransformer):
    """Takes imports out of the tree and keeps the harmless ones."""

    def __init__(self, tree: ast.Module) -> None:
        self.kept: list[ast.stmt] = []
        self._used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}

    def visit_Import(self, node: ast.Import) -> None:
        """`import a.b` binds `a`; a module that is allowed only in part is not."""
        good = [alias for alias in node.names if alias.name in allowed.MODULES]
        if good:
            self.kept.append(ast.copy_location(ast.Import(good), node))

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        """A star stands for the names that the program uses."""
        if node.level or node.module is None or node.module == "__future__":
            return
        aliases = [self._star(node.module)] if node.names[0].name == "*" else [node.names]
        module = _SHORTER.get(node.module, node.module)
        good = [alias for alias in aliases[0] if _may_import(f"{module}.{alias.name}")]
        if good:
            self.kept.append(ast.copy_location(ast.ImportFrom(module, good, 0), node))

    def _star(self, module: str) -> list[ast.alias]:
        return [ast.alias(name) for name in sorted(self._used) if _may_import(f"{module}.{name}")]


def _may_import(path: str) -> bool:
    return path in allowed.MODULES or allowed.is_allowed(path)


def _forget_unused(tree: ast.Module) -> None:
    """Variables that hold a made-up value and are never read need none."""
    read = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}

    class Forget(ast.NodeTransformer):
        def visit_Assign(self, node: ast.Assign) -> ast.Assign | None:
            """One name, one hole, no use."""
            target, value = node.targets[0], node.value
            empty = isinstance(value, ast.Name) and bool(holes_in(value.id))
            unused = len(node.targets) == 1 and isinstance(target, ast.Name) and target.id not in read
            return None if empty and unused else node

    Forget().visit(tree)
    _fill_empty(tree)


def _wrapped(node: ast.expr) -> tuple[str, ...]:
    """What an unknown function is given alone may be what it gives back: it wraps a network, or prepares it."""
    if isinstance(node, ast.Call) and len(node.args) == 1 and isinstance(node.args[0], (ast.Call, ast.Name)):
        func = node.func
        name = func.id if isinstance(func, ast.Name) else func.attr if isinstance(func, ast.Attribute) else ""
        given = node.args[0]
        made = isinstance(given, ast.Call) and isinstance(given.func, ast.Name) and given.func.id[:1].isupper()
        if made and (name[:1].isupper() or name in ("compile", "prepare", "wrap")):
            return (ast.unparse(given),)
    return ()


def _evident(node: ast.expr) -> tuple[str, ...]:
    """The kinds of what speaks for itself: a method of a text, an array of numpy."""
    text = ast.unparse(node)
    while isinstance(node, (ast.Attribute, ast.Call, ast.Subscript)):
        node = node.func if isinstance(node, ast.Call) else node.value
    if isinstance(node, (ast.Constant, ast.JoinedStr)):
        return ("str",)
    return ("array", "float", "int") if text.startswith(("np.", "numpy.")) else ()


def _names(call: ast.Call, name: str) -> bool:
    """Whether a call is one of a function of that name, as far as names tell."""
    func = call.func
    return (isinstance(func, ast.Name) and func.id == name) or (isinstance(func, ast.Attribute) and func.attr == name)


def _argument(call: ast.Call, place: int | None, name: str) -> ast.expr | None:
    """What a call passes for a parameter; None if that cannot be told, or is left to the default."""
    for word in call.keywords:
        if word.arg == name:
            return word.value
    if place is None or place >= len(call.args) or any(isinstance(one, ast.Starred) for one in call.args[: place + 1]):
        return None
    return call.args[place]


def _is_dotted(node: ast.expr) -> bool:
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name)


def _is_name(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _root(node: ast.expr) -> ast.Name | None:
    while isinstance(node, ast.Attribute):
        node = node.value
    return node if isinstance(node, ast.Name) else None


def _computes(node: ast.ClassDef) -> bool:
    """Whether a class has what modules have: a forward, or parts that are modules."""
    return any(
        (isinstance(part, ast.FunctionDef) and part.name in ("forward", "training_step"))
        or (isinstance(part, ast.Attribute) and part.attr in ("Linear", "Conv2d", "parameters"))
        for part in ast.walk(node)
    )


def _without(body: list[ast.stmt], bad: frozenset[ast.AST], sketch: Sketch) -> list[ast.stmt]:
    """The statements that hold nothing refused; a compound one loses parts of its body only, if its head is right."""
    kept: list[ast.stmt] = []
    for statement in body:
        if any(node in bad for node in _head(statement)):
            sketch.dropped += 1
            if isinstance(statement, (ast.If, ast.While)):
                # Which way it goes is not known: taking out the question must not answer it.
                hole = sketch.hole(ast.unparse(statement.test), ("bool",))
                statement.test = ast.Name(hole.name, ast.Load())
            elif isinstance(statement, (ast.With, ast.Try)):
                kept.extend(_without(statement.body, bad, sketch))
                continue
            else:
                continue
        for name in ("body", "orelse", "finalbody"):
            if part := getattr(statement, name, None):
                left = _without(part, bad, sketch)
                setattr(statement, name, left or ([ast.Pass()] if name == "body" else []))
        kept.append(statement)
    return kept


def _head(statement: ast.stmt) -> Iterable[ast.AST]:
    """The nodes of a statement apart from the statements in it."""
    waiting: list[ast.AST] = [statement]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(child for child in ast.iter_child_nodes(node) if not isinstance(child, ast.stmt))


def _fill_empty(tree: ast.AST) -> None:
    """A block that lost all of its statements passes."""
    blocks = (ast.FunctionDef, ast.ClassDef, ast.For, ast.While, ast.If, ast.With, ast.Try, ast.ExceptHandler)
    for node in ast.walk(tree):
        if isinstance(node, blocks):
            node.body = node.body or [ast.Pass()]
