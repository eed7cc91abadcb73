"""Ways a write reaches a tensor: directly, through an alias, a helper, a loop, a container, a branch."""

from __future__ import annotations

from collections.abc import Callable

from .pieces import flag, view, writing
from .program import Program, Var

HELPER_NAMES = (
    "scale_",
    "update",
    "apply_",
    "clip",
    "normalize_",
    "adjust",
    "tweak",
    "fill",
    "process",
    "modify",
)
ARGUMENTS = ("t", "tensor", "buf", "arr", "param", "value")


def write(p: Program, x: Var) -> None:
    """Write in place into `x`, in one of many ways; the statement stands alone or takes several lines."""
    p.rng.choices([way for way, _ in WAYS], [often for _, often in WAYS])[0](p, x)


def _direct(p: Program, x: Var) -> None:
    p.line("{w}", w=writing(p, x))


def _through_alias(p: Program, x: Var) -> None:
    alias = Var(p.let("{x}", "buf", "alias", "ref", "same", "target_", x=x), x.shape)
    p.line("{w}", w=writing(p, alias))


def _through_view(p: Program, x: Var) -> None:
    if x.rank == 0:
        return _direct(p, x)
    p.line("{w}", w=writing(p, view(p, x)))
    return None


def _through_helper(p: Program, x: Var) -> None:
    name = helper(p, x.rank)
    p.line("{f}({x})", f=name, x=x)


def helper(p: Program, rank: int) -> str:
    """Define a function that writes into its argument; return its name."""
    name, argument = p.fresh(*HELPER_NAMES), p.pick(*ARGUMENTS)
    statement = writing(p, argument, rank)
    template = p.pick(
        "def {f}({a}):\n    {w}\n    return {a}",
        "def {f}({a}):\n    {w}",
        "def {f}({a}, times=1):\n    for _ in range(times):\n        {w}\n    return {a}",
        "def {f}({a}, enabled=True):\n    if not enabled:\n        return {a}\n    {w}\n    return {a}",
        "def {f}({a}, verbose=False):\n    if verbose:\n        print({a})\n    {w}\n    return {a}, 1",
        'def {f}({a}):\n    """Change the tensor in place."""\n    {w}\n    return {a}',
    )
    p.define(template, f=name, a=argument, w=statement)
    return name


def _through_lambda(p: Program, x: Var) -> None:
    template = p.pick(
        "lambda t: t.mul_(0.5)", "lambda t: t.add_(1)", "lambda t: t.clamp_(-0.1, 0.1)", "lambda t: t.zero_()"
    )
    name = p.let(template, "fn", "update_fn", "op")
    p.line("{f}({x})", f=name, x=x)


def _through_object(p: Program, x: Var) -> None:
    name = p.fresh("Scaler", "Clipper", "Updater", "InPlace", "Transform")
    template = p.pick(
        "class {c}:\n    def __call__(self, t):\n        {w}\n        return t",
        ("class {c}:\n    def __init__(self, t):\n        self.t = t\n\n    def __call__(self, _):\n        {s}"),
    )
    p.define(template, c=name, w=writing(p, "t", x.rank), s=writing(p, "self.t", x.rank))
    if "def __init__" in template:
        p.line("{c}({x})(None)", c=name, x=x)
    else:
        p.line("{c}()({x})", c=name, x=x)


def _in_loop_over_list(p: Program, x: Var) -> None:
    name = p.fresh("t", "p", "item", "each", "tensor")
    with p.block(p.pick("for {n} in [{x}]:", "for {n} in ({x},):", "for _, {n} in enumerate([{x}]):"), n=name, x=x):
        p.line("{w}", w=writing(p, Var(name, x.shape)))


def _in_range(p: Program, x: Var) -> None:
    header = p.pick("for _ in range(2):", "for i in range(1):", "for step in range(3):")
    with p.block(header):
        p.line("{w}", w=writing(p, x))


def _row_by_row(p: Program, x: Var) -> None:
    if x.rank == 0:
        return _direct(p, x)
    with p.block(
        p.pick("for i in range({n}):", "for i in range({x}.shape[0]):", "for i in range(len({x})):"),
        x=x,
        n=x.shape[0],
    ):
        p.line(p.pick("{x}[i] = 0.5", "{x}[i] *= 2", "{x}[i] += i", "{x}[i] = i * 0.1", "{x}[i].mul_(3)"), x=x)
    return None


def _in_while(p: Program, x: Var) -> None:
    count = p.let("0", "step", "i", "count")
    with p.block("while {c} < 2:", c=count):
        p.line("{w}", w=writing(p, x))
        p.line("{c} += 1", c=count)


def _under_flag(p: Program, x: Var) -> None:
    with p.block("if {c}:", c=flag(p)):
        p.line("{w}", w=writing(p, x))


def _under_constant(p: Program, x: Var) -> None:
    with p.block("if {c}:", c=p.constant(p.pick("True", "1"), "CLIP", "DEBUG", "use_noise", "INPLACE", "enabled")):
        p.line("{w}", w=writing(p, x))


def _in_dict(p: Program, x: Var) -> None:
    store = p.let('{{"w": {x}, "k": 1}}', "state", "cache", "store", "buffers", x=x)
    p.line("{w}", w=writing(p, Var(f'{store}["w"]', x.shape)))


def _in_list(p: Program, x: Var) -> None:
    store = p.let("[{x}]", "items", "tensors", "history", "saved", x=x)
    p.line("{w}", w=writing(p, Var(f"{store}[{p.pick('0', '-1')}]", x.shape)))


def _in_comprehension(p: Program, x: Var) -> None:
    p.line(p.pick("_ = [t.mul_(0.5) for t in [{x}]]", "results = [t.add_(1) for t in ({x},)]"), x=x)


def _by_getattr(p: Program, x: Var) -> None:
    name = p.pick("add_", "mul_", "sub_", "fill_")
    p.line('getattr({x}, "{n}")(2)', x=x, n=name)


def _by_bound_method(p: Program, x: Var) -> None:
    p.line(
        p.pick("change = {x}.add_\nchange(1)", "change = {x}.mul_\nchange(0.5)", "change = {x}.zero_\nchange()"),
        x=x,
    )


def _through_unpacking(p: Program, x: Var) -> None:
    first = p.fresh("first", "head", "left")
    p.line(p.pick("{f}, rest_ = {x}, 1", "({f}, *rest_) = ({x}, 1, 2)", "[{f}] = [{x}]"), f=first, x=x)
    p.line("{w}", w=writing(p, Var(first, x.shape)))


def _through_conditional(p: Program, x: Var) -> None:
    name = p.let("{x} if {c} else None", "chosen", "maybe", "picked", x=x, c=p.constant("True", "USE", "ACTIVE"))
    p.line("{w}", w=writing(p, Var(name, x.shape)))


def _through_generator(p: Program, x: Var) -> None:
    name = p.fresh("each_of", "walk", "iterate")
    p.define("def {f}(tensors):\n    for t in tensors:\n        yield t", f=name)
    with p.block("for item_ in {f}([{x}]):", f=name, x=x):
        p.line("{w}", w=writing(p, Var("item_", x.shape)))


def _through_nested_function(p: Program, x: Var) -> None:
    outer = p.fresh("make_updater", "updater", "factory")
    statement = writing(p, "t", x.rank)
    if statement.startswith("t ") and "=" in statement.split()[1]:
        # Without the declaration Python takes the name for one of the inner function.
        statement = f"nonlocal t\n        {statement}"
    p.define("def {f}(t):\n    def inner():\n        {w}\n        return t\n    return inner", f=outer, w=statement)
    p.line(p.pick("{f}({x})()", "go = {f}({x})\ngo()"), f=outer, x=x)


def _through_star(p: Program, x: Var) -> None:
    name = p.fresh("apply_all", "update_all", "touch")
    template = p.pick(
        "def {f}(*tensors):\n    for t in tensors:\n        {w}",
        "def {f}(**named):\n    for t in named.values():\n        {w}",
        "def {f}(op, *tensors):\n    for t in tensors:\n        op(t)",
    )
    p.define(template, f=name, w=writing(p, "t", x.rank))
    call = "{f}(x={x})" if "**" in template else "{f}(lambda t: t.add_(1), {x})" if "op" in template else "{f}({x})"
    p.line(call, f=name, x=x)


def _through_dict_values(p: Program, x: Var) -> None:
    store = p.let('{{"a": {x}}}', "named", "table_", "by_name", x=x)
    header = p.pick("for t_ in {s}.values():", "for key_, t_ in {s}.items():", "for t_ in list({s}.values()):")
    with p.block(header, s=store):
        p.line("{w}", w=writing(p, Var("t_", x.shape)))


def _through_attribute(p: Program, x: Var) -> None:
    name = p.fresh("Holder", "Slot", "Cell", "Wrapper")
    template = p.pick(
        "class {c}:\n    def __init__(self, t):\n        self.t = t\n\n    def change(self):\n        {w}",
        "class {c}:\n    def __init__(self, t):\n        self._t = t\n\n    @property\n    def t(self):\n"
        "        return self._t\n\n    def change(self):\n        {w}",
    )
    p.define(template, c=name, w=writing(p, "self.t", x.rank) if "property" not in template else "self.t.mul_(0.5)")
    holder = p.let("{c}({x})", "holder", "slot", "wrapped", c=name, x=x)
    p.line(p.pick("{h}.change()", "{h}.change()", "{h}.t.add_(1)"), h=holder)


Way = Callable[[Program, Var], None]
WAYS: tuple[tuple[Way, int], ...] = (
    (_direct, 36),
    (_through_alias, 6),
    (_through_view, 7),
    (_through_helper, 12),
    (_through_lambda, 2),
    (_through_object, 4),
    (_in_loop_over_list, 6),
    (_in_range, 4),
    (_row_by_row, 5),
    (_in_while, 2),
    (_under_flag, 6),
    (_under_constant, 4),
    (_in_dict, 3),
    (_in_list, 3),
    (_in_comprehension, 1),
    (_by_getattr, 1),
    (_by_bound_method, 1),
    (_through_unpacking, 2),
    (_through_conditional, 2),
    (_through_generator, 1),
    (_through_nested_function, 2),
    (_through_star, 2),
    (_through_dict_values, 2),
    (_through_attribute, 3),
)
