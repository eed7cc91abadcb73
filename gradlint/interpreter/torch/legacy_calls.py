"""Calls as old versions of torch took them: read as what they mean today, and told."""

from __future__ import annotations

import libcst as cst

from gradlint.domain.dtype import can_require_grad, is_floating
from gradlint.domain.event import LegacyVariable, RemovedName
from gradlint.domain.state import State
from gradlint.domain.value import Ref, Tensor, Unknown, Value
from gradlint.facts import Entry
from gradlint.facts.aliases import canonical
from gradlint.facts.traits import ALPHA_FIRST, FACTORS_FIRST, IMPLICIT_DIM, VALUE_FIRST
from gradlint.interpreter.args import Args
from gradlint.interpreter.machine import Machine
from gradlint.interpreter.torch.names import fact
from gradlint.interpreter.torch.tensor import SCALAR, known_tensor, tensor_at

_REDUCTIONS = ("size_average", "reduce")


def modern(machine: Machine, state: State, entry: Entry, args: Args, node: cst.CSTNode) -> Args:
    """The arguments as they are passed today."""
    if len(args.positional) >= 3:
        args = _number_last(machine, state, entry, args, node)
    if entry.name == _BAG:
        args = _weight_second(machine, state, args)
    tell_reduction(machine, entry, args, node)
    tell_implicit_dim(machine, state, entry, args, node)
    return args


_BAG = "nn.functional.embedding_bag"


def _weight_second(machine: Machine, state: State, args: Args) -> Args:
    """embedding_bag(weight, input): torch warns, and takes the one that holds integers for the input."""
    first, second = (known_tensor(machine, state, value) for value in (*args.positional[:2], None, None)[:2])
    if first is None or second is None:
        return args
    floats, integers = tensor_at(state, first).dtype, tensor_at(state, second).dtype
    if not is_floating(floats) or can_require_grad(integers) is not False:
        return args
    return args._replace(positional=(second, first, *args.positional[2:]))


def _number_last(machine: Machine, state: State, entry: Entry, args: Args, node: cst.CSTNode) -> Args:
    """x.add_(0.9, y) -> x.add_(y, alpha=0.9)"""
    one = canonical(entry.name)
    if one in FACTORS_FIRST:
        return _factors_last(machine, state, entry, args, node)
    name, count = ("alpha", 3) if one in ALPHA_FIRST else ("value", 4) if one in VALUE_FIRST else ("", 0)
    target, number, *rest = args.positional
    if count != len(args.positional) or not _is_number(number) or known_tensor(machine, state, rest[0]) is None:
        return args
    machine.emit(RemovedName(node, "number first", entry.name.rpartition(".")[2], name, False))
    return args._replace(positional=(target, *rest), keywords={**args.keywords, name: number})


def _factors_last(machine: Machine, state: State, entry: Entry, args: Args, node: cst.CSTNode) -> Args:
    """x.addmm(0.5, 2, a, b), torch.addmm(0.5, x, 2, a, b) -> x.addmm(a, b, beta=0.5, alpha=2)"""
    numbers = [value for value in args.positional if _is_number(value)]
    rest = tuple(value for value in args.positional if not _is_number(value))
    if len(numbers) not in (1, 2) or len(rest) != 3 or _is_number(args.positional[-2]):
        return args
    if any(known_tensor(machine, state, value) is None for value in rest):
        return args
    factors = dict(zip(("beta", "alpha"), numbers, strict=False))
    machine.emit(RemovedName(node, "number first", entry.name.rpartition(".")[2], " and ".join(factors), False))
    return args._replace(positional=rest, keywords={**args.keywords, **factors})


def _is_number(value: Value) -> bool:
    known = isinstance(value, (int, float)) and not isinstance(value, bool)
    return known or (isinstance(value, Unknown) and value.kind in ("number", "int"))


def tell_reduction(machine: Machine, entry: Entry, args: Args, node: cst.CSTNode) -> None:
    """size_average=False, reduce=False: of losses, which have `reduction` today."""
    if not args.keywords and len(args.positional) < 1:
        return
    places = _PLACES.get(entry.name)
    if places is None:
        overloads = entry.sig.overloads
        names = [param.name for param in overloads[0]] if overloads else []
        places = _PLACES[entry.name] = {name: place for place, name in enumerate(names)}
    if _REDUCTIONS[0] not in places:
        return
    average, reduce = (args.get(places.get(name, len(args.positional)), name) for name in _REDUCTIONS)
    given = [name for name, value in zip(_REDUCTIONS, (average, reduce), strict=True) if value is not None]
    if not given or not (args.keywords.keys() & set(given) or isinstance(average, bool)):
        return
    instead = "reduction"
    if all(value is None or isinstance(value, bool) for value in (average, reduce)):
        instead = "none" if reduce is False else "sum" if average is False else "mean"
    machine.emit(RemovedName(node, "size_average", " and ".join(given), instead, False))


_PLACES: dict[str, dict[str, int]] = {}
"""At which place each argument of an operation stands, or of the constructor of a module."""


def tell_implicit_dim(machine: Machine, state: State, entry: Entry, args: Args, node: cst.CSTNode) -> None:
    """F.softmax(x): the dimension is guessed by the rank, 0 of one or three dimensions, else 1."""
    path, _, name = entry.name.rpartition(".")
    if path != "nn.functional" or name not in IMPLICIT_DIM or args.keywords or args.has(1, "dim") or args.open:
        return
    target = known_tensor(machine, state, args.get(0, "input"))
    shape = None if target is None else tensor_at(state, target).shape
    instead = "dim" if shape is None else f"dim={0 if len(shape) in (0, 1, 3) else 1}"
    machine.emit(RemovedName(node, "implicit dim", name, instead, False))


def tell_dimless(machine: Machine, path: str, args: Args, node: cst.CSTNode) -> None:
    """nn.Softmax(): as above, of a module."""
    name = path.rpartition(".")[2]
    entry = fact(f"nn.{name}")
    guesses = entry is not None and canonical(entry.name) in IMPLICIT_DIM and entry.sig.param("dim") is not None
    if guesses and not args.has(0, "dim") and not args.open:
        machine.emit(RemovedName(node, "implicit dim", name, "dim", False))


_TIMED = frozenset(
    {
        *("StepLR", "MultiStepLR", "ExponentialLR", "LambdaLR", "MultiplicativeLR", "CosineAnnealingLR"),
        *("ConstantLR", "LinearLR", "PolynomialLR", "CyclicLR", "OneCycleLR"),
    }
)
"""Schedulers that count the epochs themselves (measured: `step(epoch)` warns)."""


def tell_epoch(machine: Machine, path: str, args: Args, node: cst.CSTNode) -> None:
    """scheduler.step(epoch)"""
    if args.has(0, "epoch") and path.rpartition(".")[2] in _TIMED:
        machine.emit(RemovedName(node, "epoch", "epoch", "step()", False))


def tell_gone_keyword(machine: Machine, name: str, instead: str, args: Args, node: cst.CSTNode) -> None:
    """A keyword that torch refuses today: `verbose` of schedulers, `retain_variables` of backward."""
    if name in args.keywords and not machine.guarded:
        machine.emit(RemovedName(node, name, name, instead, True))


def tell_number_indexed(
    machine: Machine, record: Tensor, index: Value, node: cst.CSTNode, what: str = "tensor"
) -> bool:
    """loss.data[0]: a tensor without dimensions, or the array of one, has no items. Says whether torch raises.

    Of a loss that the file does not show it is asked only for its number, in this way.
    """
    number = record.shape == () or (record.tags >= {SCALAR, "data"} and index == 0)
    if not number or isinstance(index, bool) or not isinstance(index, int):
        return False
    machine.emit(RemovedName(node, "index", what, "item()", True))
    return True


def tell_variable(machine: Machine, state: State, data: Ref, args: Args, node: cst.CSTNode) -> None:
    """Variable(x), Variable(x, volatile=True)"""
    record = state[data]
    assert isinstance(record, Tensor)
    wanted = args.get(1, "requires_grad", False)
    wish = wanted if isinstance(wanted, bool) else None
    live = True if record.grad is False and record.node.live else record.grad
    volatile = args.has(2, "volatile") and args.get(2, "volatile") is not False
    written = _written(state, node) if volatile else None
    machine.emit(LegacyVariable(node, volatile, live, wish, state.grad is not False, written))


def _written(state: State, node: cst.CSTNode) -> cst.CSTNode | None:
    """The call that names `volatile`, where this one hands on what it was given: `Variable(*args, **kwargs)`."""
    if not isinstance(node, cst.Call) or all(arg.star != "**" for arg in node.args):
        return None
    site = state.site
    while site is not None:
        call, site = site
        if isinstance(call, cst.Call) and any(arg.keyword and arg.keyword.value == "volatile" for arg in call.args):
            return call
    return None
