"""`torch.autograd.functional`: derivatives of a function, computed by ordinary backward passes."""

from __future__ import annotations

from typing import TypeAlias

import libcst as cst

from gradlint.domain.announcement import ConstantGradient, DerivativesChecked
from gradlint.domain.graph import Edge, Node
from gradlint.domain.shape import is_single, same_shape
from gradlint.domain.state import State
from gradlint.domain.value import Args, Context, Ref, Tensor, Unknown, Value
from gradlint.domain.walk import certain_inputs, leaves, reachable
from gradlint.interpreter.escape import unknown_call
from gradlint.interpreter.machine import Machine, Native
from gradlint.interpreter.python.contexts import DUAL, enter_mode, leave_mode
from gradlint.interpreter.reachable import known_items
from gradlint.interpreter.torch.backward import second_edges
from gradlint.interpreter.torch.backward_call import autograd_grad, once_between
from gradlint.interpreter.torch.tensor import SPARSE, is_raised, new_tensor
from gradlint.interpreter.torch.transform import inside
from gradlint.interpreter.torch.transform.level import Level
from gradlint.interpreter.torch.transform.levels import unsupported
from gradlint.interpreter.torch.transform.trees import changed, no_tensor, structure, tensor_of

_Values: TypeAlias = tuple[Value, ...]

_OF_NUMBERS = frozenset({"hessian", "vhp", "hvp"})
_WITH_VECTOR = frozenset({"vjp", "jvp", "vhp", "hvp"})


def functional(name: str) -> Native:
    """jacobian(f, inputs), vjp(f, inputs, v), ..."""

    def call(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
        if args.open or not args.has(1, "inputs"):
            return unknown_call(machine, state, args.values(), node)
        if machine.transforms:
            unsupported(machine, node, "function", f"torch.autograd.functional.{name}")
            return inside.RAISED
        return _call(machine, state, name, args, node)

    return call


def _call(machine: Machine, state: State, name: str, args: Args, node: cst.CSTNode) -> Value:
    inputs = args.get(1, "inputs")
    given = inputs if type(inputs) is tuple else (inputs,)
    if isinstance(inputs, Ref) and not isinstance(state.heap.get(inputs.id), Tensor):
        known = structure(state, inputs) is not None
        return inside.mismatch(machine, node, name, "inputs-kind") if known else inside.RAISED
    strict = args.keywords.get("strict", False)
    create = args.get(_CREATE_GRAPH[name], "create_graph", False)
    if not _options_fit(machine, state, name, args, create, node) or not inside.differentiable(
        machine, state, name, given, node
    ):
        return inside.RAISED
    saved = enter_mode(machine, state, Context("enable_grad"))
    inner = tuple(inside.as_leaves(machine, state, one, node, None) for one in given)
    value = inside.run_plain(machine, state, args.get(0, "func"), Args(inner), node)
    leave_mode(state, saved)
    if is_raised(value) or not _fits(machine, state, name, value, node):
        return inside.RAISED
    if strict is True and not _depends(machine, state, name, inner, value, node):
        return inside.RAISED
    if (
        strict is True
        and (name in _OF_NUMBERS or create is True)
        and not _bends(machine, state, name, inner, value, node)
    ):
        return inside.RAISED
    if name in _WITH_VECTOR and not _vector(machine, state, name, args.get(2, "v"), given, value, node):
        return inside.RAISED
    if create is False:
        return _constants(machine, state, name, inner, value, given, node)
    return _result(state, name, value, given, node)


def _options_fit(machine: Machine, state: State, name: str, args: Args, create: Value, node: cst.CSTNode) -> bool:
    """Return whether the options agree with one another, as far as is known."""
    flags = {"create_graph": create, **{key: args.keywords.get(key, False) for key in ("strict", "vectorize")}}
    for key, value in flags.items():
        record = tensor_of(state, value)
        if record is not None and is_single(record.shape) is False:  # f(x, y) in place of (x, y).
            return inside.unfit(machine, node, name, "option-kind", key)
    strategies = [args.keywords.get(key, "reverse-mode") for key in ("strategy", "outer_jacobian_strategy")]
    forward = "forward-mode" in strategies
    if any(isinstance(one, str) and one not in ("forward-mode", "reverse-mode") for one in strategies):
        return inside.unfit(machine, node, name, "strategy")
    if flags["strict"] is True and flags["vectorize"] is True:
        return inside.unfit(machine, node, name, "strict-vectorize")
    if forward and flags["vectorize"] is False:
        return inside.unfit(machine, node, name, "forward-unvectorized")
    if forward and create is True and name == "jacobian":
        return inside.unfit(machine, node, name, "forward-graph")
    return True


def gradcheck(name: str) -> Native:
    """gradcheck(f, inputs), gradgradcheck(f, inputs): derivatives are compared with finite differences."""

    def call(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
        inputs = args.get(1, "inputs")
        given = (inputs,) if tensor_of(state, inputs) is not None else known_items(state, inputs)
        if args.open or given is None or machine.transforms:
            return unknown_call(machine, state, args.values(), node)
        if not _checkable(machine, state, name, given, args, node):
            return inside.RAISED
        written = machine.written
        value = inside.run_plain(machine, state, args.get(0, "func"), Args(given), node)
        if not is_raised(value) and _comparable(machine, state, name, value, args, node):
            _run_check(machine, state, name, given, value, args, node)
            if args.keywords.get("check_forward_ad") is True:
                _push(machine, state, args.get(0, "func"), given, node)
            if "raise_exception" not in args.keywords and machine.written == written:
                outputs = value if type(value) is tuple else (value,)
                machine.announce(state, DerivativesChecked(node, name, given, outputs, args.keywords))
        return Unknown("bool")

    return call


def _comparable(machine: Machine, state: State, name: str, value: Value, args: Args, node: cst.CSTNode) -> bool:
    """Return whether the outputs can be compared, as far as is known: they are dense, and the same each time."""
    records = [tensor_of(state, one) for one in (value if type(value) is tuple else (value,))]
    outputs = [one for one in records if one is not None and one.grad is True]
    if any(SPARSE in one.tags for one in outputs):
        return inside.unfit(machine, node, name, "check-sparse")
    if any(one.node.op == _TO_MKLDNN for one in records if one is not None):
        return inside.unfit(machine, node, name, "check-mkldnn")
    if "raise_exception" in args.keywords or args.keywords.get("nondet_tol", 0.0) != 0.0:
        return True
    ways = [one.node for one in outputs]
    if "manual_seed" not in machine.program.source.words and any(
        one.id in machine.random_backwards for one in reachable(ways, certain_inputs)
    ):
        return inside.unfit(machine, node, name, "check-random")
    return True


def _run_check(
    machine: Machine, state: State, name: str, given: _Values, value: Value, args: Args, node: cst.CSTNode
) -> None:
    """Run the backwards that give the derivatives: from each output to the inputs that require grad."""
    inputs = tuple(one for one in given if (record := tensor_of(state, one)) is not None and record.grad is True)
    if not inputs or args.keywords.get("check_backward_ad", True) is not True:
        return
    twice = name == "gradgradcheck"
    options: dict[str, Value] = {"retain_graph": True, "create_graph": twice, "allow_unused": True}
    for one in value if type(value) is tuple else (value,):
        record = tensor_of(state, one)
        if record is not None and record.grad is True:
            seed = new_tensor(state, Node("gradient", node), dtype=record.dtype, shape=record.shape)
            autograd_grad(machine, state, Args((one, inputs, seed), options), node)
            root = [one] if twice and isinstance(one, Ref) else []
            if any(once_between(machine, state, root, target) for target in inside.tensors_of(state, inputs)):
                inside.unfit(machine, node, name, "check-once")
                return


def _push(machine: Machine, state: State, function: Value, given: _Values, node: cst.CSTNode) -> None:
    """Run the function once more, aside and with tangents."""
    aside = state.fork()
    aside.decide(DUAL, True)
    level = Level("forward", "gradcheck", node)  # It makes the tangents, and is not entered.
    inner = tuple(inside.as_leaves(machine, aside, one, node, level) for one in given)
    first_exit, region = len(machine.exits), machine.open(aside)
    inside.run_plain(machine, aside, function, Args(inner), node)
    del machine.exits[first_exit:]
    machine.close([aside], region)


def _checkable(machine: Machine, state: State, name: str, given: _Values, args: Args, node: cst.CSTNode) -> bool:
    """Return whether finite differences of the inputs can be taken, as far as is known."""
    records = [tensor_of(state, one) for one in given]
    if args.keywords.get("check_backward_ad") is False and args.keywords.get("check_forward_ad", False) is False:
        return inside.unfit(machine, node, name, "check-nothing")
    for batched, needed, default in (
        ("check_batched_grad", "check_backward_ad", True),
        ("check_batched_forward_grad", "check_forward_ad", False),
    ):
        if args.keywords.get(batched) is True and args.keywords.get(needed, default) is False:
            return inside.unfit(machine, node, name, "check-batched", needed)
    if all(one is not None and one.grad is False for one in records) or (
        not records or all(no_tensor(state, one) for one in given)
    ):
        return inside.unfit(machine, node, name, "check-without-grad")
    for one in records:
        if one is None or one.grad is not True:
            continue
        if one.view is not None and one.view.overlaps:
            return inside.unfit(machine, node, name, "check-overlap")
        if one.node.op == _TO_MKLDNN and args.keywords.get("check_forward_ad") is True and _raises(args):
            return inside.unfit(machine, node, name, "check-mkldnn")
        if SPARSE in one.tags and args.keywords.get("check_batched_grad") is True and _raises(args):
            return inside.unfit(machine, node, name, "check-batched-sparse")
        if one.dtype in _COARSE and not machine.default_set and not args.keywords.keys() & _LENIENT:
            inside.unfit(machine, node, name, "check-precision", one.dtype)
            break
    return True


def _raises(args: Args) -> bool:
    """Return whether a check that fails raises."""
    return args.keywords.get("raise_exception", True) is True


_TO_MKLDNN = "to_mkldnn"
_COARSE = frozenset({"float32", "float16", "bfloat16", "complex64"})
_LENIENT = frozenset({"eps", "raise_exception"})


_CREATE_GRAPH = {"jacobian": 2, "hessian": 2, "vjp": 3, "jvp": 3, "vhp": 3, "hvp": 3}
"""Where `create_graph` stands among the arguments."""


def _fits(machine: Machine, state: State, name: str, output: Value, node: cst.CSTNode) -> bool:
    """Return whether the function gives tensors, and one number where a second derivative is taken."""
    several = output if type(output) is tuple else (output,)
    for one in several:
        if (other := no_tensor(state, one)) is not None:
            return inside.unfit(machine, node, name, "output-kind", other)
    if isinstance(output, Ref) and structure(state, output) not in ("*", None):
        return inside.unfit(machine, node, name, "output-container")
    if name not in _OF_NUMBERS:
        return True
    record = tensor_of(state, several[0])
    if len(several) > 1 or (record is not None and is_single(record.shape) is False):
        return inside.unfit(machine, node, name, "scalar-size")
    return True


def _depends(machine: Machine, state: State, name: str, inner: _Values, output: Value, node: cst.CSTNode) -> bool:
    """Return whether each output may depend on each input, as `strict` asks."""
    for one in output if type(output) is tuple else (output,):
        record = tensor_of(state, one)
        if record is None:
            continue
        if record.grad is False:
            return inside.unfit(machine, node, name, "strict-output")
        within = _within(record.node)
        for index, source in enumerate(inner):
            leaf = tensor_of(state, source)
            if within is not None and leaf is not None and leaf.node.id not in within:
                return inside.unfit(machine, node, name, "strict-input", index)
    return True


def _bends(machine: Machine, state: State, name: str, inner: _Values, output: Value, node: cst.CSTNode) -> bool:
    """Return whether the first derivative may depend on anything, as `strict` asks of a second one."""
    roots = [one for one in (output if type(output) is tuple else (output,)) if isinstance(one, Ref)]
    for index, source in enumerate(inner):
        leaf = tensor_of(state, source)
        if roots and leaf is not None and not second_edges(machine, state, roots, leaf):
            return inside.unfit(machine, node, name, "strict-jacobian", index)
    return True


def _within(root: Node) -> set[int] | None:
    """Return all nodes that a gradient may come to; None where that is not known."""
    nodes = list(reachable([root], certain_inputs))
    if any(one.tracked is None or any(edge.flows is None for edge in one.edges) for one in nodes):
        return None
    return {one.id for one in nodes}


def _vector(
    machine: Machine, state: State, name: str, vector: Value, given: _Values, output: Value, node: cst.CSTNode
) -> bool:
    """Return whether `v` fits: what it belongs to are the outputs of `vjp`, and the inputs of the others."""
    wanted = given if name != "vjp" else output if type(output) is tuple else (output,)
    records = [tensor_of(state, one) for one in wanted]
    if vector is None:
        single = [None if one is None else is_single(one.shape) for one in records]
        if len(single) > 1 or single == [False]:
            return inside.unfit(machine, node, name, "vector-missing")
        return True
    several = vector if type(vector) is tuple else (vector,)
    if type(vector) is not tuple and (nested := structure(state, vector)) != "*":
        return nested is None or inside.unfit(machine, node, name, "vector-kind", "container")
    for one in several:
        if (other := no_tensor(state, one)) is not None:
            return inside.unfit(machine, node, name, "vector-kind", other)
    if len(several) != len(wanted):
        return inside.unfit(machine, node, name, "vector-count", len(several), len(wanted))
    for left, right in zip((tensor_of(state, one) for one in several), records, strict=True):
        if left is not None and right is not None and same_shape(left.shape, right.shape) is False:
            return inside.unfit(machine, node, name, "vector-shape")
    return True


def _constants(
    machine: Machine, state: State, name: str, inner: _Values, output: Value, given: _Values, node: cst.CSTNode
) -> Value:
    """Derivatives without a graph: what the function takes from outside, such as parameters, gets no gradient."""
    outputs = inside.tensors_of(state, output if type(output) is tuple else (output,))
    sources = inside.tensors_of(state, given)
    own = {one.node.id for one in inside.tensors_of(state, inner)}
    edges = [Edge(one.node, False, "grad") for one in (*outputs, *sources)]
    # A gradient would flow back to an argument, or to a leaf that is none of the function's own arguments.
    flown = leaves((one.node for one in outputs), certain_inputs)
    trains = any(one.grad is True for one in sources) or any(one.id not in own for one in flown)

    def made(value: Value, *, sized: bool) -> Value:
        def constant(leaf: Value) -> Value:
            record = tensor_of(state, leaf)
            if record is None:
                return leaf
            one = Node("grad", node, edges, cut="grad")
            if trains:
                machine.announce(state, ConstantGradient(node, one))
            return new_tensor(state, one, dtype=record.dtype, shape=record.shape if sized else None)

        return changed(state, value, constant)

    if name in ("jacobian", "hessian"):
        return inside.RAISED if len(given) > 1 or type(output) is tuple else made(output, sized=False)
    derivative = given if name != "jvp" else output if type(output) is tuple else (output,)
    return made(output, sized=True), made(derivative if len(derivative) > 1 else derivative[0], sized=True)


def _result(state: State, name: str, output: Value, given: tuple[Value, ...], node: cst.CSTNode) -> Value:
    sources = inside.tensors_of(state, given)
    if name in ("jacobian", "hessian"):
        several = len(given) > 1 or type(output) is tuple
        return inside.RAISED if several else inside.outside(state, output, sources, node, sized=False)
    derivative = given if name != "jvp" else output if type(output) is tuple else (output,)
    whole = derivative if len(derivative) > 1 else derivative[0]
    return inside.outside(state, output, sources, node), inside.outside(state, whole, sources, node)
