"""A program made harmless: what may not be run, or is not known, is replaced by holes for made-up values."""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterable, Mapping, Sequence

from gradlint.confirm.gate import allowlist as allowed
from gradlint.confirm.gate.admit import refused
from gradlint.confirm.prepare.bindings import Names, Replacer, fill_empty
from gradlint.confirm.prepare.candidates import Hole, Sketch, holes_in, statement
from gradlint.confirm.prepare.ends import keep_ends
from gradlint.confirm.prepare.kinds import INSTANCE, NAMESPACE, kinds_at, kinds_of
from gradlint.confirm.prepare.paths import Paths
from gradlint.confirm.prepare.placeholder import choices
from gradlint.confirm.prepare.strip import flags_of, has_defaults_only, strip
from gradlint.confirm.prepare.syntax import attributes_of, blocks_of, dotted, header_of, is_name, name_of, positional

_SCALARS = frozenset({"int", "float", "bool", "str", "none", "device", "dtype", "path", "shape"})
_MOST_PASSES = 8
_TELLING = re.compile(r"torch\.(?:random\.)?initial_seed|torch\.get_num_threads")


def sketch(tree: ast.Module, slips: Iterable[str] = (), aliases: Mapping[str, str] | None = None) -> Sketch:
    """Return the program of a file, made harmless; the tree is changed.

    `slips` are attributes that nothing has, and stay. `aliases` are names that nothing binds, each with the name of
    the variable that gets its value.
    """
    flags, moved = flags_of(tree), strip(tree)
    keep_ends(tree)
    made = _Sketcher(tree, flags, frozenset(slips), aliases or {}).run()
    made.dropped += moved
    return made


class _Sketcher:
    """Replaces until nothing changes: a name that holds only what is not known is not known either."""

    def __init__(
        self, tree: ast.Module, flags: dict[str, str], slips: frozenset[str], aliases: Mapping[str, str]
    ) -> None:
        self._aliases = aliases
        self._slips = slips
        self._tree = tree
        self._flags = flags
        self._by_default = has_defaults_only(tree)
        # The sketch and the tree share the list of statements: what is made up shows in the tree at once.
        self._sketch = Sketch(tree.body)
        self._unknown: set[tuple[ast.AST | None, str]] = set()
        self._known: dict[tuple[ast.AST | None, str], ast.expr] = {}
        self._own: set[str] = set()

    def run(self) -> Sketch:
        """Return the finished sketch."""
        self._imports()
        for _ in range(_MOST_PASSES):
            before = len(self._sketch.holes), len(self._unknown)
            self._variables(Names(self._tree))
            self._sketch.settle()
            self._parameters(Names(self._tree))
            self._replace(Names(self._tree), frozenset())
            nodes = refused(self._tree, self._own, self._slips) | _telling(self._tree)
            self._replace(Names(self._tree), nodes)
            if (len(self._sketch.holes), len(self._unknown)) == before:
                break
        _remove_unused(self._tree)
        self._tree.body[:] = _without(self._tree.body, refused(self._tree, self._own, self._slips), self._sketch)
        return self._sketch

    # Imports.

    def _imports(self) -> None:
        """Move harmless ones to the top; the names of all others are bound by nothing then."""
        keep = _ImportKeeper(self._tree)
        keep.visit(self._tree)
        kept = {ast.unparse(one): one for one in keep.kept}
        if "import torch" not in kept:
            kept = {"import torch": statement("import torch"), **kept}
        self._sketch.imports(list(kept.values()))
        fill_empty(self._tree)

    # What is not known.

    def _variables(self, names: Names) -> None:
        """Make up each name that nothing binds: a bag of attributes, or a variable."""
        for name in sorted(names.nowhere - {hole.name for hole in self._sketch.holes}):
            kinds = kinds_of(self._aliases.get(name, name), ast.walk(self._tree), names.parents)
            if name in self._aliases:
                kinds = tuple(kind for kind in kinds if kind != NAMESPACE)
            if kinds[:1] == (NAMESPACE,) or name[:1].isupper() or hasattr(builtins, name):
                self._unknown.add((None, name))
            else:
                self._sketch.variable(name, self._sketch.hole(name, kinds))

    def _parameters(self, names: Names) -> None:
        """Look at variables that hold only a hole, and parameters: those that are bags of attributes are not known."""
        calls = _calls_by_name(self._tree)
        for node in ast.walk(self._tree):
            if isinstance(node, ast.Assign) and len(node.targets) == 1:
                self._assigned(node, node.targets[0], names)
            elif isinstance(node, ast.FunctionDef):
                given = {*positional(node), *(arg.arg for arg in node.args.kwonlyargs)} - {"self", "cls", "ctx"}
                for name in sorted(one for one in given if self._is_given_nothing(node, one, names, calls)):
                    if kinds_of(name, ast.walk(node), names.parents)[:1] == (NAMESPACE,):
                        self._unknown.add((node, name))

    def _is_given_nothing(
        self, function: ast.FunctionDef, name: str, names: Names, by_name: Mapping[str, list[ast.Call]]
    ) -> bool:
        """Return whether no call in the file says what a parameter holds."""
        owner = names.parents.get(function)
        unnamed = function.name in ("__init__", "forward", "__call__") and isinstance(owner, ast.ClassDef)
        called = owner.name if unnamed and isinstance(owner, ast.ClassDef) else function.name
        calls = by_name.get(called, [])
        places = positional(function)
        place = places.index(name) - (places[0] in ("self", "cls")) if name in places else None
        passed = [one for call in calls if isinstance(one := _argument(call, place, name), ast.Name)]
        return not calls or any(holes_in(one.id) or (one.id == name and self.is_unknown(names, one)) for one in passed)

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
        parts = sorted(attributes_of(name, nodes) - allowed.attributes())
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
            if isinstance(node, ast.Subscript) and is_name(node.value, name) and isinstance(node.slice, ast.Constant)
        }
        if keys and all(isinstance(key, str) for key in keys):
            items = ", ".join(f"{key!r}: torch.randn(2, 3)" for key in keys)
            hole.first = (f"{{{items}}}",)

    # Replacing.

    def _replace(self, names: Names, bad: frozenset[ast.AST]) -> None:
        replacer = Replacer(self, names, bad)
        replacer.visit(self._tree)
        self._sketch.removed += replacer.removed
        self._sketch.settle()
        fill_empty(self._tree)

    def is_unknown(self, names: Names, node: ast.Name) -> bool:
        """Return whether nothing is known of what a name holds."""
        return (names.binder(node, node.id), node.id) in self._unknown

    def made_up(self, node: ast.expr, names: Names) -> ast.expr:
        """Return what stands for an expression that is not known; the same attribute is the same value."""
        text = dotted(node)
        if not text:
            kinds = _evident(node) or kinds_at([node], names.parents)
            return ast.Name(self._sketch.hole(ast.unparse(node), kinds, _wrapped(node)).name, ast.Load())
        root = text.partition(".")[0]
        key = names.scope_of(node) if root == "self" else names.binder(node, root), text
        if key not in self._known:
            self._known[key] = self._new(text, names)
        return self._known[key]

    def _new(self, text: str, names: Names) -> ast.expr:
        kinds = kinds_of(text, ast.walk(self._tree), names.parents)
        flag = self._flags.get(text.rpartition(".")[2])
        hole = self._sketch.hole(text, kinds, () if flag is None else (flag,))
        hole.known = flag is not None and self._by_default
        if flag is not None or hole.kinds[0] in _SCALARS:
            return ast.Name(hole.name, ast.Load())
        name = re.sub(r"\W+|__+", "_", text).strip("_")
        while name in names.names_of(self._tree):
            name += "_"
        self._sketch.variable(name, hole)
        return ast.Name(name, ast.Load())


def _telling(tree: ast.Module) -> frozenset[ast.AST]:
    """Return the calls that tell the process of a repro from one of the user's: there they may give anything."""
    paths = Paths(tree)
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call))
    return frozenset(node for node in calls if _TELLING.fullmatch(paths.of(node.func)))


def _remove_unused(tree: ast.Module) -> None:
    """Remove the assignments of holes to variables that are never read."""
    read = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}

    def is_unused(node: ast.stmt) -> bool:
        match node:
            case ast.Assign([ast.Name(name)], ast.Name(value)):
                return name not in read and bool(holes_in(value))
        return False

    for block in [block for node in ast.walk(tree) for block in blocks_of(node)]:
        block[:] = [node for node in block if not is_unused(node)]
    fill_empty(tree)


def _wrapped(node: ast.expr) -> tuple[str, ...]:
    """Return the only argument of an unknown function as its result: it wraps or prepares a network."""
    if isinstance(node, ast.Call) and len(node.args) == 1 and isinstance(node.args[0], (ast.Call, ast.Name)):
        name = name_of(node.func)
        given = node.args[0]
        made = isinstance(given, ast.Call) and isinstance(given.func, ast.Name) and given.func.id[:1].isupper()
        if made and (name[:1].isupper() or name in ("compile", "prepare", "wrap")):
            return (ast.unparse(given),)
    return ()


def _evident(node: ast.expr) -> tuple[str, ...]:
    """Return the kinds of what speaks for itself: a method of a text, an array of numpy."""
    text = ast.unparse(node)
    while isinstance(node, (ast.Attribute, ast.Call, ast.Subscript)):
        node = node.func if isinstance(node, ast.Call) else node.value
    if isinstance(node, (ast.Constant, ast.JoinedStr)):
        return ("str",)
    return ("array", "float", "int") if text.startswith(("np.", "numpy.")) else ()


def _calls_by_name(tree: ast.Module) -> dict[str, list[ast.Call]]:
    """Return the calls of a program by the name of what is called, as far as names tell."""
    calls: dict[str, list[ast.Call]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            calls.setdefault(name_of(node.func), []).append(node)
    return calls


def _argument(call: ast.Call, place: int | None, name: str) -> ast.expr | None:
    """Return what a call passes for a parameter; None if that cannot be told, or is left to the default."""
    for word in call.keywords:
        if word.arg == name:
            return word.value
    if place is None or place >= len(call.args) or any(isinstance(one, ast.Starred) for one in call.args[: place + 1]):
        return None
    return call.args[place]


def _without(body: list[ast.stmt], bad: frozenset[ast.AST], sketch: Sketch) -> list[ast.stmt]:
    """Return the statements without those refused; a compound one with a valid head loses only parts of its body."""
    kept: list[ast.stmt] = []
    for node in body:
        if any(part in bad for part in header_of(node)):
            sketch.dropped += 1
            if isinstance(node, (ast.If, ast.While)):
                # Which way it goes is not known: taking out the question must not answer it.
                hole = sketch.hole(ast.unparse(node.test), ("bool",))
                node.test = ast.Name(hole.name, ast.Load())
            elif isinstance(node, (ast.With, ast.Try)):
                kept.extend(_without(node.body, bad, sketch))
                continue
            else:
                continue
        for name in ("body", "orelse", "finalbody"):
            if part := getattr(node, name, None):
                left = _without(part, bad, sketch)
                setattr(node, name, left or ([ast.Pass()] if name == "body" else []))
        kept.append(node)
    return kept


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
        star = node.names[0].name == "*"
        aliases = [ast.alias(name) for name in sorted(self._used)] if star else node.names
        module = _SHORTER.get(node.module, node.module)
        good = [alias for alias in aliases if _may_import(f"{module}.{alias.name}")]
        if good:
            self.kept.append(ast.copy_location(ast.ImportFrom(module, good, 0), node))


def _may_import(path: str) -> bool:
    return path in allowed.MODULES or allowed.is_allowed(path)
