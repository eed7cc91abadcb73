"""Embeddings made of weights that are there already: frozen, unless asked otherwise."""

from __future__ import annotations

import libcst as cst

from gradlint.domain.state import State
from gradlint.domain.value import Args, Instance, Ref, Tensor, Value
from gradlint.interpreter.machine import Machine, Native
from gradlint.interpreter.torch.module import new_module
from gradlint.interpreter.torch.tensor import known_tensor, tensor_at


def _from_pretrained(path: str) -> Native:
    """Embedding.from_pretrained(embeddings, freeze=True, ...)"""

    def make(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
        given = known_tensor(machine, state, args.get(0, "embeddings"))
        shape = None if given is None else tensor_at(state, given).shape
        sizes = shape if shape is not None and len(shape) == 2 else (machine.unknown("int"), machine.unknown("int"))
        module = new_module(machine, state, path, Args(tuple(sizes)), node)
        record = state[module] if isinstance(module, Ref) else None
        weight = record.attrs.get("weight") if isinstance(record, Instance) else None
        leaf = state.heap.get(weight.id) if isinstance(weight, Ref) else None
        if isinstance(weight, Ref) and isinstance(leaf, Tensor):
            freeze = args.get(1, "freeze", True)
            flag = not freeze if isinstance(freeze, bool) and not args.open else None
            dtype = None if given is None else tensor_at(state, given).dtype
            state.put(weight.id, leaf._replace(grad=flag, dtype=dtype))
        return module

    return make


PRETRAINED: dict[str, Native] = {
    f"torch.nn.{name}.from_pretrained": _from_pretrained(f"torch.nn.{name}") for name in ("Embedding", "EmbeddingBag")
}
