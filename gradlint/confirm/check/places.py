"""Where a measure looks: the expressions of a program that it watches, by the part that they play in a finding."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Literal, NamedTuple, TypeAlias

from gradlint.confirm.prepare.syntax import Stretch, place_of, positional, root_of
from gradlint.facts.aliases import canonical
from gradlint.facts.traits import STEEP

Role: TypeAlias = (
    Literal["value", "input", "pair", "receiver", "target", "around", "networks", "inside", "within", "exponents"]
    | Literal["bare", "named", "rebound", "retained", "iterations", "static", "saved", "arriving"]
)
"""What is watched of a place: its value; the first argument of the call, or the first two; what a method or attribute
is of; what an attribute is set on; the tensor of `.data`, before and after; the networks whose parameters are asked
for; the value together with what its function is given, or with `self` and its own first argument; what goes into
exponentials and logarithms.

Then: the expression that is all of a statement; what such a call computes of, before and after; the value that a
variable gets, together with the one that it had; whether a graph is retained; what a loop iterates over; a method of a
class, and the same of an object; what a function saves, together with its context and what it was given; a tensor that
is written to, before and after, and what the function around it is given."""

WATCHED, STRAINED, GIVEN = "watched", "strained", "given_first"
"""What is called at a place, and the variable for the first argument of a call."""

_OF_NETWORKS = {"parameters", "named_parameters", "buffers", "named_buffers", "state_dict", "load_state_dict"}
_FUNCTIONS_OF = ("torch", "F", "functional", "np")


class Place(NamedTuple):
    """A stretch of a file, as the syntax tree counts, and what to watch there."""

    stretch: Stretch
    role: Role


class Watcher(ast.NodeTransformer):
    """Puts `watched(...)` around what is watched, and counts the places where something was."""

    def __init__(self, places: Sequence[Place]) -> None:
        self._places = places
        self._within: list[list[str | None]] = []
        self._methods: set[ast.AST] = set()
        self._arriving = False
        self.found = 0

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """Visit a function; the first parameter of a method is the owner of the value, a helper has none."""
        names = [*positional(node), *([node.args.vararg.arg] if node.args.vararg else [])]
        self._within.append([*names] if node in self._methods else [None, *names])
        self.generic_visit(node)
        self._within.pop()
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST | list[ast.stmt]:
        """Compare a method of the class with that of an object, after the class."""
        self._methods.update(part for part in node.body if isinstance(part, ast.FunctionDef))
        methods = [
            part.name for part in node.body if isinstance(part, ast.FunctionDef) and "static" in self._roles(part)
        ]
        self.generic_visit(node)
        self.found += len(methods)
        return [node, *(_note_method(node.name, method) for method in methods)]

    def visit_Module(self, node: ast.Module) -> ast.AST:
        """Watch all loops over what a loop in question iterates over."""
        loops = [part for part in ast.walk(node) if isinstance(part, ast.For)]
        texts = {ast.unparse(_iterable(loop.iter)) for loop in loops if "iterations" in self._roles(loop)}
        for loop in loops:
            if ast.unparse(_iterable(loop.iter)) in texts:
                self.found += 1
                loop.iter = _watched_iterable(loop.iter)
        self.generic_visit(node)
        if self._arriving:
            for owner in ast.walk(node):
                if isinstance(owner, ast.ClassDef):
                    _note_given(owner)
        return node

    def _roles(self, node: ast.AST) -> list[Role]:
        stretch = place_of(node)
        return [place.role for place in self._places if stretch and _is_at(place.stretch, stretch, node)]

    def visit(self, node: ast.AST) -> ast.AST | list[ast.stmt]:
        """From inside out: what is watched in a part stays when the whole is watched."""
        roles = self._roles(node)
        visited: ast.AST | list[ast.stmt] = super().visit(node)
        for role in roles:
            if isinstance(visited, ast.expr) and isinstance(getattr(visited, "ctx", None) or ast.Load(), ast.Load):
                visited = self._expression(visited, role)
            elif isinstance(visited, ast.stmt):
                visited = self._statement(visited, role)
        return visited

    def _expression(self, node: ast.expr, role: Role) -> ast.expr:
        if role in _WATCHES:
            self.found += _WATCHES[role](node)
            return node
        given = [
            ast.Constant(None) if name is None else ast.Name(name, ast.Load())
            for names in self._within[-1:]
            for name in names
        ]
        watched: ast.expr = node
        if role == "value" or (role == "inside" and given):
            watched = call(WATCHED, node, *(given if role == "inside" else ()))
        elif role == "within" and given and self._within[-1][0] is not None:
            watched = call(WATCHED, node, given[0], _first_argument(node))
        elif role == "saved" and self._within and isinstance(node, ast.Call):
            node.args = [call(WATCHED, one, *given) for one in node.args]
        elif role == "arriving" and self._within and _watch_receiver(node):
            self._arriving = True
            watched = call(WATCHED, node)
        else:
            return node
        self.found += 1
        return watched

    def _statement(self, node: ast.stmt, role: Role) -> ast.stmt | list[ast.stmt]:
        """Return the statement with its value watched, or with a note after or around it."""
        if role == "target":
            note = _note_target(node)
            self.found += note is not None
            return node if note is None else [node, note]
        if role in _NOTES:
            note = _NOTES[role](node)
            self.found += note is not None
            self._arriving |= role == "arriving" and note is not None
            return node if note is None else [note, node, note]
        if role in ("bare", "rebound"):
            self.found += _watch_statement(node, role)
            return node
        value = getattr(node, "value", None)
        # An expression that is a statement has the same place as the statement, and has been watched.
        if isinstance(value, ast.expr) and isinstance(node, (ast.Assign, ast.AugAssign, ast.Return)):
            node.value = self._expression(value, role)
        elif role == "networks" and isinstance(node, (ast.For, ast.While, ast.If, ast.With)):
            self.found += _watch_networks(getattr(node, "iter", None) or node)
        return node


def _is_at(place: Stretch, stretch: Stretch, node: ast.AST) -> bool:
    """Return whether a place is that of a node, or of its header."""
    if place == stretch:
        return True
    headed = isinstance(node, (ast.For, ast.FunctionDef)) and place[:2] == stretch[:2]
    return headed and place[2] <= node.body[0].lineno  # type: ignore[attr-defined]


def call(name: str, *arguments: ast.expr | None) -> ast.Call:
    """Return a call of an instrument."""
    return ast.Call(instrument(name, ast.Load()), [one for one in arguments if one is not None], [])


def instrument(name: str, context: ast.expr_context) -> ast.Name:
    """Return a variable that is none of the program's, which may have one of the same name."""
    node = ast.Name(name, context)
    node.is_instrument = True  # type: ignore[attr-defined]
    return node


def name_instruments(tree: ast.AST, names: Mapping[str, str]) -> None:
    """Give other names to the instruments in a program."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and getattr(node, "is_instrument", False):
            node.id = names.get(node.id, node.id)


def _arguments(node: ast.expr, most: int) -> int:
    """Watch the first arguments of a call, or the two sides of an operation."""
    if isinstance(node, ast.BinOp):
        node.left, node.right = call(WATCHED, node.left), call(WATCHED, node.right)
        return 2
    if not isinstance(node, ast.Call):
        return 0
    given = min(len(node.args), most)
    node.args[:given] = [call(WATCHED, argument) for argument in node.args[:given]]
    for word in node.keywords[: most - given]:
        if word.arg in ("input", "target"):
            word.value = call(WATCHED, word.value)
            given += 1
    return given


def _watch_receiver(node: ast.expr) -> bool:
    read = node.func if isinstance(node, ast.Call) else node
    if not isinstance(read, ast.Attribute):
        return False
    read.value = call(WATCHED, read.value)
    return True


def _watch_networks(node: ast.AST) -> bool:
    found = [
        part.func
        for part in ast.walk(node)
        if isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute) and part.func.attr in _OF_NETWORKS
    ]
    if len(found) != 2:
        return False
    for func in found:
        func.value = call(WATCHED, func.value)
    return True


def _watch_exponents(node: ast.expr) -> bool:
    """Watch the arguments of the innermost calls of steep functions, however spelt."""
    found = [part for part in ast.walk(node) if isinstance(part, ast.Call) and _is_steep(part)]
    inner = [part for part in found if not any(_holds(part, other) for other in found)]
    for part in inner:
        assert isinstance(part.func, ast.Attribute), "steep functions are attributes"
        if root_of(part.func.value) in _FUNCTIONS_OF and part.args:
            part.args[0] = _strain(part.args[0])
        else:
            part.func.value = call(STRAINED, part.func.value)
    return bool(inner)


_RETAINED_AT = {"autograd.backward": 2, "backward": 1, "autograd.grad": 3}


def _watch_retained(node: ast.expr) -> bool:
    """Watch the argument by which a backward retains its graph, by keyword or position."""
    if not isinstance(node, ast.Call):
        return False
    for word in node.keywords:
        if word.arg == "retain_graph":
            word.value = call(WATCHED, word.value)
            return True
    text = ast.unparse(node.func)
    place = next((place for name, place in _RETAINED_AT.items() if text.endswith(name)), len(node.args))
    if place >= len(node.args):
        return False
    node.args[place] = call(WATCHED, node.args[place])
    return True


def _watch_statement(node: ast.stmt, role: Role) -> bool:
    match node:
        case ast.Expr(value=ast.Attribute() as value) if role == "bare":
            node.value = call(WATCHED, value)
        case ast.Assign(targets=[ast.Name(name), *_]) if role == "rebound":
            node.value = call(WATCHED, node.value, ast.Name(name, ast.Load()))
        case _:
            return False
    return True


def _iterable(node: ast.expr) -> ast.expr:
    """Return what a loop iterates over, below `enumerate` and the like."""
    return _iterable(node.args[0]) if isinstance(node, ast.Call) and node.args else node


def _watched_iterable(node: ast.expr) -> ast.expr:
    if isinstance(node, ast.Call) and node.args:
        node.args[0] = _watched_iterable(node.args[0])
        return node
    return call(WATCHED, node)


_WATCHES: dict[str, Callable[[ast.expr], bool]] = {
    "input": lambda node: _arguments(node, 1) == 1,
    "pair": lambda node: _arguments(node, 2) == 2,
    "receiver": _watch_receiver,
    "networks": _watch_networks,
    "exponents": _watch_exponents,
    "retained": _watch_retained,
}


def _strain(node: ast.expr) -> ast.expr:
    """Below a sign, as in `exp(-x)`."""
    if isinstance(node, ast.UnaryOp):
        node.operand = _strain(node.operand)
        return node
    return call(STRAINED, node)


def _is_steep(node: ast.Call) -> bool:
    return isinstance(node.func, ast.Attribute) and canonical(node.func.attr) in STEEP


def _holds(outer: ast.AST, inner: ast.AST) -> bool:
    return inner is not outer and any(part is inner for part in ast.walk(outer))


def _first_argument(node: ast.expr) -> ast.expr | None:
    """Return what a call is given first, by a name: it must not be computed twice."""
    if not isinstance(node, ast.Call) or not node.args or isinstance(node.args[0], ast.Starred):
        return None
    if not isinstance(node.args[0], ast.Name):
        node.args[0] = ast.NamedExpr(instrument(GIVEN, ast.Store()), node.args[0])
        return instrument(GIVEN, ast.Load())
    return node.args[0]


def _note_target(node: ast.stmt) -> ast.stmt | None:
    """`x.flag = value` or `x.flag == value`: note x and the value."""
    match node:
        case ast.Assign([ast.Attribute(of), *_], value) | ast.Expr(ast.Compare(ast.Attribute(of), _, [value, *_])):
            return ast.Expr(call(WATCHED, of, value))
    return None


def _note_around(node: ast.stmt) -> ast.stmt | None:
    """Return the tensor to whose `.data` a statement writes."""
    match node:
        case ast.Assign([written, *_]) | ast.AugAssign(written) | ast.Expr(written):
            owner = next(_owners_of_data(written), None)
            return None if owner is None else ast.Expr(call(WATCHED, owner))
    return None


def _note_named(node: ast.stmt) -> ast.stmt | None:
    """Return what the call that is a statement is a method of, or the arguments of a function that have a name."""
    match node:
        case ast.Expr(ast.Call(func=ast.Attribute(of), args=args, keywords=words)):
            given = [*args, *(word.value for word in words)] if root_of(of) in _FUNCTIONS_OF else [of]
            return ast.Expr(call(WATCHED, *(one for one in given if isinstance(one, (ast.Name, ast.Attribute)))))
    return None


def _note_given(owner: ast.ClassDef) -> None:
    """Note what the methods of a custom function are given, together with its context."""
    for method in owner.body:
        if isinstance(method, ast.FunctionDef) and method.name in ("forward", "backward", "vjp"):
            given = [ast.Name(name, ast.Load()) for name in positional(method)]
            method.body[:0] = [ast.Expr(call(WATCHED, one, given[0])) for one in given[1:]]


def _note_written(node: ast.stmt) -> ast.stmt | None:
    """Return the variable that an assignment writes to, in place."""
    match node:
        case ast.Assign([ast.Subscript() as target, *_]) | ast.AugAssign(target):
            name = root_of(target)
            return ast.Expr(call(WATCHED, ast.Name(name, ast.Load()))) if name else None
    return None


_NOTES: dict[str, Callable[[ast.stmt], ast.stmt | None]] = {
    "around": _note_around,
    "arriving": _note_written,
    "named": _note_named,
}
"""What is noted before and after a statement."""


def _note_method(owner: str, method: str) -> ast.stmt:
    """Return the same method of the class, and of an object of it."""
    of_class = ast.Name(owner, ast.Load())
    of_object = ast.Call(ast.Name(owner, ast.Load()), [], [])
    return ast.Expr(call(WATCHED, *(ast.Attribute(one, method, ast.Load()) for one in (of_class, of_object))))


def _owners_of_data(node: ast.expr) -> Iterator[ast.expr]:
    """Yield what `.data` is read of along a chain of attributes, calls, and indices: arguments are not written to."""
    while isinstance(node, (ast.Attribute, ast.Call, ast.Subscript)):
        if isinstance(node, ast.Attribute) and node.attr == "data":
            yield node.value
        if isinstance(node, ast.Call) and root_of(node.func) in _FUNCTIONS_OF and node.args:
            node = node.args[0]
        else:
            node = node.func if isinstance(node, ast.Call) else node.value
