"""Repairs shared by several rules, as pure functions of the reported nodes.

Each returns None if the node does not have the form that it repairs.
"""

from __future__ import annotations

from dataclasses import replace

import libcst as cst

from gradlint.facts.aliases import canonical, is_inplace
from gradlint.facts.names import TENSOR, names_of
from gradlint.rules.authoring.arguments import extended, keyword_of, without
from gradlint.rules.base import Change, Repair, Statement, Wrap

_TORCH = ("torch",)


def code(node: cst.CSTNode) -> str:
    """Return the source of a node, with its parentheses."""
    return node.value if type(node) is cst.Name and not node.lpar else cst.Module([]).code_for_node(node)


def operand(node: cst.BaseExpression) -> str:
    """Return the source of an expression, in parentheses if an operand or a receiver needs them."""
    text = code(node)
    is_atom = isinstance(node, (cst.Name, cst.Attribute, cst.Call, cst.Subscript, cst.List))
    return text if is_atom or node.lpar else f"({text})"


def under_no_grad(node: cst.CSTNode, *, safe: bool) -> Repair:
    """Put the statement under `with torch.no_grad():`."""
    return Repair("write it under `torch.no_grad()`", (Wrap(node, "with torch.no_grad():"),), safe, _TORCH)


def update_under_no_grad(node: cst.CSTNode) -> Repair:
    """Put a write that is a whole statement under `with torch.no_grad():`, where this cuts no other computation."""
    wrap = Wrap(node, "with torch.no_grad():", whole=True)
    return Repair("write it under `torch.no_grad()`", (wrap,), False, _TORCH)


def out_of_place(node: cst.CSTNode, *, safe: bool = True) -> Repair | None:
    """Replace an in-place operation by one that makes a new tensor: `x = x + y`, `x = x.relu()`, no `inplace=True`."""
    repair = _out_of_place(node)
    return repair and replace(repair, safe=safe)


def _out_of_place(node: cst.CSTNode) -> Repair | None:
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
    """Remove `inplace=True` where the module is constructed."""
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
    """Return the out-of-place counterpart of an in-place method; None if it is missing or means something else.

    An in-place comparison keeps the dtype of its tensor, where the other returns bools.
    """
    plain = method.removesuffix("_")
    known = names_of(TENSOR) or ()
    return plain if is_inplace(method) and plain in known and canonical(plain) == canonical(method) else None


def bracketed(node: cst.BaseExpression) -> cst.BaseExpression:
    """Return an expression in parentheses, if an operator or an attribute could not follow it otherwise."""
    if operand(node) == code(node):
        return node
    return node.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])


def receiver_through(node: cst.CSTNode, method: str, *, safe: bool) -> Repair | None:
    """Turn `x.f(...)` into `x.method().f(...)`."""
    if not isinstance(node, cst.Call) or not isinstance(node.func, cst.Attribute):
        return None
    return through(node.func.value, method, safe=safe)


def through(node: cst.BaseExpression, method: str, *, safe: bool) -> Repair:
    """Call a method without arguments on an expression."""
    return Repair(f"call `.{method}()` first", (Change(node, f"{operand(node)}.{method}()"),), safe)


def with_argument(node: cst.CSTNode, argument: str, *, safe: bool, imports: tuple[str, ...] = ()) -> Repair | None:
    """Add a keyword argument to a call, or replace its value."""
    if not isinstance(node, cst.Call):
        return None
    name, _, value = argument.partition("=")
    given, new = keyword_of(node, name), extended(node, name, value)
    if given is not None:
        return Repair(f"set `{argument}`", (Change(given.value, value),), safe, imports)
    return None if new is None else Repair(f"add `{argument}`", (Change(node, code(new)),), safe, imports)


def without_argument(node: cst.CSTNode, *names: str, safe: bool = True) -> Repair | None:
    """Remove keyword arguments from a call."""
    if not isinstance(node, cst.Call):
        return None
    given = [arg for arg in (keyword_of(node, name) for name in names) if arg is not None]
    said = " and ".join(f"`{code(arg.with_changes(comma=cst.MaybeSentinel.DEFAULT)).strip()}`" for arg in given)
    return Repair(f"remove {said}", (Change(node, code(without(node, *given))),), safe) if given else None


def detached(node: cst.CSTNode) -> Repair | None:
    """Turn `total += loss` into `total += loss.detach()`, which keeps the values and drops their graph.

    Return None if the term cannot be told apart from the old sum.
    """
    term = _term(node)
    return None if term is None else through(term, "detach", safe=True)


def _term(node: cst.CSTNode) -> cst.BaseExpression | None:
    """Return what is added: the value of an augmented addition, or the argument of `append`."""
    if isinstance(node, cst.AugAssign) and isinstance(node.operator, (cst.AddAssign, cst.SubtractAssign)):
        return None if isinstance(node.value, (cst.List, cst.Tuple, cst.ListComp)) else node.value
    if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) and node.func.attr.value == "append":
        given = node.args[0] if len(node.args) == 1 else None
        return None if given is None or given.star or isinstance(given.value, cst.Tuple) else given.value
    return None
