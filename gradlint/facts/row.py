"""The shape of a row of the facts table, and the decision of its tests by what is known of a call's arguments."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Mapping
from dataclasses import field
from types import MappingProxyType
from typing import Any, Final, Literal, NamedTuple

from gradlint.domain.frozen import Frozen

Labels = frozenset[str]


class NoConstant:
    """The type of `NO_CONSTANT`: a parameter without a default, or with one that is no plain constant."""

    def __repr__(self) -> str:
        return "NO_CONSTANT"


NO_CONSTANT: Final = NoConstant()


class MustMay(Frozen):
    """A set of labels as far as it is known: `must` holds in every call that was measured, `may` in some."""

    must: Labels
    may: Labels

    @property
    def certain(self) -> bool:
        """Say whether nothing is left open."""
        return self.must == self.may

    def join(self, other: MustMay) -> MustMay:
        """Return what is known if either may be the case."""
        return MustMay(self.must & other.must, self.may | other.may)


class Cond(Frozen):
    """A value that depends on one argument.

    Keys of `cases` are constants in Python source (`True`, `'mean'`, `2`), `N` any other number, `T` a tensor
    or a list of tensors, `L` another list, `O` another object, `-` the absent argument. `default` is for
    values that were never measured. Flags of arguments that `forward` takes are spelled `forward.mask`; flags
    that begin with `@` speak of the call as a whole: `@contiguous` (`yes` if all tensor arguments are), `@first`
    (`yes` if the first is), `@ndim` (the largest rank), `@ranks` (`r2x3`: the ranks of all tensor arguments, in the
    order in which the call gives them).
    """

    flag: str
    cases: Mapping[str, Value]
    default: Value


class Sum(Frozen):
    """The union of several sets, each with its own tests."""

    parts: tuple[Value, ...]


Value = MustMay | Cond | Sum

NOTHING: Final = MustMay(frozenset(), frozenset())
FIRST_OUTPUT: Final = MustMay(frozenset({">"}), frozenset({">"}))
A_TENSOR: Final = MustMay(frozenset({"Tensor"}), frozenset({"Tensor"}))


def _nothing() -> Mapping[str, Any]:
    return MappingProxyType({})


class Param(Frozen):
    """One parameter of a signature; `constant` is its default where that is a plain constant."""

    name: str
    tensor: bool = False
    number: bool = False
    default: bool = False
    keyword_only: bool = False
    variadic: bool = False
    constant: object = NO_CONSTANT


class Signature(Frozen):
    """The overloads under one name, in the order in which torch tries them."""

    overloads: tuple[tuple[Param, ...], ...]

    def param(self, name: str) -> Param | None:
        """Return the first parameter of that name in any overload."""
        return next((p for overload in self.overloads for p in overload if p.name == name), None)


class Alias(NamedTuple):
    """One label of `Row.views`: the output is an alias of the input `of`.

    `kind`: `same` object, `view` on the tape, `share` of the memory without the tape (`detach`, `.data`).
    `version` says whether a write to one is seen as a write to the other. `multi`, `overlap` and `refused`
    say that torch refuses to write to the output in grad mode: one of several views, overlapping memory,
    another reason.
    """

    output: str
    kind: Literal["same", "view", "share"]
    of: str
    version: bool
    multi: bool
    overlap: bool
    refused: bool


_KINDS: Final[Mapping[str, Literal["same", "view", "share"]]] = {"same": "same", "view": "view", "share": "share"}


@functools.cache
def alias_of(label: str) -> Alias:
    """Take a label of `Row.views` apart."""
    parts = re.fullmatch(r"(>\d*\*?)(same|view|share):([^/!]+)(/nover)?(?:!(\w+))?", label)
    if parts is None:
        raise ValueError(f"{label!r} is no alias; the table is broken")
    output, kind, of, nover, mark = parts.groups()
    return Alias(output, _KINDS[kind], of, nover is None, mark == "multi", mark == "overlap", mark == "refused")


class Point(NamedTuple):
    """What was measured at a special point: the expression, its value, and the gradient at its `x`."""

    expression: str
    value: str
    gradient: str


class Row(Frozen):
    """The facts about one operation, or one module class (its constructor's arguments are flags as well).

    Facts that are kept per input say what holds if that input requires grad; if several do, their sets add
    up.
    """

    saved: Mapping[str, Value] = field(default_factory=_nothing)
    """Per requiring input: labels that backward needs unchanged.

    A later write to one makes backward raise.
    """
    copies: Mapping[str, Value] = field(default_factory=_nothing)
    """Per requiring input: overwritten inputs whose old value torch keeps in a private copy (no error
    follows)."""
    freed: Mapping[str, Value] = field(default_factory=_nothing)
    """Per requiring input: `yes` if a second backward through the operation raises."""
    views: Value = NOTHING
    """Aliases among the outputs; see `alias_of`."""
    writes: Value = NOTHING
    """Inputs written in place, with their version moved on."""
    hidden_writes: Value = NOTHING
    """Inputs, parameters or buffers overwritten without a new version."""
    requires_grad: Value = FIRST_OUTPUT
    """Outputs that require grad if the differentiable inputs do."""
    requires_grad_anyway: Value = NOTHING
    """Outputs that require grad although no input can (`torch.zeros(2, requires_grad=True)`)."""
    zero: Mapping[str, Value] = field(default_factory=_nothing)
    """Per requiring input: `yes` if its gradient is exactly zero everywhere."""
    no_gradient: Mapping[str, Value] = field(default_factory=_nothing)
    """Per requiring input: `yes` if no gradient reaches it although an output may require grad."""
    raises_if_requires_grad: Value = NOTHING
    """Inputs that make the call itself raise if they require grad."""
    no_derivative: Value = NOTHING
    """Inputs for which the output requires grad, but backward raises: the derivative is not implemented."""
    silent_wrong: Value = NOTHING
    """Inputs that backward reads through memory with a version of its own: a write gives a wrong gradient."""
    nonfinite: Mapping[str, Mapping[str, str]] = field(default_factory=_nothing)
    """Per input and number that fills it: `inf`, `nan` or both in the gradient; `*` the output is not finite
    either, `?` not in all calls."""
    size: Value = NOTHING
    """A rule for the shape of the first output: `same:x`, `numel:x`, `0d`, `bcast`, `reduce`.

    Empty is unknown.
    """
    scalar: Value = NOTHING
    """Outputs of no dimension, for inputs of at least one."""
    dtype: Value = NOTHING
    """A rule for the dtype of the first output: `same` (as the first tensor), `promote`, `float` (integers
    become float), `real` (complex become real), `arg:dtype`, or a dtype's name; empty is unknown."""
    result: Value = A_TENSOR
    """The Python shape of the result: `Tensor`, `tuple(Tensor,Tensor)`, `tuple(*)`,
    `named(values,indices)`, `int`."""
    parameters: Value = NOTHING
    buffers: Value = NOTHING
    forward: Signature = field(default=Signature(()))
    """What `forward` takes, for modules."""
    points: tuple[Point, ...] = ()
    out_with_grad: str = ""
    """What `out=` does when an input requires grad: `raises`, `late` (only backward raises), `works`.

    Empty: no out.
    """
    samples: int = 0
    origin: Literal["op_db", "module_db", "recipe"] = "op_db"
    is_module: bool = False


class Unknown:
    """The type of `UNKNOWN`: an argument that was given, but of which nothing is known."""

    def __repr__(self) -> str:
        return "UNKNOWN"


UNKNOWN: Final = Unknown()
ABSENT: Final = "-"
KINDS: Final = frozenset("NTLO-")


def resolve(value: Value, flags: Mapping[str, object]) -> MustMay:
    """Return what must and what may hold in a call.

    `flags` maps the arguments that the call gives to constants (`True`, `"mean"`, `None`, 2), to a kind
    (`"N"` some number, `"T"` a tensor, `"L"` a list, `"O"` another object), to a dtype's name
    (`"torch.float64"`) or to `UNKNOWN`. An argument that is not in `flags` is absent, except for the flags
    that begin with `@`, which are unknown unless given.
    """
    if isinstance(value, MustMay):
        return value
    if isinstance(value, Sum):
        return _added(resolve(part, flags) for part in value.parts)
    key = _key(value.flag, flags)
    if key is None:
        rest = () if {"yes", "no"} <= value.cases.keys() else (value.default,)
        return joined(resolve(v, flags) for v in (*value.cases.values(), *rest))
    if key == "N":
        numeric = [v for k, v in value.cases.items() if _is_number(k)]
        unseen = [] if "N" in value.cases else [value.default]
        return joined(resolve(v, flags) for v in (*numeric, *unseen))
    case = value.cases.get(key)
    if case is None and _is_number(key):
        case = value.cases.get("N")
    return resolve(value.default if case is None else case, flags)


def resolve_flag(value: Value, flags: Mapping[str, object]) -> bool | None:
    """Decide a value of the kind that says `yes`: True, False, or None if it cannot be decided."""
    found = resolve(value, flags)
    if "yes" in found.must:
        return True
    return None if "yes" in found.may else False


def joined(values: Iterable[MustMay]) -> MustMay:
    """Return what is known if any of the values may be the case."""
    first, *rest = values
    for value in rest:
        first = first.join(value)
    return first


def _added(values: Iterable[MustMay]) -> MustMay:
    parts = list(values)
    return MustMay(frozenset().union(*(p.must for p in parts)), frozenset().union(*(p.may for p in parts)))


def key_of(constant: object) -> str:
    """Return the key under which cases hold a plain constant; kinds, dtypes and keys stand for themselves."""
    if isinstance(constant, str) and (constant in KINDS or constant.startswith(("torch.", "'", '"'))):
        return constant
    return repr(constant)


def _key(flag: str, flags: Mapping[str, object]) -> str | None:
    if flag not in flags:
        return None if flag.startswith("@") else ABSENT
    value = flags[flag]
    if isinstance(value, Unknown):
        return None
    return str(value) if flag.startswith("@") else key_of(value)


def _is_number(key: str) -> bool:
    return key == "N" or key[0].isdigit() or (key[0] in "-(" and len(key) > 1) or key in {"inf", "nan"}
