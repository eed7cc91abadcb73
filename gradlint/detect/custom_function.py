"""Custom functions of autograd: how they are defined, what they keep and write to, what their backward returns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import libcst as cst

from gradlint.detect.detector import Detector
from gradlint.detect.formula.derivative import Pass, wrong_gradient, wrong_tangent
from gradlint.domain.announcement import FunctionApplied, FunctionDifferentiated, FunctionPushed, GradientHooked
from gradlint.domain.dtype import is_complex
from gradlint.domain.fault import functions as fault
from gradlint.domain.graph import Term
from gradlint.domain.shape import is_expandable
from gradlint.domain.state import State
from gradlint.domain.value import Class, Function, Instance, Ref, Unknown, Value, is_unnamed
from gradlint.domain.walk import inputs, reachable
from gradlint.facts.aliases import canonical
from gradlint.facts.traits import FILLED, FILLS, LIKES, ONES, UNFILLED, ZEROS
from gradlint.interpreter.python.classes import find_in_class
from gradlint.interpreter.python.contexts import ONCE
from gradlint.interpreter.reachable import sequence_at
from gradlint.interpreter.torch.ctx import ctx_state, set_at, tensors_among
from gradlint.interpreter.torch.custom_methods import parts_of, static_method
from gradlint.interpreter.torch.tensor import known_tensor, nontensor, tensor_at
from gradlint.source.lower.syntax import parts


class CustomFunctionDetector(Detector[None]):
    """Needs no facts but those of one application."""

    def on_function_applied(self, state: State, it: FunctionApplied) -> None:
        """Look at the definition, and at what forward has left on its `ctx` and in its inputs."""
        for name in ("forward", "setup_context", "backward"):
            method = find_in_class(state, it.function, name)
            if isinstance(method, Function):
                self.report(fault.FunctionNonstatic(method.code.node, name))
        given = {ref.id for ref in self._tensors(state, it.arguments)}
        results = {ref.id for ref in self._tensors(state, parts_of(it.result))}
        self._judge_attributes(state, it, given, results)
        self._judge_writes(state, it)
        backward = static_method(state, it.function, "backward")
        once = backward is not None and any(mode.mode == ONCE for mode in backward.modes)
        for ref in () if once else tensors_among(state, ctx_state(state, it.ctx).saved):
            if ref.id not in given and ref.id not in results:
                self.report(fault.SavedIntermediate(set_at(state, it.ctx, "save_for_backward")))

    def _tensors(self, state: State, values: Iterable[Value]) -> list[Ref]:
        found = (known_tensor(self.machine, state, value) for value in values)
        return [ref for ref in found if ref is not None]

    def _judge_attributes(self, state: State, it: FunctionApplied, given: set[int], results: set[int]) -> None:
        """Report inputs and results that are attributes of `ctx`: torch does not watch them."""
        record, owner = state[it.ctx], state[it.function]
        assert isinstance(record, Instance)
        own = owner.code.node if isinstance(owner, Class) else None
        others: list[str] = []
        for name, value in record.attrs.items():
            listed = sequence_at(state, value)
            items = (value,) if listed is None else listed.items
            kept = {ref.id for ref in self._tensors(state, items)}
            is_result = bool(kept & results) or any(_is_hidden_result(item, it.result) for item in items)
            if not is_unnamed(name) and (is_result or kept & given):
                place = set_at(state, it.ctx, name)
                found = fault.TensorKeptOnCtx(place, name, is_result, tuple(others), own, listed is not None)
                self.report(found)
                others.append(name)

    def _judge_writes(self, state: State, it: FunctionApplied) -> None:
        """Report inputs that forward writes to and does not mark."""
        marked = ctx_state(state, it.ctx).dirty
        if isinstance(marked, Unknown):
            return  # Paths were joined of which not all marked the same.
        dirty = {ref.id for ref in tensors_among(state, marked)}
        for ref in dict.fromkeys(self._tensors(state, it.arguments)):
            writes = state.writes(tensor_at(state, ref).counter)[it.writes.get(ref.id, 0) :]
            first = next((write for write in writes if write.certain), None)
            if first is not None and ref.id not in dirty:
                self.report(fault.MarkDirtyMissing(first.syntax))

    def on_function_differentiated(self, state: State, it: FunctionDifferentiated) -> None:
        """Look at what backward does with the gradients that arrive, and at what it returns."""
        for end, _ in it.ends:
            for ref in it.arrived:
                # The gradient belongs to torch: others may be given the same one.
                for write in end.writes(tensor_at(end, ref).counter):
                    if write.certain:
                        self.report(fault.GradientInplace(write.syntax, write.op))
        if it.ends and all(self._is_known(end, value) for end, value in it.ends):
            # Torch wants a gradient for each argument that forward is given; further ones may be None.
            given = len(it.arguments)
            misfits = [self._misfit(end, value, it) for end, value in it.ends]
            if all(_is_miscounted(value, it.fewest, given) for _, value in it.ends):
                self.report(fault.GradientCount(returned_at(it.node), len(parts_of(it.ends[0][1])), given))
                misfits = []
            elif misfits[0] is not None and all(misfits):
                self.report(misfits[0])
            if all(value is None for _, value in it.ends) and _only_computes(it.node):
                self.report(fault.GradientIgnored(it.node, False, nothing=True))
            elif all(self._ignores(end, value, it.arrived) for end, value in it.ends):
                scalar = all(self._may_be_scalar(state, part) for part in parts_of(it.result))
                self.report(fault.GradientIgnored(returned_at(it.node), scalar))
            elif misfits == [None]:
                self._judge_formulas(state, it)

    def _judge_formulas(self, state: State, it: FunctionDifferentiated) -> None:
        """Report a gradient that is not the derivative of what forward computes."""
        (end, value), result = it.ends[0], known_tensor(self.machine, state, it.result)
        arguments = [known_tensor(self.machine, state, one) for one in it.arguments]
        nodes = [tensor_at(state, ref).node for ref in arguments if ref is not None]
        if result is None or result in arguments or len(it.arrived) != 1 or len({*nodes}) != len(nodes):
            return
        formula = _term(state, result)
        for index, (part, argument) in enumerate(zip(parts_of(value), arguments, strict=False)):
            gradient = known_tensor(self.machine, end, part)
            if gradient is None or argument is None or tensor_at(state, argument).grad is False:
                continue
            position = nodes.index(tensor_at(state, argument).node)
            one = Pass(formula, nodes, it.output, it.incoming[0], _term(end, gradient))
            wrong = wrong_gradient(one, position)
            if wrong is not None:
                self.report(fault.GradientWrong(returned_at(it.node), index, *wrong))

    def on_function_pushed(self, state: State, it: FunctionPushed) -> None:
        """Report a tangent that is not the derivative of what forward computes."""
        result, arguments = self._tensors(state, parts_of(it.result)), self._tensors(state, it.arguments)
        if len(it.ends) != 1 or len(result) != 1 or result[0] in arguments:
            return
        end, value = it.ends[0]
        nodes = [tensor_at(state, ref).node for ref in arguments]
        found = self._tensors(end, parts_of(value))
        if len(found) != 1 or len({*nodes}) != len(nodes):
            return
        given = [tensor_at(end, ref).node for ref in self._tensors(end, it.tangents)]
        for position in range(len(nodes)):
            wrong = wrong_tangent(_term(state, result[0]), nodes, given, _term(end, found[0]), position)
            if wrong is not None:
                self.report(fault.GradientWrong(returned_at(it.node), position, *wrong, forward=True))

    def on_gradient_hooked(self, state: State, it: GradientHooked) -> None:
        """Report a hook that writes to a gradient."""
        for address, before in it.writes.items():
            for write in state.writes(tensor_at(state, Ref(address)).counter)[before:]:
                if write.certain:
                    self.report(fault.GradientInplace(write.syntax, write.op, hook=True))

    def _is_known(self, state: State, value: Value) -> bool:
        """Return whether it is known how many gradients a backward returned."""
        known = known_tensor(self.machine, state, value) is not None
        return known or value is None or nontensor(state, value) is not None

    def _misfit(self, state: State, value: Value, it: FunctionDifferentiated) -> fault.GradientMismatch | None:
        """Return the first gradient that torch does not take."""
        for index, (part, argument) in enumerate(zip(parts_of(value), it.arguments, strict=False)):
            ref, kind = known_tensor(self.machine, state, part), nontensor(state, part)
            is_other = nontensor(state, argument) in ("number", "text") and index < it.fewest
            if is_other and (ref is not None or kind is not None):
                return fault.GradientMismatch(returned_at(it.node), index, "unwanted")
            if kind is not None:
                return fault.GradientMismatch(returned_at(it.node), index, "kind", kind)
            of = known_tensor(self.machine, state, argument)
            if ref is None or of is None or tensor_at(state, of).grad is not True:
                continue
            got, wanted = tensor_at(state, ref), tensor_at(state, of)
            if is_expandable(wanted.shape, got.shape) is False:
                return fault.GradientMismatch(returned_at(it.node), index, "shape", None, got.shape, wanted.shape)
            if is_complex(got.dtype) and is_complex(wanted.dtype) is False:
                return fault.GradientMismatch(returned_at(it.node), index, "complex")
        return None

    def _may_be_scalar(self, state: State, value: Value) -> bool:
        ref = known_tensor(self.machine, state, value)
        return ref is None or tensor_at(state, ref).shape in (None, (), (1,))

    def _ignores(self, state: State, value: Value, gradients: Sequence[Ref]) -> bool:
        """Return whether some gradient other than zero is returned, and none is computed from what arrives."""
        if any(ref.id in self.machine.escaped for ref in gradients):
            return False  # Code that gradlint does not see was given it, and may have filled what is returned.
        tensors = [known_tensor(self.machine, state, part) for part in parts_of(value) if part is not None]
        if not tensors or any(ref is None or _is_filled(state, ref) for ref in tensors):
            return False
        arrived = {tensor_at(state, ref).node.id for ref in gradients}
        roots = [tensor_at(state, ref).node for ref in tensors if ref is not None]
        nodes = list(reachable(roots, lambda node: [] if canonical(node.op) in LIKES else inputs(node)))
        if any(node.id in arrived or node.op in _HIDING for node in nodes):
            return False
        if any(canonical(root.op) in _BLANK for root in roots):
            return False
        return any(node.live for node in nodes) or any(canonical(root.op) in _CONSTANT for root in roots)


def returned_at(function: cst.CSTNode) -> cst.CSTNode:
    """Return the only `return` of a function; the function itself, if there are several or none."""
    found = _own(function, cst.Return)
    return found[0] if len(found) == 1 else function


def _only_computes(function: cst.CSTNode) -> bool:
    """Return whether a function assigns something, and has no `return`."""
    return not _own(function, cst.Return) and bool(_own(function, cst.Assign))


def _own(function: cst.CSTNode, kind: type[cst.CSTNode]) -> list[cst.CSTNode]:
    """Return the nodes of a kind in a function, and not in one that it defines."""
    found: list[cst.CSTNode] = []
    nodes = [*parts(function)]
    while nodes:
        node = nodes.pop()
        if isinstance(node, kind):
            found.append(node)
        elif not isinstance(node, (cst.FunctionDef, cst.ClassDef, cst.Lambda)):
            nodes += parts(node)
    return found


def _term(state: State, ref: Ref) -> Term:
    record = tensor_at(state, ref)
    return Term(record.node, record.shape, record.dtype, record.grad)


def _is_hidden_result(value: Value, result: Value) -> bool:
    """Return whether a value that is not known is what forward returns: a tensor."""
    return isinstance(value, Unknown) and value.kind is None and any(value is part for part in parts_of(result))


_SEEN = FILLS | {"index assignment"}
"""Writes after which it is known what a tensor was computed from."""


def _is_filled(state: State, ref: Ref) -> bool:
    """Return whether a tensor has been written, perhaps through a view of it, with other than a constant."""
    return any(canonical(write.op) not in _SEEN for write in state.writes(tensor_at(state, ref).counter))


def _is_miscounted(value: Value, fewest: int, most: int) -> bool:
    parts = parts_of(value)
    # What is not known may be the None of an argument that was left out.
    return len(parts) < fewest or any(part is not None and not isinstance(part, Unknown) for part in parts[most:])


_CONSTANT = ONES | FILLED

_HIDING = frozenset({"call", "grad", "gradient"})
"""Nodes before which more may stand than their edges tell."""

_BLANK = ZEROS | UNFILLED | {"new"}
"""What is returned as it was made is filled where gradlint does not look, or is to stop a gradient."""
