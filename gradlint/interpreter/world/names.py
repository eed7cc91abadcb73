"""How a file uses its names: what it binds, calls, takes apart and keeps, and which attributes it asks for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from functools import cached_property

import libcst as cst

from gradlint.domain.walk import reachable
from gradlint.facts import method_fact
from gradlint.interpreter.world import guesses
from gradlint.interpreter.world.training import TRAINING_STEP
from gradlint.source.lower.syntax import called_name, lines_of, nodes_of, parts, root_of


@dataclass
class Uses:
    """What a file does with one name; `looped`: a loop goes over what a call of it gives."""

    first: cst.CSTNode
    attributes: set[str] = field(default_factory=set)
    called: bool = False
    looped: bool = False
    parts: bool = False


class Names:
    """The names that a file binds at its top level and in inner scopes, and how all names are used."""

    def __init__(self, root: cst.CSTNode) -> None:
        self.bound: set[str] = set()
        self.inner: set[str] = set()
        self.outer_uses: set[str] = set()
        self.uses: dict[str, Uses] = {}
        self.kept_as: dict[str, str] = {}
        self.results: dict[str, list[cst.Call]] = {}
        self.torn: dict[cst.CSTNode, tuple[str, ...]] = {}
        self.items: dict[str, list[cst.Call]] = {}
        self.taken: list[tuple[str, cst.Subscript]] = []
        self._numpy: set[str] = set()
        self._called: set[str] = set()
        self._loops: list[tuple[frozenset[str], cst.CSTNode]] = []
        self._given: list[tuple[frozenset[str], cst.CSTNode]] = []
        self._networks: list[cst.CSTNode] = []
        stack: list[tuple[cst.CSTNode, bool]] = [(root, True)]
        while stack:
            node, top = stack.pop()
            if type(node) in _TELLING:
                self._look(node, top)
            below = top and type(node) not in _SCOPES
            stack += [(child, below) for child in reversed(parts(node))]

    def _look(self, node: cst.CSTNode, top: bool) -> None:
        """Note what one piece of syntax does with names."""
        if type(node) is cst.Name:
            self.of(node)
            if top:
                self.outer_uses.add(node.value)
        elif type(node) is cst.Attribute:
            uses = self.of(node.value)
            if uses is not None:
                uses.attributes.add(node.attr.value)
            elif type(node.value) is cst.Call and not tensors_have(node.attr.value):
                self.torn[node.value] = ()
        elif type(node) is cst.Call:
            function = node.func
            if type(function) is cst.Attribute and function.attr.value == "forward":
                function = function.value
            uses = self.of(function) if node.args else None
            if uses is not None:
                uses.called = True
            if type(function) is cst.Subscript and (place := spelled(function.value)) is not None:
                self._called.add(place)
            if type(function) is cst.Attribute and function.attr.value == "append":
                self._put(spelled(function.value), [arg.value for arg in node.args])
            if type(node.func) is cst.Attribute and node.func.attr.value == "step" and node.args:
                owner = self.of(node.func.value)
                if owner is not None:
                    owner.attributes.add(STEP_OF)
            stepped = self.of(node.args[0].value) if called_name(node) == "step" and node.args else None
            if stepped is not None:
                stepped.attributes.add("step")  # As by a scaler: `scaler.step(optimizer)`.
            root = self.of(node.args[0].value) if called_name(node) == "backward" and node.args else None
            if root is not None:
                root.attributes.add("backward")  # As by an engine: `fabric.backward(loss)`.
        elif type(node) is cst.Subscript:
            if isinstance(node.value, cst.Call):
                self.torn[node.value] = ()
            self.taken_apart(node.value)
        elif type(node) is cst.Assign:
            self._assign(node, top)
        elif isinstance(node, (cst.Param, cst.FunctionDef, cst.ClassDef, cst.AsName)):
            if type(node) is cst.ClassDef and any(map(_is_forward, node.body.body)):
                self._networks.append(node)
            elif type(node) is cst.FunctionDef and node.name.value == TRAINING_STEP:
                for loss in filter(None, map(_returned_loss, lines_of(node))):
                    self.uses.setdefault(loss, Uses(node)).attributes.add("backward")
            self.bind(node.name, top and type(node) is not cst.Param)
        elif isinstance(node, (cst.AnnAssign, cst.AugAssign, cst.NamedExpr, cst.For, cst.CompFor)):
            self.bind(node.target, top)
            if type(node) is cst.For:
                self._loops.append((frozenset(_places(node.target)), node.iter))
                for call in nodes_of(node.iter):
                    uses = self.of(call.func) if type(call) is cst.Call else None
                    if uses is not None:
                        uses.looped = True
        elif type(node) is cst.ImportAlias:
            (self.bound if top else self.inner).add(root_of(node.name))
            if root_of(node.name) == "numpy":
                self._numpy.add(node.evaluated_alias or "numpy")
        elif type(node) is cst.Global:
            self.bound |= {item.name.value for item in node.names}

    def _assign(self, node: cst.Assign, top: bool) -> None:
        for target in (one.target for one in node.targets):
            self.bind(target, top)
            place = spelled(target)
            places = frozenset(_places(target))
            self._given.append((places, node.value))
            if type(target) is cst.Tuple or type(target) is cst.List:
                parts = [element.value for element in target.elements]
                self.torn[node.value] = tuple(spelled(one) or "" for one in parts)
                self.taken_apart(node.value)
                if isinstance(node.value, cst.Tuple):
                    for part, element in zip(parts, node.value.elements, strict=False):
                        self.keep(part, element.value)
            elif place is not None and isinstance(node.value, cst.Call):
                self.results.setdefault(place, []).append(node.value)
            self.keep(target, node.value)
            self._put(place, _members(node.value))

    def _put(self, place: str | None, members: Iterable[cst.CSTNode]) -> None:
        """Note the calls that make members of a list."""
        if place is not None:
            calls = [one for one in map(wrapped, members) if isinstance(one, cst.Call)]
            self.items.setdefault(place, []).extend(calls)

    @cached_property
    def called_items(self) -> AbstractSet[str]:
        """The lists whose members are called: by a subscript, or by the name that a loop gives them."""
        called = set(self._called)
        for targets, over in self._loops:
            if any(self.uses[one].called for one in targets if one in self.uses):
                called.update(name for node in nodes_of(over) if (name := spelled(node)) is not None)
        return called

    @cached_property
    def losses(self) -> AbstractSet[cst.CSTNode]:
        """What the file gives, as it is, a name that it backpropagates."""
        wanted = {name for name, uses in self.uses.items() if "backward" in uses.attributes}
        return {value for places, value in self._given if not wanted.isdisjoint(places)}

    @cached_property
    def for_losses(self) -> AbstractSet[cst.CSTNode]:
        """The calls and attributes from which the file computes what it backpropagates, or networks give."""
        wanted = {name for name, uses in self.uses.items() if "backward" in uses.attributes or guesses.is_loss(name)}
        calls: set[cst.CSTNode] = set()
        waiting = self._given
        given = [one.value for one in lines_of(*self._networks) if type(one) is cst.Return and one.value]
        while hit := [*given, *(value for places, value in waiting if not wanted.isdisjoint(places))]:
            waiting, given = [(places, value) for places, value in waiting if wanted.isdisjoint(places)], []
            for node in reachable(hit, self._operands):
                if type(node) in (cst.Call, cst.Attribute):
                    calls.add(node)
                if (name := spelled(node)) is not None:
                    wanted.add(name)
        return calls

    def _operands(self, node: cst.CSTNode) -> Iterable[cst.CSTNode]:
        """Return what a value is computed from: of a call its arguments, and the tensor whose method it is.

        What NumPy computes has no graph.
        """
        if type(node) is not cst.Call:
            return parts(node)
        function = node.func
        if root_of(function) in self._numpy:
            return ()
        owner = function.value if isinstance(function, cst.Attribute) else None
        of_tensors = isinstance(function, cst.Attribute) and tensors_have(function.attr.value)
        named = spelled(function) is not None and not of_tensors
        return (*node.args, *(() if owner is None or named else (owner,)))

    def of(self, place: cst.CSTNode) -> Uses | None:
        """Return the uses of a name, or of an attribute of `self`."""
        name = spelled(place)
        return None if name is None else self.uses.setdefault(name, Uses(place))

    def keep(self, place: cst.CSTNode, given: cst.CSTNode) -> None:
        """Note that a value gets a further name, or an item of one its first."""
        name, other = spelled(wrapped(given)), spelled(place)
        if type(given) is cst.Subscript and other is not None:
            self.taken.append((other, given))
        if name is not None and other is not None:
            self.kept_as[name] = other

    def taken_apart(self, place: cst.CSTNode) -> None:
        """Note that a value is unpacked, or an item is taken out of it."""
        uses = self.of(place)
        if uses is not None:
            uses.parts = True

    def uses_of(self, name: str) -> Uses:
        """Return the uses of a name, and of the attribute that keeps its value, or that a base class keeps it in."""
        kept = self.kept_as.get(name, f"self.{name}")
        found = [self.uses[one] for one in (name, kept) if one in self.uses]
        merged = Uses(found[0].first if found else cst.parse_expression(name))
        for uses in found:
            merged.attributes |= uses.attributes
            merged.called = merged.called or uses.called
            merged.looped = merged.looped or uses.looped
            merged.parts = merged.parts or uses.parts
        return merged

    def bind(self, target: cst.CSTNode, top: bool) -> None:
        """Note the names that a target binds."""
        if isinstance(target, cst.Name):
            (self.bound if top else self.inner).add(target.value)
        elif isinstance(target, (cst.Tuple, cst.List)):
            for element in target.elements:
                self.bind(element.value, top)


def _is_forward(node: cst.CSTNode) -> bool:
    """Return whether a class body defines what calls of a network run."""
    return isinstance(node, cst.FunctionDef) and node.name.value == "forward"


def _returned_loss(line: cst.CSTNode) -> str | None:
    """Return the name of what a `training_step` returns: by itself, or as the loss in a dict."""
    value = line.value if type(line) is cst.Return else None
    if type(value) is cst.Dict:
        pairs = ((one.key, one.value) for one in value.elements if type(one) is cst.DictElement)
        value = next((given for key, given in pairs if type(key) is cst.SimpleString and key.raw_value == "loss"), None)
    return None if value is None else spelled(value)


_TELLING = frozenset(
    {
        *(cst.Name, cst.Attribute, cst.Call, cst.Subscript, cst.Assign, cst.AnnAssign, cst.AugAssign, cst.NamedExpr),
        *(cst.For, cst.CompFor, cst.FunctionDef, cst.ClassDef, cst.AsName, cst.Param, cst.ImportAlias, cst.Global),
    }
)
"""The syntax that names stand in."""

_SCOPES = frozenset(
    {cst.FunctionDef, cst.ClassDef, cst.Lambda, cst.ListComp, cst.SetComp, cst.DictComp, cst.GeneratorExp}
)


def spelled(node: cst.CSTNode) -> str | None:
    """Return a name, or an attribute of one, or of that: `engine.model`, `self.engine.model`."""
    if type(node) is cst.Name:
        return node.value
    if type(node) is not cst.Attribute:
        return None
    inner = spelled(node.value)
    return None if inner is None or inner.count(".") == _DEEPEST else f"{inner}.{node.attr.value}"


_DEEPEST = 2


def _places(target: cst.CSTNode) -> Iterator[str]:
    """Yield the names and attributes that an assignment binds."""
    if type(target) is cst.Tuple or type(target) is cst.List:
        for element in target.elements:
            yield from _places(element.value)
    elif (place := spelled(target)) is not None:
        yield place


def _members(made: cst.CSTNode) -> list[cst.CSTNode]:
    """Return what makes the members of a list, or of a `nn.ModuleList` of one."""
    if called_name(made) == "ModuleList" and isinstance(made, cst.Call) and made.args:
        return _members(made.args[0].value)
    if type(made) is cst.ListComp or type(made) is cst.GeneratorExp:
        return [made.elt]
    return [one.value for one in made.elements] if type(made) is cst.List else []


def owner_of(place: str) -> str:
    """Return what a place is an attribute of: `self.engine` of `self.engine.model`; nothing for a name."""
    return place.rpartition(".")[0]


def attribute_of(place: str) -> str:
    """Return the last name of a place: `model` of `self.engine.model`."""
    return place.rpartition(".")[2]


def tensors_have(name: str) -> bool:
    """Return whether tensors have an attribute of this name."""
    return name in _OF_TENSORS or method_fact(name) is not None


_OF_TENSORS = frozenset({"backward", "data", "grad", "shape", "device", "dtype", "T", "requires_grad", "grad_fn"})


def wrapped(node: cst.CSTNode) -> cst.CSTNode:
    """Return what stands inside of calls that give a network back: the `model` of `DDP(model.to(device))`."""
    while type(node) is cst.Call:
        if type(node.func) is cst.Attribute and node.func.attr.value in _ONWARDS:
            node = node.func.value
        elif node.args and called_name(node) in _WRAPPERS:
            node = node.args[0].value
        else:
            break
    return node


_ONWARDS = frozenset({"to", "cuda", "cpu", "double", "float", "half", "bfloat16", "train", "eval", "requires_grad_"})
"""Methods that give a network back."""

_WRAPPERS = frozenset(
    {
        *("DataParallel", "DistributedDataParallel", "DDP", "FSDP", "FullyShardedDataParallel", "fully_shard"),
        *("compile", "convert_sync_batchnorm", "prepare", "prepare_model", "setup_module", "unwrap_model"),
    }
)
"""Functions and classes that give back, or stand for, the network that they are given."""


STEP_OF = "step(...)"
"""What is noted of a name whose `step` is given an argument."""
