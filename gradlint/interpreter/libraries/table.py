"""Libraries around torch: numpy and math cut the graph, copy and einops keep it."""

from __future__ import annotations

import libcst as cst

from gradlint.domain.graph import Edge, Node
from gradlint.domain.refusal.tensors import DeepcopiedNonleaf, NumpyOnGrad
from gradlint.domain.shape import is_single
from gradlint.domain.state import State
from gradlint.domain.value import Args, External, Instance, Mapping, Ref, Sequence, Unknown, Value
from gradlint.interpreter.belief import reveal_to_user
from gradlint.interpreter.escape import origins, unknown_call
from gradlint.interpreter.libraries.accelerate import MAKERS
from gradlint.interpreter.libraries.apex import APEX
from gradlint.interpreter.libraries.numpy_arrays import NUMPY_TYPES
from gradlint.interpreter.libraries.schedules import SCHEDULES
from gradlint.interpreter.machine import Machine, Native
from gradlint.interpreter.python.classes import find_in_class
from gradlint.interpreter.python.contexts import MEMORY
from gradlint.interpreter.python.instances import field
from gradlint.interpreter.python.operators import shares_memory
from gradlint.interpreter.reachable import known_items
from gradlint.interpreter.torch.conjugate import CONJUGATE, refuses_numpy
from gradlint.interpreter.torch.functions import limits
from gradlint.interpreter.torch.methods import call_tensor_method
from gradlint.interpreter.torch.operands import operand_of, tensors_in
from gradlint.interpreter.torch.parametrizations import written_whole
from gradlint.interpreter.torch.reparametrized import kept_result
from gradlint.interpreter.torch.tensor import SUMMARY, UNCOUNTED, known_tensor, new_leaf, new_tensor, tensor_at
from gradlint.interpreter.torch.transform.levels import refuses_numbers
from gradlint.shapes.infer import result
from gradlint.shapes.operand import Operand


def _is_chosen(machine: Machine, state: State, func: cst.CSTNode | None) -> bool:
    """Return whether a variable may be numpy, as in `lib = torch if is_tensor(x) else np`."""
    root = func.value if isinstance(func, cst.Attribute) else None
    local = bool(machine.stack) and isinstance(root, cst.Name) and root.value in state.locals
    return local and state.undecided_since(state.frame)


_SHAPE_ONLY = frozenset({"shape", "ndim", "size", "isscalar", "array_equal"})
"""numpy functions that take a tensor which requires grad (measured with torch 2.13)."""


_SCALARS = frozenset({"float16", "float32", "float64", "int32", "int64", "bool_"})
"""numpy's numbers, which ask a tensor of one element for its value (measured as well)."""


def _numpy(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    """numpy: the values flow into an array, no gradient does; a tensor that requires grad is refused."""
    written = args.keywords.get("out")
    if isinstance(written, Unknown):
        shares_memory(state, written, "out=", node)
    name = getattr(node, "func", None)
    shape_only = isinstance(name, cst.Attribute) and name.attr.value in _SHAPE_ONLY
    refused = False
    scalar = isinstance(name, cst.Attribute) and name.attr.value in _SCALARS
    for value in () if shape_only else args.positional:
        for ref in tensors_in(machine, state, value):
            record = tensor_at(state, ref)
            if scalar and is_single(record.shape) is not False:
                continue
            if args.open or _is_chosen(machine, state, name):
                continue
            if record.grad is True and state.grad is True:
                machine.emit(NumpyOnGrad(node, record.syntax))
                refused = True
            elif CONJUGATE in record.tags:
                refused = refuses_numpy(machine, record, node) or refused
    if refused:
        return Unknown("array", syntax=node)
    edges = [Edge(origin, False, "numpy") for origin in origins(state, args.values()) if origin.live]
    kind = None if any(_may_be_tensor(machine, state, value) for value in args.positional) else "array"
    return Unknown(kind, Node("numpy", node, edges, cut="numpy") if edges else None, None, node)


def _may_be_tensor(machine: Machine, state: State, value: Value) -> bool:
    """Return whether a value may be a tensor: of one a ufunc gives a tensor, by `__array_wrap__` (measured)."""
    if isinstance(value, Unknown) and value.kind is None and value.origin is None:
        return True
    return known_tensor(machine, state, value) is not None


def _is_scalar(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    """numpy.isscalar(element): true of numbers and texts, and of no tensor, list or array (measured)."""
    value = args.get(0, "element")
    if isinstance(value, (int, float, complex, str, bytes)):
        return True
    known = value is None or type(value) is tuple or known_tensor(machine, state, value) is not None
    return False if known else machine.symbol("isscalar", value, kind="bool")


_FILLED = frozenset({"ones", "zeros", "empty", "full"})
_RANDOM = frozenset({"rand", "randn"})


def _array(name: str) -> Native:
    """numpy arrays made of sizes alone: their shape is known, and that they hold float64 unless asked otherwise."""

    def make(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
        sizes = _sizes(state, args.get(0, "shape")) if name in _FILLED else None if args.open else args.positional
        known = None if sizes is None else tuple([size if isinstance(size, int) else None for size in sizes])
        dtype = args.keywords.get("dtype", args.get(1, "dtype") if name in ("ones", "zeros", "empty") else None)
        kind = "float64" if dtype is None and name != "full" else NUMPY_TYPES.get(getattr(dtype, "path", ""))
        return _fresh(state, Unknown("array", None, ("array", known, kind, node), node))

    return make


def _sizes(state: State, shape: Value) -> tuple[Value, ...] | None:
    """Return the sizes that a shape has, which may be one number; None where it is not known how many there are."""
    if isinstance(shape, int) or (isinstance(shape, Unknown) and shape.kind in ("number", "int")):
        return (shape,)
    return known_items(state, shape)


def _fresh(state: State, array: Unknown) -> Unknown:
    """Return a new array, which no tensor is made over: one that the same line made before is another."""
    if (MEMORY, array) in state.facts:
        state.decide((MEMORY, array), None)
    return array


_SOURCES = ("numpy.random", "numpy.random.Generator", "numpy.random.RandomState")
_DRAWN = {
    **dict.fromkeys(("normal", "uniform", "beta", "gamma", "laplace"), 2),
    **dict.fromkeys(("exponential", "chisquare"), 1),
    **dict.fromkeys(("standard_normal", "random", "random_sample"), 0),
}
"""Draws of float64, and where each takes the size."""


def _shuffle(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    """shuffle(x): swaps the items of a list or the rows of a tensor one by one, and makes no array (measured)."""
    in_sight = any(True for value in args.positional[:1] for _ in tensors_in(machine, state, value))
    return None if in_sight else _numpy(machine, state, args, node)


_SPACES = ("linspace", "logspace", "geomspace")


def _float64(place: int) -> Native:
    """normal(loc, scale, size), random(size): float64, where an array is asked for and no other type."""

    def draw(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
        found, sized = _numpy(machine, state, args, node), args.get(place, "size")
        plain = sized is not None and "dtype" not in args.keywords and not args.open
        if not plain or len(args.positional) > place + 1 or not isinstance(found, Unknown):
            return found
        return _fresh(state, Unknown("array", found.origin, ("array", None, "float64", node), node))

    return draw


def _spaced(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    """linspace(start, stop, num): the number of values has a default."""
    return _float64(2)(machine, state, args._replace(keywords={"size": True, **args.keywords}), node)


def _counted(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    """numpy.arange(start, stop, step): int64, or float64 if one of them is a float."""
    whole = [one for one in args.positional if type(one) is int]
    floats = [one for one in args.positional if type(one) is float]
    if args.keywords or args.open or not 1 <= len(whole) + len(floats) == len(args.positional) <= 3:
        return _numpy(machine, state, args, node)
    sized = not floats and 0 not in whole[2:]
    key = ("array", (len(range(*whole)),) if sized else None, "float64" if floats else "int64", node)
    return _fresh(state, Unknown("array", None, key, node))


def _literal(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    """numpy.array of nested lists of numbers: floats are float64."""
    data = operand_of(machine, state, args.get(0, "object"))
    made = result("tensor", {"data": data}) if isinstance(data, (list, tuple)) else None
    if not isinstance(made, Operand) or made.shape is None or isinstance(data, Operand):
        return _numpy(machine, state, args, node)
    wanted = args.keywords.get("dtype", args.get(1, "dtype"))
    kind = "float64" if made.dtype == "float32" else made.dtype
    if wanted is not None:
        kind = NUMPY_TYPES.get(getattr(wanted, "path", ""))
    return _fresh(state, Unknown("array", None, ("array", made.shape, kind, node), node))


def _math(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    """math: Python numbers."""
    if refuses_numbers(machine, state, args.values(), node):
        return Unknown("raised")
    edges = [Edge(origin, False, "item") for origin in origins(state, args.values()) if origin.live]
    return Unknown("number", Node("math", node, edges, cut="item") if edges else None, None, node)


def _copied(
    machine: Machine, state: State, value: Value, node: cst.CSTNode, memo: dict[int, Ref], depth: int = 0
) -> Value:
    """copy.deepcopy: graph leaves and what holds them; a tensor with a graph is refused."""
    machine.work()
    if depth > _DEEPEST_COPY:
        return Unknown()
    tensor = known_tensor(machine, state, value)
    if tensor is not None:
        return _copied_tensor(machine, state, tensor, node, memo)
    if type(value) is tuple:
        return tuple(_copied(machine, state, item, node, memo, depth + 1) for item in value)
    if not isinstance(value, Ref):
        return value if not isinstance(value, Unknown) else Unknown(value.kind)
    if value.id in memo:
        return memo[value.id]
    record = state[value]
    fresh = memo[value.id] = state.new(record)
    if isinstance(record, Sequence):
        items = tuple(_copied(machine, state, item, node, memo, depth + 1) for item in record.items)
        state.put(fresh.id, record._replace(items=items))
    elif isinstance(record, Mapping):
        pairs = {key: _copied(machine, state, item, node, memo, depth + 1) for key, item in record.items.items()}
        state.put(fresh.id, record._replace(items=pairs))
    elif isinstance(record, Instance) and not any(find_in_class(state, record.cls, name) for name in _COPYING):
        kept = kept_result(state, value)
        if kept is not None:
            machine.emit(DeepcopiedNonleaf(node, kept, alone=False))
        copied = record.mapped(lambda item: _copied(machine, state, item, node, memo, depth + 1))
        state.put(fresh.id, copied._replace(syntax=node))
    return fresh


_DEEPEST_COPY = 400
"""Objects within objects that are copied: Python's own `deepcopy` ends in a RecursionError before."""

_COPYING = ("__deepcopy__", "__getstate__", "__reduce__")
"""A class that defines one of these says itself how its objects are copied."""


def _copied_tensor(machine: Machine, state: State, ref: Ref, node: cst.CSTNode, memo: dict[int, Ref]) -> Ref:
    record = tensor_at(state, ref)
    if ref.id in memo:
        return memo[ref.id]
    if record.leaf is False:
        machine.emit(DeepcopiedNonleaf(node, record.syntax, alone=not memo))
        return ref
    if record.grad is True:
        fresh = new_leaf(
            state,
            node,
            dtype=record.dtype,
            shape=record.shape,
            parameter=record.parameter,
            source=record.node,
            tags=UNCOUNTED | (record.tags & {SUMMARY}),
            cut="copy",
        )
    else:
        origin = Node("deepcopy", node, [Edge(record.node, False, "detach")] if record.node.live else ())
        fresh = new_tensor(state, origin, grad=record.grad, dtype=record.dtype, shape=record.shape)
        if record.parameter:
            state.put(fresh.id, tensor_at(state, fresh)._replace(parameter=True))
    memo[ref.id] = fresh
    return fresh


def _copy(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    value = args.get(0, "x")
    if isinstance(value, Ref) and isinstance(state[value], (Sequence, Mapping)):
        return state.new(state[value])
    return value


def _method(name: str) -> Native:
    """numpy functions that call the method of that name of what they are given: of a tensor, torch's (measured)."""

    def call(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
        tensor = known_tensor(machine, state, args.get(0, "a"))
        if tensor is None:
            return _numpy(machine, state, args, node)
        return call_tensor_method(machine, state, tensor, name, args._replace(positional=args.positional[1:]), node)

    return call


def _abs(name: str) -> Native:
    def call(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
        value = args.get(0, "x")
        tensor = known_tensor(machine, state, value)
        if tensor is not None:
            return call_tensor_method(machine, state, tensor, name, Args(args.positional[1:]), node)
        if isinstance(value, (int, float)) and name == "abs":
            return abs(value)
        return unknown_call(machine, state, args.values(), node)

    return call


LIBRARIES: dict[str, Native] = {
    "numpy.*": _numpy,
    "numpy.array": _literal,
    "numpy.isscalar": _is_scalar,
    **{f"numpy.{name}": _method(name) for name in ("squeeze", "swapaxes")},
    "numpy.finfo": limits,
    "numpy.iinfo": limits,
    "numpy.asarray": _literal,
    **{f"numpy.{name}": _array(name) for name in _FILLED},
    **{f"numpy.random.{name}": _array(name) for name in _RANDOM},
    **{f"{source}.{name}": _float64(place) for source in _SOURCES for name, place in _DRAWN.items()},
    **{f"{source}.shuffle": _shuffle for source in _SOURCES},
    **{f"numpy.random.RandomState.{name}": _array(name) for name in _RANDOM},
    **{f"numpy.{name}": _spaced for name in _SPACES},
    "numpy.arange": _counted,
    "numpy.random.default_rng": lambda *_: External("numpy.random.Generator"),
    "numpy.random.RandomState": lambda *_: External("numpy.random.RandomState"),
    "math.*": _math,
    **{f"pickle.{name}": written_whole(f"pickle.{name}") for name in ("dump", "dumps")},
    "gradlint.reveal": reveal_to_user,
    "random.*": lambda *_: Unknown("number"),
    **dict.fromkeys(
        (f"random.{name}" for name in ("choice", "choices", "sample", "Random", "SystemRandom")),
        lambda machine, state, args, node: unknown_call(machine, state, args.values(), node),
    ),
    "time.*": lambda *_: Unknown("number"),
    "copy.deepcopy": lambda machine, state, args, node: _copied(machine, state, args.get(0, "x"), node, {}),
    "copy.copy": _copy,
    "dataclasses.field": field,
    **MAKERS,
    **APEX,
    **SCHEDULES,
    "builtins.abs": _abs("abs"),
    "builtins.pow": _abs("pow"),
    "builtins.round": _abs("round"),
}
"""By path, or by the library's name for all the rest of it."""

LOOKING = frozenset(
    {
        *(
            "wandb",
            "mlflow",
            "comet_ml",
            "neptune",
            "tensorboard",
            "tensorboardX",
            "aim",
            "clearml",
            "logging",
            "loguru",
        ),
        *(
            "matplotlib",
            "seaborn",
            "plotly",
            "PIL",
            "cv2",
            "imageio",
            "skimage",
            "json",
            "yaml",
            "csv",
            "pickle",
            "pandas",
        ),
        *("torchinfo", "torchsummary", "psutil", "rich"),
    }
)
"""Libraries that record, show or keep what they are given: they train nothing, and hand on no graph."""
