"""Any torch operation, as its row of the facts table says: aliases, writes, what it saves, what requires grad."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import count
from typing import NamedTuple, TypeAlias

import libcst as cst

from gradlint import facts
from gradlint.domain import dtype as dtypes
from gradlint.domain.event import Refusal, RefusedWrite
from gradlint.domain.graph import Edge, Node, Saved, Tri
from gradlint.domain.shape import numel
from gradlint.domain.state import State
from gradlint.domain.value import NoGradient, Ref, Sequence, Tensor, Unknown, Value, View, Write
from gradlint.facts import Alias, Entry, MustMay, Param, alias_of, resolve, resolve_flag
from gradlint.semantics.args import Args
from gradlint.semantics.machine import Machine
from gradlint.semantics.modes import AUTOCAST
from gradlint.semantics.operator import absent_gradient
from gradlint.semantics.torch import faults
from gradlint.semantics.torch.bind import bind, bind_loosely, defaults_of, flag_of, operands_of, tensors_in
from gradlint.semantics.torch.inplace import bump, saved_now, write
from gradlint.semantics.torch.size import Operand, Several, module_result, result
from gradlint.semantics.torch.size import item as item_of
from gradlint.semantics.torch.tensor import (
    NO_TENSOR,
    as_tensor,
    both,
    either,
    known_tensor,
    new_tensor,
    tensor_at,
    view_of,
)

_NOTHING = MustMay(frozenset(), frozenset())


class Input(NamedTuple):
    """A tensor argument: its label in the table, and the tensor; or the graph behind something that may be one."""

    label: str
    ref: Ref | None
    origin: Node | None = None


class Operation:
    """One call of one operation, with its arguments bound."""

    __slots__ = (
        "bound",
        "config",
        "entry",
        "flags",
        "inputs",
        "machine",
        "name",
        "node",
        "overload",
        "state",
    )

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
        self.entry = entry
        self.name = entry.name
        self.node = node
        signature = entry.row.forward if entry.row.is_module else entry.sig
        if self.name == "einsum" and len(args.positional) > 1:
            args = args._replace(positional=(args.positional[0], args.positional[1:]))
        self.bound, self.overload = bind(machine, state, signature, args) or bind_loosely(signature, args)
        self.inputs = list(self._inputs(args))
        prefix = "forward." if entry.row.is_module else ""
        self.flags: dict[str, object] = defaults_of(self.overload, prefix)
        for name, value in self.bound.items():
            self.flags[prefix + name] = flag_of(machine, state, value)
        if args.open:
            for param in self.overload:
                if param.name not in self.bound:
                    self.flags[prefix + param.name] = facts.UNKNOWN
        if extra:
            self.flags.update(extra)
        self._describe()

    def _describe(self) -> None:
        """Flags that speak of the call as a whole: the largest rank, and whether all inputs are contiguous."""
        records = [tensor_at(self.state, given.ref) for given in self.inputs if given.ref is not None]
        if records and len(records) == len(self.inputs):
            if all(record.shape is not None for record in records):
                ranks = [len(record.shape or ()) for record in records]
                self.flags["@ndim"] = max(ranks)
                self.flags["@ranks"] = "r" + "x".join(map(str, ranks))
            if all("contiguous" in record.tags for record in records):
                self.flags["@contiguous"] = "yes"

    def _inputs(self, args: Args) -> Iterable[Input]:
        params = {param.name: param for param in self.overload}
        for name, value in self.bound.items():
            yield from self._input(name, value, params.get(name))

    def _input(self, name: str, value: Value, param: Param | None) -> Iterable[Input]:
        machine, state = self.machine, self.state
        absent = _absent(state, value)
        if absent is not None and param is not None and param.tensor and not param.default:
            absent_gradient(machine, absent, self.node)
        found = tensors_in(machine, state, value)
        if found or _is_list(state, value):
            for ref in found:
                yield Input(name, ref)
            if param is None or param.tensor or param.number:
                for item in _unknown_items(state, value):
                    yield Input(name, None, item.origin)
            return
        if isinstance(value, Unknown):
            if param is not None and param.tensor and not param.number:
                shown = as_tensor(machine, state, value, self.node)
                if shown is not None:
                    yield Input(name, shown)
                    return
            if param is None or param.tensor or param.number:
                yield Input(name, None, value.origin)

    # Facts.

    def labels(self, value: facts.Value) -> MustMay:
        """A fact of the row, decided by this call's arguments."""
        return resolve(value, self.flags)

    def grad_of(self, given: Input) -> Tri:
        """Whether an input requires grad."""
        if given.ref is not None:
            return tensor_at(self.state, given.ref).grad
        return None if given.origin is None or given.origin.tracked is not False else False

    def differentiable(self, label: str) -> bool:
        """Whether the table saw a gradient with regard to this input."""
        return label in self.entry.row.saved or label in self.labels(self.entry.row.no_derivative).may

    def tracked(self) -> Tri:
        """Whether autograd records this call."""
        if self.state.grad is False:
            return False
        needs = either(self.grad_of(given) for given in self.inputs if self.differentiable(given.label))
        return both(needs, self.state.grad)

    def edges(self) -> list[Edge]:
        """The ways back to the inputs."""
        row = self.entry.row
        edges: list[Edge] = []
        if self.name.endswith("_like") or self.name.startswith("Tensor.new_"):
            return edges  # The result depends on the size and type of its input, not on its values.
        for given in self.inputs:
            origin = tensor_at(self.state, given.ref).node if given.ref is not None else given.origin
            if origin is None:
                continue
            if not self.differentiable(given.label):
                edges.append(Edge(origin, None) if self._untried(given) else Edge(origin, False, "nondiff"))
                continue
            if given.label in self.labels(row.no_derivative).must:
                edges.append(Edge(origin, False, "nondiff"))
                continue
            grad = self.grad_of(given)
            if given.label in row.zero and resolve_flag(row.zero[given.label], self.flags) is True:
                edges.append(Edge(origin, grad, "zero"))
            elif given.label in row.no_gradient and resolve_flag(row.no_gradient[given.label], self.flags) is True:
                edges.append(Edge(origin, False, "nondiff"))
            else:
                edges.append(Edge(origin, grad))
        return edges

    def sizes(self) -> Operand | Several:
        """Shape and type of the result, as far as they can be told."""
        operands = operands_of(self.machine, self.state, self.bound)
        if self.name == "einsum":
            operands["operands"] = operands.pop("tensors", None)
        if self.config is None:
            return result(self.name, operands)
        config = operands_of(self.machine, self.state, self.config)
        return module_result(self.name, config, operands)

    def saved_labels(self) -> MustMay:
        """What the call keeps for backward: the union over the inputs that require grad."""
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
        """Whether a second backward through this call raises."""
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
        """Whether a tensor that requires grad stands where the table has seen none: what it does is not known."""
        return self.grad_of(given) is True and bool(self.labels(self.entry.row.requires_grad).may)

    def _alone(self, given: Input) -> bool:
        """Whether only this input can require grad: then it does, if the call is on a tape at all."""
        return all(
            self.grad_of(other) is False or not self.differentiable(other.label)
            for other in self.inputs
            if other is not given
        )

    def saved_inputs(self, labels: MustMay) -> tuple[tuple[Saved, ...], bool]:
        """The inputs among the labels, as saved now; and whether there may be more."""
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


def _is_list(state: State, value: Value) -> bool:
    return type(value) is tuple or (isinstance(value, Ref) and isinstance(state[value], Sequence))


def _unknown_items(state: State, value: Value) -> list[Unknown]:
    """The items of a list that may be tensors; one for those of an open list that shows none."""
    items: tuple[Value, ...] = value if type(value) is tuple else ()
    if isinstance(value, Ref):
        record = state[value]
        if isinstance(record, Sequence):
            items = record.items or ((Unknown(),) if record.open else ())
    return [
        item
        for item in items
        if isinstance(item, Unknown) and item.kind not in NO_TENSOR and ("tensor", item) not in state.facts
    ]


def _absent(state: State, value: Value) -> NoGradient | None:
    """The None of a gradient that was never filled, among the values of an argument."""
    if isinstance(value, NoGradient):
        return value
    items: tuple[Value, ...] = value if type(value) is tuple else ()
    if isinstance(value, Ref):
        record = state[value]
        items = record.items if isinstance(record, Sequence) else ()
    return next((item for item in items if isinstance(item, NoGradient)), None)


def apply(
    machine: Machine,
    state: State,
    entry: Entry,
    args: Args,
    node: cst.CSTNode,
    extra: dict[str, object] | None = None,
    parts: tuple[Input, ...] = (),
    config: dict[str, Value] | None = None,
) -> Value:
    """Do what the row says. `extra` are flags of a module's configuration `config`, `parts` its parameters."""
    call = Operation(machine, state, entry, args, node, extra)
    call.config = config
    call.inputs.extend(parts)
    _refused_inputs(call)
    _broken_views(call)
    _inference_saved(call)
    writes = call.labels(entry.row.writes)
    out = call.bound.get("out")
    if out is not None:
        return _out(call, out)
    if writes.may:
        return _write(call, writes)
    return _results(call)


def _refused_inputs(call: Operation) -> None:
    """Inputs that may not require grad, and tensors without one where torch insists."""
    refused = call.labels(call.entry.row.raises_if_requires_grad).must
    if call.state.grad is not True:
        return
    for given in call.inputs:
        if given.label in refused and given.ref is not None and call.grad_of(given) is True:
            faults.refused(call.machine, "input-may-not-require-grad", call.node, call.name)


def _broken_views(call: Operation) -> None:
    """A view that must not be rebased is read after a write to its base: its history cannot be told."""
    if call.state.grad is not True:
        return
    for given in call.inputs:
        if given.ref is not None and call.differentiable(given.label):
            broken_view(call.machine, call.state, given.ref, call.node)


def broken_view(machine: Machine, state: State, ref: Ref, node: cst.CSTNode) -> None:
    """Report the write behind a view from split, unbind or no_grad that is used after its base was written."""
    record = tensor_at(state, ref)
    view = record.view
    if view is None or view.kind not in ("multi", "no_grad") or record.grad is not True:
        return
    for what in state.writes(record.counter)[view.version :]:
        if what.certain:
            reason: Refusal = "multi-view" if view.kind == "multi" else "no-grad-view"
            machine.emit(RefusedWrite(what.syntax, reason, what.op, None, record.syntax, used=node))
            return


def _inference_saved(call: Operation) -> None:
    """Outside inference mode, an inference tensor cannot be saved for backward."""
    if call.state.inference is not False or call.tracked() is not True:
        return
    for label in call.saved_labels().must:
        for given in call.inputs:
            if given.label == label and given.ref is not None:
                record = tensor_at(call.state, given.ref)
                if record.inference is True:
                    related = [] if record.syntax is None else [(record.syntax, "made in inference mode here")]
                    faults.refused(call.machine, "inference-saved", call.node, call.name, related)
                    return


# Writes.


def _write(call: Operation, writes: MustMay) -> Value:
    """An operation that writes to one of its inputs."""
    machine, state = call.machine, call.state
    labels = call.saved_labels()
    saved, more = call.saved_inputs(labels)
    last: Value = None
    for label in sorted(writes.may):
        for given in [one for one in call.inputs if one.label == label]:
            if given.ref is None:
                continue
            if label.startswith(("p.", "b.")) or "embedding" in call.name:
                # A module writes to its own parameters and buffers under no_grad (`max_norm` of an embedding).
                bump(machine, state, given.ref, Write(call.node, call.name, label in writes.must))
                continue
            others = _sources(call, given)
            op = call.name.removeprefix("Tensor.")
            mine = tuple(
                one for one in saved if one.counter != tensor_at(state, given.ref).counter or _keeps(call, one)
            )
            write(
                machine, state, given.ref, op, call.node, others, mine, more or len(mine) != len(saved),
                saves_result=any(name.startswith(">") for name in labels.must),
                overwrites=not call.differentiable(label),
                certain=label in writes.must, frees=call.frees(),
            )  # fmt: skip
            last = given.ref
    views = call.labels(call.entry.row.views)
    if any(alias_of(view).kind == "same" for view in views.must) or not call.entry.row.is_module:
        return last if last is not None else _results(call)
    return last if call.entry.row.result is None else _results(call)


def _keeps(call: Operation, saved: Saved) -> bool:
    """Whether the old value of what is written is kept by the tape itself, so that the write spoils it."""
    return saved.label not in call.labels(call.entry.row.writes).may


def _sources(call: Operation, target: Input) -> list[Edge]:
    """The graphs of the inputs other than the one written to."""
    sources: list[Edge] = []
    for given in call.inputs:
        if given is target:
            continue
        origin = tensor_at(call.state, given.ref).node if given.ref is not None else given.origin
        if origin is not None:
            flows = call.grad_of(given) if call.differentiable(given.label) else False
            sources.append(Edge(origin, flows, None if flows is not False else "nondiff"))
    return sources


def _out(call: Operation, out: Value) -> Value:
    """out=: torch refuses it where an input or the target requires grad; else the target is written."""
    machine, state = call.machine, call.state
    target = known_tensor(machine, state, out)
    call.bound.pop("out")
    call.inputs = [given for given in call.inputs if given.label != "out"]
    if target is None:
        return out
    record = tensor_at(state, target)
    needs = either([call.tracked(), both(record.grad, state.grad)])
    refuses = call.entry.row.out_with_grad == "raises" or record.grad is True
    if needs is True and refuses and call.entry.row.out_with_grad != "works":
        faults.refused(machine, "out-requires-grad", call.node, call.name)
        return out
    if record.inference is True and state.inference is False:
        faults.refused(machine, "inference-write", call.node, "out=")
    bump(machine, state, target, Write(call.node, "out="))
    shape, _ = _shape_of(result(call.name, operands_of(machine, state, call.bound)))
    record = tensor_at(state, target)
    edges = [Edge(edge.node, False, "no_grad") for edge in call.edges()]
    node = Node(call.name, call.node, edges) if any(edge.node.live for edge in edges) else record.node
    if needs is False:
        state.put(target.id, record._replace(shape=shape, node=record.node if record.grad else node))
    return out


# Results.


def _results(call: Operation) -> Value:
    row = call.entry.row
    kinds = call.labels(row.result)
    if len(kinds.must) != 1 or kinds.may != kinds.must:
        kind = "Tensor" if "Tensor" in kinds.may else "?"
        if kind == "?" or len(kinds.may) > 1:
            return _unclear(call)
    else:
        (kind,) = kinds.must
    sizes = call.sizes()
    if kind == "Tensor":
        return _tensor(call, ">", sizes if isinstance(sizes, Operand) else Operand())
    if kind.startswith(("tuple(", "named(", "list(")):
        return _several(call, kind, sizes)
    if kind in ("int", "bool", "float", "str", "number", "None", "Size"):
        return None if kind == "None" else _plain(call, kind)
    return _unclear(call)


def _plain(call: Operation, kind: str) -> Value:
    """A Python number: the value flows, the gradient does not."""
    edges = [Edge(edge.node, False, "item") for edge in call.edges() if edge.node.live]
    origin = Node(call.name, call.node, edges, cut="item") if edges else None
    return Unknown("int" if kind == "int" else "number" if kind != "str" else "str", origin, None, call.node)


def _unclear(call: Operation) -> Value:
    """A result whose form depends on what is not known."""
    edges = [Edge(edge.node, None if edge.flows is not False else False, edge.cut) for edge in call.edges()]
    tracked = None if call.tracked() is not False else False
    if not any(edge.node.live for edge in edges):
        return Unknown(syntax=call.node)
    return Unknown(None, Node(call.name, call.node, edges, tracked=tracked), None, call.node)


def _several(call: Operation, kind: str, sizes: Operand | Several) -> Value:
    """A tuple of results: they share one node of the tape."""
    names = kind[kind.index("(") + 1 : -1]
    made = _node(call, None)
    if names == "*":
        items, is_open = _list_sizes(sizes)
        outputs = tuple(_output(call, ">*", size, made) for size in items)
        return call.state.new(Sequence(outputs, "list", True)) if is_open else outputs
    if kind.startswith("named("):
        names = ",".join(["Tensor"] * len(names.split(",")))
    return _structure(call, _parsed(names), sizes, made, count())


_Shape: TypeAlias = "str | list[_Shape]"


def _parsed(names: str) -> list[_Shape]:
    """`Tensor,tuple(Tensor,Tensor)` as nested lists."""
    stack: list[list[_Shape]] = [[]]
    for part in re.findall(r"\w+\(|\)|[\w*]+", names):
        if part.endswith("("):
            stack.append([])
        elif part == ")":
            inner = stack.pop()
            stack[-1].append(inner)
        else:
            stack[-1].append(part)
    return stack[0]


def _structure(
    call: Operation, names: list[_Shape], sizes: Operand | Several, made: Node, number: Iterator[int]
) -> Value:
    """The tensors of a nested result, numbered as they come."""
    outputs: list[Value] = []
    for index, name in enumerate(names):
        size = item_of(sizes, index) if isinstance(sizes, Several) else Operand()
        if isinstance(name, list):
            outputs.append(_structure(call, name, size, made, number))
        elif name == "Tensor":
            plain = size if isinstance(size, Operand) else Operand()
            outputs.append(_output(call, f">{next(number)}", plain, made))
        else:
            outputs.append(None if name == "NoneType" else call.machine.unknown())
    return tuple(outputs)


def _list_sizes(sizes: Operand | Several) -> tuple[list[Operand], bool]:
    if isinstance(sizes, Several) and sizes.items is not None and len(sizes.items) <= 16:
        return [item if isinstance(item, Operand) else Operand() for item in sizes.items], False
    each = sizes.each if isinstance(sizes, Several) else Operand()
    return [each, each], True


def _shape_of(size: object) -> tuple[tuple[object, ...] | None, str | None]:
    return (size.shape, size.dtype) if isinstance(size, Operand) else (None, None)


_CASTS = frozenset(["to", "type", "long", "int", "short", "byte", "char", "bool"])


def _node(call: Operation, dtype: str | None) -> Node:
    """The tape node of a call; where nothing is recorded, the provenance of its value."""
    row = call.entry.row
    tracked = call.tracked()
    produces = call.labels(row.requires_grad)
    edges = call.edges()
    if not produces.may or dtypes.can_require_grad(dtype) is False:
        kind = "integer" if call.name.rpartition(".")[2] in _CASTS else "nondiff"
        edges = [Edge(edge.node, False, edge.cut or kind) for edge in edges]
        return Node(call.name, call.node, edges, tracked=False, cut=kind)
    if tracked is False:
        blocked = "no_grad" if call.state.grad is False else None
        edges = [Edge(edge.node, False, edge.cut or blocked) for edge in edges]
        return Node(call.name, call.node, edges, tracked=False, cut=blocked)
    if not produces.must:
        tracked = None
    saved, more = call.saved_inputs(call.saved_labels())
    return Node(call.name, call.node, edges, tracked=tracked, saved=saved, maybe_saved=more, frees=call.frees())


def _tensor(call: Operation, label: str, size: Operand) -> Value:
    return _output(call, label, size, _node(call, size.dtype or _dtype(call)))


def _output(call: Operation, label: str, size: Operand, made: Node) -> Ref:
    """One output tensor: an alias of an input, or new."""
    views = call.labels(call.entry.row.views)
    aliases = [alias_of(view) for view in views.may]
    fitting = [alias for alias in aliases if alias.output in (label, ">*" if label == ">" else label)]
    certain = bool(fitting) and any(alias_of(view) in fitting for view in views.must)
    alias = _one_alias(call, fitting, size)
    if alias is not None:
        base = next((one.ref for one in call.inputs if one.label == alias.of), None)
        if base is not None:
            return _alias(call, alias, base, size, made, certain or _differ_in_marks(call, fitting))
    return _fresh(call, label, size, made, maybe_alias=bool(fitting))


def _one_alias(call: Operation, fitting: list[Alias], size: Operand) -> Alias | None:
    """The alias that an output is: of several that were measured, the one that the sizes at hand ask for."""
    if len({(alias.of, alias.version) for alias in fitting}) != 1:
        return None
    same = [alias for alias in fitting if alias.kind == "same"]
    views = [alias for alias in fitting if alias.kind == "view"]
    if same and views:
        base = next((one.ref for one in call.inputs if one.label == same[0].of), None)
        shape = tensor_at(call.state, base).shape if base is not None else None
        return same[0] if shape is not None and shape == size.shape else views[0]
    marked = [alias for alias in fitting if alias.multi or alias.overlap]
    return marked[0] if marked else fitting[0]


def _differ_in_marks(call: Operation, fitting: list[Alias]) -> bool:
    """Whether the measured calls agree that the output is a view, and differ in what else is said of it.

    An empty view shares no storage, so a few views are measured as sometimes none.
    """
    if call.name.rpartition(".")[2] in _ALWAYS_VIEWS:
        return True
    return len({alias.kind for alias in fitting}) == 1 and len(fitting) > 1


_ALWAYS_VIEWS = frozenset({"narrow"})


def _fresh(call: Operation, label: str, size: Operand, made: Node, maybe_alias: bool) -> Ref:
    state = call.state
    produces = call.labels(call.entry.row.requires_grad)
    grad = made.tracked
    if label not in produces.may:
        grad = False
        if made.tracked is not False:
            edges = [Edge(edge.node, False, edge.cut or "nondiff") for edge in made.edges]
            made = Node(made.op, made.syntax, edges, cut="nondiff")
    elif label not in produces.must and grad:
        grad = None
    shape, dtype = size.shape, size.dtype or _dtype(call)
    if dtypes.can_require_grad(dtype) is False:
        grad = False
    if shape is None and label in call.labels(call.entry.row.scalar).must:
        shape = ()
    tags = _layout(call) | (UNREDUCED if shape is None and _keeps_elements(call) else frozenset())
    ref = new_tensor(state, made, grad=grad, dtype=dtype, shape=shape, tags=tags)
    labels = call.saved_labels()
    if made.tracked is not False and label in {name.partition("!")[0] for name in labels.must}:
        # The node is this call's own and nobody else has seen it yet.
        made.saved = (*made.saved, saved_now(call.machine, state, ref, label))
    return ref


UNREDUCED = frozenset({"unreduced"})
"""The tag of a loss with `reduction="none"` whose shape is not known: an element for each of a batch."""


def _keeps_elements(call: Operation) -> bool:
    """Whether a loss was asked not to reduce."""
    return call.flags.get("reduction") == "none"


def _dtype(call: Operation) -> str | None:
    rule = call.labels(call.entry.row.dtype)
    if len(rule.must) != 1 or rule.may != rule.must:
        return None
    (name,) = rule.must
    if name == "same" and call.inputs and call.inputs[0].ref is not None:
        return tensor_at(call.state, call.inputs[0].ref).dtype
    return dtypes.named(name)


CONTIGUOUS = frozenset({"contiguous", "cpu"})
"""The tags of a tensor that is laid out without gaps, on the CPU."""


def _layout(call: Operation) -> frozenset[str]:
    """A result is laid out like its inputs, and where they are; one made of none is contiguous, and on the CPU."""
    tags = CONTIGUOUS if "device" not in call.bound else CONTIGUOUS - {"cpu"}
    for given in call.inputs:
        tags &= tensor_at(call.state, given.ref).tags if given.ref is not None else frozenset()
    return tags


def _alias(call: Operation, alias: Alias, base: Ref, size: Operand, made: Node, certain: bool) -> Ref:
    state = call.state
    record = tensor_at(state, base)
    shape, dtype = size.shape, size.dtype
    if alias.kind == "same":
        if certain or _returns_itself(call, record, size):
            return base
        return _maybe(call, base, record, size, made)
    if not certain and ("contiguous" not in record.tags or call.name.rpartition(".")[2] not in _VIEW_IF_CONTIGUOUS):
        return _maybe(call, base, record, size, made)
    if alias.kind == "share":
        return _share(call, alias, record, shape, dtype, made)
    kind = "multi" if alias.multi else "plain"
    if state.inference is True:
        kind = "inference"
    elif state.grad is False and record.inference is not True:
        kind = "no_grad"
    elif state.grad is None and kind == "plain":
        kind = "maybe"
    expanded = _expanded(call.name, record, shape, alias)
    grad = record.grad
    node = (
        made
        if made.tracked is not False
        else Node(made.op, made.syntax, [Edge(record.node, False, "no_grad" if state.grad is False else None)])
    )
    tags = record.tags & (CONTIGUOUS if call.name.rpartition(".")[2] in _KEEPS_LAYOUT else CONTIGUOUS - {"contiguous"})
    ref = view_of(state, base, node, kind=kind, shape=shape, expanded=expanded, grad=grad, dtype=dtype, tags=tags)
    if "data" in record.tags:
        state.put(ref.id, tensor_at(state, ref)._replace(tags=tags | {"data"}))
    return ref


_VIEW_IF_CONTIGUOUS = frozenset({"reshape", "flatten", "ravel", "reshape_as", "contiguous"})
_KEEPS_LAYOUT = frozenset(
    [
        "view",
        "view_as",
        "reshape",
        "flatten",
        "ravel",
        "unsqueeze",
        "squeeze",
        "reshape_as",
        "unflatten",
        "contiguous",
    ]
)


def _expanded(
    call_name: str, record: Tensor, shape: tuple[object, ...] | None, alias: Alias
) -> tuple[bool, ...] | None:
    """Which dimensions of a view repeat one cell: those that an expansion added or made longer."""
    former = record.view.expanded if record.view is not None else ()
    if record.shape is None or shape is None or former is None:
        return None if alias.overlap or former else ()
    if call_name.rpartition(".")[2] not in _EXPANDING or not _grows(record.shape, shape):
        return () if former == () else None
    extra = len(shape) - len(record.shape)
    known = (*([False] * extra), *(former or [False] * len(record.shape)))
    sizes = (*([1] * extra), *record.shape)
    return tuple(
        (was or old == 1) and isinstance(new, int) and new > 1
        for was, old, new in zip(known, sizes, shape, strict=True)
    )


_EXPANDING = frozenset({"expand", "expand_as", "broadcast_to", "broadcast_tensors"})


def _grows(old: tuple[object, ...], new: tuple[object, ...]) -> bool:
    """Whether a view has certainly more elements than the tensor it is taken of."""
    before, after = numel(old), numel(new)  # type: ignore[arg-type]
    return before is not None and after is not None and after > before


def _returns_itself(call: Operation, record: Tensor, size: Operand) -> bool:
    """Casts and moves give the same tensor back where there is nothing to do."""
    name = call.name.rpartition(".")[2]
    if name in ("float", "double", "half", "bfloat16", "long", "int", "bool", "short", "to", "type_as"):
        if name == "to" and "device" in call.bound:
            return False
        return record.dtype is not None and size.dtype == record.dtype
    return name == "flatten" and record.shape is not None and len(record.shape) == 1


def _maybe(call: Operation, base: Ref, record: Tensor, size: Operand, made: Node) -> Ref:
    """An alias of the base or a copy: writes to one may or may not be seen by the other."""
    state = call.state
    casts = record.dtype is not None and size.dtype is not None and record.dtype != size.dtype
    if casts or record.grad is not False or record.node.live:
        maybe = None if made.tracked and not casts and record.leaf is not False else made.tracked
        if record.leaf is False or casts or record.grad is False:
            maybe = made.tracked
        node = made
        if maybe is None and made.tracked is not None:
            node = Node(made.op, made.syntax, made.edges, tracked=None, maybe_saved=True)
    else:
        node = made
    grad = record.grad if state.grad is False and not casts else made.tracked
    ref = new_tensor(state, node, grad=grad, dtype=size.dtype or record.dtype, shape=size.shape)
    if not casts:
        fresh = tensor_at(state, ref)
        state.put(ref.id, fresh._replace(view=View(base.id if record.view is None else record.view.base, "maybe")))
    return ref


def _share(
    call: Operation,
    alias: Alias,
    record: Tensor,
    shape: tuple[object, ...] | None,
    dtype: str | None,
    made: Node,
) -> Ref:
    """detach and .data: the same memory, no graph; `.data` has a version counter of its own."""
    from gradlint.domain.state import fresh_address

    state = call.state
    cut = "detach" if alias.version else "data"
    node = Node(call.name, call.node, [Edge(record.node, False, cut)], cut=cut)
    tags = record.tags & CONTIGUOUS
    counter = record.counter if alias.version else fresh_address()
    if not alias.version or "data" in record.tags:
        tags |= {"data"}
    return state.new(
        Tensor(
            counter, record.memory, node, False, dtype or record.dtype, shape or record.shape,
            inference=record.inference, syntax=call.node, tags=tags,
        )
    )  # fmt: skip
