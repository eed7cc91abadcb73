"""The size and type of what a torch operation gives: the one door to all size rules.

`result` answers for functions and methods, `module_result` for the call of an `nn` module, `indexed` for a
subscript. All take partly known arguments and answer partly: None is always "not known", and what is certain
is so for every value that the unknown parts may have, provided torch runs the call at all.

Constants stand for themselves; tensors are `Operand`s, types are names as in `gradlint.domain.dtype`, sizes
may be symbols. Any other value, `UNKNOWN` above all, is unknown. A device is a string, an integer or None,
lest it be taken for something that may be a type.
"""

from __future__ import annotations

import dataclasses
from functools import cache
from importlib import import_module

from gradlint.domain.dtype import forget_default
from gradlint.domain.shape import Sym, replace
from gradlint.facts.aliases import canonical, is_inplace
from gradlint.facts.traits import RESHAPES_INPLACE
from gradlint.shapes.index import Indexed, indexed
from gradlint.shapes.module import module_result
from gradlint.shapes.rule import NOTHING, RULES, UNKNOWN, Args, Operand, Result, Rule, Several

__all__ = [
    "NOTHING",
    "UNKNOWN",
    "Indexed",
    "Operand",
    "Result",
    "Several",
    "has_rule",
    "indexed",
    "item",
    "module_result",
    "result",
    "under_other_default",
]

_FAMILIES = "elementwise reduce view diagonal join product conv loss pick create linalg fft"
for _family in _FAMILIES.split():
    import_module(f"{__package__}.{_family}")


def result(op: str, args: Args) -> Result:
    """Return the result of one call: `op` by any of its names, arguments by torch's parameter names.

    `input` and `self` are the same argument. An operation without a rule gives a result of which nothing is known.
    """
    function = _resolve(op)
    if function is None:
        return NOTHING
    answer = function(args)
    out = args.get("out")
    return answer if out is None else _written(answer, out)


def has_rule(op: str) -> bool:
    """Return whether the size of the results of an operation is known at all."""
    return _resolve(op) is not None


@cache
def _resolve(op: str) -> Rule | None:
    """Find the rule of an operation; most of what writes in place gives what it wrote to."""
    op = op.removeprefix("torch.")
    name = canonical(op)
    if is_inplace(op) and not is_inplace(name) and name not in RESHAPES_INPLACE:
        return _itself
    return RULES.get(name, _itself if is_inplace(op) else None)


def _itself(args: Args) -> Result:
    """Return the tensor that an in-place operation wrote to, of the size and type it had before."""
    target = args.get("self", args.get("input"))
    return Operand(target.shape, target.dtype) if isinstance(target, Operand) and not target.scalar else NOTHING


def _written(answer: Result, out: object) -> Result:
    """Return what was written into `out=`: of its type, and the size of the result, to which torch resizes it."""
    if isinstance(answer, Operand):
        return Operand(answer.shape, out.dtype if isinstance(out, Operand) else None)
    return NOTHING


def item(results: Several, index: int) -> Result:
    """Return one item of a tuple of results; out of range, nothing is known.

    Where their number is unknown and the sizes of one dimension differ, that dimension is a fresh symbol each
    time.
    """
    if results.items is not None:
        within = -len(results.items) <= index < len(results.items)
        return results.items[index] if within else NOTHING
    each, ragged = results.each, results.ragged
    if ragged is None or each.shape is None:
        return each
    return Operand(replace(each.shape, ragged, Sym()), each.dtype)


def under_other_default(answer: Result) -> Result:
    """Return what stays known of a result in a program that changes torch's default type."""
    if isinstance(answer, Operand):
        return dataclasses.replace(answer, dtype=forget_default(answer.dtype))
    items = None if answer.items is None else tuple([under_other_default(one) for one in answer.items])
    each = dataclasses.replace(answer.each, dtype=forget_default(answer.each.dtype))
    return dataclasses.replace(answer, items=items, each=each)
