"""Element types that an operation refuses: float64 from numpy beside float32 parameters, targets of the wrong type.

Which operations promote and which refuse was measured under torch 2.13 (see `tests/rules/losses/dtype-mismatch.md`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import TypeAlias

import libcst as cst

from gradlint.detect.detector import Detector
from gradlint.domain import dtype as dtypes
from gradlint.domain.announcement import DefaultTypeSet, Operated
from gradlint.domain.fault.losses import TypeClash
from gradlint.domain.graph import Term
from gradlint.domain.state import State
from gradlint.domain.value import Tensor
from gradlint.facts.aliases import bare, canonical, is_module
from gradlint.facts.traits import INDEXED, ONE_DTYPE, ONE_DTYPE_MODULES
from gradlint.interpreter.python.contexts import AUTOCAST

_FULL = frozenset({"float32", "float64"})
"""Types that certainly clash; half precision is accepted beside float32 here and there."""


def _pair(state: State, it: Operated) -> TypeClash | None:
    """Return two operands whose types clash, or an input and the module's weight."""
    if is_module(it.op):
        return _module(state, it)
    first, second = ONE_DTYPE[canonical(it.op)]
    one, other = it.operands.get(first), it.operands.get(second)
    return _compared(it, one, first, other.dtype) if isinstance(one, Term) and isinstance(other, Term) else None


def _module(state: State, it: Operated) -> TypeClash | None:
    """Return an input beside parameters of another type."""
    names = [name for name in ("input", "query", "src") if name in it.operands]
    weights = {
        record.dtype
        for label, ref, _ in it.inputs
        if label.startswith("p.") and ref is not None
        for record in [state.heap[ref.id]]
        if isinstance(record, Tensor)
    }
    found = it.operands.get(names[0]) if names else None
    return _compared(it, found, names[0], weights.pop()) if isinstance(found, Term) and len(weights) == 1 else None


def _compared(it: Operated, found: Term, name: str, wanted: str | None) -> TypeClash | None:
    """Return two types of which both are known, one of them float64 or integer and the other not."""
    got = found.dtype
    if got is None or wanted is None or got == wanted:
        return None
    both = {got, wanted}
    integer = [one for one in both if one in dtypes.INTS or one == "bool"]
    return _clash(it, name, found, wanted) if both == _FULL or (len(integer) == 1 and both & _FULL) else None


# Targets of losses.

_CLASSES = frozenset({"int64", "uint8"})


def _classes(state: State, it: Operated) -> TypeClash | None:
    """Return class numbers that are neither int64 nor uint8; cross entropy takes probabilities as well."""
    target, scores = it.operands.get("target"), it.operands.get("input")
    if not isinstance(target, Term) or target.dtype is None or target.dtype in _CLASSES:
        return None
    floating = target.dtype in dtypes.FLOATS
    if not (floating or _is_integer(target)):
        return None
    if floating and canonical(it.op) == "cross_entropy" and not _are_numbers(scores, target):
        return None
    return _clash(it, "target", target, "int64")


def _are_numbers(scores: object, target: Term) -> bool:
    """Return whether a target has one number where the scores have one for each class."""
    if not isinstance(scores, Term) or scores.shape is None or target.shape is None:
        return False
    return len(target.shape) == len(scores.shape) - 1


def _targets(state: State, it: Operated) -> TypeClash | None:
    """Return a target of another type than the prediction: the first raises at once, the second in its backward."""
    target, found = it.operands.get("target"), it.operands.get("input")
    if not isinstance(target, Term) or not isinstance(found, Term):
        return None
    late = canonical(it.op) == "huber_loss"
    if late and (found.grad is not True or state.grad is not True):
        return None
    if found.dtype in _FULL and target.dtype != found.dtype and (_is_integer(target) or target.dtype in _FULL):
        return _clash(it, "target", target, found.dtype, late)
    return None


def _is_integer(found: Term) -> bool:
    return found.dtype in dtypes.INTS or found.dtype == "bool"


def _logits(state: State, it: Operated) -> TypeClash | None:
    """Return an integer target, which is refused at once."""
    target, found = it.operands.get("target"), it.operands.get("input")
    if isinstance(target, Term) and isinstance(found, Term) and _is_integer(target) and found.dtype in _FULL:
        return _clash(it, "target", target, found.dtype)
    return None


def _indices(state: State, it: Operated) -> TypeClash | None:
    """Return indices that are no integers."""
    return _indexed(it, next((name for name in ("input", "self", "tensor") if name in it.operands), "input"), "input")


def _positions(state: State, it: Operated) -> TypeClash | None:
    """Return positions that are no integers; those of `take_along_dim` have a name of their own."""
    name = "indices" if "indices" in it.operands else "index"
    return _indexed(it, name, name)


def _indexed(it: Operated, name: str, said: str) -> TypeClash | None:
    found = it.operands.get(name)
    return _clash(it, said, found, "int64") if isinstance(found, Term) and found.dtype in dtypes.FLOATS else None


def _clash(it: Operated, name: str, found: Term, wanted: str | None, late: bool = False) -> TypeClash:
    """Return an operand whose type is known, and is not the one that is wanted."""
    assert found.dtype is not None and wanted is not None
    # A module that is more than a function is shown by its own name.
    shown = it.op if is_module(it.op) and canonical(it.op) in ONE_DTYPE_MODULES else bare(it.op)
    return TypeClash(it.node, shown, name, found.dtype, wanted, late, found.node.syntax)


Judge: TypeAlias = "Callable[[State, Operated], TypeClash | None]"

_JUDGES: dict[str, Judge] = {
    **dict.fromkeys(ONE_DTYPE, _pair),
    **dict.fromkeys(ONE_DTYPE_MODULES, _module),
    **dict.fromkeys(("cross_entropy", "nll_loss"), _classes),
    **dict.fromkeys(("binary_cross_entropy", "huber_loss"), _targets),
    "binary_cross_entropy_with_logits": _logits,
    **dict.fromkeys(("embedding", "one_hot"), _indices),
    **dict.fromkeys(INDEXED, _positions),
}
"""Which types an operation takes, by its canonical name."""


class ElementTypeDetector(Detector[bool]):
    """Compares the element types of what an operation is given; knows whether the program sets torch's default."""

    def aside(self) -> bool:
        """Go on with the default of the program."""
        return self.facts

    @cached_property
    def _raising(self) -> set[cst.CSTNode]:
        """The operations that were reported: there is nothing that they give."""
        return set()

    def on_default_type_set(self, state: State, it: DefaultTypeSet) -> None:
        """Note that what is made without a type has another one from here on."""
        self.facts = True

    def on_operated(self, state: State, it: Operated) -> None:
        """Report types that clash.

        Under autocast, or with another default, types are not what they seem; integers beside logits are.
        """
        judge = _JUDGES.get(canonical(it.op))
        if judge is None or (judge is not _logits and (self.facts or state.facts.get(AUTOCAST) is True)):
            return
        clash = judge(state, it)
        if clash is not None and clash.made not in self._raising:
            self._raising.add(it.node)
            # Forks are facts by their numbers, later than 0.
            self.report(replace(clash, settled=not state.undecided_since(0)))
