"""One call of one torch operation: its arguments bound, and what its row of the facts table says of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import libcst as cst

from gradlint import facts
from gradlint.domain.dtype import COMPLEXES
from gradlint.domain.graph import Edge, Node, Saved, Term, Tri
from gradlint.domain.state import State
from gradlint.domain.value import Args, NoGradient, Ref, Sequence, Unknown, Value
from gradlint.facts import Entry, MustMay, Param, resolve, resolve_flag
from gradlint.facts.aliases import canonical
from gradlint.facts.traits import LIKES
from gradlint.interpreter.machine import Machine
from gradlint.interpreter.python.contexts import AUTOCAST
from gradlint.interpreter.reachable import sequence_at
from gradlint.interpreter.torch.inplace import saved_now
from gradlint.interpreter.torch.legacy_calls import modern, with_reduction
from gradlint.interpreter.torch.operands import bind, bind_loosely, defaults_of, flag_of, operands_of, tensors_in
from gradlint.interpreter.torch.tensor import NO_TENSOR, absent_gradient, as_tensor, both, either, is_scalar, tensor_at
from gradlint.shapes.fit import alone, check_of
from gradlint.shapes.infer import result
from gradlint.shapes.misfit import Misfit
from gradlint.shapes.module import module_result
from gradlint.shapes.operand import UNKNOWN, Operand, Several


class Input(NamedTuple):
    """A tensor argument: its label in the table, and the tensor; or the graph of something that may be one."""

    label: str
    ref: Ref | None
    origin: Node | None = None


class Operation:
    """One call of one operation, with its arguments bound.

    `name` is what the program calls it, for messages; `canonical` is what it is. `mistaken`: a plain number stands
    where torch takes tensors only, and raises.
    """

    __slots__ = (
        "_operands", "_saved", "bound", "canonical", "config", "entry", "flags", "hidden", "inputs", "machine",
        "mistaken", "name", "node", "overload", "state", "terms",
    )  # fmt: skip

    def __init__(
        self,
        machine: Machine,
        state: State,
        entry: Entry,
        args: Args,
        node: cst.CSTNode,
        extra: dict[str, object] | None = None,
    ) -> None:
        self.machine = machine
        self.state = state
        self.config: dict[str, Value] | None = None
        self._operands: dict[str, object] | None = None
        self._saved: MustMay | None = None
        self.entry = entry
        self.name = entry.name
        self.canonical = canonical(entry.name)
        self.node = node
        signature = entry.row.forward if entry.row.is_module else entry.sig
        if self.name == "einsum" and len(args.positional) > 1:
            args = args._replace(positional=(args.positional[0], args.positional[1:]))
        args = modern(machine, state, entry, args, node)
        bound, self.overload = bind(machine, state, signature, args) or bind_loosely(signature, args)
        self.bound = with_reduction(bound, self.overload)
        self.mistaken = False
        self.inputs = list(self._inputs(args))
        self.terms: dict[str, object] = {**self.bound, **{one.label: self._term(one) for one in self.inputs}}
        prefix = "forward." if entry.row.is_module else ""
        self.flags: dict[str, object] = defaults_of(self.overload, prefix)
        for name, value in self.bound.items():
            self.flags[prefix + name] = flag_of(machine, state, value)
        self.hidden = [one.name for one in self.overload if args.open and self._is_hidden(one)]
        self.flags.update(dict.fromkeys((prefix + name for name in self.hidden), facts.UNKNOWN))
        if extra:
            self.flags.update(extra)
        self._describe()

    def _is_hidden(self, param: Param) -> bool:
        """Return whether an argument may be among those of a star; one that has a name only, of two stars."""
        stars = [one.star for one in self.node.args] if isinstance(self.node, cst.Call) else ["**"]
        return param.name not in self.bound and (not param.keyword_only or "*" not in stars or "**" in stars)

    def _describe(self) -> None:
        """Flags that speak of the call as a whole: the ranks, and whether all inputs, or the first, are contiguous."""
        records = [tensor_at(self.state, given.ref) for given in self.inputs if given.ref is not None]
        if records and len(records) == len(self.inputs) and not self._repeats():
            if all(record.shape is not None for record in records):
                ranks = [len(record.shape or ()) for record in records]
                self.flags["@ndim"] = max(ranks)
                self.flags["@ranks"] = "r" + "x".join(map(str, ranks))
            if all("contiguous" in record.tags for record in records):
                self.flags["@contiguous"] = self.flags["@first"] = "yes"
            elif "contiguous" in records[0].tags:
                self.flags["@first"] = "yes"

    def _repeats(self) -> bool:
        """Return whether one tensor is given several times in a tuple: it is one input, and counts once."""
        given = [value for value in self.bound.values() if type(value) is tuple]
        return any(isinstance(one, Ref) and value.count(one) > 1 for value in given for one in value)

    def _inputs(self, args: Args) -> Iterable[Input]:
        params = {param.name: param for param in self.overload}
        for name, value in self.bound.items():
            yield from self._input(name, value, params.get(name))

    def _input(self, name: str, value: Value, param: Param | None) -> Iterable[Input]:
        machine, state = self.machine, self.state
        absent = _absent(state, value)
        if absent is not None and param is not None and param.tensor and not param.default:
            absent_gradient(machine, absent, self.node)
        found, listed = tensors_in(machine, state, value), sequence_at(state, value)
        if found or listed is not None:
            for ref in found:
                yield Input(name, ref)
            if param is None or param.tensor or param.number:
                for item in _unknown_items(state, listed):
                    yield Input(name, None, item.origin)
                numbers = listed is not None and any(type(item) in _NUMBERS for item in listed.items)
                self.mistaken = self.mistaken or (numbers and param is not None and param.tensor)
            return
        if isinstance(value, Unknown):
            if param is not None and param.tensor and not param.number:
                shown = as_tensor(machine, state, value, self.node)
                if shown is not None:
                    yield Input(name, shown)
                    return
            if (param is None or param.tensor or param.number) and not (value.origin is None and is_scalar(value)):
                yield Input(name, None, value.origin)
        elif type(value) in _NUMBERS and param is not None and param.tensor and not param.number:
            # Of later parameters the table does not tell those that take numbers, too: `start` of `narrow`.
            self.mistaken = self.mistaken or param is self.overload[0]

    def _term(self, given: Input) -> object:
        """Return an input as an operand of the formula that this call is."""
        if given.ref is not None:
            record = tensor_at(self.state, given.ref)
            return Term(record.node, record.shape, record.dtype, record.grad)
        return self.bound.get(given.label) if given.origin is None else Term(given.origin)

    # Facts.

    def labels(self, value: facts.Value) -> MustMay:
        """Return a fact of the row, decided by this call's arguments."""
        return value if isinstance(value, MustMay) else resolve(value, self.flags)

    def grad_of(self, given: Input) -> Tri:
        """Return whether an input requires grad."""
        if given.ref is not None:
            return tensor_at(self.state, given.ref).grad
        return None if given.origin is None or given.origin.tracked is not False else False

    def differentiable(self, label: str) -> bool:
        """Return whether the table saw a gradient with regard to this input."""
        return label in self.entry.row.saved or label in self.labels(self.entry.row.no_derivative).may

    def tracked(self) -> Tri:
        """Return whether autograd records this call."""
        if self.state.grad is False:
            return False
        saved, without = self.entry.row.saved, self.labels(self.entry.row.no_derivative).may
        needs = either(self.grad_of(given) for given in self.inputs if given.label in saved or given.label in without)
        return both(needs, self.state.grad)

    def edges(self) -> list[Edge]:
        """Return the ways back to the inputs."""
        row = self.entry.row
        edges: list[Edge] = []
        if self.canonical in LIKES:
            return edges  # The result depends on the size and type of its input, not on its values.
        without = self.labels(row.no_derivative)
        for given in self.inputs:
            origin = tensor_at(self.state, given.ref).node if given.ref is not None else given.origin
            if origin is None:
                continue
            if given.label not in row.saved and given.label not in without.may:
                edges.append(Edge(origin, None) if self._untried(given) else Edge(origin, False, "nondiff"))
                continue
            if given.label in without.must:
                edges.append(Edge(origin, False, "nondiff"))
                continue
            grad = self.grad_of(given)
            if given.label in row.zero and self._is_flat(given):
                edges.append(Edge(origin, grad, "zero"))
            elif given.label in row.no_gradient and resolve_flag(row.no_gradient[given.label], self.flags) is True:
                edges.append(Edge(origin, False, "nondiff"))
            else:
                edges.append(Edge(origin, grad))
        return edges

    def _is_flat(self, given: Input) -> bool:
        """Return whether the gradient of an input is zero everywhere, as measured with real numbers."""
        if resolve_flag(self.entry.row.zero[given.label], self.flags) is not True or self.name == "complex":
            return False
        return given.ref is None or tensor_at(self.state, given.ref).dtype not in COMPLEXES

    def operands(self) -> dict[str, object]:
        """Return the arguments as the size rules see them; computed once."""
        if self._operands is None:
            given = operands_of(self.machine, self.state, self.bound)
            self._operands = {**dict.fromkeys(self.hidden, UNKNOWN), **given}
            if self.name == "einsum":
                self._operands["operands"] = self._operands.pop("tensors", None)
        return self._operands

    def _settings(self) -> dict[str, object]:
        """Return what a module was made with, as the size rules see it."""
        return {} if self.config is None else operands_of(self.machine, self.state, self.config)

    @property
    def place(self) -> tuple[object, ...]:
        """Where the call stands, and the parameters that it uses: a sequence calls all its parts at one node."""
        parts = [one.ref for one in self.inputs if one.label.startswith("p.")]
        return (self.node, self.state.site, "shapes", *parts)

    def sizes(self) -> Operand | Several:
        """Return shape and type of the result, as far as they are known."""
        if self.config is None:
            return result(self.name, self.operands())
        return module_result(self.name, self._settings(), self.operands())

    def misfit(self) -> Misfit | None:
        """Return the shapes for which torch refuses the call; None where it takes them, or may."""
        check = check_of(self.name)
        found = None if check is None else check({**self._settings(), **self.operands()})
        if found is not None or self.config is not None or len(self.bound) != 1:
            return found
        only = next(iter(self.operands().values()))
        return alone(self.name, only) if isinstance(only, Operand) else None

    def saved_labels(self) -> MustMay:
        """Return what the call saves for backward: the union over the inputs that require grad; computed once."""
        if self._saved is None:
            self._saved = self._kept()
        return self._saved

    def _kept(self) -> MustMay:
        must: set[str] = set()
        may: set[str] = set()
        for given in self.inputs:
            value = self.entry.row.saved.get(given.label)
            if value is None:
                continue
            grad = self.grad_of(given)
            if grad is False:
                continue
            kept = self.labels(value)
            may |= kept.may
            if grad is True or self._alone(given):
                must |= kept.must
        if self.state.grad is None or self.state.facts.get(AUTOCAST) is True:
            must = set()
        return MustMay(frozenset(must), frozenset(may))

    def frees(self) -> Tri:
        """Return whether a second backward through this call raises."""
        answer: Tri = False
        for given in self.inputs:
            value = self.entry.row.freed.get(given.label)
            grad = self.grad_of(given)
            if value is None or grad is False:
                continue
            known = resolve_flag(value, self.flags)
            if known is True and (grad is True or self._alone(given)):
                return True
            answer = answer if known is False else None
        return answer

    def _untried(self, given: Input) -> bool:
        """Return whether a tensor requires grad where the table measured none: the effect is unknown."""
        return self.grad_of(given) is True and bool(self.labels(self.entry.row.requires_grad).may)

    def _alone(self, given: Input) -> bool:
        """Return whether only this input can require grad: then it does, if the call is on a tape at all."""
        return all(
            self.grad_of(other) is False or not self.differentiable(other.label)
            for other in self.inputs
            if other is not given
        )

    def saved_inputs(self, labels: MustMay) -> tuple[tuple[Saved, ...], bool]:
        """Return the inputs among the labels, as saved now; and whether there may be more."""
        saved: list[Saved] = []
        for label in sorted(labels.must):
            name, _, mark = label.partition("!")
            if name.startswith(">"):
                continue
            given = [one for one in self.inputs if one.label == name]
            # Of a list of tensors, the table does not say which: all are kept.
            for one in given:
                if one.ref is not None:
                    kept = saved_now(self.machine, self.state, one.ref, name)
                    saved.append(kept._replace(multi=mark == "multi"))
        return tuple(saved), labels.may != labels.must


def _unknown_items(state: State, listed: Sequence | None) -> list[Unknown]:
    """Return the items of a list that may be tensors; one for those of an open list that shows none."""
    items = () if listed is None else listed.items or ((Unknown(),) if listed.open else ())
    return [
        item
        for item in items
        if isinstance(item, Unknown) and item.kind not in NO_TENSOR and ("tensor", item) not in state.facts
    ]


_NUMBERS = frozenset({bool, int, float})


def _absent(state: State, value: Value) -> NoGradient | None:
    """Return the None of a gradient that was never filled, among the values of an argument."""
    listed = sequence_at(state, value)
    items = (value,) if listed is None else listed.items
    return next((item for item in items if isinstance(item, NoGradient)), None)
