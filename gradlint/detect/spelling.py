"""Names that torch does not have: slips of the pen, and names that it has had."""

from __future__ import annotations

import re
from collections.abc import Collection

import libcst as cst

from gradlint.domain.event import LegacyVariable, MisspeltName, RemovedName
from gradlint.domain.fault.modules import ModuleFlag
from gradlint.domain.graph import Node
from gradlint.domain.state import State
from gradlint.domain.value import Class, External, Instance, Ref, Value
from gradlint.facts.names import (
    MODULE,
    OPTIMIZER,
    TENSOR,
    is_same_word,
    meant,
    meant_keyword,
    names_of,
    newer,
    replacement,
)
from gradlint.interpreter.args import Args
from gradlint.interpreter.machine import Machine

_KINDS = {"module": MODULE, "optimizer": OPTIMIZER}


def of_namespace(machine: Machine, path: str, name: str, node: cst.CSTNode) -> None:
    """torch.nn.functional.soft_max, or an import of it"""
    if machine.guarded:
        return
    instead = replacement(f"{path}.{name}")
    if instead is not None:
        machine.emit(RemovedName(node, "name", f"{path}.{name}", instead, True))
        return
    instead = newer(f"{path}.{name}")
    if instead is not None:
        machine.emit(RemovedName(node, "deprecated", f"{path}.{name}", instead, False))
        return
    real = meant(path, name)
    if real is not None:
        machine.emit(MisspeltName(node, path, name, real, is_same_word(name, real)))


def of_tensor(machine: Machine, made: Node, name: str, node: cst.CSTNode) -> None:
    """loss.backwards; what is merely used like a tensor may be another sort of matrix, with methods of its own.

    What containers and texts have is no slip: where a value may be a tensor or a dictionary of tensors, the program
    knows which.
    """
    if machine.guarded or made.op in _UNSEEN or name in _OF_CONTAINERS:
        return
    instead = replacement(f"{TENSOR}.{name}")
    if instead is not None:
        if is_from_torch(made):
            machine.emit(RemovedName(node, "name", name, instead, True))
        return
    real = meant(TENSOR, name)
    if real is not None:
        machine.emit(MisspeltName(node, "tensor", name, real, is_same_word(name, real)))


def of_keywords(
    machine: Machine, path: str, keywords: Collection[str], node: cst.CSTNode, made: Node | None = None
) -> None:
    """torch.randn(3, require_grad=True): torch takes no other names than its own, and raises.

    Of a method, `made` is the tensor, which may be a matrix of another sort.
    """
    if machine.guarded or not isinstance(node, cst.Call):
        return
    for name in keywords:
        real = meant_keyword(path, name)
        if real is not None and real not in keywords and (made is None or is_from_torch(made)):
            machine.emit(MisspeltName(node, path, name, real, is_same_word(name, real), keyword=True))


def is_from_torch(made: Node) -> bool:
    """Whether a value is certainly a tensor: made by torch, of tensors made by torch, as far as is looked."""
    stack, seen = [made], {made.id}
    while stack and len(seen) < _MOST:
        node = stack.pop()
        if node.op in _UNSEEN:
            return False
        if node.leaf is None:
            fresh = [edge.node for edge in node.edges if edge.node.id not in seen]
            seen.update(one.id for one in fresh)
            stack.extend(fresh)
    return True


_MOST = 200
_UNSEEN = frozenset({"input", "call", "gradient"})


def of_assigned(machine: Machine, state: State, name: str, node: cst.CSTNode) -> None:
    """x.require_grad = True: a new attribute. Programs hang things of their own on tensors: only this slip is told."""
    if name == "volatile":
        machine.emit(LegacyVariable(node, True, None, None, state.grad is not False))
    elif meant(TENSOR, name) == "requires_grad":
        machine.emit(MisspeltName(node, "tensor", name, "requires_grad", True, assigned=True))


def of_unknown(machine: Machine, name: str, node: cst.CSTNode) -> None:
    """p.require_grad = False, for a p that is not known: most likely a parameter of a network that is not known either.

    Told if the file only ever assigns the name, and never reads it.
    """
    if meant(TENSOR, name) != "requires_grad":
        return
    code = machine.program.nowhere
    assert isinstance(code, cst.Module)
    uses = re.findall(rf"(\.?)\b{name}\b\s*(=?)(?!=)", code.code)
    if all(dot and assigned for dot, assigned in uses):
        machine.emit(ModuleFlag(node, name, "tensor"))


def of_object(machine: Machine, state: State, record: Instance, kind: str, name: str, node: cst.CSTNode) -> None:
    """model.paramters, optimizer.zero_grads; of a class whose bases are all known, and that nobody gives the name."""
    real = None if machine.guarded else meant(_KINDS[kind], name)
    if real is None or record.open or not _is_known(state, record.cls) or name in assigned_names(machine):
        return
    machine.emit(MisspeltName(node, kind, name, real, is_same_word(name, real)))


def of_method(machine: Machine, state: State, record: Instance, name: str, args: Args, node: cst.CSTNode) -> None:
    """model.zero_grad(set_to_nome=True); of a class as in `of_object`."""
    cls = record.cls
    if not record.open and args.keywords and _is_known(state, cls):
        owner = OPTIMIZER if _is_optimizer(state, cls) else MODULE
        of_keywords(machine, f"{owner}.{name.removeprefix('super.')}", args.keywords, node)


def _is_optimizer(state: State, cls: Value) -> bool:
    if isinstance(cls, External):
        return cls.path.startswith("torch.optim.")
    record = state.heap.get(cls.id) if isinstance(cls, Ref) else None
    return isinstance(record, Class) and any(_is_optimizer(state, base) for base in record.bases)


def _is_known(state: State, cls: Value) -> bool:
    """Whether all classes behind an object are in sight, and none makes up attributes."""
    if isinstance(cls, External):
        return cls.path.startswith(("torch.nn.", "torch.optim.")) and cls.path not in _WRAPPING
    record = state.heap.get(cls.id) if isinstance(cls, Ref) else None
    if not isinstance(record, Class) or "__getattr__" in record.attrs or "__getattribute__" in record.attrs:
        return False
    return all(_is_known(state, base) for base in record.bases)


_OF_CONTAINERS = frozenset(name for kind in (dict, list, set, str) for name in dir(kind))
_WRAPPING = frozenset({"torch.nn.DataParallel", "torch.nn.parallel.DistributedDataParallel"})


def assigned_names(machine: Machine) -> frozenset[str]:
    """Every attribute that the file assigns, defines, or names in a string, to whatever object."""
    if machine.assigned is None:
        collector = _Collector()
        machine.program.nowhere.visit(collector)
        machine.assigned = frozenset(collector.names)
    return machine.assigned


class _Collector(cst.CSTVisitor):
    def __init__(self) -> None:
        self.names: set[str] = set()

    def on_visit(self, node: cst.CSTNode) -> bool:
        if isinstance(node, (cst.AssignTarget, cst.AnnAssign)):
            self._target(node.target)
        elif isinstance(node, cst.FunctionDef):
            self.names.add(node.name.value)
        elif isinstance(node, cst.SimpleString):
            self.names.add(node.raw_value)
        return True

    def _target(self, node: cst.BaseExpression) -> None:
        if isinstance(node, cst.Attribute):
            self.names.add(node.attr.value)
        elif isinstance(node, cst.Name):
            self.names.add(node.value)
        elif isinstance(node, (cst.Tuple, cst.List)):
            for element in node.elements:
                self._target(element.value)


def has_name(path: str, name: str) -> bool | None:
    """hasattr(torch.nn, "name"), for what was measured."""
    known = names_of(path)
    return None if known is None else name in known
