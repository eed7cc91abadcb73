"""`torch.vmap`: a function of one is run for many."""

from __future__ import annotations

from typing import NamedTuple

import libcst as cst

from gradlint.domain.graph import Edge, Node
from gradlint.domain.refusal.transform import Mismatch, TransformMismatch
from gradlint.domain.shape import Shape
from gradlint.domain.state import State
from gradlint.domain.value import Args, External, Partial, Ref, Tensor, Unknown, Value
from gradlint.interpreter.escape import unknown_call
from gradlint.interpreter.machine import Machine
from gradlint.interpreter.torch.tensor import is_raised, new_tensor
from gradlint.interpreter.torch.transform.inside import RAISED, mismatch, run
from gradlint.interpreter.torch.transform.level import Level
from gradlint.interpreter.torch.transform.levels import JOINED, mapped
from gradlint.interpreter.torch.transform.trees import (
    changed,
    covers,
    leaves,
    no_tensor,
    other_leaf,
    paired,
    structure,
    tensor_of,
)

RUN = "torch.func.<map>"


class Mapped(NamedTuple):
    """What `vmap` was asked for."""

    function: Value
    in_dims: Value
    out_dims: Value
    randomness: Value
    chunk: Value


def vmap(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    """vmap(f, in_dims, out_dims, randomness)"""
    if args.open or not args.has(0, "func"):
        return unknown_call(machine, state, args.values(), node)
    asked = Mapped(
        args.get(0, "func"), args.get(1, "in_dims", 0), args.get(2, "out_dims", 0), args.get(3, "randomness", "error"),
        args.keywords.get("chunk_size"),
    )  # fmt: skip
    return Partial(External(RUN), (asked,), ())


class _Run:
    """One call of a mapped function."""

    def __init__(self, machine: Machine, state: State, asked: Mapped, args: Args, node: cst.CSTNode) -> None:
        self.machine = machine
        self.state = state
        self.asked = asked
        self.args = args
        self.node = node
        self.level = Level("map", "vmap", node, asked.randomness != "error", asked.randomness == "different")
        self.sizes: set[int] = set()
        self.known = True

    def refuse(self, reason: Mismatch, got: str | int | None = None, wanted: int | None = None) -> None:
        """torch raises here."""
        mismatch(self.machine, self.node, "vmap", reason, got, wanted)
        self.known = False

    def dims(self) -> tuple[Value, ...] | None:
        """Along which dimension each positional argument is mapped."""
        given, count = self.asked.in_dims, len(self.args.positional)
        if isinstance(self.asked.randomness, str) and self.asked.randomness not in _RANDOMNESS:
            self.refuse("randomness")
        elif isinstance(self.asked.chunk, int) and self.asked.chunk < 1:
            self.refuse("chunk-size")
        elif not count and not self.args.keywords:
            self.refuse("map-nothing")
        elif isinstance(given, (str, float)) or given is None or isinstance(given, Ref):
            self.refuse("in-dims-kind")
        elif type(given) is int:
            return (given,) * count
        elif type(given) is tuple and len(given) != count:
            self.refuse("in-dims-count", len(given), count)
        elif type(given) is tuple:
            return given
        return None

    def split(self, value: Value, dims: Value) -> Value:
        """Return an argument as the function sees it."""
        asked, nested = structure(self.state, dims), structure(self.state, value)
        if dims is None:
            return value
        if type(dims) is int and nested is None:
            return changed(self.state, value, lambda leaf: self._part(leaf, dims))
        if asked is None or nested is None:
            self.known = False
            return value
        if not covers(asked, nested):
            self.refuse("in-dims-structure")
            return value
        return paired(self.state, value, dims, self._part)

    def _part(self, leaf: Value, dim: Value) -> Value:
        if dim is None or not self.known:
            return leaf
        if type(dim) is int and (other := no_tensor(self.state, leaf)) is not None:
            self.refuse("map-kind", other)
            return leaf
        record = tensor_of(self.state, leaf)
        if record is None or type(dim) is not int:
            self.known = False
            return leaf
        shape = record.shape
        rest: Shape = None
        if shape is not None:
            if not -len(shape) <= dim < len(shape):
                self.refuse("map-dim", dim, len(shape))
                return leaf
            size = shape[dim]
            if isinstance(size, int):
                self.sizes.add(size)
            at = dim % len(shape)
            rest = (*shape[:at], *shape[at + 1 :])
        # It is live so that it is known of whatever is computed from it.
        made = Node("mapped", self.node, [Edge(record.node, record.grad)], tracked=record.grad, live=True)
        self.level.mapped.add(made.id)
        return self.state.new(
            Tensor(
                record.counter, record.memory, made, record.grad, record.dtype, rest,
                inference=record.inference, syntax=self.node, tags=record.tags & {"data", "cpu"},
            )
        )  # fmt: skip

    def joined(self, value: Value) -> Value:
        """Return what the caller gets: the results side by side."""
        out = self.asked.out_dims
        if any(isinstance(one, (str, float)) for one in leaves(self.state, out) or ()):
            self.refuse("out-dims-kind")
            return RAISED
        parts = [(value, out)]
        if type(out) is tuple and type(value) is tuple and len(out) == len(value):
            parts = list(zip(value, out, strict=True))
        for part, dim in parts:
            if type(dim) is int and (other := other_leaf(self.state, part)) is not None:
                self.refuse("output-kind", other)
                return RAISED
        if type(out) is tuple and type(value) is tuple and len(out) != len(value):
            self.refuse("out-dims-count", len(out), len(value))
            return RAISED
        if type(out) is tuple and len(out) != 1 and tensor_of(self.state, value) is not None:
            self.refuse("out-dims-single", len(out))
            return RAISED
        if type(out) is tuple and tensor_of(self.state, value) is not None:
            out = out[0]
        asked, nested = structure(self.state, out), structure(self.state, value)
        if nested is None:
            return changed(self.state, value, lambda leaf: self._stacked(leaf, out))
        if asked is None:
            return Unknown()
        if not covers(asked, nested):
            self.refuse("out-dims-structure")
            return RAISED
        return paired(self.state, value, out, self._stacked)

    def _stacked(self, leaf: Value, dim: Value) -> Value:
        record = tensor_of(self.state, leaf)
        if record is None:
            origin = leaf.origin if isinstance(leaf, Unknown) else None
            whole = None if origin is None else Node(JOINED, self.node, [Edge(origin, None)], tracked=None)
            return Unknown(None, whole) if isinstance(leaf, Unknown) or dim is not None else leaf
        if dim is None:
            if mapped_here(self.level, self.machine, record):
                self.refuse("out-dims-none")
            return leaf
        shape: Shape = None
        if record.shape is not None and type(dim) is int and len(self.sizes) == 1:
            rank = len(record.shape) + 1
            if not -rank <= dim < rank:
                self.refuse("out-dim", dim, rank)
                return RAISED
            at = dim % rank
            shape = (*record.shape[:at], *self.sizes, *record.shape[at:])
        made = Node(JOINED, self.node, [Edge(record.node, record.grad)], tracked=record.grad)
        return new_tensor(self.state, made, grad=record.grad, dtype=record.dtype, shape=shape)


_RANDOMNESS = frozenset({"error", "different", "same"})


def mapped_here(level: Level, machine: Machine, record: Tensor) -> bool:
    """Return whether a result differs from run to run; the level is no more under way."""
    machine.transforms.append(level)
    found = mapped(machine, record)
    machine.transforms.remove(level)
    return found is level


def call(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    """vmap(f)(*args)"""
    asked = args.positional[0]
    assert isinstance(asked, Mapped)
    given = args.rest
    if given.open:
        return unknown_call(machine, state, (asked.function, *given.values()), node)
    one = _Run(machine, state, asked, given, node)
    dims = one.dims()
    if dims is None:
        return RAISED
    inner = tuple(one.split(value, dim) for value, dim in zip(given.positional, dims, strict=True))
    # Arguments by name are the same for all.
    if one.known and not one.level.mapped:
        one.refuse("map-no-tensor")
    elif one.known and len(one.sizes) > 1:
        machine.emit(TransformMismatch(node, "vmap", "map-sizes", sizes=tuple(sorted(one.sizes))))
        one.known = False
    if not one.known:
        return RAISED
    value = run(machine, state, one.level, asked.function, Args(inner, given.keywords), node)
    if is_raised(value):
        return RAISED
    machine.left.update(dict.fromkeys(one.level.mapped, one.level))
    return one.joined(value)
