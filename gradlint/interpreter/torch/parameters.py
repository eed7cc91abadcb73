"""The parameters and submodules of a module, found the way torch registers them."""

from __future__ import annotations

from collections.abc import Iterator

from gradlint.domain.state import State
from gradlint.domain.value import External, Instance, OptimizerState, Ref, Tensor, Unknown, Value, is_unnamed
from gradlint.domain.walk import reachable
from gradlint.interpreter.python.classes import has_unknown_base, library_base

_NO_MODULES = ("torch.nn.functional.", "torch.nn.init.", "torch.nn.utils.")
_TENSORS = frozenset({"torch.nn.Parameter", "torch.nn.Buffer", "torch.nn.UninitializedParameter"})
LISTS = frozenset({"torch.nn.Sequential", "torch.nn.ModuleList", "torch.nn.ParameterList"})
DICTS = frozenset({"torch.nn.ModuleDict", "torch.nn.ParameterDict"})


def is_module_path(path: str) -> bool:
    """Return whether a library class is a module: torch's own, or one that derives from it."""
    if path.startswith("torch.nn."):
        return not path.startswith(_NO_MODULES) and path not in _TENSORS
    return path.endswith((".LightningModule", ".PreTrainedModel", ".FullyShardedDataParallel"))


def module_base(state: State, record: Instance) -> str | None:
    """Return the library's module class that an object is of; None if it is no module."""
    path: str | None
    path = record.cls.path if isinstance(record.cls, External) else library_base(state, record.cls)
    return path if path is not None and is_module_path(path) else None


def is_module(state: State, value: Value) -> bool:
    """Return whether a value is a module."""
    if not isinstance(value, Ref):
        return False
    record = state.heap.get(value.id)
    return isinstance(record, Instance) and module_base(state, record) is not None


def is_opaque(state: State, record: Instance) -> bool:
    """Return whether a module may have parameters that were not seen."""
    if isinstance(record.cls, Ref) and has_unknown_base(state, record.cls):
        return True
    return record.open


def modules_of(state: State, root: Ref) -> Iterator[tuple[Ref, Instance]]:
    """Yield a module and all those registered in it, each once."""

    def children(ref: Ref) -> list[Ref]:
        record = state.heap[ref.id]
        assert isinstance(record, Instance)
        return [child for _, child in reversed(children_of(state, record))]

    for ref in reachable([root], children):
        record = state.heap[ref.id]
        assert isinstance(record, Instance)
        yield ref, record


def children_of(state: State, record: Instance) -> list[tuple[str, Ref]]:
    """Return the modules registered directly in a module."""
    return [(name, value) for name, value in record.attrs.items() if isinstance(value, Ref) and is_module(state, value)]


def parameters_of(state: State, root: Ref) -> tuple[list[tuple[str, Ref]], bool]:
    """Return the parameters of a module, each once, and whether there may be more."""
    found: dict[int, tuple[str, Ref]] = {}
    is_open = False
    for prefix, record in named_modules(state, root):
        is_open = is_open or is_opaque(state, record)
        for name, value in record.attrs.items():
            if isinstance(value, Ref):
                tensor = state.heap.get(value.id)
                if isinstance(tensor, Tensor) and tensor.parameter:
                    found.setdefault(value.id, (prefix + name, value))
            elif isinstance(value, Unknown) and not is_unnamed(name):
                is_open = is_open or value.kind is None
    return list(found.values()), is_open


def held_by_optimizer(state: State, optimizer: Ref) -> tuple[Ref, ...]:
    """Return the parameters that an optimizer is known to hold."""
    params = optimizer_state(state.heap.get(optimizer.id)).params
    return tuple(one for one in params if isinstance(one, Ref)) if isinstance(params, tuple) else ()


def optimizer_state(record: object) -> OptimizerState:
    """Return what is known of an optimizer; of what is none, nothing."""
    inner = record.inner if isinstance(record, Instance) else None
    return inner if isinstance(inner, OptimizerState) else OptimizerState()


def named_modules(state: State, root: Ref) -> Iterator[tuple[str, Instance]]:
    """Yield a module and all in it, each with the prefix that the names of its parameters get."""
    seen: set[int] = set()
    stack = [("", root)]
    while stack:
        prefix, ref = stack.pop()
        if ref.id in seen:
            continue
        seen.add(ref.id)
        record = state.heap[ref.id]
        assert isinstance(record, Instance)
        yield prefix, record
        stack.extend((f"{prefix}{name}.", child) for name, child in reversed(children_of(state, record)))


def parts(record: Instance) -> dict[str, Value]:
    """Return what may be registered under a name of its own: objects, but no plain attributes such as sizes."""
    return {
        name: value
        for name, value in record.attrs.items()
        if (value is None or isinstance(value, (Ref, Unknown))) and not is_unnamed(name)
    }
