"""Fragments: files that read names which nothing in them binds, as people paste them from notebooks into a question.

Such a file does not run as it stands, so what its free names are can only be supposed, from how they are used: what
has `step` and `zero_grad` is an optimizer, what is called and trained is a network, `nn` is `torch.nn`. The same holds
for the parameters of a function that nothing in the file calls, and in which a loss is backpropagated.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from copy import copy
from functools import cached_property
from typing import Literal, TypeAlias

import libcst as cst

from gradlint.domain.assumption import Assumption, AssumptionKind
from gradlint.interpreter.world import guesses
from gradlint.interpreter.world.names import STEP_OF, Names, Uses, attribute_of, tensors_have, wrapped
from gradlint.source.core import Param
from gradlint.source.lower.syntax import called_name

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
        self._found = names
        self.made = dict(_made(names))
        """By call, what it gives: the name that this is assigned to, its role, and what says so."""
        self.together = dict(_made_together(names))
        """By call that gives several, the name that each is assigned to, its role if it has any, and what says so."""

    @property
    def losses(self) -> AbstractSet[cst.CSTNode]:
        """What the file gives, as it is, a name that it backpropagates."""
        return self._found.losses

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
            elif guesses.is_optimizer_class(called_name(wrapped(call))):
                yield wrapped(call), Assumption("name", name, "an optimizer", call)
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


def _is_whole(uses: Uses) -> bool:
    """Return whether nothing is done with a name that could not be done with a tensor."""
    return not uses.parts and all(tensors_have(one) for one in uses.attributes)


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


def _role(name: str, uses: Uses) -> tuple[_Role | None, AssumptionKind]:
    """Return what a name stands for, and whether its use says so or its name alone."""
    if _is_scaler(name, uses):
        return "a gradient scaler", "use"
    for role, word, methods in _ENGINES:
        if (word in name.lower()) + ("backward" in uses.attributes) + bool(methods & uses.attributes) > 1:
            return role, "use"
    if _is_scheduler(name, uses):
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


def _is_scaler(name: str, uses: Uses) -> bool:
    used = uses.attributes & {"scale", "unscale_", "step", "update"}
    return "unscale_" in used or {"scale", "update"} <= used or (bool(used) and "scaler" in guesses.words(name))


def _is_optimizer(name: str, uses: Uses) -> bool:
    steps, clears = "step" in uses.attributes, "zero_grad" in uses.attributes
    own = STEP_OF in uses.attributes  # As `policy_optim.step(loss)`: torch's takes nothing but a closure.
    return steps + clears + guesses.is_optimizer(name) > 1 and not uses.called and not own


def _is_scheduler(name: str, uses: Uses) -> bool:
    # torch's give their rates alone: one with `get_value` is the program's own.
    gets = {one for one in uses.attributes if one.startswith("get_")} - {"get_lr", "get_last_lr"}
    return "step" in uses.attributes and not uses.called and guesses.is_scheduler(name) and not gets


def _is_loss(name: str, uses: Uses) -> bool:
    return uses.called and guesses.is_loss(name) and not uses.attributes & _MODULE_ONLY


def _is_network(name: str, uses: Uses) -> bool:
    shown, named = bool(uses.attributes & _MODULE_ONLY), guesses.is_network(name) and not guesses.is_class(name)
    yields = uses.looped and guesses.words(name)[-1] == "generator"  # As Python's generators do, and not those of GANs.
    return uses.called + shown + named > 1 and not guesses.is_kept(name) and not yields
