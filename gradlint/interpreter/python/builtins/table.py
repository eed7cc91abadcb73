"""The table of Python's builtins, and those that fit no other page: numbers, dicts, decorators, `partial`."""

from __future__ import annotations

from typing import Any

import libcst as cst

from gradlint.domain import value as values
from gradlint.domain.graph import Edge, Node
from gradlint.domain.state import State
from gradlint.domain.value import Args, Bound, External, Function, Mapping, Ref, Sequence, Unknown, Value
from gradlint.interpreter.belief import reveal
from gradlint.interpreter.libraries.expectations import catch_warnings, raises
from gradlint.interpreter.machine import Machine, Native
from gradlint.interpreter.python.branch import truth
from gradlint.interpreter.python.builtins.iterables import ITERATING
from gradlint.interpreter.python.builtins.reflection import REFLECTING
from gradlint.interpreter.python.classes import MAKER, new_class, new_tuple
from gradlint.interpreter.python.contexts import STACK
from gradlint.interpreter.python.iteration import items_of
from gradlint.interpreter.python.literals import is_key, to_text
from gradlint.interpreter.torch.methods import number_of
from gradlint.interpreter.torch.tensor import known_tensor


def _number(kind: str) -> Native:
    def convert(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
        if not args.positional:
            return 0
        value = args.positional[0]
        tensor = known_tensor(machine, state, value)
        if tensor is not None:
            return number_of(machine, state, tensor, kind, node)
        if isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 1e15:
            return int(value) if kind == "int" else float(value) if kind == "float" else bool(value)
        if kind == "bool" and (known := truth(state, value)) is not None:
            return known
        if isinstance(value, Unknown) and value.origin is not None:
            origin = Node(kind, node, [Edge(value.origin, False, "item")], cut="item")
            return Unknown("number", origin, None, node)
        return machine.symbol(kind, value, kind="bool" if kind == "bool" else "number")

    return convert


def _dict(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    pairs: dict[Any, Value] | None = {}
    if args.positional:
        pairs = machine.program.pairs(state, args.positional[0])
        if pairs is None:
            pairs = _paired(machine, state, args.positional[0], node)
    items: dict[Any, Value] = {**(pairs or {}), **args.keywords}
    return state.new(Mapping(items, pairs is None or args.open))


def _paired(machine: Machine, state: State, value: Value, node: cst.CSTNode) -> dict[Any, Value] | None:
    """Return the items of a list of pairs with known keys."""
    if isinstance(value, Ref) and not isinstance(state[value], Sequence):
        return None
    items = items_of(machine, state, value, node)
    if items.open or not all(type(item) is tuple and len(item) == 2 and is_key(item[0]) for item in items.items):
        return None
    return dict(items.items)  # type: ignore[arg-type]


def _default_dict(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    factory = args.get(0, "default_factory")
    rest: Value = None
    if factory == External("builtins.list"):
        rest = state.new(Sequence(()))
    elif factory in (External("builtins.int"), External("builtins.float")):
        rest = 0
    made = factory if isinstance(factory, (Ref, Function, values.Partial)) else None
    return state.new(Mapping({}, True, rest, made))


def _deque(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    most = args.get(1, "maxlen")
    known = most if isinstance(most, int) else None
    if most is not None and known is None:
        return Unknown()
    items = items_of(machine, state, args.positional[0], node) if args.positional else Sequence(())
    return state.new(Sequence(items.items, "deque", items.open or (known is not None and bool(items.items)), known))


def _partial(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    if not args.positional or args.open:
        return Unknown()
    return values.Partial(args.positional[0], args.positional[1:], tuple(args.keywords.items()))


def _descriptor(kind: str) -> Native:
    def wrap(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
        if args.positional and isinstance(args.positional[0], (Function, Bound)):
            return Bound(External(kind), args.positional[0])
        return Unknown()

    return wrap


def _same(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    """Return what is passed; a decorator called with keywords alone is such a function again."""
    return args.positional[0] if args.positional else External("builtins.<same>")


def _module_of_name(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    """import_module(name), pytest.importorskip(name): what `import` would give; a module of the program is not read."""
    name = args.positional[0] if len(args.positional) == 1 else None
    found = machine.program.library(name) if isinstance(name, str) else None
    return found if isinstance(found, External) else Unknown(syntax=node)


def _slice(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    parts = args.positional
    if not parts or len(parts) > 3 or args.open:
        return Unknown()
    return slice(*parts)


FUNCTIONS: dict[str, Native] = {
    **ITERATING,
    **REFLECTING,
    **{f"builtins.{kind}": _number(kind) for kind in ("int", "float", "bool")},
    "builtins.str": to_text,
    "builtins.print": lambda machine, state, args, node: None,
    "builtins.reveal": reveal,
    **dict.fromkeys(("builtins.dict", "collections.OrderedDict"), _dict),
    **{path: _descriptor(path) for path in ("builtins.property", "functools.cached_property")},
    **{path: _descriptor(path) for path in ("builtins.staticmethod", "builtins.classmethod")},
    "builtins.slice": _slice,
    **dict.fromkeys(("builtins.<same>", "functools.cache", "dataclasses.dataclass"), _same),
    **dict.fromkeys(("abc.abstractmethod", "typing.overload"), _same),
    **dict.fromkeys(("tqdm.tqdm", "tqdm.auto.tqdm", "tqdm.notebook.tqdm", "tqdm.tqdm_notebook"), _same),
    "typing.cast": lambda machine, state, args, node: args.get(1, "val"),
    "collections.defaultdict": _default_dict,
    "collections.deque": _deque,
    "collections.namedtuple": new_class,
    MAKER: new_tuple,
    "functools.partial": _partial,
    # Decorators with arguments that leave the function as it is.
    "functools.wraps": lambda machine, state, args, node: External("builtins.<same>"),
    "functools.lru_cache": lambda machine, state, args, node: External("builtins.<same>"),
    **dict.fromkeys(("pytest.importorskip", "importlib.import_module"), _module_of_name),
    "pytest.raises": raises,
    "pytest.warns": lambda machine, state, args, node: values.Context("warned"),
    "warnings.catch_warnings": catch_warnings,
    STACK: lambda machine, state, args, node: values.Unknown(STACK, syntax=node),
    "contextlib.suppress": lambda machine, state, args, node: values.Context("expecting"),
}
"""What a call of each of these gives, by path."""
