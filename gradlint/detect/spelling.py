"""Names that torch does not have: slips of the pen, and names that it has had."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from functools import cached_property

import libcst as cst

from gradlint.detect.detector import Detector
from gradlint.detect.legacy import REMOVED
from gradlint.domain.announcement import AttributeRead, AttributeSet, NameMissing, RunEnded, TorchCalled
from gradlint.domain.assumption import Assumption
from gradlint.domain.event import Fault
from gradlint.domain.fault.modules import ModuleFlag
from gradlint.domain.fault.spelling import AbsentName, DeprecatedName, MisspeltName, RemovedName
from gradlint.domain.graph import SUPPOSED_CALL, Node
from gradlint.domain.state import State
from gradlint.domain.value import Class, External, Instance, Ref, Tensor, Unknown, Value
from gradlint.domain.walk import inputs, reachable
from gradlint.facts import names, versions
from gradlint.facts.aliases import canonical
from gradlint.facts.traits import CONVERTS, FACTORIES
from gradlint.interpreter.libraries.accelerate import ENGINES, is_engine
from gradlint.interpreter.python.classes import linear_bases
from gradlint.interpreter.world.versions import is_for_some_versions, may_depend_on_release
from gradlint.source.lower.syntax import nodes_of

_MISSPELT_FLAGS = frozenset({"require_grad", "requires_grads", "require_grads"})
"""Attributes that are none of torch's, and look like `requires_grad`: on parameters, they are meant to freeze."""


class SpellingDetector(Detector[None]):
    """Needs no facts but the names that torch has."""

    def on_attribute_read(self, state: State, it: AttributeRead) -> None:
        """Report torch.nn.functional.soft_max, or an import of it."""
        self._report(state, _wrong_name(it.node, it.owner.path, it.name))

    def on_name_missing(self, state: State, it: NameMissing) -> None:
        """Report loss.backwards, model.paramters, optimizer.zero_grads."""
        record, found = state[it.owner], None
        if isinstance(record, Tensor):
            found = self._of_tensor(record.node, it.name, it.node)
        elif isinstance(record, Instance):
            found = self._of_object(state, record, it.name, it.node)
        self._report(state, found)

    def _report(self, state: State, found: Fault | None) -> None:
        """Report a name, but where the program sees to other versions of torch."""
        if found is None or is_for_some_versions(self.machine, state):
            return
        if not isinstance(found, AbsentName) or not self._is_guarded(found.node):
            self.report(found)

    def _is_guarded(self, node: cst.CSTNode) -> bool:
        """Return whether what stands around a node, here or in another file, may keep it from a release of torch."""
        loading, home = self.machine.program.loading, self.machine.program.nowhere
        modules = [home, *(unit.module for unit in (() if loading is None else loading.units()))]
        return any(may_depend_on_release(module, node) for module in modules)

    def _of_tensor(self, made: Node, name: str, node: cst.CSTNode) -> Fault | None:
        """Return a name that tensors lack; what is merely used like one may be a matrix with methods of its own.

        What containers and texts have is no slip: where a value may be a tensor or a dictionary of tensors, the program
        knows which.
        """
        foreign = names.elsewhere(names.TENSOR, name)
        of_network = _unconverted(made).op.startswith(SUPPOSED_CALL)

        def is_plain() -> bool:
            return not of_network and _is_plain_tensor(made)

        if foreign is not None and is_plain() and not self._is_assigned(name):
            return MisspeltName(node, "tensor", name, foreign)
        if made.op in _UNSEEN or (name in _OF_CONTAINERS and not is_plain()):
            return None
        if of_network and not self._is_called(node):
            return None  # What a network gives may have other attributes, such as `logits`.
        instead = names.replacement(f"{names.TENSOR}.{name}")
        if instead is not None:
            return RemovedName(node, name, instead) if _is_from_torch(made) else None
        if versions.ever(names.TENSOR, name):
            return _absent(node, names.TENSOR, name) if _is_from_torch(made) else None
        real = names.meant(names.TENSOR, name)
        computed = real is None and made.leaf is None  # A parameter may be one of a subclass, such as a `DTensor`.
        if computed and self._is_nowhere(name, names.names_of(names.TENSOR)) and is_plain():
            return MisspeltName(node, "tensor", name)
        if real is None or (real == f"{name}_" and not is_plain()):
            return None
        return MisspeltName(node, "tensor", name, real, names.is_same_word(name, real))

    def _is_called(self, node: cst.CSTNode) -> bool:
        """Return whether an attribute is called at once: a method is meant."""
        return id(node) in self._called

    @cached_property
    def _called(self) -> frozenset[int]:
        """The `id` of all that the file calls."""
        code = nodes_of(self.machine.program.nowhere)
        return frozenset(id(one.func) for one in code if isinstance(one, cst.Call))

    def _of_object(self, state: State, record: Instance, name: str, node: cst.CSTNode) -> Fault | None:
        """Return a name of a class whose bases are all known, and that nobody gives the name."""
        if is_engine(record) and isinstance(record.cls, External):
            real = names.near_own(name, ENGINES[record.cls.path])
            return None if real is None else MisspeltName(node, record.cls.path.rpartition(".")[2], name, real)
        is_optimizer = _is_optimizer(state, record.cls)
        owner = names.OPTIMIZER if is_optimizer else names.MODULE
        missing = _absent(node, owner, name)
        real = names.meant(owner, name)
        if real is None and record.module.torn is None:  # What is a network by its name alone may be what has the name.
            real = names.elsewhere(owner, name)
        if real is None and not is_optimizer and name not in names.attributes_of_modules():
            real = None if _is_given(state, record, node) else names.near_own(name, _own_names(state, record))
        if (real or missing) is None:
            lacks = is_optimizer and self._lacks(state, record, name)
            return MisspeltName(node, "optimizer", name) if lacks else None
        if record.open or not _is_known(state, record.cls) or self._is_assigned(name):
            return None
        if real is None or missing is not None:
            return missing
        kind = "optimizer" if is_optimizer else "module"
        return MisspeltName(node, kind, name, real, names.is_same_word(name, real))

    def _lacks(self, state: State, record: Instance, name: str) -> bool:
        """Return whether an optimizer of torch's own has no such attribute, and no other name is near.

        Modules are given attributes by functions that are not known, such as hooks and parametrizations.
        """
        if not self._is_nowhere(name, names.names_of(names.OPTIMIZER)) or record.open:
            return False
        known = isinstance(record.cls, External) and isinstance(record.syntax, cst.Call)
        return known and record.module.torn is None and _is_known(state, record.cls)

    def _is_nowhere(self, name: str, known: Collection[str] | None) -> bool:
        """Return whether a name is none of these, and nobody gives it to anything or expects it to be missing."""
        outside = self.machine.tried or name.startswith("_") or name in (known or ())
        return not outside and not self._is_assigned(name)

    def on_torch_called(self, state: State, it: TorchCalled) -> None:
        """Report torch.randn(3, require_grad=True): torch takes no other names than its own, and raises."""
        if not it.keywords:
            return
        record = None if it.receiver is None else state[it.receiver]
        if record is None:
            self._keywords(state, it.name, it.keywords, it.node)
        elif isinstance(record, Tensor):
            self._keywords(state, f"{names.TENSOR}.{it.name}", it.keywords, it.node, record.node)
        elif isinstance(record, Instance) and not record.open and _is_known(state, record.cls):
            owner = names.OPTIMIZER if _is_optimizer(state, record.cls) else names.MODULE
            self._keywords(state, f"{owner}.{it.name.removeprefix('super.')}", it.keywords, it.node)

    def _keywords(
        self, state: State, path: str, keywords: Collection[str], node: cst.CSTNode, made: Node | None = None
    ) -> None:
        """Report names that a function or method does not take; `made` is the tensor, which may be of another sort."""
        if not isinstance(node, cst.Call):
            return
        for name in keywords:
            found: Fault | None = None if name in REMOVED else _absent(node, path, name, "arguments")
            real = names.meant_keyword(path, name)
            if found is None and real is not None and real not in keywords:
                found = MisspeltName(node, path, name, real, names.is_same_word(name, real), keyword=True)
            if found is not None and (made is None or _is_from_torch(made)):
                self._report(state, found)

    def on_attribute_set(self, state: State, it: AttributeSet) -> None:
        """Report x.require_grad = True: a new attribute.

        Programs hang things of their own on tensors: only slips of this flag are reported.
        """
        record = state.heap.get(it.owner.id) if isinstance(it.owner, Ref) else None
        if isinstance(record, Tensor) and record.parameter and it.name in _MISSPELT_FLAGS:
            if isinstance(it.value, bool):
                self.report(ModuleFlag(it.node, it.name, "tensor"))
        elif isinstance(record, Tensor) and names.meant(names.TENSOR, it.name) == "requires_grad":
            needless = it.value is record.grad
            self.report(MisspeltName(it.node, "tensor", it.name, "requires_grad", True, True, needless=needless))
        elif isinstance(it.owner, Unknown) and isinstance(it.value, bool) and self._is_only_set(it.name):
            self.report(ModuleFlag(it.node, it.name, "tensor"))

    def _is_only_set(self, name: str) -> bool:
        """Return whether a name is a slip of `requires_grad` that the file only ever assigns, and never reads.

        Then what is not known is most likely a parameter of a network that is not known either.
        """
        if names.meant(names.TENSOR, name) != "requires_grad":
            return False
        uses = re.findall(rf"(\.?)\b{name}\b\s*(=?)(?!=)", self.machine.program.source.text)
        return all(dot and assigned for dot, assigned in uses)

    def on_run_ended(self, state: State, it: RunEnded) -> None:
        """Report `y.detatch()` of what is not known: only torch's objects have the name that is meant."""
        program = self.machine.program
        named = set(_ATTRIBUTE.findall(program.source.text))
        slips = {name: real for name in named if (real := names.slip(name)) is not None}
        if not slips or not self.machine.assumes or not slips.keys() - self._assigned:
            return
        for node in nodes_of(program.nowhere):
            name = node.attr.value if isinstance(node, cst.Attribute) else ""
            if name in slips and not self._is_assigned(name) and (slips[name] != "backward" or self._is_called(node)):
                owner = _OWNERS.get(slips[name], "tensor")
                slip = Assumption("use", name, f"a slip of `{slips[name]}`, which torch's objects have", node)
                with self.machine.assuming(slip):
                    self.report(MisspeltName(node, owner, name, slips[name], False))

    @cached_property
    def _assigned(self) -> frozenset[str]:
        """Every attribute that the file assigns, defines, or names in a string, to whatever object."""
        return _assigned_in(self.machine.program.nowhere)

    def _is_assigned(self, name: str) -> bool:
        """Return whether the file, or one that it looks into, assigns or defines a name, or makes up such names."""
        loading = self.machine.program.loading
        units = () if loading is None else loading.units()
        counted = _NUMBER.sub(_COUNTED, name)
        own = {name, counted} if counted != name else {name}
        return not own.isdisjoint(self._assigned) or any(
            (name in unit.words or len(own) > 1) and not own.isdisjoint(_assigned_in(unit.module))
            for unit in units
            if not unit.installed
        )


def _assigned_in(code: cst.CSTNode) -> frozenset[str]:
    """Return every attribute that some code assigns, defines, or names in a string.

    Of a text that goes on with something computed the beginning counts: `f"stage{i}"` names `stage4`.
    """
    found: set[str] = set()
    for node in nodes_of(code):
        if type(node) is cst.AssignTarget or type(node) is cst.AnnAssign:
            found |= set(_bound(node.target))
        elif type(node) is cst.FunctionDef:
            found.add(node.name.value)
        elif type(node) is cst.SimpleString:
            found.update((node.raw_value, f"{_PLACE.sub('', node.raw_value)}{_COUNTED}"))
        elif type(node) is cst.FormattedString and type(node.parts[0]) is cst.FormattedStringText:
            found.add(f"{node.parts[0].value}{_COUNTED}")
    return frozenset(found)


_ATTRIBUTE = re.compile(r"\.[\s\\]*(\w+)")
_NUMBER = re.compile(r"\d+$")
_PLACE = re.compile(r"[%{].*", re.DOTALL)
_COUNTED = "#"
"""What stands for a number at the end of a name."""


_OWNERS = {"zero_grad": "optimizer", "load_state_dict": "module", "parameters": "module", "named_parameters": "module"}

_MOST = 200
_UNSEEN = frozenset({"input", "call", "gradient"})


def _is_from_torch(made: Node) -> bool:
    """Return whether a value is certainly a tensor: made by torch, of tensors made by torch, as far as is looked."""
    found = reachable([made], lambda node: inputs(node) if node.leaf is None else [], _MOST)
    return not any(node.op in _UNSEEN for node in found)


def _unconverted(made: Node) -> Node:
    """Return what a node is before it goes to another device or type: so does what holds tensors, as a batch."""
    while canonical(made.op) in CONVERTS and len(made.edges) == 1:
        made = made.edges[0].node
    return made


def _is_plain_tensor(made: Node) -> bool:
    """Return whether a value is torch's own tensor: functions of torch give others for others, such as a `TensorDict`.

    These have methods of their own, such as `apply`, where tensors have only `apply_`.
    """
    found = list(reachable([made], inputs, _MOST))
    if any(node.op.startswith(SUPPOSED_CALL) for node in found):
        return False  # An item of what a network gives may be a dictionary, too.
    sources = [node for node in found if not node.edges]
    return _is_from_torch(made) and all(node.leaf is not None or canonical(node.op) in FACTORIES for node in sources)


def _is_given(state: State, record: Instance, node: cst.CSTNode) -> bool:
    """Return whether a function is given an object of a class of another file: another class may have what it reads."""
    cls = state.heap.get(record.cls.id) if isinstance(record.cls, Ref) else None
    read = node.value.value if isinstance(node, cst.Attribute) and isinstance(node.value, cst.Name) else None
    if state.function is None or not isinstance(cls, Class) or cls.module == state.function.module:
        return False
    return any(param.name == read for param in state.function.code.params)


def _own_names(state: State, record: Instance) -> set[str]:
    """Return what the program names itself in an object and its classes."""
    bases = (state.heap.get(base.id) for base in linear_bases(state, record.cls) if isinstance(base, Ref))
    return {*record.attrs, *(name for base in bases if isinstance(base, Class) for name in base.attrs)}


def _is_optimizer(state: State, cls: Value) -> bool:
    bases = linear_bases(state, cls)
    return any(isinstance(base, External) and base.path.startswith("torch.optim.") for base in bases)


def _is_known(state: State, cls: Value) -> bool:
    """Return whether all classes of an object are in sight, and none makes up attributes."""
    return all(_is_plain(state, base) for base in linear_bases(state, cls))


def _is_plain(state: State, cls: Value) -> bool:
    if isinstance(cls, External):
        return cls.path.startswith(("torch.nn.", "torch.optim.")) and cls.path not in _WRAPPING
    record = state.heap.get(cls.id) if isinstance(cls, Ref) else None
    return isinstance(record, Class) and not {"__getattr__", "__getattribute__"} & record.attrs.keys()


_OF_CONTAINERS = frozenset(name for kind in (dict, list, set, str) for name in dir(kind))
_WRAPPING = frozenset({"torch.nn.DataParallel", "torch.nn.parallel.DistributedDataParallel"})


def _bound(target: cst.BaseExpression) -> Iterator[str]:
    """Yield the names and attributes that an assignment to a target binds."""
    if isinstance(target, (cst.Tuple, cst.List)):
        for element in target.elements:
            yield from _bound(element.value)
    elif isinstance(name := target.attr if isinstance(target, cst.Attribute) else target, cst.Name):
        yield name.value


def _absent(node: cst.CSTNode, owner: str, name: str, kind: versions.Kind = "names") -> AbsentName | None:
    """Return that the project's release of torch does not have a name, or does not take an argument."""
    found = versions.absence(owner, name, kind)
    if found is None:
        return None
    since, last = (str(one or "") for one in (found.since, found.last))
    if kind == "arguments":
        return AbsentName(node, name, str(found.release), since, last, owner)
    return AbsentName(node, f"{owner}.{name}", str(found.release), since, last)


def _wrong_name(node: cst.CSTNode, owner: str, name: str) -> Fault | None:
    """Return what is to say of a name of a module or class of torch."""
    path = f"{owner}.{name}"
    if (instead := names.replacement(path)) is not None:
        return RemovedName(node, path, instead)
    if (instead := names.newer(path)) is not None:
        return DeprecatedName(node, path, instead)
    if (missing := _absent(node, owner, name)) is not None:
        # Of `torch.compiler.is_compiling` the first name that is missing is reported, and nothing of `getattr`.
        stated = isinstance(node, (cst.Attribute, cst.ImportFrom, cst.ImportAlias))
        above = versions.absence(*owner.rpartition(".")[::2]) if isinstance(node, cst.Attribute) else None
        return missing if stated and above is None else None
    if (real := names.meant(owner, name)) is not None:
        return MisspeltName(node, owner, name, real, names.is_same_word(name, real))
    if (real := names.elsewhere(owner, name)) is not None:
        return MisspeltName(node, owner, name, real)
    return None
