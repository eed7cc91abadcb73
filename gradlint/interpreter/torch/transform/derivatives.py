"""`grad`, `vjp`, `jvp`, `jacrev`, `jacfwd`, `hessian`, `linearize` of `torch.func`."""

from __future__ import annotations

import libcst as cst

from gradlint.domain.dtype import COMPLEXES, can_require_grad
from gradlint.domain.shape import same_shape
from gradlint.domain.state import State
from gradlint.domain.value import Args, External, Partial, Ref, Tensor, Value
from gradlint.interpreter.escape import unknown_call
from gradlint.interpreter.machine import Machine, Native
from gradlint.interpreter.torch.tensor import is_raised
from gradlint.interpreter.torch.transform import inside
from gradlint.interpreter.torch.transform.level import Kind, Level
from gradlint.interpreter.torch.transform.trees import leaves, no_tensor, structure, tensor_of

RUN = "torch.func.<run>"
PULL = "torch.func.<pull>"
PUSH = "torch.func.<push>"


def transform(name: str, aux_at: int = 2) -> Native:
    """grad(f, argnums, has_aux): a function; what it does is done when it is called."""

    def make(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
        if args.open or not args.has(0, "func"):
            return unknown_call(machine, state, args.values(), node)
        aux = args.keywords.get("has_aux", args.get(aux_at, "has_aux", False))
        random: Value = True
        if name == "jacfwd":
            random = args.keywords.get("randomness", "error")
        elif name == "hessian":
            random, aux = "error", False
        asked = inside.Asked(name, args.get(0, "func"), args.get(1, "argnums", 0), aux, random)
        chunk = args.keywords.get("chunk_size")
        if name == "jacrev" and isinstance(chunk, int) and chunk < 1:
            return inside.mismatch(machine, node, name, "chunk-size")
        return Partial(External(RUN), (asked,), ())

    return make


def call(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    """grad(f)(*args): the function runs with leaves of its own, and its output is looked at."""
    asked = args.positional[0]
    assert isinstance(asked, inside.Asked)
    given = args.rest
    places = inside.chosen(machine, asked, given, node)
    if places is None:
        return inside.RAISED
    picked = [given.positional[one] for one in places]
    if not inside.differentiable(machine, state, asked.name, picked, node):
        return inside.RAISED
    kind: Kind = "forward" if asked.name == "jacfwd" else "reverse"
    level = Level(kind, asked.name, node, asked.random != "error")
    inner = [
        inside.as_leaves(machine, state, one, node, level) if index in places else one
        for index, one in enumerate(given.positional)
    ]
    value = inside.run(machine, state, level, asked.function, given._replace(positional=tuple(inner)), node)
    parted = None if is_raised(value) else inside.with_aux(machine, state, asked, value, node)
    if parted is None or is_raised(parted[0]) or not _fits(machine, state, asked, parted[0], node):
        return inside.RAISED
    return _result(state, asked, places, given, parted, node)


def _fits(machine: Machine, state: State, asked: inside.Asked, output: Value, node: cst.CSTNode) -> bool:
    """Return whether the output is what the transform wants, as far as is known."""
    if asked.name not in ("grad", "grad_and_value"):
        if not inside.only_tensors(machine, state, asked.name, output, node):
            return False
        if asked.name != "jacfwd" and not _all_differentiable(machine, state, asked.name, output, node):
            return False
        if any((one := tensor_of(state, leaf)) and one.dtype in COMPLEXES for leaf in leaves(state, output) or ()):
            return inside.unfit(machine, node, asked.name, "output-complex")
        return True
    container = isinstance(output, Ref) and structure(state, output) not in ("*", None)
    other = no_tensor(state, output) or ("tuple" if type(output) is tuple else "container" if container else None)
    if other is not None:
        return inside.unfit(machine, node, asked.name, "scalar-kind", other)
    record = tensor_of(state, output)
    if record is not None and record.shape:
        return inside.unfit(machine, node, asked.name, "scalar-rank", len(record.shape))
    if record is not None and record.dtype in COMPLEXES:
        return inside.unfit(machine, node, asked.name, "scalar-complex", record.dtype)
    return True


def _all_differentiable(machine: Machine, state: State, name: str, output: Value, node: cst.CSTNode) -> bool:
    """Return whether no output is of integers or truth values, which `vjp` refuses, as far as is known."""
    for leaf in leaves(state, output) or ():
        record = tensor_of(state, leaf)
        if record is not None and can_require_grad(record.dtype) is False:
            return inside.unfit(machine, node, name, "output-dtype", record.dtype)
    return True


def _result(
    state: State,
    asked: inside.Asked,
    places: tuple[int, ...],
    given: Args,
    parted: tuple[Value, Value],
    node: cst.CSTNode,
) -> Value:
    output, aux = parted
    sources = inside.tensors_of(state, given.values())
    picked = tuple(given.positional[one] for one in places)
    sized = asked.name in ("grad", "grad_and_value")
    gradient = inside.outside(state, picked if type(asked.which) is tuple else picked[0], sources, node, sized=sized)
    if not sized and (type(output) is tuple or isinstance(aux, tuple)):
        return inside.RAISED
    whole, of = tensor_of(state, output), tensor_of(state, picked[0])
    if not sized and type(asked.which) is int and whole is not None and of is not None:
        gradient = _jacobian(state, asked.name, whole, of, sources, node)
    value = inside.outside(state, output, sources, node)
    besides = inside.outside(state, aux, sources, node)
    if asked.name == "grad_and_value":
        return (gradient, (value, besides)) if asked.aux is True else (gradient, value)
    return (gradient, besides) if asked.aux is True else gradient


def _jacobian(
    state: State, name: str, output: Tensor, argument: Tensor, sources: tuple[Tensor, ...], node: cst.CSTNode
) -> Value:
    """Return the derivatives of one tensor by another: its dimensions, and for each derivative those of the other."""
    gradient = inside.outside(state, state.new(output), sources, node, sized=False)
    if isinstance(gradient, Ref) and output.shape is not None and argument.shape is not None:
        shape = output.shape + argument.shape * (2 if name == "hessian" else 1)
        state.put(gradient.id, state.at(gradient, Tensor)._replace(shape=shape, dtype=output.dtype))
    return gradient


# vjp, jvp, linearize: the function runs at once.


def vjp(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    """vjp(f, *primals): the output, and a function of cotangents."""
    if args.open or not args.positional:
        return unknown_call(machine, state, args.values(), node)
    asked = inside.Asked("vjp", args.positional[0], 0, args.keywords.get("has_aux", False))
    primals = args.positional[1:]
    output = _ran(machine, state, asked, "reverse", primals, node)
    if output is None:
        return inside.RAISED
    sources = inside.tensors_of(state, primals)
    value, aux = output
    pull = Partial(External(PULL), (value, primals), ())
    result = inside.outside(state, value, sources, node)
    return (result, pull, inside.outside(state, aux, sources, node)) if asked.aux is True else (result, pull)


def _ran(
    machine: Machine, state: State, asked: inside.Asked, kind: Kind, primals: tuple[Value, ...], node: cst.CSTNode
) -> tuple[Value, Value] | None:
    """Run a function on all of its primals, and look at what it gives."""
    if not inside.differentiable(machine, state, asked.name, primals, node):
        return None
    level = Level(kind, asked.name, node)
    inner = tuple(inside.as_leaves(machine, state, one, node, level) for one in primals)
    value = inside.run(machine, state, level, asked.function, Args(inner), node)
    if is_raised(value):
        return None
    parted = inside.with_aux(machine, state, asked, value, node)
    if parted is None or is_raised(parted[0]):
        return None
    if asked.name != "linearize" and not inside.only_tensors(machine, state, asked.name, parted[0], node):
        return None
    if asked.strict and any(one.memory < level.since for one in inside.tensors_of(state, (parted[0],))):
        inside.mismatch(machine, node, asked.name, "strict-output")
        return None
    fits = asked.name != "vjp" or _all_differentiable(machine, state, asked.name, parted[0], node)
    return parted if fits else None


def pull(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    """vjp_fn(cotangents): they are nested and sized like the output."""
    output, primals, *rest = args.positional
    assert type(primals) is tuple
    if args.open or not rest or not _alike(machine, state, "vjp", rest[0], output, node):
        return inside.RAISED
    return inside.outside(state, primals, inside.tensors_of(state, (*primals, *rest)), node)


def _alike(machine: Machine, state: State, name: str, given: Value, wanted: Value, node: cst.CSTNode) -> bool:
    """Return whether tangents fit what they belong to: the same nesting, and the same sizes."""
    one, other = structure(state, given), structure(state, wanted)
    if one is None or other is None:
        return True
    if one != other:
        return inside.unfit(machine, node, name, "tangent-structure")
    for left, right in zip(leaves(state, given) or (), leaves(state, wanted) or (), strict=True):
        if (other := no_tensor(state, left)) is not None:
            return inside.unfit(machine, node, name, "tangent-kind", other)
        a, b = tensor_of(state, left), tensor_of(state, right)
        if a is None or b is None:
            continue
        if same_shape(a.shape, b.shape) is False:
            return inside.unfit(machine, node, name, "tangent-shape")
        if name == "linearize" and a.dtype is not None and b.dtype is not None and a.dtype != b.dtype:
            return inside.unfit(machine, node, name, "tangent-dtype")
    return True


def jvp(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    """jvp(f, primals, tangents): the output and its tangent."""
    primals, tangents = args.get(1, "primals"), args.get(2, "tangents")
    if args.open or not args.has(2, "tangents"):
        return unknown_call(machine, state, args.values(), node)
    if type(primals) is not tuple:
        known = structure(state, primals)
        return inside.mismatch(machine, node, "jvp", "primals-kind") if known is not None else inside.RAISED
    if type(tangents) is not tuple and structure(state, tangents) is None:
        return inside.RAISED
    if leaves(state, primals) == []:
        return inside.mismatch(machine, node, "jvp", "primals-empty")
    strict = args.keywords.get("strict", False) is True
    asked = inside.Asked("jvp", args.get(0, "func"), 0, args.keywords.get("has_aux", False), strict=strict)
    if not _alike(machine, state, "jvp", tangents, primals, node):
        return inside.RAISED
    output = _ran(machine, state, asked, "forward", primals, node)
    if output is None:  # It raises as far as it is known.
        return unknown_call(machine, state, args.values(), node)
    sources = inside.tensors_of(state, (*primals, tangents))
    value, tangent, aux = (inside.outside(state, one, sources, node) for one in (output[0], *output))
    return (value, tangent, aux) if asked.aux is True else (value, tangent)


def linearize(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    """linearize(f, *primals): the output, and a function of tangents."""
    if args.open or not args.positional or args.keywords:
        return unknown_call(machine, state, args.values(), node)
    primals = args.positional[1:]
    output = _ran(machine, state, inside.Asked("linearize", args.positional[0]), "forward", primals, node)
    if output is None:
        return inside.RAISED
    sources = inside.tensors_of(state, primals)
    return inside.outside(state, output[0], sources, node), Partial(External(PUSH), (output[0], primals), ())


def push(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    """jvp_fn(*tangents): they are nested and sized like the primals."""
    output, primals, *tangents = args.positional
    if args.open or not _alike(machine, state, "linearize", tuple(tangents), primals, node):
        return inside.RAISED
    return inside.outside(state, output, inside.tensors_of(state, tangents), node)
