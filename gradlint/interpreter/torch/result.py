"""What an operation gives: numbers, new tensors, tuples of them; each with its node on the tape.

Results of layers with more than one feature, and what is computed from them element by element, carry the tag of
`SEVERAL`. Losses without reduction carry the assumption that their batch has several rows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import count
from types import MappingProxyType
from typing import Final, NamedTuple, TypeAlias

import libcst as cst

from gradlint.domain import dtype as dtypes
from gradlint.domain.assumption import Assumption, several_rows
from gradlint.domain.graph import Edge, Node, Saved
from gradlint.domain.shape import at_least_two, is_single
from gradlint.domain.value import Ref, Sequence, Tags, Tensor, Unknown, Value
from gradlint.domain.walk import inputs, reachable
from gradlint.facts.row import alias_of
from gradlint.facts.traits import CONVERTS, JOINS, OF_ONE_EACH, ONE_OR_MANY, SIZE_BY_OTHER
from gradlint.interpreter.python.contexts import saves_by_hooks
from gradlint.interpreter.reachable import contents
from gradlint.interpreter.torch.alias import CONTIGUOUS, alias_output
from gradlint.interpreter.torch.operation import Input, Operation
from gradlint.interpreter.torch.tensor import Storage, is_scalar, known_tensor, new_storage, new_tensor, tensor_at
from gradlint.shapes.infer import rule_of
from gradlint.shapes.operand import Operand, Several
from gradlint.source.lower.syntax import nodes_of


def results(call: Operation) -> Value:
    """Return what the call gives, in the form that the table says."""
    row = call.entry.row
    kinds = call.labels(row.result)
    if call.canonical in ONE_OR_MANY and len(call.inputs) == 1 and call.inputs[0].ref is not None:
        kind = "Tensor"
    elif len(kinds.must) != 1 or kinds.may != kinds.must:
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
    if kind in ("int", "bool", "float", "str", "number", "None"):
        return None if kind == "None" else _plain(call, kind)
    return _unclear(call)


def _plain(call: Operation, kind: str) -> Value:
    """Return a Python number: the value flows, the gradient does not."""
    edges = [Edge(edge.node, False, "item") for edge in call.edges() if edge.node.live]
    origin = Node(call.name, call.node, edges, cut="item") if edges else None
    return Unknown("int" if kind == "int" else "number" if kind != "str" else "str", origin, None, call.node)


def _unclear(call: Operation) -> Value:
    """Return a result whose form depends on what is not known."""
    edges = [Edge(edge.node, None if edge.flows is not False else False, edge.cut) for edge in call.edges()]
    tracked = None if call.tracked() is not False else False
    if not any(edge.node.live for edge in edges):
        return Unknown(syntax=call.node)
    return Unknown(None, Node(call.name, call.node, edges, tracked=tracked), None, call.node)


def _several(call: Operation, kind: str, sizes: Operand | Several) -> Value:
    """Return a tuple of results: they share one node of the tape."""
    names = kind[kind.index("(") + 1 : -1]
    if call.canonical in OF_ONE_EACH:
        return _of_one_each(call, sizes)
    made = _recorded(call, None)
    if names == "*" or _differ_in_number(names, sizes):
        items, is_open = _list_sizes(sizes)
        outputs = tuple(_output(call, ">*" if names == "*" else ">0", size, made) for size in items)
        return call.state.new(Sequence(outputs, "list", True)) if is_open else outputs
    if kind.startswith("named("):
        names = ",".join(["Tensor"] * len(names.split(",")))
    return _structure(call, _parsed(names), sizes, made, count())


def _of_one_each(call: Operation, sizes: Operand | Several) -> Value:
    """Return a tuple of results of which each is computed from one input; where it is not known which, any may be."""
    given, (items, is_open) = call.inputs, _list_sizes(sizes)
    if is_open or len(items) != len(given):
        return _unclear(call)
    outputs: list[Value] = []
    for one, size in zip(given, items, strict=True):
        call.inputs = [one]
        outputs.append(_output(call, ">*", size, _recorded(call, None)))
    call.inputs = given
    return tuple(outputs)


def _differ_in_number(names: str, sizes: Operand | Several) -> bool:
    """Return whether there are more or fewer tensors than the samples had, as of `unbind`, or it is not known."""
    found = names.split(",")
    number = len(sizes.items) if isinstance(sizes, Several) and sizes.items is not None else None
    return isinstance(sizes, Several) and {*found} == {"Tensor"} and number != len(found)


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
    call: Operation, names: list[_Shape], sizes: Operand | Several, made: _Recorded, number: Iterator[int]
) -> Value:
    """Return the tensors of a nested result, numbered as they come."""
    outputs: list[Value] = []
    for index, name in enumerate(names):
        size = sizes.item(index) if isinstance(sizes, Several) else Operand()
        if isinstance(name, list):
            outputs.append(_structure(call, name, size, made, number))
        elif name == "Tensor":
            plain = size if isinstance(size, Operand) else Operand()
            outputs.append(_output(call, f">{next(number)}", plain, made))
        else:
            outputs.append(None if name == "NoneType" else Unknown())
    return tuple(outputs)


def _list_sizes(sizes: Operand | Several) -> tuple[list[Operand], bool]:
    if isinstance(sizes, Several) and sizes.items is not None and len(sizes.items) <= 16:
        return [item if isinstance(item, Operand) else Operand() for item in sizes.items], False
    each = sizes.each if isinstance(sizes, Several) else Operand()
    return [each, each], True


class _Recorded(NamedTuple):
    """The node of a call, and the storage set aside for those results that the node has saved."""

    node: Node
    kept: Mapping[str, Storage] = MappingProxyType({})


def _recorded(call: Operation, dtype: str | None) -> _Recorded:
    """Return the tape node of a call; where nothing is recorded, the provenance of its value."""
    row = call.entry.row
    tracked = call.tracked()
    produces = call.labels(row.requires_grad)
    edges = call.edges()
    if not produces.may or dtypes.can_require_grad(dtype) is False:
        kind = "integer" if call.canonical in CONVERTS else "nondiff"
        edges = [Edge(edge.node, False, edge.cut or kind) for edge in edges]
        return _Recorded(Node(call.name, call.node, edges, tracked=False, cut=kind, operands=call.terms))
    if tracked is False:
        blocked = call.state.unrecorded()
        if blocked is None:
            edges = [edge._replace(flows=False) for edge in edges]
            return _Recorded(Node(call.name, call.node, edges, tracked=False, operands=call.terms))
        edges = [Edge(edge.node, False, blocked.kind) for edge in edges]
        cut, place = blocked.kind, blocked.syntax
        node = Node(call.name, call.node, edges, tracked=False, cut=cut, place=place, operands=call.terms)
        return _Recorded(node)
    if not produces.must:
        tracked = None
    saved, more = call.saved_inputs(call.saved_labels())
    kept = _kept_results(call)
    hooked = saves_by_hooks(call.state)
    results = [
        Saved(one.counter, 0, one.memory, 0, label, own=label in produces.may, hooked=hooked)
        for label, one in kept.items()
    ]
    node = Node(
        call.name, call.node, edges, tracked=tracked, saved=(*saved, *results), maybe_saved=more, frees=call.frees(),
        operands=call.terms,
    )  # fmt: skip
    return _Recorded(node, kept)


def _kept_results(call: Operation) -> dict[str, Storage]:
    """Storage for the results that the node saves, which is made before them; an alias has that of its base.

    Left out are those of an open list, all of which have one label.
    """
    labels = [label.partition("!")[0] for label in sorted(call.saved_labels().must) if label.startswith(">")]
    if not labels:
        return {}
    aliases = {alias_of(label).output for label in call.labels(call.entry.row.views).may}
    kept = {label: new_storage() for label in labels if label not in aliases | {">*"}}
    for storage in kept.values():
        call.machine.watched.update(storage)
    return kept


def _tensor(call: Operation, label: str, size: Operand) -> Value:
    return _output(call, label, size, _recorded(call, size.dtype or _dtype(call)))


def _output(call: Operation, label: str, size: Operand, made: _Recorded) -> Ref:
    """Return one output tensor: an alias of an input, or new."""
    return alias_output(call, label, size, made.node) or _fresh(call, label, size, made)


def _fresh(call: Operation, label: str, size: Operand, recorded: _Recorded) -> Ref:
    state, made = call.state, recorded.node
    produces = call.labels(call.entry.row.requires_grad)
    grad = made.tracked
    if label not in produces.may:
        grad = False
        if made.tracked is not False:
            edges = [Edge(edge.node, False, edge.cut or "nondiff") for edge in made.edges]
            made = Node(made.op, made.syntax, edges, cut="nondiff")
    elif label not in produces.must and grad:
        grad = None
    # The dtype is that of the first result: results without a gradient, such as indices, may have another.
    is_first = label in produces.may or not label.startswith(">") or label == ">0"
    shape, dtype = size.shape, size.dtype or (_dtype(call) if is_first else None)
    if dtypes.can_require_grad(dtype) is False:
        grad = False
    # Of what has no rule of sizes: some samples reduce all dimensions by name, and one of an unknown shape is left out.
    if shape is None and rule_of(call.name) is None and call.bound.get("dim") is None:
        shape = () if label in call.labels(call.entry.row.scalar).must else None
    tags = _layout(call) if is_single(shape) is not None else _layout(call) | several(call)
    storage = recorded.kept.get(label)
    return new_tensor(state, made, grad=grad, dtype=dtype, shape=shape, tags=tags, storage=storage)


def _dtype(call: Operation) -> str | None:
    rule = call.labels(call.entry.row.dtype)
    if len(rule.must) != 1 or rule.may != rule.must:
        return None
    (name,) = rule.must
    first = call.inputs[0] if call.inputs else None
    same = None if first is None or first.ref is None else tensor_at(call.state, first.ref).dtype
    measured = same if name == "same" else dtypes.named(name)
    if (name == "same" or dtypes.is_floating(measured) is not False) and not _all_are(call, measured):
        return None  # It was measured on inputs of one type, and says nothing of others.
    if dtypes.is_floating(measured) is False and any(is_scalar(value) for value in call.bound.values()):
        return None  # Beside a float, an integer becomes one.
    return measured


def _all_are(call: Operation, dtype: str | None) -> bool:
    """Return whether all that may be a tensor certainly is one of this type."""
    if any(given.ref is None or tensor_at(call.state, given.ref).dtype != dtype for given in call.inputs):
        return False
    return not any(_may_be_tensor(call, value) for value in contents(call.state, call.bound.values()))


def _may_be_tensor(call: Operation, value: Value) -> bool:
    unknown = isinstance(value, Unknown) and value.kind is None
    return unknown and known_tensor(call.machine, call.state, value) is None


def _layout(call: Operation) -> Tags:
    """Return the tags of a result: laid out as its inputs and on their device; of no inputs, contiguous on CPU."""
    tags: Tags = CONTIGUOUS if "device" not in call.bound else CONTIGUOUS - {"cpu"}
    for given in call.inputs:
        tags &= tensor_at(call.state, given.ref).tags if given.ref is not None else frozenset()
    return tags


SEVERAL: Final = frozenset({"several"})


def several(call: Operation) -> Tags:
    """Why the result of an operation has other than one element, of whatever shape it is; empty if it may have one."""
    if call.flags.get("reduction") == "none":
        unreduced = call.entry.sig.param("reduction") is not None and call.machine.assumes
        rests = unreduced and not _has_one_row(call)
        return frozenset({several_rows(call.name, call.node)}) if rests else frozenset()
    if _has_features(call) or _joins(call):
        return SEVERAL
    records = [tensor_at(call.state, given.ref) for given in _kept(call) if given.ref is not None]
    if any(record.tags >= SEVERAL for record in records):
        return SEVERAL
    return frozenset(taken for record in records for taken in assumed_of(record))


def _has_one_row(call: Operation) -> bool:
    """Return whether the targets of a loss are made of a list that is written with one item: `tensor([label])`."""
    targets = [tensor_at(call.state, one.ref) for one in call.inputs if one.ref is not None and one.label == "target"]
    made = {source.syntax for one in targets for source in reachable([one.node], inputs)}
    lists = [part for part in nodes_of(*(one for one in made if one is not None)) if isinstance(part, cst.List)]
    return any(len(one.elements) == 1 and not isinstance(one.elements[0].value, cst.List) for one in lists)


def assumed_of(record: Tensor) -> tuple[Assumption, ...]:
    """Return what is assumed of the size of a tensor."""
    return tuple(tag for tag in record.tags if isinstance(tag, Assumption))


def _kept(call: Operation) -> list[Input]:
    """Return the inputs of which each element leaves one in the result."""
    size = call.labels(call.entry.row.size).must
    if size == {"same:input"} and call.canonical not in SIZE_BY_OTHER:
        return [given for given in call.inputs if given.label == "input"]
    return call.inputs if size == {"bcast"} else []


def _joins(call: Operation) -> bool:
    """Return whether two tensors or more are put together: in a loop, what two iterations have given."""
    if call.canonical not in JOINS:
        return False
    joined = {given.ref.id: given.ref for given in call.inputs if given.ref is not None and given.label == "tensors"}
    return len(joined) >= 2 and not any(0 in (tensor_at(call.state, ref).shape or ()) for ref in joined.values())


def _has_features(call: Operation) -> bool:
    """Return whether the last dimension of the result has several features by construction."""
    wanted = _FEATURES.get(call.name)
    if wanted is not None and call.config is not None:
        count = call.config.get(wanted)
        return isinstance(count, int) and not isinstance(count, bool) and count >= 2
    weight = next((one for one in call.inputs if one.label == _WEIGHTS.get(call.canonical)), None)
    if weight is None or weight.ref is None:
        return False
    shape = tensor_at(call.state, weight.ref).shape
    size = None if shape is None or len(shape) < 2 else shape[0 if call.canonical == "linear" else -1]
    return size is not None and at_least_two(size)


_FEATURES = {"nn.Linear": "out_features", "nn.Embedding": "embedding_dim"}
_WEIGHTS = {"linear": "weight", "matmul": "other"}
