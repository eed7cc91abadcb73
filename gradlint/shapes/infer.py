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
from collections.abc import Callable
from importlib import import_module

from gradlint.domain.dtype import DType, forget_default
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

_FAMILIES = (
    "elementwise",
    "reduce",
    "view",
    "diagonal",
    "join",
    "product",
    "conv",
    "loss",
    "pick",
    "create",
    "linalg",
    "fft",
)
for _family in _FAMILIES:
    import_module(f"{__package__}.{_family}")

_resolved: dict[str, Rule | None] = {}


def result(op: str, args: Args) -> Result:
    """Return the result of one call: `op` by any of its names, arguments by torch's parameter names.

    `input` and `self` are the same argument. An operation without a rule gives a result of which nothing is known.
    """
    function = _resolved.get(op)
    if function is None:
        if op not in _resolved:
            _resolved[op] = _resolve(op)
        function = _resolved[op]
        if function is None:
            return NOTHING
    answer = function(args)
    out = args.get("out")
    return answer if out is None else _written(answer, out)


def has_rule(op: str) -> bool:
    """Return whether the size of the results of an operation is known at all."""
    if op not in _resolved:
        _resolved[op] = _resolve(op)
    return _resolved[op] is not None


def _resolve(op: str) -> Rule | None:
    """Find the rule of an operation; most of what writes in place gives what it wrote to."""
    op = op.removeprefix("torch.")
    name = canonical(op)
    if is_inplace(op) and not is_inplace(name) and name not in RESHAPES_INPLACE:
        return _itself
    return RULES.get(name, _itself if is_inplace(op) else None)


def _itself(args: Args) -> Result:
    """Return an in-place operation gives the tensor it wrote to, of the size and type it had before."""
    target = args.get("self", args.get("input"))
    return Operand(target.shape, target.dtype) if isinstance(target, Operand) and not target.scalar else NOTHING


def _written(answer: Result, out: object) -> Result:
    """Return what was written into `out=` has its type, and the size of the result, to which torch resizes it."""
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
    return _retyped(answer, forget_default)


def _retyped(answer: Result, change: Callable[[DType], DType]) -> Result:
    if isinstance(answer, Operand):
        return dataclasses.replace(answer, dtype=change(answer.dtype))
    items = answer.items
    changed = None if items is None else tuple([_retyped(one, change) for one in items])
    each = dataclasses.replace(answer.each, dtype=change(answer.each.dtype))
    return dataclasses.replace(answer, items=changed, each=each)
