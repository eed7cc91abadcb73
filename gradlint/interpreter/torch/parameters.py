"""The parameters and submodules of a module: how torch registers and finds them, which shapes they have."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TypeAlias

import libcst as cst

from gradlint.domain.announcement import ModuleEntered
from gradlint.domain.graph import Node
from gradlint.domain.likeness import is_wrapper
from gradlint.domain.refusal.modules import NoParameterRegistered, SuperInitMissing
from gradlint.domain.shape import Dim, Shape, Sym
from gradlint.domain.state import State
from gradlint.domain.value import (
    Class,
    External,
    Function,
    Instance,
    OptimizerState,
    Ref,
    Tensor,
    Unknown,
    Value,
    is_unnamed,
)
from gradlint.domain.walk import inputs, leaves
from gradlint.facts import fact
from gradlint.interpreter.machine import Machine
from gradlint.interpreter.python.classes import find_in_class, has_unknown_base, library_base
from gradlint.interpreter.torch.tensor import UNINITIALIZED
from gradlint.source.lower.syntax import attributes_in

_NO_MODULES = ("torch.nn.functional.", "torch.nn.init.", "torch.nn.utils.")
_TENSORS = frozenset(
    {f"torch.nn.{name}" for name in ("Parameter", "Buffer", "UninitializedParameter", "UninitializedBuffer")}
)
PARAMETRIZATIONS = "torch.nn.utils.parametrize.ParametrizationList"
"""The class of a module that holds the parametrizations of one tensor, and what it is computed from."""

LISTS = frozenset({"torch.nn.Sequential", "torch.nn.ModuleList", "torch.nn.ParameterList"})
DICTS = frozenset({"torch.nn.ModuleDict", "torch.nn.ParameterDict"})


def is_module_path(path: str) -> bool:
    """Return whether a library class is a module: torch's own, or one that derives from it."""
    if path.startswith("torch.nn."):
        return path == PARAMETRIZATIONS or (not path.startswith(_NO_MODULES) and path not in _TENSORS)
    return path.endswith((".LightningModule", ".PreTrainedModel", ".FullyShardedDataParallel"))


def module_base(state: State, record: Instance) -> str | None:
    """Return the library's module class that an object is of; None if it is no module."""
    path = record.cls.path if isinstance(record.cls, External) else library_base(state, record.cls)
    return path if path is not None and is_module_path(path) else None


def is_module(state: State, value: Value) -> bool:
    """Return whether a value is a module."""
    if not isinstance(value, Ref):
        return False
    record = state.heap.get(value.id)
    return isinstance(record, Instance) and module_base(state, record) is not None


def modules_of(state: State, root: Ref) -> Iterator[tuple[Ref, Instance]]:
    """Yield a module and all those registered in it, each once."""
    return ((ref, record) for _, ref, record in _named_modules(state, root))


def children_of(state: State, record: Instance) -> list[tuple[str, Ref]]:
    """Return the modules registered directly in a module."""
    return [(name, value) for name, value in record.attrs.items() if isinstance(value, Ref) and is_module(state, value)]


NAME = "name of a parameter"
"""The key of the name of a parameter that stands for several: two tests of it agree."""


def parameters_of(state: State, root: Ref) -> tuple[list[tuple[str, Ref]], bool]:
    """Return the parameters of a module, each once, and whether there may be more."""
    found: dict[int, tuple[str, Ref]] = {}
    is_open = False
    walk = _named_modules(state, root)
    for prefix, _, record in walk:
        # A base class that is not known may register parameters that are not seen.
        hides = record.open and not is_wrapper(record)
        is_open = is_open or hides or (isinstance(record.cls, Ref) and has_unknown_base(state, record.cls))
        for name, value in record.attrs.items():
            if isinstance(value, Ref):
                tensor = state.heap.get(value.id)
                if isinstance(tensor, Tensor) and tensor.parameter:
                    found.setdefault(value.id, (prefix + name, value))
            elif isinstance(value, Unknown) and not is_unnamed(name):
                is_open = is_open or (value.kind is None and not _is_size(value, walk))
    return list(found.values()), is_open


def _is_size(value: Unknown, walk: Walk) -> bool:
    """Return whether a layer of a module was made with a value as a size, which is a number then."""
    return any(record.config.get(name) == value for _, _, record in walk if record.config for name in _SIZES)


def are_trained_alike(state: State, items: Iterable[Value]) -> bool:
    """Return whether the items have parameters that require grad, and frozen ones, if one of them has."""

    def flags(item: Value) -> frozenset[object]:
        record = state.heap.get(item.id) if isinstance(item, Ref) else None
        params = parameters_of(state, item)[0] if isinstance(item, Ref) and isinstance(record, Instance) else []
        own = [record.grad] if isinstance(record, Tensor) else []
        return frozenset([*own, *(state.at(param, Tensor).grad for _, param in params)])

    return len(set(map(flags, items))) <= 1


def members_of(state: State, optimizer: Ref) -> tuple[Ref, ...]:
    """Return the parameters that an optimizer is known to hold."""
    params = optimizer_state(state.heap.get(optimizer.id)).params
    return tuple(one for one in params if isinstance(one, Ref)) if isinstance(params, tuple) else ()


def optimizer_state(record: object) -> OptimizerState:
    """Return what is known of an optimizer; of what is none, nothing."""
    inner = record.inner if isinstance(record, Instance) else None
    return inner if isinstance(inner, OptimizerState) else OptimizerState()


Walk: TypeAlias = list[tuple[str, Ref, Instance]]

_walks: dict[int, Walk] = {}
"""The last walk from each of a few modules; it is right as long as the record of each module in it is the same."""

_MOST_WALKS = 64


def _named_modules(state: State, root: Ref) -> Walk:
    """Return a module and all in it, each with the prefix that the names of its parameters get."""
    heap, known = state.heap, _walks.get(root.id)
    if known is not None and all(heap.get(ref.id) is record for _, ref, record in known):
        return known
    found: Walk = []
    seen: set[int] = set()
    stack = [("", root)]
    while stack:
        prefix, ref = stack.pop()
        if ref.id not in seen:
            seen.add(ref.id)
            record = state.at(ref, Instance)
            found.append((prefix, ref, record))
            stack.extend((f"{prefix}{name}.", child) for name, child in reversed(children_of(state, record)))
    if len(_walks) >= _MOST_WALKS:
        _walks.clear()
    _walks[root.id] = found
    return found


def parts(record: Instance) -> dict[str, Value]:
    """Return what may be registered under a name of its own: objects, but no plain attributes such as sizes."""
    return {
        name: value
        for name, value in record.attrs.items()
        if (value is None or isinstance(value, (Ref, Unknown))) and not is_unnamed(name)
    }


def check_part(machine: Machine, state: State, obj: Ref, value: Value, node: cst.CSTNode) -> None:
    """obj.name = value for a module: to register a parameter or a module, it has to be initialised."""
    record = state[obj]
    if not isinstance(record, Instance) or not record.module.uninitialised or not isinstance(value, Ref):
        return
    new = state.heap.get(value.id)
    if is_module(state, value) or (isinstance(new, Tensor) and new.parameter):
        refuse_uninitialised(machine, state, obj, record, node)


def running_method_of(state: State) -> Ref | None:
    """Return the object whose method is running."""
    function = state.function
    if function is not None and function.owner is not None and function.code.params:
        receiver = state.locals.get(function.code.params[0].name)
        return receiver if isinstance(receiver, Ref) else None
    return None


def refuse_uninitialised(machine: Machine, state: State, obj: Ref, record: Instance, node: cst.CSTNode) -> None:
    """A module does something that needs `nn.Module.__init__` to have run; said once of an object."""
    method = find_in_class(state, record.cls, "__init__")
    machine.emit(SuperInitMissing(node, method.code.node if isinstance(method, Function) else None))
    state.put(obj.id, record._replace(module=record.module._replace(uninitialised=False)))


def parameter_registered(machine: Machine, state: State, value: Value, node: cst.CSTNode) -> None:
    """register_parameter(name, value): torch refuses what is no parameter."""
    record = state.heap.get(value.id) if isinstance(value, Ref) else None
    if isinstance(record, Tensor) and not record.parameter and record.node.tracked is True:
        for leaf in leaf_records_of(state, record.node):
            if leaf.parameter:
                machine.emit(NoParameterRegistered(node, leaf.node.syntax))
                return


def leaf_records_of(state: State, node: Node) -> Iterator[Tensor]:
    """Yield the leaves that a value was computed from."""
    for leaf in leaves([node], inputs):
        record = state.heap.get(leaf.leaf) if leaf.leaf is not None else None
        if isinstance(record, Tensor):
            yield record


def enter_module(machine: Machine, state: State, ref: Ref, node: cst.CSTNode) -> None:
    """An object is about to be called; a module has to be initialised."""
    called = state.heap.get(ref.id)
    if not isinstance(called, Instance):
        return
    if called.module.uninitialised:
        refuse_uninitialised(machine, state, ref, called, node)
    machine.announce(state, ModuleEntered(node, ref))


Config: TypeAlias = Mapping[str, object]


def parameter_shape(cls: str, name: str, config: Config) -> Shape:
    """Return the shape of parameter `name` of a module of class `cls` (`nn.Linear`); None where it is not known."""
    rule = _RULES.get(cls.removeprefix("nn."))
    return None if rule is None else rule(name, config)


def with_setting(state: State, record: Instance, name: str, value: Value) -> Instance:
    """Return a module whose attribute is set: its calls read those by which it was configured."""
    entry = fact((module_base(state, record) or "").removeprefix("torch.")) if name != "bias" else None
    read = entry is not None and any(param.name == name for overload in entry.sig.overloads for param in overload)
    told = Unknown() if name == "kernel_size" else value  # From which a default for the stride was taken.
    config = {**record.config, name: told} if read and not record.module.uninitialised else record.config
    return record._replace(attrs={**record.attrs, name: value}, config=config)


def settings_of(state: State, record: Instance, cls: str) -> dict[str, Value]:
    """Return what a module was made with, without the sizes that a parameter of another size contradicts."""
    for name in ("weight", "bias"):
        value, wanted = record.attrs.get(name), parameter_shape(cls, name, record.config)
        tensor = state.heap.get(value.id) if isinstance(value, Ref) else None
        if wanted is not None and isinstance(tensor, Tensor) and not _is_of(tensor.shape, wanted):
            return {**record.config, **{key: Unknown() for key in _SIZES if key in record.config}}
    return record.config


def _is_of(shape: Shape, wanted: tuple[Dim, ...]) -> bool:
    """Return whether a shape has all the sizes that are known of another one."""
    if shape is None or len(shape) != len(wanted):
        return False
    return all(want == size for want, size in zip(wanted, shape, strict=True) if isinstance(want, int))


_SIZES = (
    *("in_features", "out_features", "in_channels", "out_channels", "kernel_size", "num_embeddings", "embedding_dim"),
    *("num_features", "num_channels", "normalized_shape"),
)
"""What constructors are told of the sizes of parameters."""


def spelled_out(names: frozenset[str], config: Config) -> list[str]:
    """Return the names of a module's parameters in torch's order; a recurrent one's by layer and direction."""
    if "*" not in names:
        return sorted(names, key=_order)
    layers = config.get("num_layers", 1)
    if not isinstance(layers, int) or layers > _MOST_LAYERS:
        return ["*"]
    kinds = ["weight_ih", "weight_hh", *(["bias_ih", "bias_hh"] if config.get("bias", True) is True else [])]
    suffixes = ["", *(["_reverse"] if config.get("bidirectional", False) is True else [])]
    return [f"{kind}_l{layer}{suffix}" for layer in range(layers) for suffix in suffixes for kind in kinds]


_MOST_LAYERS = 100
"""A recurrent module of more layers has parameters that are not told apart."""


def _order(name: str) -> tuple[str, bool, bool, int, str]:
    """As torch registers them: weights before biases, `ih` before `hh`, q before k before v, children last."""
    owner, _, own = name.rpartition(".")
    return owner, "bias" in own, "hh" in own, "qkv".find(own[0]), own


def _size(value: object) -> Dim:
    return value if isinstance(value, (int, Sym)) and not isinstance(value, bool) else Sym()


def _linear(name: str, config: Config) -> Shape:
    out = _size(config.get("out_features"))
    return (out, _size(config.get("in_features"))) if name == "weight" else (out,)


def _sized(*keys: str) -> Callable[[str, Config], Shape]:
    return lambda name, config: tuple(_size(config.get(key)) for key in keys)


def _layer_norm(name: str, config: Config) -> Shape:
    sizes = config.get("normalized_shape")
    if isinstance(sizes, tuple):
        return tuple(_size(size) for size in sizes)
    return (_size(sizes),)


def _convolution(rank: int, transposed: bool) -> Callable[[str, Config], Shape]:
    def shape(name: str, config: Config) -> Shape:
        into, out = _size(config.get("in_channels")), _size(config.get("out_channels"))
        if name == "bias":
            return (out,)
        groups = config.get("groups", 1)
        kernel = config.get("kernel_size")
        sizes = kernel if isinstance(kernel, tuple) else (kernel,) * rank
        first, second = (into, out) if transposed else (out, into)
        if groups != 1:
            # Zero groups are refused by torch itself.
            known = isinstance(second, int) and isinstance(groups, int) and groups > 0
            second = second // groups if known else Sym()  # type: ignore[operator]
        return (first, second, *(_size(size) for size in sizes))

    return shape


_RULES: dict[str, Callable[[str, Config], Shape]] = {
    "Linear": _linear,
    "Embedding": _sized("num_embeddings", "embedding_dim"),
    "EmbeddingBag": _sized("num_embeddings", "embedding_dim"),
    "LayerNorm": _layer_norm,
    "GroupNorm": _sized("num_channels"),
    "BatchNorm1d": _sized("num_features"),
    "BatchNorm2d": _sized("num_features"),
    "BatchNorm3d": _sized("num_features"),
    "Conv1d": _convolution(1, False),
    "Conv2d": _convolution(2, False),
    "Conv3d": _convolution(3, False),
    "ConvTranspose1d": _convolution(1, True),
    "ConvTranspose2d": _convolution(2, True),
    "ConvTranspose3d": _convolution(3, True),
}


def set_sized(state: State, ref: Ref, sized: bool) -> None:
    """Mark the parameters of a lazy module: whether a call has given them sizes."""
    for value in state.at(ref, Instance).attrs.values():
        record = state.heap.get(value.id) if isinstance(value, Ref) else None
        if isinstance(value, Ref) and isinstance(record, Tensor):
            tags = record.tags - {UNINITIALIZED} if sized else record.tags | {UNINITIALIZED}
            state.put(value.id, record._replace(tags=tags))


def is_unsized(state: State, value: Value) -> bool:
    """Return whether a value is a parameter of a lazy module that has no size yet."""
    record = state.heap.get(value.id) if isinstance(value, Ref) else None
    return isinstance(record, Tensor) and UNINITIALIZED in record.tags


def has_own_step(state: State, ref: Value) -> bool:
    """Return whether the program has made an optimizer of a class of its own that differs from torch's by its step.

    Its step names gradients: others may search without them.
    """
    record = state.heap.get(ref.id) if isinstance(ref, Ref) else None
    if not isinstance(record, Instance) or not isinstance(record.syntax, cst.Call) or not isinstance(record.cls, Ref):
        return False
    cls = state[record.cls]
    if not isinstance(cls, Class) or len(cls.bases) != 1 or cls.bases[0] not in _OPTIMIZERS:
        return False
    methods = {name: one for name, one in cls.attrs.items() if type(one) is Function and not name.startswith("_")}
    return list(methods) == ["step"] and "grad" in attributes_in(methods["step"].code)


_OPTIMIZERS = (External("torch.optim.Optimizer"), External("torch.optim.optimizer.Optimizer"))
