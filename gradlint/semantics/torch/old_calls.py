"""Calls as old versions of torch took them: read as what they mean today, and told."""

from __future__ import annotations

import libcst as cst

from gradlint.domain.event import LegacyVariable, RemovedName
from gradlint.domain.state import State
from gradlint.domain.value import Ref, Tensor, Unknown, Value
from gradlint.facts import Entry
from gradlint.semantics.args import Args
from gradlint.semantics.machine import Machine
from gradlint.semantics.torch.tensor import known_tensor

_NUMBER_FIRST = {
    "add": ("alpha", 3),
    "add_": ("alpha", 3),
    "sub": ("alpha", 3),
    "sub_": ("alpha", 3),
    "addcmul": ("value", 4),
    "addcmul_": ("value", 4),
    "addcdiv": ("value", 4),
    "addcdiv_": ("value", 4),
}
"""Operations whose factor used to stand before the tensors: its name today, and how many arguments there are."""

_REDUCTIONS = ("size_average", "reduce")


def modern(machine: Machine, state: State, entry: Entry, args: Args, node: cst.CSTNode) -> Args:
    """The arguments as they are passed today."""
    if len(args.positional) >= 3:
        args = _number_last(machine, state, entry, args, node)
    if args.keywords:
        tell_reduction(machine, entry, args, node)
    return args


def _number_last(machine: Machine, state: State, entry: Entry, args: Args, node: cst.CSTNode) -> Args:
    """x.add_(0.9, y) -> x.add_(y, alpha=0.9)"""
    name, count = _NUMBER_FIRST.get(entry.name.rpartition(".")[2], ("", 0))
    target, number, *rest = args.positional
    if count != len(args.positional) or not _is_number(number) or known_tensor(machine, state, rest[0]) is None:
        return args
    machine.emit(RemovedName(node, "number first", entry.name.rpartition(".")[2], name, False))
    return args._replace(positional=(target, *rest), keywords={**args.keywords, name: number})


def _is_number(value: Value) -> bool:
    known = isinstance(value, (int, float)) and not isinstance(value, bool)
    return known or (isinstance(value, Unknown) and value.kind in ("number", "int"))


def tell_reduction(machine: Machine, entry: Entry, args: Args, node: cst.CSTNode) -> None:
    """size_average=False, reduce=False: of losses, which have `reduction` today."""
    given = [name for name in _REDUCTIONS if args.keywords.get(name) is not None]
    if not given or entry.sig.param("size_average") is None:
        return
    average, reduce = (args.keywords.get(name) for name in _REDUCTIONS)
    instead = "reduction"
    if all(value is None or isinstance(value, bool) for value in (average, reduce)):
        instead = "none" if reduce is False else "sum" if average is False else "mean"
    machine.emit(RemovedName(node, "size_average", " and ".join(given), instead, False))


def tell_gone_keyword(machine: Machine, name: str, instead: str, args: Args, node: cst.CSTNode) -> None:
    """A keyword that torch refuses today: `verbose` of schedulers, `retain_variables` of backward."""
    if name in args.keywords and not machine.guarded:
        machine.emit(RemovedName(node, name, name, instead, True))


def tell_number_indexed(machine: Machine, record: Tensor, index: Value, node: cst.CSTNode) -> bool:
    """loss.data[0]: a tensor without dimensions has no items. Says whether torch raises."""
    if record.shape != () or isinstance(index, bool) or not isinstance(index, int):
        return False
    machine.emit(RemovedName(node, "index", "", "item()", True))
    return True


def tell_variable(machine: Machine, state: State, data: Ref, args: Args, node: cst.CSTNode) -> None:
    """Variable(x), Variable(x, volatile=True)"""
    record = state[data]
    assert isinstance(record, Tensor)
    wanted = args.get(1, "requires_grad", False)
    wish = wanted if isinstance(wanted, bool) else None
    live = True if record.grad is False and record.node.live else record.grad
    volatile = args.has(2, "volatile") and args.get(2, "volatile") is not False
    machine.emit(LegacyVariable(node, volatile, live, wish))
