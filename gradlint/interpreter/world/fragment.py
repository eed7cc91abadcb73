"""Fragments: files that read names which nothing in them binds, as people paste them from notebooks into a question.

Such a file does not run as it stands, so what its free names are can only be supposed, from how they are used: what
has `step` and `zero_grad` is an optimizer, what is called and trained is a network, `nn` is `torch.nn`. The same holds
for the parameters of a function that nothing in the file calls, and in which a loss is backpropagated.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from copy import copy
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, TypeAlias

import libcst as cst

from gradlint.domain.assumption import Assumption, AssumptionKind
from gradlint.domain.walk import reachable
from gradlint.facts import method_fact
from gradlint.interpreter.world import guesses
from gradlint.source.core import Param
from gradlint.source.lower.syntax import called_name, lines_of, nodes_of, parts, root_of

UNSEEN = "gradlint.unseen."
"""The root of the paths of what a file calls for a network, and does not show."""

_CUSTOMS = {
    "torch": "torch",
    "nn": "torch.nn",
    "F": "torch.nn.functional",
    "optim": "torch.optim",
    "np": "numpy",
    "numpy": "numpy",
    "math": "math",
    "Variable": "torch.autograd.Variable",
}
"""Names that every program about torch gives to the same things."""

_PARAMETERS = frozenset({"parameters", "named_parameters"})
_MODULE_ONLY = _PARAMETERS | {"train", "eval", "state_dict", "load_state_dict"}


@dataclass
class _Uses:
    """What a file does with one name."""

    first: cst.CSTNode
    attributes: set[str] = field(default_factory=set)
    called: bool = False
    parts: bool = False


class Names:
    """The names that a file binds at its top level and in inner scopes, and how all names are used."""

    def __init__(self, root: cst.CSTNode) -> None:
        self.bound: set[str] = set()
        self.inner: set[str] = set()
        self.outer_uses: set[str] = set()
        self.uses: dict[str, _Uses] = {}
        self.kept_as: dict[str, str] = {}
        self.results: dict[str, list[cst.Call]] = {}
        self.torn: dict[cst.CSTNode, tuple[str, ...]] = {}
        self.items: dict[str, list[cst.Call]] = {}
        self.taken: list[tuple[str, cst.Subscript]] = []
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
            elif type(node.value) is cst.Call and not _has(node.attr.value):
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
                    owner.attributes.add(_STEP_OF)
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
            self.bind(node.name, top and type(node) is not cst.Param)
        elif isinstance(node, (cst.AnnAssign, cst.AugAssign, cst.NamedExpr, cst.For, cst.CompFor)):
            self.bind(node.target, top)
            if type(node) is cst.For:
                self._loops.append((frozenset(_places(node.target)), node.iter))
        elif type(node) is cst.ImportAlias:
            (self.bound if top else self.inner).add(root_of(node.name))
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
    def for_losses(self) -> AbstractSet[cst.CSTNode]:
        """The calls and attributes from which the file computes what it backpropagates, or networks give."""
        wanted = {name for name, uses in self.uses.items() if "backward" in uses.attributes or guesses.is_loss(name)}
        calls: set[cst.CSTNode] = set()
        waiting = self._given
        given = [one.value for one in lines_of(*self._networks) if type(one) is cst.Return and one.value]
        while hit := [*given, *(value for places, value in waiting if not wanted.isdisjoint(places))]:
            waiting, given = [(places, value) for places, value in waiting if wanted.isdisjoint(places)], []
            for node in reachable(hit, _operands):
                if type(node) in (cst.Call, cst.Attribute):
                    calls.add(node)
                if (name := spelled(node)) is not None:
                    wanted.add(name)
        return calls

    def of(self, place: cst.CSTNode) -> _Uses | None:
        """Return the uses of a name, or of an attribute of `self`."""
        name = spelled(place)
        return None if name is None else self.uses.setdefault(name, _Uses(place))

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

    def uses_of(self, name: str) -> _Uses:
        """Return the uses of a name, and of the attribute that keeps its value, or that a base class keeps it in."""
        kept = self.kept_as.get(name, f"self.{name}")
        found = [self.uses[one] for one in (name, kept) if one in self.uses]
        merged = _Uses(found[0].first if found else cst.parse_expression(name))
        for uses in found:
            merged.attributes |= uses.attributes
            merged.called = merged.called or uses.called
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


def _operands(node: cst.CSTNode) -> Iterable[cst.CSTNode]:
    """Return what a value is computed from: of a call its arguments, and the tensor whose method it is."""
    if type(node) is not cst.Call:
        return parts(node)
    function = node.func
    owner = function.value if isinstance(function, cst.Attribute) else None
    named = spelled(function) is not None and not (isinstance(function, cst.Attribute) and _has(function.attr.value))
    return (*node.args, *(() if owner is None or named else (owner,)))


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


def _has(name: str) -> bool:
    """Return whether tensors have an attribute of this name."""
    return name in _OF_TENSORS or method_fact(name) is not None


_OF_TENSORS = frozenset({"backward", "data", "grad", "shape", "device", "dtype", "T", "requires_grad", "grad_fn"})


class Supposed:
    """What names are supposed to be: those that nothing binds, parameters without an argument, attributes of `self`."""

    def __init__(self, names: Names, free: Mapping[str, cst.CSTNode]) -> None:
        whole = {name for name, uses in names.uses.items() if _is_whole(uses)}
        self.torn = {
            call: tuple(one in whole and _STATE.match(one) is None for one in parts)
            for call, parts in names.torn.items()
        }
        """Calls whose result is taken to pieces, as no single tensor is, and which of the pieces are tensors."""
        self.torn |= {call: () for name, calls in names.results.items() if name not in whole for call in calls}
        self.switched = {name for name, uses in names.uses.items() if "requires_grad_" in uses.attributes}
        """What the file switches on or off by its method."""
        self.assumptions: list[Assumption] = []
        self.roles: dict[str, dict[str, cst.CSTNode]] = {}
        """By role the names, each with the place where it is assumed."""
        makers = set(_makers(names))
        for name, place in free.items():
            role, kind = _role(attribute_of(name), names.uses_of(name))
            if role == "an optimizer" and _are_listed(names.results.get(name, ())):
                continue  # It moves what stands there, such as an image, and no network.
            if role is not None and name not in makers:
                self.roles.setdefault(role, {})[name] = place
                self.assumptions.append(Assumption(kind, name, role, place))

    def only(self, names: AbstractSet[str]) -> Supposed:
        """Return what some of the names are supposed to be."""
        part = copy(self)
        part.assumptions = [one for one in self.assumptions if one.subject in names]
        part.roles = {
            role: {name: node for name, node in group.items() if name in names} for role, group in self.roles.items()
        }
        return part

    @property
    def names(self) -> AbstractSet[str]:
        """The names that are supposed to be something."""
        return {name for group in self.roles.values() for name in group}


def _are_listed(makers: Sequence[cst.Call]) -> bool:
    """Return whether all that make an optimizer give it a list of single tensors: `Adam([image])`."""
    given = [call.args[0].value for call in makers if call.args]
    names = [[one.value for one in each.elements] for each in given if isinstance(each, cst.List)]
    return 0 < len(makers) == len(names) and all(isinstance(one, cst.Name) for each in names for one in each)


class Fragment(Supposed):
    """The free names of one file, and what they are supposed to be."""

    def __init__(self, module: cst.Module) -> None:
        names = Names(module)
        hidden = names.bound | (names.inner - names.outer_uses)
        dynamic = {"exec", "globals", "locals", "vars"} & names.uses.keys()
        used = {name: uses.first for name, uses in names.uses.items()}
        free = {} if dynamic else {name: node for name, node in used.items() if name not in hidden and "." not in name}
        super().__init__(names, free)
        self.free = free
        self.customs = {name: path for name, path in _CUSTOMS.items() if name in free}
        self.makers = {name for name in free if name not in self.customs} & set(_makers(names))
        self.attributes = Supposed(names, {one: node for one, node in used.items() if one.startswith("self.")})
        self.made = dict(_made(names))
        self._found = names
        """By call, what it gives: the name that this is assigned to, its role, and what says so."""
        self.together = dict(_made_together(names))
        """By call that gives several, the name that each is assigned to, its role if it has any, and what says so."""

    @property
    def for_losses(self) -> AbstractSet[cst.CSTNode]:
        """The calls and attributes from which the file computes what it backpropagates."""
        return self._found.for_losses

    @cached_property
    def keeps_rows(self) -> bool:
        """Whether the file makes a loss function that does not reduce, which may be one that it does not show."""
        made = (arg for calls in self._found.results.values() for call in calls for arg in call.args)
        return any(arg.keyword is not None and _is_unreduced(arg.keyword.value, arg.value) for arg in made)


def _is_unreduced(keyword: str, value: cst.BaseExpression) -> bool:
    """Return whether an argument makes a loss function that does not reduce."""
    if keyword == "reduce":
        return isinstance(value, cst.Name) and value.value == "False"
    return keyword == "reduction" and isinstance(value, cst.SimpleString) and value.raw_value == "none"


def _makers(names: Names) -> Iterator[str]:
    """Yield the names that are called for what the file then uses as a network: `model = MyModel().cuda()`."""
    for place, calls in names.results.items():
        for call in calls:
            maker = _maker(call)
            uses = None if maker is None else names.uses_of(place)
            if maker and uses and (uses.attributes & _PARAMETERS or _is_network(attribute_of(place), uses)):
                yield maker


def _made(names: Names) -> Iterator[tuple[cst.CSTNode, Assumption]]:
    """Yield what gives what the file then uses as a network, a loss function, an optimizer or a scaler."""
    for place, calls in names.results.items():
        name = attribute_of(place)
        uses = names.uses_of(place)
        role, kind = _role(name, uses)
        for call in calls:
            if role is not None:
                yield wrapped(call), Assumption(kind, name, role, call)
            elif place != name and uses.called and guesses.is_layer(called_name(wrapped(call)), name):
                yield wrapped(call), Assumption("use", name, "a network", call)
    for place, item in names.taken:
        role, kind = _role(attribute_of(place), names.uses_of(place))
        if role in ("an optimizer", "a gradient scaler"):
            yield item, Assumption(kind, attribute_of(place), role, item)
    for place in names.items.keys() & names.called_items:
        name = attribute_of(place)
        for call in names.items[place] if place != name else ():
            if guesses.is_layer(called_name(call), name):
                yield call, Assumption("use", f"{name}[...]", "a network", call)


def _made_together(names: Names) -> Iterator[tuple[cst.CSTNode, tuple[Assumption | str, ...]]]:
    """Yield the calls that give several things at once, of which the file uses some as networks or optimizers."""
    for call, places in names.torn.items():
        found: list[Assumption | str] = []
        for place in places if isinstance(call, cst.Call) else ():
            role, kind = _role(attribute_of(place), names.uses_of(place)) if place else (None, "use")
            found.append(place if role is None else Assumption(kind, attribute_of(place), role, call))
        if any(isinstance(one, Assumption) and one.role in ("a network", "an optimizer") for one in found):
            yield call, tuple(found)


def _maker(call: cst.Call) -> str | None:
    """Return the name that is called first in `MyModel(...).to(device)`."""
    made = wrapped(call)
    return made.func.value if type(made) is cst.Call and type(made.func) is cst.Name else None


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


OF_GRAPHS = frozenset({"backward", "detach", "detach_", "grad", "grad_fn", "requires_grad", "requires_grad_"})
"""Attributes that nobody asks of data: they are about graphs."""


def is_untyped(param: Param) -> bool:
    """Return whether the annotation of a parameter does not say that it is a number, a text or a tensor."""
    said = param.annotation
    plain = said is None or all(one not in _VALUES for one in _heads(said))
    return plain and not param.kind


def _heads(annotation: cst.BaseExpression) -> Iterator[str]:
    """Yield the last names of the alternatives of an annotation, without None: `Optimizer` of `Optional[Optimizer]`."""
    match annotation:
        case cst.Name(value="None"):
            return
        case cst.Name(value=name) | cst.Attribute(attr=cst.Name(value=name)):
            yield name
        case cst.BinaryOperation():
            yield from _heads(annotation.left)
            yield from _heads(annotation.right)
        case cst.Subscript(value=head) if all(one in ("Optional", "Union") for one in _heads(head)):
            for element in annotation.slice:
                if isinstance(element.slice, cst.Index):
                    yield from _heads(element.slice.value)
        case cst.Subscript(value=head):
            yield from _heads(head)
        case _:
            yield ""


_VALUES = frozenset(
    {
        *("int", "float", "bool", "str", "bytes", "Path", "Tensor", "FloatTensor", "LongTensor", "Variable"),
        *("Float", "Int", "Bool", "Shaped", "Num", "Integer", "Inexact", "Complex"),  # Of jaxtyping.
    }
)
"""Annotations that say more than the use of a name does."""


def _is_whole(uses: _Uses) -> bool:
    """Return whether nothing is done with a name that could not be done with a tensor."""
    return not uses.parts and all(_has(one) for one in uses.attributes)


_STATE = re.compile(r"(?i)(\w*hidden\w*|\w*state\w*|\w*cell\w*|[hc]\w?|_)$")
"""States of recurrent networks, which may be tuples."""


_Role: TypeAlias = Literal[
    "an Accelerator",
    "a Fabric",
    "a gradient scaler",
    "a learning rate scheduler",
    "an optimizer",
    "a loss function",
    "a network",
]


def _role(name: str, uses: _Uses) -> tuple[_Role | None, AssumptionKind]:
    """Return what a name stands for, and whether its use says so or its name alone."""
    if _is_scaler(name, uses):
        return "a gradient scaler", "use"
    for role, word, methods in _ENGINES:
        if (word in name.lower()) + ("backward" in uses.attributes) + bool(methods & uses.attributes) > 1:
            return role, "use"
    if "step" in uses.attributes and not uses.called and guesses.is_scheduler(name):
        return "a learning rate scheduler", "name"
    if _is_optimizer(name, uses):
        return "an optimizer", "use" if "zero_grad" in uses.attributes else "name"
    if _is_loss(name, uses):
        return "a loss function", "name"
    if _is_network(name, uses):
        return "a network", "use" if uses.attributes & _MODULE_ONLY else "name"
    return None, "use"


_ENGINES: tuple[tuple[_Role, str, frozenset[str]], ...] = (
    (
        "an Accelerator",
        "accelerator",
        frozenset(
            {
                *("prepare", "unwrap_model", "accumulate", "sync_gradients", "gather_for_metrics", "gather"),
                "clip_grad_norm_",
            }
        ),
    ),
    (
        "a Fabric",
        "fabric",
        frozenset({"setup", "setup_module", "setup_dataloaders", "no_backward_sync", "launch", "clip_gradients"}),
    ),
)
"""What the objects of two frameworks are called, and which methods they alone have."""


_STEP_OF = "step(...)"
"""What is noted of a name whose `step` is given an argument."""


def _is_scaler(name: str, uses: _Uses) -> bool:
    used = uses.attributes & {"scale", "unscale_", "step", "update"}
    return "unscale_" in used or {"scale", "update"} <= used or (bool(used) and "scaler" in guesses.words(name))


def _is_optimizer(name: str, uses: _Uses) -> bool:
    steps, clears = "step" in uses.attributes, "zero_grad" in uses.attributes
    own = _STEP_OF in uses.attributes  # As `policy_optim.step(loss)`: torch's takes nothing but a closure.
    return steps + clears + guesses.is_optimizer(name) > 1 and not uses.called and not own


def _is_loss(name: str, uses: _Uses) -> bool:
    return uses.called and guesses.is_loss(name) and not uses.attributes & _MODULE_ONLY


def _is_network(name: str, uses: _Uses) -> bool:
    shown, named = bool(uses.attributes & _MODULE_ONLY), guesses.is_network(name) and not guesses.is_class(name)
    return uses.called + shown + named > 1 and not guesses.is_kept(name)
