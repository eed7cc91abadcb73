"""Python's builtins and the parts of its library that programs around torch use."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import libcst as cst

from gradlint.domain.state import State
from gradlint.domain.value import (
    Bound,
    Context,
    External,
    Function,
    Instance,
    Mapping,
    Partial,
    Ref,
    Sequence,
    Super,
    Tensor,
    Unknown,
    Value,
)
from gradlint.semantics.args import Args
from gradlint.semantics.branch import truth
from gradlint.semantics.calling import call_in_place
from gradlint.semantics.classes import find_in_class, library_base, linear_bases
from gradlint.semantics.iteration import items_of
from gradlint.semantics.machine import Machine
from gradlint.semantics.operator import is_key, operate
from gradlint.semantics.program import let_go
from gradlint.semantics.texts import to_text
from gradlint.semantics.torch.slips import has_name

Builtin: TypeAlias = "Callable[[Machine, State, Args, cst.CSTNode], Value]"


def _len(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    from gradlint.semantics.torch.module_parts import count_parts

    value = args.get(0, "obj")
    if type(value) is tuple or isinstance(value, str):
        return len(value)
    if isinstance(value, Ref):
        record = state[value]
        if isinstance(record, (Sequence, Mapping)) and not record.open:
            return len(record.items)
        if isinstance(record, Tensor) and record.shape:
            size = record.shape[0]
            return size if isinstance(size, int) else machine.symbol("len", value, kind="int")
        count = count_parts(state, record) if isinstance(record, Instance) else None
        if count is not None:
            return count
    return machine.symbol("len", value, kind="int")


def _range(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    parts = args.positional
    known = [part for part in parts if isinstance(part, int)]
    if parts and len(known) == len(parts) and known[2:] != [0]:
        numbers = range(*known)
        if len(numbers) <= 16:
            return tuple(numbers)
        return state.new(Sequence((numbers[0], machine.unknown("int")), "list", True))
    start = parts[0] if len(parts) > 1 else 0
    first = start if isinstance(start, int) else machine.unknown("int")
    return state.new(Sequence((first, machine.unknown("int")), "list", True))


def _enumerate(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    items = items_of(machine, state, args.get(0, "iterable"), node)
    start = args.get(1, "start", 0)
    if not items.open:
        first = start if isinstance(start, int) else 0
        return state.new(Sequence(tuple((first + i, item) for i, item in enumerate(items.items)), "iterator"))
    known = list(items.items[:2]) or [machine.unknown()]
    if len(known) < 2:
        known.append(known[0] if not isinstance(known[0], Unknown) else machine.unknown())
    pairs = ((start, known[0]), (machine.unknown("int"), known[1]))
    return state.new(Sequence(pairs, "iterator", True))


def _zip(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    from gradlint.semantics.torch.aliasing import zipped

    zipped(machine, state, args, node)
    columns = [items_of(machine, state, value, node) for value in args.positional]
    if not columns:
        return state.new(Sequence((), "iterator", args.open))
    exact = [len(column.items) for column in columns if not column.open]
    is_open = not exact or args.open
    length = min(exact) if exact else max(1, min(2, max(len(column.items) for column in columns)))
    rows = tuple(
        tuple(
            column.items[i] if i < len(column.items) else (column.items[-1] if column.items else machine.unknown())
            for column in columns
        )
        for i in range(length)
    )
    return state.new(Sequence(rows, "iterator", is_open))


def _map(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    if len(args.positional) < 2:
        return machine.unknown()
    function, first = args.positional[0], args.positional[1]
    items = items_of(machine, state, first, node)
    results = [call_in_place(machine, state, function, Args((item,)), node) for item in items.items[:8]]
    let_go(machine, state, items.items[8:])
    return state.new(Sequence(tuple(results), "generator", items.open or len(items.items) > 8))


def _as_list(kind: str) -> Builtin:
    def build(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
        if not args.positional:
            return state.new(Sequence((), kind))
        items = items_of(machine, state, args.positional[0], node)
        if kind == "tuple" and not items.open:
            return items.items
        if items.open and not items.items:
            return machine.program.opaque(machine, state, args.positional, node)
        return state.new(Sequence(items.items, kind, items.open))

    return build


def _reversed(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    items = items_of(machine, state, args.get(0, "sequence"), node)
    return state.new(Sequence(items.items[::-1], "iterator", items.open))


def _sorted(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    items = items_of(machine, state, args.get(0, "iterable"), node)
    return state.new(Sequence(items.items, "list", items.open))


def _iter(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    value = args.get(0, "object")
    items = items_of(machine, state, value, node)
    if items.open and not items.items:
        return machine.symbol("iter", value)
    return state.new(Sequence(items.items, "iterator", items.open))


def _next(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    value = args.get(0, "iterator")
    if isinstance(value, Ref) and isinstance(state[value], Sequence):
        record = state[value]
        assert isinstance(record, Sequence)
        if not record.items:
            return args.get(1, "default") if args.has(1, "default") else machine.unknown()
        state.put(value.id, record._replace(items=record.items[1:] or (record.items if record.open else ())))
        return record.items[0]
    return machine.unknown()


def _sum(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    items = items_of(machine, state, args.get(0, "iterable"), node)
    total = args.get(1, "start", 0)
    let_go(machine, state, items.items[16:])
    for item in items.items[:16]:
        total = operate(machine, state, "+", total, item, node)
    if items.open and isinstance(total, (int, float)):
        return machine.unknown("number" if items.items else None)
    return total


def _extreme(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    values: tuple[Value, ...] = args.positional
    if len(values) == 1:
        values = items_of(machine, state, values[0], node).items
    if values and all(isinstance(value, (int, float)) for value in values) and not args.keywords:
        return machine.unknown("number")
    return machine.program.opaque(machine, state, values or args.positional, node)


def _isinstance(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    value, cls = args.get(0, "obj"), args.get(1, "cls")
    known = is_instance(machine, state, value, cls)
    if known is not None:
        return known
    if isinstance(value, Unknown):
        found = state.facts.get(("type", value))
        if found is not None and found == cls:
            return True
    return machine.symbol("isinstance", value, cls, kind="bool")


_PLAIN_TYPES: dict[str, tuple[type, ...]] = {
    "builtins.int": (int,),
    "builtins.float": (float,),
    "builtins.str": (str,),
    "builtins.bool": (bool,),
    "builtins.bytes": (bytes,),
    "builtins.complex": (complex,),
    "builtins.tuple": (tuple,),
    "builtins.slice": (slice,),
    "numbers.Number": (int, float, complex),
}


def is_instance(machine: Machine, state: State, value: Value, cls: Value) -> bool | None:
    """isinstance(value, cls), as far as it is known."""
    if type(cls) is tuple:
        answers = [is_instance(machine, state, value, one) for one in cls]
        if True in answers:
            return True
        return None if None in answers else False
    if isinstance(value, Ref):
        return _ref_is_instance(state, value, cls)
    if isinstance(value, Unknown) or not isinstance(cls, (External, Ref)):
        return None
    if type(value) is tuple and isinstance(cls, External):
        if cls.path.startswith(("builtins.", "torch.Tensor", "torch.nn.")):
            return cls.path == "builtins.tuple"
        return None
    if isinstance(cls, External):
        plain = _PLAIN_TYPES.get(cls.path)
        if plain is not None:
            return type(value) in plain or (isinstance(value, plain) and type(value) in (bool, int))
        if value is None or isinstance(value, (int, float, str)):
            return False if cls.path.startswith(("torch.", "builtins.", "numpy.")) else None
    return None


def _ref_is_instance(state: State, value: Ref, cls: Value) -> bool | None:
    record = state[value]
    if isinstance(record, Tensor):
        if isinstance(cls, External):
            if cls.path == "torch.nn.Parameter":
                return record.parameter
            return cls.path in ("torch.Tensor", "torch.autograd.Variable")
        return False
    if isinstance(record, Sequence) and isinstance(cls, External):
        return cls.path == f"builtins.{record.kind}" or (None if record.kind in ("iterator", "generator") else False)
    if isinstance(record, Mapping) and isinstance(cls, External):
        return cls.path == "builtins.dict"
    if isinstance(record, Instance):
        bases = list(linear_bases(state, record.cls)) if isinstance(record.cls, Ref) else [record.cls]
        if cls in bases:
            return True
        if isinstance(cls, External) and cls.path == "torch.nn.Module":
            base = library_base(state, record.cls) if isinstance(record.cls, Ref) else record.cls.path  # type: ignore[attr-defined]
            if base is not None and base.startswith("torch.nn."):
                return True
        if isinstance(cls, External) and cls.path.startswith(("builtins.", "torch.Tensor")):
            return False
        plain = all(
            isinstance(base, Ref) or (isinstance(base, External) and base.path.startswith("torch.nn."))
            for base in bases
        )
        return False if plain and not record.open else None
    return None


def _hasattr(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    obj, name = args.get(0, "obj"), args.get(1, "name")
    if isinstance(obj, Ref) and isinstance(name, str):
        record = state[obj]
        known = isinstance(record, Instance) and (
            name in record.attrs or find_in_class(state, record.cls, name) is not None
        )
        if known:
            return True
    if isinstance(obj, External) and isinstance(name, str):
        measured = has_name(obj.path, name)
        if measured is not None:
            return measured
    return machine.symbol("hasattr", obj, name, kind="bool")


def _getattr(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    from gradlint.semantics.attribute import get_attribute

    obj, name = args.get(0, "obj"), args.get(1, "name")
    if isinstance(name, str):
        if args.has(2, "default") and isinstance(obj, Ref):
            record = state[obj]
            if isinstance(record, Instance) and name not in record.attrs:
                return machine.symbol("attr", obj, name)
        return get_attribute(machine, state, obj, name, node)
    if isinstance(obj, External):
        return machine.symbol("attr", obj, name)
    return machine.symbol("attr", obj, name)


def _setattr(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    from gradlint.semantics.attribute import set_attribute

    obj, name, value = args.get(0, "obj"), args.get(1, "name"), args.get(2, "value")
    if isinstance(name, str):
        set_attribute(machine, state, obj, name, value, node)
    elif isinstance(obj, Ref):
        record = state[obj]
        if isinstance(record, Instance):
            hidden = f"<{len(record.attrs)}>"
            state.put(obj.id, record._replace(attrs={**record.attrs, hidden: value}, open=True))
    return None


def _delattr(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    from gradlint.semantics.attribute import delete_attribute

    delete_attribute(state, args.get(0, "obj"), args.get(1, "name"))
    return None


def _super(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    if len(args.positional) == 2:
        return Super(args.positional[0], args.positional[1])
    function = state.locals.get("<function>")
    if isinstance(function, Function) and function.code.params:
        receiver = state.locals.get(function.code.params[0].name)
        return Super(function.owner, receiver)
    return machine.unknown()


def _number(kind: str) -> Builtin:
    def convert(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
        from gradlint.semantics.torch.methods import number_of
        from gradlint.semantics.torch.tensor import known_tensor

        if not args.positional:
            return 0
        value = args.positional[0]
        tensor = known_tensor(machine, state, value)
        if tensor is not None:
            return number_of(machine, state, tensor, kind, node)
        if isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 1e15:
            return int(value) if kind == "int" else float(value) if kind == "float" else bool(value)
        if kind == "bool":
            known = truth(state, value)
            if known is not None:
                return known
        if isinstance(value, Unknown) and value.origin is not None:
            from gradlint.domain.graph import Edge, Node

            origin = Node(kind, node, [Edge(value.origin, False, "item")], cut="item")
            return Unknown("number", origin, None, node)
        return machine.symbol(kind, value, kind="bool" if kind == "bool" else "number")

    return convert


def _print(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    return None


def _dict(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    pairs: dict[Any, Value] | None = {}
    if args.positional:
        pairs = machine.program.pairs(state, args.positional[0])
        if pairs is None:
            pairs = _paired(machine, state, args.positional[0], node)
    items: dict[Any, Value] = {**(pairs or {}), **args.keywords}
    return state.new(Mapping(items, pairs is None or args.open))


def _paired(machine: Machine, state: State, value: Value, node: cst.CSTNode) -> dict[Any, Value] | None:
    """The items of a list of pairs with known keys."""
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
    return state.new(Mapping({}, True, rest))


def _deque(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    most = args.get(1, "maxlen")
    known = most if isinstance(most, int) else None
    if most is not None and known is None:
        return machine.unknown()
    items = items_of(machine, state, args.positional[0], node) if args.positional else Sequence(())
    return state.new(Sequence(items.items, "deque", items.open or (known is not None and bool(items.items)), known))


def _partial(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    if not args.positional or args.open:
        return machine.unknown()
    return Partial(args.positional[0], args.positional[1:], tuple(args.keywords.items()))


def _descriptor(kind: str) -> Builtin:
    def wrap(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
        if args.positional and isinstance(args.positional[0], (Function, Bound)):
            return Bound(External(kind), args.positional[0])
        return machine.unknown()

    return wrap


def _same(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    """What is passed comes back; a decorator called with keywords alone is such a function again."""
    return args.positional[0] if args.positional else External("builtins.<same>")


def _decorator(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    """A decorator with arguments that leaves the function as it is."""
    return External("builtins.<same>")


def _expecting(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    return Context("expecting")


def _type(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    value = args.get(0, "object")
    if isinstance(value, Ref):
        record = state[value]
        if isinstance(record, Instance):
            return record.cls
        if isinstance(record, Tensor):
            return External("torch.nn.Parameter" if record.parameter else "torch.Tensor")
    return machine.symbol("type", value)


def _all_any(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    return machine.unknown("bool")


def _id(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    return machine.symbol("id", args.get(0, "obj"), kind="int")


def _callable(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    value = args.get(0, "obj")
    return True if isinstance(value, (Function, Bound, External, Partial)) else machine.symbol("callable", value)


def _vars(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    let_go(machine, state, args.positional)
    return machine.unknown()


def _chain(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    items: list[Value] = []
    is_open = args.open
    for value in args.positional:
        part = items_of(machine, state, value, node)
        items.extend(part.items)
        is_open = is_open or part.open
    return state.new(Sequence(tuple(items), "iterator", is_open))


def _chain_from(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    outer = items_of(machine, state, args.get(0, "iterable"), node)
    return _chain(machine, state, Args(outer.items, {}, outer.open), node)


def _slice(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    parts = args.positional
    if not parts or len(parts) > 3 or args.open:
        return machine.unknown()
    return slice(*parts)


def _namedtuple(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    return machine.unknown()


def _filter(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    function, iterable = args.get(0, "function"), args.get(1, "iterable")
    items = items_of(machine, state, iterable, node)
    kept: list[Value] = []
    is_open = items.open
    for item in items.items[:64]:
        known = truth(state, item if function is None else call_in_place(machine, state, function, Args((item,)), node))
        if known is not False:
            kept.append(item)
        if known is None:
            is_open = True
    return state.new(Sequence(tuple(kept), "iterator", is_open))


FUNCTIONS: dict[str, Builtin] = {
    "builtins.len": _len,
    "builtins.range": _range,
    "builtins.enumerate": _enumerate,
    "builtins.zip": _zip,
    "builtins.map": _map,
    "builtins.filter": _filter,
    "builtins.list": _as_list("list"),
    "builtins.tuple": _as_list("tuple"),
    "builtins.set": _as_list("set"),
    "builtins.frozenset": _as_list("set"),
    "builtins.reversed": _reversed,
    "builtins.sorted": _sorted,
    "builtins.iter": _iter,
    "builtins.next": _next,
    "builtins.sum": _sum,
    "builtins.max": _extreme,
    "builtins.min": _extreme,
    "builtins.isinstance": _isinstance,
    "builtins.hasattr": _hasattr,
    "builtins.getattr": _getattr,
    "builtins.setattr": _setattr,
    "builtins.delattr": _delattr,
    "builtins.super": _super,
    "builtins.int": _number("int"),
    "builtins.float": _number("float"),
    "builtins.bool": _number("bool"),
    "builtins.str": to_text,
    "builtins.print": _print,
    "builtins.dict": _dict,
    "builtins.property": _descriptor("builtins.property"),
    "functools.cached_property": _descriptor("functools.cached_property"),
    "builtins.staticmethod": _descriptor("builtins.staticmethod"),
    "builtins.classmethod": _descriptor("builtins.classmethod"),
    "builtins.slice": _slice,
    "builtins.type": _type,
    "builtins.all": _all_any,
    "builtins.any": _all_any,
    "builtins.id": _id,
    "builtins.callable": _callable,
    "builtins.vars": _vars,
    "builtins.<same>": _same,
    "tqdm.tqdm": _same,
    "tqdm.auto.tqdm": _same,
    "tqdm.notebook.tqdm": _same,
    "tqdm.tqdm_notebook": _same,
    "tqdm.trange": _range,
    "typing.cast": lambda machine, state, args, node: args.get(1, "val"),
    "collections.OrderedDict": _dict,
    "collections.defaultdict": _default_dict,
    "collections.deque": _deque,
    "collections.namedtuple": _namedtuple,
    "functools.partial": _partial,
    "functools.wraps": _decorator,
    "functools.lru_cache": _decorator,
    "functools.cache": _same,
    "dataclasses.dataclass": _same,
    "abc.abstractmethod": _same,
    "typing.overload": _same,
    "pytest.raises": _expecting,
    "contextlib.suppress": _expecting,
    "itertools.chain": _chain,
    "itertools.chain.from_iterable": _chain_from,
}
"""What a call of each of these gives, by path."""
