"""`torch.vmap`: a function of one is run for many."""

from __future__ import annotations

from typing import NamedTuple

import libcst as cst

from gradlint.domain.graph import Edge, Node
from gradlint.domain.state import State
from gradlint.domain.value import External, Partial, Ref, Tensor, Unknown, Value
from gradlint.interpreter.args import Args
from gradlint.interpreter.machine import Machine
from gradlint.interpreter.torch.tensor import new_tensor
from gradlint.interpreter.torch.transform.inside import RAISED, is_raised, mismatch, run
from gradlint.interpreter.torch.transform.levels import Level, mapped
from gradlint.interpreter.torch.transform.trees import changed, leaves, no_tensor, tensor_of

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
        return machine.program.opaque(machine, state, args.values(), node)
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
        self.level = Level("map", "vmap", node, asked.randomness != "error")
        self.sizes: set[int] = set()
        self.known = True

    def refuse(self, what: str) -> None:
        """torch raises here."""
        mismatch(self.machine, self.node, "vmap", what)
        self.known = False

    def dims(self) -> tuple[Value, ...] | None:
        """Along which dimension each positional argument is mapped."""
        given, count = self.asked.in_dims, len(self.args.positional)
        if isinstance(self.asked.randomness, str) and self.asked.randomness not in _RANDOMNESS:
            self.refuse('takes "error", "different" or "same" as `randomness`')
        elif isinstance(self.asked.chunk, int) and self.asked.chunk < 1:
            self.refuse("takes a positive `chunk_size`")
        elif not count and not self.args.keywords:
            self.refuse("is given nothing to map over")
        elif isinstance(given, (str, float)) or given is None or isinstance(given, Ref):
            self.refuse("takes an `int` or a tuple as `in_dims`")
        elif type(given) is int:
            return (given,) * count
        elif type(given) is tuple and len(given) != count:
            self.refuse(f"has {len(given)} `in_dims` for {count} arguments")
        elif type(given) is tuple:
            return given
        return None

    def split(self, value: Value, dim: Value) -> Value:
        """An argument as the function sees it."""
        if dim is None:
            return value
        if type(dim) is not int:
            self.known = False
            return value
        for leaf in leaves(self.state, value) or ():
            word = no_tensor(self.state, leaf)
            if word is not None:
                self.refuse(f"maps over {word}, which is no tensor: say `None` in `in_dims`")
                return value
        return changed(self.state, value, lambda leaf: self._part(leaf, dim))

    def _part(self, leaf: Value, dim: int) -> Value:
        record = tensor_of(self.state, leaf)
        if record is None:
            self.known = False
            return leaf
        shape = record.shape
        rest: tuple[object, ...] | None = None
        if shape is not None:
            if not -len(shape) <= dim < len(shape):
                self.refuse(f"maps along dimension {dim} of a tensor that has {len(shape)}")
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
        """What the caller gets: the results side by side."""
        out = self.asked.out_dims
        parts = [(value, out)]
        if type(out) is tuple and type(value) is tuple and len(out) == len(value):
            parts = list(zip(value, out, strict=True))
        for part, dim in parts:
            for leaf in leaves(self.state, part) or () if dim is not None else ():
                word = no_tensor(self.state, leaf)
                if word is not None:
                    self.refuse(f"wants tensors from the function, which returns {word}")
                    return RAISED
        if type(out) is tuple and type(value) is tuple and len(out) != len(value):
            self.refuse(f"has {len(out)} `out_dims` for {len(value)} results")
            return RAISED
        if type(out) is tuple and len(out) != 1 and tensor_of(self.state, value) is not None:
            self.refuse(f"has {len(out)} `out_dims` for one result")
            return RAISED
        if type(out) is tuple and type(value) is tuple:
            return tuple(self._whole(one, dim) for one, dim in zip(value, out, strict=True))
        return self._whole(value, out[0] if type(out) is tuple and out else out)

    def _whole(self, value: Value, dim: Value) -> Value:
        return changed(self.state, value, lambda leaf: self._stacked(leaf, dim))

    def _stacked(self, leaf: Value, dim: Value) -> Value:
        record = tensor_of(self.state, leaf)
        if record is None:
            return Unknown(None, leaf.origin) if isinstance(leaf, Unknown) else leaf
        if dim is None:
            if mapped_here(self.level, self.machine, record):
                self.refuse("gives results that differ, which `out_dims=None` denies")
            return leaf
        shape: tuple[object, ...] | None = None
        if record.shape is not None and type(dim) is int and len(self.sizes) == 1:
            rank = len(record.shape) + 1
            if not -rank <= dim < rank:
                self.refuse(f"puts its results along dimension {dim} of {rank}")
                return RAISED
            at = dim % rank
            shape = (*record.shape[:at], *self.sizes, *record.shape[at:])
        made = Node("vmap", self.node, [Edge(record.node, record.grad)], tracked=record.grad)
        return new_tensor(self.state, made, grad=record.grad, dtype=record.dtype, shape=shape)


_RANDOMNESS = frozenset({"error", "different", "same"})


def mapped_here(level: Level, machine: Machine, record: Tensor) -> bool:
    """Whether a result differs from run to run; the level is no more under way."""
    machine.transforms.append(level)
    found = mapped(machine, record)
    machine.transforms.remove(level)
    return found is level


def call(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    """vmap(f)(*args)"""
    asked = args.positional[0]
    assert isinstance(asked, Mapped)
    given = Args(args.positional[1:], args.keywords, args.open, args.hidden)
    if given.open:
        return machine.program.opaque(machine, state, (asked.function, *given.values()), node)
    one = _Run(machine, state, asked, given, node)
    dims = one.dims()
    if dims is None:
        return RAISED
    inner = tuple(one.split(value, dim) for value, dim in zip(given.positional, dims, strict=True))
    # What is no tensor is the same for all, among arguments by name.
    named = {name: value if no_tensor(state, value) else one.split(value, 0) for name, value in given.keywords.items()}
    if one.known and not one.level.mapped:
        one.refuse("maps over no tensor")
    elif one.known and len(one.sizes) > 1:
        sizes = " and ".join(map(str, sorted(one.sizes)))
        one.refuse(f"maps along dimensions of different sizes, {sizes}")
    if not one.known:
        return RAISED
    value = run(machine, state, one.level, asked.function, Args(inner, named), node)
    return RAISED if is_raised(value) else one.joined(value)
