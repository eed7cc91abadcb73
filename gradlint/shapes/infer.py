"""The size and type of what a torch operation gives.

`result` answers for functions and methods; `module_result` in `module.py` does for the call of an `nn` module,
`indexed` in `index.py` for a subscript. All take partly known arguments and answer partly: None is always "not known",
and what is certain is so for every value that the unknown parts may have, provided torch runs the call at all.

Constants stand for themselves; tensors are `Operand`s, types are names as in `gradlint.domain.dtype`, sizes
may be symbols. Any other value, `UNKNOWN` above all, is unknown. A device is a string, an integer or None,
lest it be taken for something that may be a type.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module

from gradlint.facts.aliases import canonical, is_inplace
from gradlint.facts.traits import RESHAPES_INPLACE
from gradlint.shapes.operand import NOTHING, Args, Operand, Result
from gradlint.shapes.rule import RULES, Rule

_FAMILIES = "elementwise reduce view diagonal join product conv loss pick create linalg fft"
for _family in _FAMILIES.split():
    import_module(f"{__package__}.{_family}")


def result(op: str, args: Args) -> Result:
    """Return the result of one call: `op` by any of its names, arguments by torch's parameter names.

    `input` and `self` are the same argument. An operation without a rule gives a result of which nothing is known.
    """
    function = rule_of(op)
    if function is None:
        return NOTHING
    answer = function(args)
    out = args.get("out")
    return answer if out is None else _written(answer, out)


@cache
def rule_of(op: str) -> Rule | None:
    """Return the rule of an operation; most of what writes in place gives what it wrote to."""
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
