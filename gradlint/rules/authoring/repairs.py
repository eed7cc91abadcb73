"""Repairs that several rules make, as pure functions of the nodes that they report.

Each gives None where the node is not of the form that it mends.
"""

from __future__ import annotations

import libcst as cst

from gradlint.facts.aliases import canonical, is_inplace
from gradlint.facts.names import TENSOR, names_of
from gradlint.rules.authoring.arguments import extended, keyword_of, without
from gradlint.rules.base import Change, Repair, Statement, Wrap

_TORCH = ("torch",)
_ATOMS = (cst.Name, cst.Attribute, cst.Call, cst.Subscript, cst.List)


def code(node: cst.CSTNode) -> str:
    """The source of a node, with its parentheses."""
    return cst.Module([]).code_for_node(node)


def operand(node: cst.BaseExpression) -> str:
    """The source of an expression as it may stand beside an operator or before a dot."""
    text = code(node)
    return text if isinstance(node, _ATOMS) or node.lpar else f"({text})"


def under_no_grad(node: cst.CSTNode, *, safe: bool) -> Repair:
    """The statement goes below `with torch.no_grad():`."""
    return Repair("write it under `torch.no_grad()`", (Wrap(node, "with torch.no_grad():"),), safe, _TORCH)


def update_under_no_grad(node: cst.CSTNode) -> Repair | None:
    """A write that is a statement of its own goes below `with torch.no_grad():`, which cuts no computation then."""
    changes = (Wrap(node, "with torch.no_grad():"), Statement(node, code(node)))
    return Repair("write it under `torch.no_grad()`", changes, False, _TORCH)


def out_of_place(node: cst.CSTNode) -> Repair | None:
    """What writes in place makes a new tensor instead: `x = x + y`, `x = x.relu()`, no `inplace=True`."""
    if isinstance(node, cst.AugAssign):
        return _without_augmentation(node)
    if not isinstance(node, cst.Call):
        return None
    flag = keyword_of(node, "inplace")
    if flag is not None:
        message = "compute it out of place"
        plain = without(node, flag)
        if isinstance(node.args[0].value, cst.Name) and isinstance(node.func, cst.Attribute):
            return Repair(message, (Statement(node, f"{node.args[0].value.value} = {code(plain)}", code(plain)),))
        return Repair(message, (Change(node, code(plain)),))
    if isinstance(node.func, cst.Attribute) and isinstance(node.func.value, cst.Name):
        return _without_underscore(node, node.func, node.func.value.value)
    return None


def built_out_of_place(built: cst.CSTNode | None) -> Repair | None:
    """`inplace=True` is left out where the module is made."""
    return without_argument(built, "inplace") if isinstance(built, cst.Call) else None


def ones_as_gradient(node: cst.CSTNode, *, safe: bool) -> Repair | None:
    """`y.backward(g)` or `grad(y, x, grad_outputs=g)` with the gradient that torch itself takes for one element."""
    if not isinstance(node, cst.Call) or not node.args or not isinstance(node.func, (cst.Attribute, cst.Name)):
        return None
    is_method = isinstance(node.func, cst.Attribute) and node.func.attr.value == "backward"
    keyword = "gradient" if is_method else "grad_outputs"
    given = keyword_of(node, keyword)
    first = node.args[0]
    if given is None and is_method and first.keyword is None and not first.star:
        given = first
    root = node.func.value if is_method and isinstance(node.func, cst.Attribute) else first.value
    if given is None or not isinstance(root, (cst.Name, cst.Attribute, cst.BinaryOperation)):
        return None
    fresh = f"torch.ones_like({code(root)})"
    return Repair(f"pass `{fresh}`", (Change(given.value, fresh),), safe, _TORCH)


def _without_augmentation(node: cst.AugAssign) -> Repair | None:
    if not isinstance(node.target, cst.Name):
        return None
    name, sign = node.target.value, code(node.operator).strip().removesuffix("=")
    value = code(node.value) if isinstance(node.value, (cst.Integer, cst.Float)) else operand(node.value)
    text = f"{name} = {name} {sign} {value}"
    return Repair(f"write `{name} = {name} {sign} ...`", (Change(node, text),))


def _without_underscore(node: cst.Call, method: cst.Attribute, name: str) -> Repair | None:
    plain = plain_method(method.attr.value)
    if plain is None or name in ("F", "torch"):
        return None  # A function is called: its namespace gets no new value.
    value = code(node.with_changes(func=method.with_changes(attr=cst.Name(plain))))
    return Repair(f"write `{name} = {name}.{plain}(...)`", (Statement(node, f"{name} = {value}"),))


def plain_method(method: str) -> str | None:
    """Return the method that gives what a method in place writes; None where it is missing, or another thing.

    A comparison in place keeps the type of numbers, where the other gives bools.
    """
    plain = method.removesuffix("_")
    known = names_of(TENSOR) or ()
    return plain if is_inplace(method) and plain in known and canonical(plain) == canonical(method) else None


def receiver_through(node: cst.CSTNode, method: str, *, safe: bool) -> Repair | None:
    """`x.f(...)` becomes `x.method().f(...)`."""
    if not isinstance(node, cst.Call) or not isinstance(node.func, cst.Attribute):
        return None
    return through(node.func.value, method, safe=safe)


def through(node: cst.BaseExpression, method: str, *, safe: bool) -> Repair:
    """An expression goes through a method that takes no arguments."""
    return Repair(f"call `.{method}()` first", (Change(node, f"{operand(node)}.{method}()"),), safe)


def with_argument(node: cst.CSTNode, argument: str, *, safe: bool, imports: tuple[str, ...] = ()) -> Repair | None:
    """A call gets one more keyword argument, or another value for it."""
    if not isinstance(node, cst.Call):
        return None
    name, _, value = argument.partition("=")
    given, new = keyword_of(node, name), extended(node, name, value)
    if given is not None:
        return Repair(f"set `{argument}`", (Change(given.value, value),), safe, imports)
    return None if new is None else Repair(f"add `{argument}`", (Change(node, code(new)),), safe, imports)


def without_argument(node: cst.CSTNode, *names: str, safe: bool = True) -> Repair | None:
    """A call gets rid of keyword arguments."""
    if not isinstance(node, cst.Call):
        return None
    given = [arg for arg in (keyword_of(node, name) for name in names) if arg is not None]
    said = " and ".join(f"`{code(arg.with_changes(comma=cst.MaybeSentinel.DEFAULT)).strip()}`" for arg in given)
    return Repair(f"leave {said} out", (Change(node, code(without(node, *given))),), safe) if given else None


def detached(node: cst.CSTNode) -> Repair | None:
    """`total += loss` with `loss.detach()`: the values are the same, only their graph is left behind.

    Where the term cannot be told from the old sum, there is no repair.
    """
    term = _term(node)
    return None if term is None else through(term, "detach", safe=True)


def _term(node: cst.CSTNode) -> cst.BaseExpression | None:
    """What is added: the value of an augmented addition, the argument of `append`."""
    if isinstance(node, cst.AugAssign) and isinstance(node.operator, (cst.AddAssign, cst.SubtractAssign)):
        return None if isinstance(node.value, (cst.List, cst.Tuple, cst.ListComp)) else node.value
    if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) and node.func.attr.value == "append":
        given = node.args[0] if len(node.args) == 1 else None
        return None if given is None or given.star or isinstance(given.value, cst.Tuple) else given.value
    return None
