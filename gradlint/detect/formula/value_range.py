"""What a formula says of the range of its values."""

from __future__ import annotations

import libcst as cst

from gradlint.detect.formula.terms import LONGEST, is_number, op_of, operand, pair, term, unwrapped
from gradlint.domain.graph import Term
from gradlint.facts import traits

_BOUNDED = traits.BOUNDED | traits.COMPARISONS | traits.ZEROS | traits.ONES | {"linspace", "logspace"}
"""Operations whose results are small or negative, whatever goes in; of some, the program states the bounds."""


def is_bounded(found: Term, depth: int = LONGEST) -> bool:
    """Return whether the values are certainly bounded from above by a small number, so that `exp` does not overflow."""
    name, node = op_of(found), found.node
    if name in _BOUNDED or _is_table(found):
        return True
    if node.leaf is not None:
        made = term(node, "value")
        return made is not None and (op_of(made) == "rand" or _is_table(made))
    if _is_difference(node.syntax) and not node.operands:
        return True  # `x - peak` of values that are not known: the peak may be that of x.
    if depth == 0 or not node.operands:
        return False
    left, right = pair(node)
    if name == "neg":
        return isinstance(left, Term) and (is_never_negative(left) or is_bounded_twice(left, depth - 1))
    if name in traits.CLAMPS:
        return operand(node, "max") is not None
    if name in ("masked_fill", "where") and _is_guard(found):
        return True
    if name in traits.RANGES:
        inner = term(node, "input", "tensor")
        return inner is not None and is_bounded(inner, depth - 1)
    if name == "sub":
        return _is_difference_bounded(left, right, depth)
    if name == "add":
        return all(not isinstance(one, Term) or is_bounded(one, depth - 1) for one in (left, right))
    if name in ("mul", "div"):
        return _is_scaled_bounded(left, right, depth)
    if name in traits.PRODUCTS:
        other = term(node, "other", "mat2", "vec")
        return isinstance(left, Term) and other is not None and _is_unit(left) and _is_unit(other)
    return False


def _is_table(found: Term) -> bool:
    """Return whether a tensor is made of numbers that are computed one by one: `tensor([f(i) for i in ...])`."""
    made = found.node.syntax
    given = made.args[0].value if isinstance(made, cst.Call) and made.args else None
    return op_of(found) == "tensor" and isinstance(given, (cst.ListComp, cst.GeneratorExp))


def _is_difference(node: cst.CSTNode) -> bool:
    if isinstance(node, cst.AugAssign):
        return isinstance(node.operator, cst.SubtractAssign)
    return isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.Subtract)


def _is_guard(found: Term) -> bool:
    """Return whether a selection puts small numbers for others: `x.masked_fill(x > 18, 0)`; -inf is no guard."""
    filled = operand(found.node, "value", "other")
    if isinstance(filled, Term):
        return op_of(filled) in _CONSTANT
    return isinstance(filled, (int, float)) and abs(filled) < 100


_CONSTANT = traits.ZEROS | traits.ONES | traits.FILLED | {"tensor"}


def _is_difference_bounded(left: object, right: object, depth: int) -> bool:
    """Return whether a difference is bounded: x - max(x) and min(x) - x are, and what bounded terms differ by."""
    if isinstance(right, Term) and (_is_extreme(right, traits.PEAKS) or _is_positive_part(right, left)):
        return True
    if isinstance(left, Term) and _is_extreme(left, traits.LOWS):
        return True
    small = not isinstance(left, Term) or is_bounded(left, depth - 1)
    if not small:
        return False
    return not isinstance(right, Term) or is_never_negative(right) or is_bounded_twice(right, depth - 1)


def _is_scaled_bounded(left: object, right: object, depth: int) -> bool:
    """Return whether a product is bounded; a negative number makes what is never negative never positive."""
    terms = [one for one in (left, right) if isinstance(one, Term)]
    numbers = [one for one in (left, right) if not isinstance(one, Term)]
    if len(terms) == 1 and numbers:
        if not isinstance(numbers[0], (int, float)) or numbers[0] > 0:
            return is_bounded(terms[0], depth - 1)  # A scale that is not known is a temperature, and positive.
        if is_never_negative(terms[0]):
            return True
    if len(terms) == 2 and any(op_of(one) == "neg" for one in terms):
        inner = [term(one.node) if op_of(one) == "neg" else one for one in terms]
        if all(one is not None and is_never_negative(one) for one in inner):
            return True
    return all(is_bounded_twice(one, depth - 1) for one in terms)


def is_bounded_twice(found: Term, depth: int = LONGEST) -> bool:
    """Return whether the values are certainly bounded on both sides."""
    return op_of(found) not in traits.LOG_PROBABILITIES | {"neg", "sub"} and is_bounded(found, depth)


def is_never_negative(found: Term, depth: int = LONGEST) -> bool:
    """Return whether no value is below zero."""
    name, node = op_of(found), found.node
    if name in traits.NEVER_NEGATIVE:
        return True
    if node.leaf is not None:
        made = term(node, "value")
        return made is not None and op_of(made) in traits.NEVER_NEGATIVE
    if depth == 0 or not node.operands:
        return False
    left, right = pair(node)
    if name == "arange":
        start = operand(node, "start")
        return not isinstance(start, (int, float)) or start >= 0
    if name == "pow":
        return isinstance(right, (int, float)) and right % 2 == 0
    if name in traits.CLAMPS:
        low = operand(node, "min")
        return isinstance(low, (int, float)) and low >= 0
    if name in traits.SCALES or name == "add":
        if name == "mul" and isinstance(left, Term) and isinstance(right, Term) and left.node is right.node:
            return True
        return all(_is_operand_never_negative(one, depth, unknown=name != "add") for one in (left, right))
    if name == "sub":
        return isinstance(right, Term) and _is_extreme(right, traits.LOWS)
    if name in (traits.RANGES | {"sum"}):
        inner = term(node, "input", "tensor")
        return inner is not None and is_never_negative(inner, depth - 1)
    return False


def _is_operand_never_negative(one: object, depth: int, *, unknown: bool) -> bool:
    """Return whether an operand is never negative; a number that is not known counts as a scale, and positive."""
    if isinstance(one, Term):
        return is_never_negative(one, depth - 1)
    return one >= 0 if isinstance(one, (int, float)) else unknown


def _is_positive_part(found: Term, of: object) -> bool:
    """Return whether a term is x * (x > 0) for a value x, or more than that: what remains of x is never positive."""
    terms, scale = [found], 1.0
    for _ in range(LONGEST):
        product = next((one for one in terms if op_of(one) == "mul"), None)
        if product is None:
            break
        terms.remove(product)
        for one in pair(product.node):
            if isinstance(one, Term):
                terms.append(one)
            else:
                scale *= one if isinstance(one, (int, float)) else 0
    return (
        len(terms) == 2
        and scale >= 1
        and isinstance(of, Term)
        and any(one.node is of.node and _is_test_for_positive(other, one) for one, other in (terms, reversed(terms)))
    )


def _is_test_for_positive(found: Term, of: Term) -> bool:
    test = unwrapped(found)
    left, right = pair(test.node)
    return op_of(test) in ("gt", "ge") and isinstance(left, Term) and left.node is of.node and is_number(right, 0)


def _is_extreme(found: Term, of: traits.Trait, depth: int = 8) -> bool:
    """Return whether a term is the maximum or the minimum of something, or comes close to it."""
    name = op_of(found)
    if name in of:
        return True
    if name == "log" and of is traits.PEAKS:
        total = term(found.node)
        return total is not None and op_of(total) == "sum" and op_of(term(total.node)) == "exp"
    if name in ("mul", "div") and depth:
        factors = [one for one in pair(found.node) if isinstance(one, Term)]
        return len(factors) == 1 and _is_extreme(factors[0], of, depth - 1)  # By a temperature.
    picks = term(found.node, "index", "indices") if name in ("gather", "take_along_dim") else None
    if picks is not None and of is traits.PEAKS and op_of(unwrapped(picks)) in ("max", "argmax"):
        return True
    if depth == 0:
        return False
    inner = term(found.node, "input", "tensor")
    if inner is None and len(found.node.edges) == 1:
        inner = Term(found.node.edges[0].node)
    return (
        inner is not None
        and (name in traits.ELEMENTS | traits.COPIES or name in ("data", ""))
        and _is_extreme(inner, of, depth - 1)
    )


def _is_unit(found: Term, depth: int = 8) -> bool:
    """Return whether a term holds normalised vectors, perhaps turned."""
    name = op_of(found)
    if name in ("normalize", "softmax"):
        return True
    left, right = pair(found.node)
    if name == "div" and isinstance(left, Term) and isinstance(right, Term):
        return any(op_of(one) in traits.NORMS for one in (right, term(right.node) or right))
    if depth == 0 or name not in traits.ELEMENTS | traits.JOINS:
        return False
    inner = term(found.node, "input", "tensor", "tensors")
    return inner is not None and _is_unit(inner, depth - 1)
