"""The gate: what must not be run. Everything that is not known to be harmless is refused, with the reason.

The argument is one of capabilities. A repro gets its values from literals, from the builtins and the dotted names in
`allowed`, and from operations on values that it has. No builtin or dotted name of the lists leads to a file, a
process, or code as text, in the forms in which it may stand (`forms`); a module is never a value, so a dotted name is
resolved here and not at run time; and no attribute can be read that leads from a harmless value to the interpreter.
Each of the three is checked on every node of the syntax; a kind of node that is not listed is refused.

Of a name that a repro gives to an attribute of its own this can only say that it is one of those; whose it is where it
is read, the value tells when it runs (`gradlint.confirm.worker.watch`).
"""

from __future__ import annotations

import ast
import builtins
import string
import symtable
from collections.abc import Iterable, Iterator

from gradlint.confirm.gate import allowlist as allowed
from gradlint.confirm.gate.forms import is_formed, well_formed
from gradlint.confirm.gate.own import attributes_made, names_inside, receivers

_LONGEST = 100_000

_HARMLESS: tuple[type[ast.AST], ...] = (
    *(ast.Module, ast.Expression, ast.Expr, ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Delete, ast.Return),
    *(ast.For, ast.While, ast.If, ast.With, ast.withitem, ast.Raise, ast.Try, ast.ExceptHandler, ast.Assert),
    *(ast.Global, ast.Nonlocal, ast.Pass, ast.Break, ast.Continue),
    *(ast.BoolOp, ast.NamedExpr, ast.BinOp, ast.UnaryOp, ast.Lambda, ast.IfExp, ast.Dict, ast.Set, ast.ListComp),
    *(ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.comprehension, ast.Yield, ast.YieldFrom, ast.Compare),
    *(ast.FormattedValue, ast.JoinedStr, ast.Constant, ast.Subscript, ast.Starred, ast.List, ast.Tuple, ast.Slice),
    *(ast.arguments, ast.arg, ast.keyword, ast.expr_context, ast.boolop, ast.operator, ast.unaryop, ast.cmpop),
)


_REFLECTING = allowed.CALLED_ONLY - {"type"}
_SPECIAL_TEXTS = frozenset({"__main__", "__name__"}) | allowed.DEFINABLE
_WORKERS = frozenset(("num_workers", "multiprocessing_context"))


def admit(script: str, probes: Iterable[str] = (), slips: Iterable[str] = ()) -> list[str]:
    """Return the reasons why a repro and the probes of it must not be run; none means that they may.

    `slips` may be read of any value if they look like slips of the pen; whoever runs it sees that nothing has one.
    """
    probes = tuple(probes)
    if len(script) + sum(map(len, probes)) > _LONGEST:
        return [f"it is longer than {_LONGEST} characters"]
    try:
        tree = ast.parse(script)
        gate = _Gate(tree, slips)
        gate.check(tree, symtable.symtable(script, "<repro>", "exec"))
        for probe in probes:
            gate.check(ast.parse(probe, mode="eval"), symtable.symtable(probe, "<probe>", "eval"))
    except (SyntaxError, ValueError) as error:
        return [f"it is no program: {error}"]
    except (RecursionError, MemoryError):
        return ["it is nested too deeply"]
    return list(dict.fromkeys(gate.reasons))


def refused(tree: ast.Module, own: Iterable[str] = (), slips: Iterable[str] = ()) -> frozenset[ast.AST]:
    """Return the nodes of a program for which the gate would refuse it: what has to be replaced before it may be run.

    `own` are attributes that values to come will have.
    """
    gate = _Gate(tree, slips)
    gate._own.update(own)
    gate.visit(tree)
    return frozenset(gate.nodes)


class _Gate(ast.NodeVisitor):
    """Visits all of the syntax and notes what is refused."""

    def __init__(self, tree: ast.Module, slips: Iterable[str] = ()) -> None:
        self._slips = frozenset(filter(allowed.is_slip, slips))
        self.reasons: list[str] = []
        self.nodes: list[ast.AST] = []
        self._modules: dict[str, str] = {}
        self._values: dict[str, str] = {}
        self._own: set[str] = set()
        self._mentioned: set[str] = set()
        self._selves = receivers(tree)
        self._classes = {node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}
        self._gather(tree)
        self._forms = well_formed(tree, self._path)

    def check(self, tree: ast.AST, names: symtable.SymbolTable) -> None:
        """Look through a program, or an expression that is evaluated in its names."""
        for name in sorted(_reaching_builtins(names)):
            if hasattr(builtins, name) and name not in allowed.BUILTINS:
                self.reasons.append(f"`{name}` is a builtin that is not allowed")
        self.visit(tree)

    def _refuse(self, node: ast.AST, reason: str) -> None:
        self.reasons.append(f"line {getattr(node, 'lineno', 0)}: {reason}")
        self.nodes.append(node)

    # What the whole text says of names comes before the walk: a use may stand above its import.

    def _gather(self, tree: ast.Module) -> None:
        bound: set[str] = set()
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                self._modules.update(_imported(node))
            elif isinstance(node, ast.ImportFrom):
                names = {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
                self._modules.update({name: path for name, path in names.items() if path in allowed.MODULES})
                self._values.update({name: path for name, path in names.items() if is_formed(path)})
            else:
                bound.update(bound_by(node))
                self._own.update(attributes_made(node))
                self._mentioned.update(names_inside(node))
        for name in sorted(bound & {*self._modules, *self._values}):
            self.reasons.append(f"`{name}` names what is imported and something else")

    def generic_visit(self, node: ast.AST) -> None:
        """Visit a node without a method of its own; refuse it unless it is harmless by kind."""
        if not isinstance(node, _HARMLESS):
            self._refuse(node, f"`{type(node).__name__}` is not allowed")
        super().generic_visit(node)

    def visit_Import(self, node: ast.Import) -> None:
        """Refuse modules that are not of the list; `import torch.nn` binds `torch`."""
        for alias in node.names:
            if alias.name not in allowed.MODULES:
                self._refuse(node, f"`import {alias.name}` is not allowed")
            self._check_name(node, alias.asname or alias.name.split(".")[0])

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        """Refuse what is neither a module of the list nor may be a value."""
        for alias in node.names:
            path = f"{node.module}.{alias.name}"
            if node.level or not (path in allowed.MODULES or allowed.is_allowed(path)):
                self._refuse(node, f"`from {'.' * node.level}{node.module} import {alias.name}` is not allowed")
            self._check_name(node, alias.asname or alias.name)

    def visit_Name(self, node: ast.Name) -> None:
        """Refuse a module as a value, and a builtin that is allowed for the sake of its arguments."""
        self._check_name(node, node.id)
        if isinstance(node.ctx, ast.Load) and node.id in self._modules:
            self._refuse(node, f"the module `{node.id}` is used as a value")
        if node.id in allowed.CALLED_ONLY or (isinstance(node.ctx, ast.Load) and node.id in self._values):
            self._check_form(node, node.id)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        """Look up a dotted name that begins at a module; an attribute of any other value must be known."""
        path = self._path(node)
        if path is not None:
            self._check_path(node, path)
            return
        if _is_super(node.value) and node.attr in allowed.DEFINABLE:
            self._check_super(node.value)
            return
        if _is_name_of_class(node):
            assert isinstance(node.value, ast.Attribute), "the name is asked of an attribute"
            self.visit(node.value.value)
            return
        if node.attr == "format" and _is_plain_format(node.value):
            return
        # `Base.__init__(self)`; of any other value it would make an error say something else.
        if node.attr == "__init__" and isinstance(node.value, ast.Name) and node.value.id in self._classes:
            return
        self._check_attribute(node, node.value, node.attr, isinstance(node.ctx, ast.Load))
        self.visit(node.value)

    def visit_Call(self, node: ast.Call) -> None:
        """Check a call; builtins that reach attributes by name are allowed with names that stand in the text."""
        called = node.func.id if isinstance(node.func, ast.Name) else None
        if called in _REFLECTING:
            self._check_reflection(node, called)
        else:
            self.visit(node.func)
        for argument in (*node.args, *node.keywords):
            self.visit(argument)
        for keyword in node.keywords:
            nothing = isinstance(keyword.value, ast.Constant) and not keyword.value.value
            if keyword.arg in _WORKERS and not nothing:
                self._refuse(node, f"`{keyword.arg}` starts processes")

    def visit_Constant(self, node: ast.Constant) -> None:
        """Refuse a text that may become the name of an argument, or of a special method."""
        if isinstance(node.value, str) and node.value in _WORKERS:
            self._refuse(node, f"`{node.value}` starts processes")
        if isinstance(node.value, str) and _is_dunder(node.value) and node.value not in _SPECIAL_TEXTS:
            self._refuse(node, f"the text `{node.value}` is the name of something special")

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        """Check the name; decorators, defaults, annotations, and the body are syntax like any other."""
        self._check_definition(node, node.name)
        super().generic_visit(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        """Refuse metaclasses, and special methods that Python calls by itself."""
        self._check_definition(node, node.name)
        for keyword in node.keywords:
            self._refuse(node, f"the keyword `{keyword.arg}` of a class is not allowed")
        super().generic_visit(node)

    def visit_arg(self, node: ast.arg) -> None:
        """Check the name of a parameter."""
        self._check_name(node, node.arg)
        super().generic_visit(node)

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        """Check the name that `as` binds."""
        self._check_name(node, node.name or "")
        super().generic_visit(node)

    # The checks that the visits share.

    def _check_name(self, node: ast.AST, name: str) -> None:
        if _is_dunder(name) and name != "__name__" and name not in allowed.DEFINABLE:
            self._refuse(node, f"the name `{name}` is not allowed")

    def _check_definition(self, node: ast.AST, name: str) -> None:
        if _is_dunder(name) and name not in allowed.DEFINABLE:
            self._refuse(node, f"a definition of `{name}` is not allowed")

    def _check_form(self, node: ast.expr, name: str) -> None:
        if node not in self._forms:
            self._refuse(node, f"`{name}` is used in a form that is not allowed")

    def _check_attribute(self, node: ast.AST, value: ast.expr, name: str, read: bool) -> None:
        own = value in self._selves or _is_super(value)
        special = (allowed.DEFINABLE - {"__init__"}) if read else frozenset()
        if name in special or (read and name in self._slips):
            return
        if name in allowed.NEVER or (_is_dunder(name) and name not in allowed.attributes()):
            self._refuse(node, f"the attribute `{name}` is not allowed")
        elif own and name in self._mentioned and name not in allowed.FOREIGN:
            return
        elif read and name not in allowed.attributes() and name not in self._own:
            self._refuse(node, f"the attribute `{name}` is not known")
        elif name in allowed.INNER and not own:
            self._refuse(node, f"the attribute `{name}` is not allowed")
        elif not read and name in allowed.attributes() and name not in allowed.WRITABLE and not own:
            self._refuse(node, f"`{name}` would replace something of torch's own")

    def _check_path(self, node: ast.Attribute, path: str) -> None:
        if not isinstance(node.ctx, ast.Load):
            if path not in allowed.SETTABLE:
                self._refuse(node, f"`{path}` would be replaced")
            return
        if path in allowed.MODULES:
            self._refuse(node, f"the module `{path}` is used as a value")
            return
        head, _, last = path.rpartition(".")
        if last in self._slips and head in allowed.MODULES:
            return
        value, rest = path, list[str]()
        while value and not allowed.is_allowed(value):
            value, _, name = value.rpartition(".")
            rest.append(name)
        if not value:
            self._refuse(node, f"`{path}` is not allowed")
        elif is_formed(value):
            self._check_form(node, path)
        for name in rest if value else ():
            if not (name in allowed.DEFINABLE or name in allowed.attributes()) or name in allowed.NEVER:
                self._refuse(node, f"the attribute `{name}` is not allowed")

    def _check_reflection(self, node: ast.Call, called: str) -> None:
        if called == "super":
            self._check_super(node)
        elif len(node.args) < 2 or any(isinstance(argument, ast.Starred) for argument in node.args):
            self._refuse(node, f"`{called}` without a name in the text")
        elif not isinstance(node.args[1], ast.Constant) or type(node.args[1].value) is not str:
            self._refuse(node, f"`{called}` with a computed name")
        else:
            self._check_attribute(node, node.args[0], node.args[1].value, called in {"getattr", "hasattr"})

    def _check_super(self, node: ast.expr) -> None:
        assert isinstance(node, ast.Call), "asked for calls of super only"
        if len(node.args) not in (0, 2) or node.keywords:
            self._refuse(node, "`super` in an unusual form")

    def _path(self, node: ast.expr) -> str | None:
        """Return the dotted name of an attribute of a module, or of what is imported from one and has its forms."""
        if isinstance(node, ast.Name):
            return self._values.get(node.id)
        names: list[str] = []
        while isinstance(node, ast.Attribute):
            names.append(node.attr)
            node = node.value
        if isinstance(node, ast.Name) and node.id in self._modules:
            return ".".join([self._modules[node.id], *reversed(names)])
        return None


def _imported(node: ast.Import) -> dict[str, str]:
    """Return the names that an import binds to modules; those that are not allowed count as well, and are refused."""
    tops = ((alias, alias.name.split(".")[0]) for alias in node.names)
    return {alias.asname or top: alias.name if alias.asname else top for alias, top in tops}


def bound_by(node: ast.AST) -> Iterator[str]:
    """Yield the names that a node binds, imports apart."""
    if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
        yield node.id
    elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        yield node.name
    elif isinstance(node, ast.arg):
        yield node.arg
    elif isinstance(node, ast.ExceptHandler) and node.name is not None:
        yield node.name


def _is_name_of_class(node: ast.Attribute) -> bool:
    """Return whether this is `x.__class__.__name__`, which is a text and leads nowhere."""
    return node.attr == "__name__" and isinstance(node.value, ast.Attribute) and node.value.attr == "__class__"


def _is_plain_format(node: ast.expr) -> bool:
    """Return whether a text has bare fields only: neither attributes nor items are read, and no width is computed."""
    if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
        return False
    fields = string.Formatter().parse(node.value)
    return all((name or "0").isalnum() and "{" not in (form or "") for _, name, form, _ in fields)


def _is_super(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "super"


def _is_dunder(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")


def _reaching_builtins(table: symtable.SymbolTable) -> set[str]:
    """Return the names that may be looked up among the builtins: all but locals, own or enclosing."""
    function = table.get_type() == "function"
    read = (symbol for symbol in table.get_symbols() if symbol.is_referenced())
    found = {one.get_name() for one in read if not (function and (one.is_local() or one.is_free()))}
    return found.union(*(_reaching_builtins(child) for child in table.get_children()))
