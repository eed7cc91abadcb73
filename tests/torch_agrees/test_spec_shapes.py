"""What the size rules say of a call is what torch gives, and still so when they are told less."""

from __future__ import annotations

import itertools
import random
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest
import torch

from gradlint import facts
from gradlint.domain import dtype as dtypes
from gradlint.domain.shape import Sym
from gradlint.facts.aliases import PREFIXES
from gradlint.shapes.create import nested_shape, nested_type
from gradlint.shapes.index import indexed
from gradlint.shapes.infer import result, rule_of
from gradlint.shapes.module import MODULES, module_result
from gradlint.shapes.operand import Operand, Result, Several
from gradlint.shapes.rule import RULES
from tests.torch_agrees.shape_agreement import Forgetter, contradiction
from tests.torch_agrees.shape_samples import (
    MODULE_CLASSES,
    OPERATIONS,
    drawn_calls,
    module_calls,
    operation_calls,
)
from tests.torch_agrees.torch_calls import Call, bind_by_number, operand, type_name
from tools.facts.names import attribute

Value = Any

SAMPLES = 6
"""Samples of each operation in float32; the whole of them takes `python -m tests.torch_agrees.all_shapes`."""

FORGETTINGS = 3

TABLE = facts.load()


@pytest.fixture(scope="module")
def aside() -> Iterator[Executor]:
    """A thread with a short stack: torch's samples format the stack at every turn, and pytest's is long."""
    with ThreadPoolExecutor(1, initializer=torch.set_num_threads, initargs=(1,)) as executor:
        yield executor


def agree(answer: Callable[[dict[str, Value]], Result], args: dict[str, Value], output: Value, seed: int) -> None:
    """The answer holds for known arguments, and for the same arguments partly forgotten."""
    assert contradiction(answer(args), output, {}) is None, args
    for turn in range(FORGETTINGS):
        forgetter = Forgetter(seed + turn)
        less = {name: forgetter.forget(value) for name, value in args.items()}
        assert contradiction(answer(less), output, dict(forgetter.valuation)) is None, (less, args)


def agree_on_call(call: Call, seed: int) -> None:
    """Bound as torch binds, and by the number of arguments alone, which may hit another overload."""
    agree(partial(result, call.name), call.args, call.output, seed)
    entry = TABLE.find(call.name)
    bound = None if entry is None else bind_by_number(entry.sig, call.positional, call.keywords)
    if bound is not None:
        agree(partial(result, call.name), bound, call.output, seed)


@pytest.mark.parametrize("name", sorted(OPERATIONS))
def test_operations(name: str, aside: Executor) -> None:
    calls = aside.submit(list, operation_calls(name, SAMPLES)).result()
    for seed, call in enumerate(calls):
        agree_on_call(call, seed)


@pytest.mark.parametrize("name", sorted(MODULE_CLASSES))
def test_modules(name: str, aside: Executor) -> None:
    calls = aside.submit(list, itertools.islice(module_calls(name), 12)).result()
    for seed, call in enumerate(calls):
        # What a module is made and called with is forgotten by one forgetter, for its sizes belong together.
        args = {"config": call.config, "inputs": call.inputs}
        assert contradiction(module_result(name, **args), call.output, {}) is None, args
        for turn in range(FORGETTINGS):
            forgetter = Forgetter(seed + turn)
            less = {
                part: {key: forgetter.forget(value) for key, value in values.items()} for part, values in args.items()
            }
            assert contradiction(module_result(name, **less), call.output, dict(forgetter.valuation)) is None, less


def test_drawn_calls() -> None:
    for seed, call in enumerate(drawn_calls(seed=1, count=2500)):
        agree_on_call(call, seed)


COMMON = """
    add mul div matmul cat stack sum mean max reshape Tensor.view permute transpose squeeze unsqueeze expand
    repeat nn.functional.conv2d nn.functional.max_pool2d nn.functional.linear nn.functional.cross_entropy
    softmax where gather topk arange full einsum nn.functional.embedding nn.functional.interpolate
"""


def test_common_operations_have_rules() -> None:
    assert [name for name in COMMON.split() if rule_of(name) is None] == []


@pytest.mark.parametrize("seed", range(2))
def test_subscripts(seed: int) -> None:
    draw = random.Random(seed)
    for _ in range(2000):
        shape = tuple(draw.choice((0, 1, 2, 3, 4)) for _ in range(draw.randint(0, 4)))
        index = _draw_index(draw, shape)
        whole = torch.zeros(shape)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                output = whole[index]
        except (IndexError, RuntimeError, ValueError, TypeError):
            continue
        _agree_on_index(shape, operand(index), output, output is whole or output._is_view(), draw.random())


def _agree_on_index(shape: tuple[int, ...], index: Value, output: torch.Tensor, view: bool, seed: float) -> None:
    answer = indexed(shape, index)
    assert contradiction(Operand(answer.shape), output, {}) is None, (shape, index)
    assert answer.view in (view, None), (shape, index)
    forgetter = Forgetter(hash(seed))
    less = forgetter.forget(Operand(shape), argument=False).shape
    entries = isinstance(index, tuple)
    forgotten = tuple([forgetter.forget(entry) for entry in index]) if entries else forgetter.forget(index)
    answer = indexed(less, forgotten)
    assert contradiction(Operand(answer.shape), output, dict(forgetter.valuation)) is None, (less, forgotten)
    assert answer.view in (view, None), (less, forgotten)


def _draw_index(draw: random.Random, shape: tuple[int, ...]) -> Value:
    entries: list[Value] = []
    place = 0
    for _ in range(draw.randint(0, 4)):
        rest = shape[place:]
        entries.append(_draw_entry(draw, rest[0] if rest else 1, rest))
        place += 0 if entries[-1] is None or isinstance(entries[-1], bool) else 1
    return entries[0] if len(entries) == 1 and draw.random() < 0.5 else tuple(entries)


def _draw_entry(draw: random.Random, length: int, rest: tuple[int, ...]) -> Value:
    bounds = (None, None, *range(-6, 7))
    bound = max(length, 1)
    makers: tuple[Callable[[], Value], ...] = (
        lambda: draw.randrange(-bound, bound),
        lambda: slice(draw.choice(bounds), draw.choice(bounds), draw.choice((None, None, 1, 2, 3))),
        lambda: slice(None),
        lambda: None,
        lambda: Ellipsis,
        lambda: torch.zeros(draw.choice(((), (1,), (2,), (2, 1), (3,), (0,))), dtype=torch.int64),
        lambda: torch.zeros((2,), dtype=torch.int32),
        lambda: torch.zeros((), dtype=torch.uint8),
        lambda: torch.rand(rest[: draw.randint(0, 2)]) > 0.5,
        lambda: [draw.randrange(bound) for _ in range(draw.randint(0, 3))],
        lambda: [draw.random() < 0.5 for _ in range(length)],
        lambda: [[draw.randrange(bound)], [0]],
        lambda: (draw.randrange(bound), 0),
        lambda: draw.random() < 0.5,
    )
    return draw.choice(makers)()


@pytest.mark.parametrize(
    "data",
    [
        1, 2.5, True, 1j, [], [[]], [[], []], [1, 2], [1, 2.5, True], [True, 2], [[1, 2], [3, 4]], [1, 2j],
        ((1, 2),), [torch.tensor(1), 2.0], [torch.tensor(1.0, dtype=torch.float64), torch.tensor(2)],
        [torch.ones(1)], [torch.ones(1, 1), 1], torch.ones(2, 3), [[[1.0]], [[2.0]]],
        [torch.tensor(1.0, dtype=torch.float16), 2.0],
    ],
    ids=str,
)  # fmt: skip
def test_nested_data(data: Value) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        output = torch.tensor(data)
    known = operand(data)
    assert contradiction(Operand(nested_shape(known), nested_type(known)), output, {}) is None


NAMES = ("bool", *dtypes.INTS, *dtypes.FLOATS, *dtypes.EIGHT_BIT_FLOATS, *dtypes.COMPLEXES)


def test_promotion_of_types() -> None:
    for one, other in itertools.product(NAMES, NAMES):
        try:
            expected = type_name(torch.promote_types(getattr(torch, one), getattr(torch, other)))
        except RuntimeError:
            expected = None
        assert dtypes.promote(one, other) == expected, (one, other)


def test_promotion_of_levels() -> None:
    """Tensors with dimensions, tensors without and Python numbers, in all combinations of three."""
    names = (
        "bool",
        "uint8",
        "int32",
        "int64",
        "float16",
        "bfloat16",
        "float32",
        "float64",
        "complex64",
        "complex128",
    )
    operands = [Operand(shape, name) for shape in ((2,), ()) for name in names]
    numbers = [(Operand((), dtypes.of_number(value), scalar=True), value) for value in (True, 1, 1.0, 1j)]
    for one, other in itertools.product(operands, operands):
        left, right = (_zeros(item) for item in (one, other))
        assert _dtype(result("add", {"input": one, "other": other})) == type_name(torch.result_type(left, right))
    for one, (number, value) in itertools.product(operands, numbers):
        left = _zeros(one)
        expected = type_name(torch.result_type(left, value))
        assert _dtype(result("mul", {"input": one, "other": number})) == expected, (one, value)
        assert _dtype(result("mul", {"input": one, "other": value})) == expected, (one, value)


def _zeros(like: Operand) -> torch.Tensor:
    """A tensor of the shape and type of an operand, both known."""
    sizes = [size for size in like.shape or () if isinstance(size, int)]
    return torch.zeros(sizes, dtype=getattr(torch, like.dtype or ""))


def _dtype(one: object) -> str | None:
    assert isinstance(one, Operand)
    return one.dtype


def test_every_type_of_torch_has_a_name() -> None:
    """Sub-byte and quantized types, which no autograd reaches, are left out."""
    known = {name for name in dir(torch) if isinstance(getattr(torch, name), torch.dtype)}
    for name in known:
        if dtypes.named(name) is not None:
            assert type_name(getattr(torch, name)) == dtypes.named(name)
    left_out = {type_name(getattr(torch, name)) for name in known if dtypes.named(name) is None}
    assert all(name.startswith(("q", "uint", "int", "bits", "float4", "bcomplex")) for name in left_out), left_out
    assert {"float32", "int64", "bool", "complex64"}.isdisjoint(left_out)


PARAMETERS = """
    input other dim size dims weight bias stride padding keepdim tensors index kernel_size repeats equation
    operands sizes chunks indices mask target reduction q k dim0 dim1 start_dim end_dim pad n s offset step
    start end fill_value data self shape split_size scale_factor output_size dtype out A B batch1 batch2
    condition unbiased ord
"""


def test_shape_errors_are_answered_with_unknown() -> None:
    """Arguments that torch refuses raise nothing here."""
    draw = random.Random(0)
    pool: tuple[Value, ...] = (
        Operand((2, 3), "float32"), Operand((), "int64"), Operand((0,), "bool"), Operand(), Operand((1, 2, 3)),
        0, 1, -7, 99, 1.5, float("inf"), True, None, "same", "mean", "ij,jk->ik", "float", (1, 2), [], (), [[1], [2]],
        [3, -1], ((),), ..., object(), Sym(), Sym(many=True), Several(None), [Operand((2,)), Operand()],
    )  # fmt: skip
    names = PARAMETERS.split()
    for name in sorted(RULES):
        for _ in range(25):
            result(name, {key: draw.choice(pool) for key in draw.sample(names, draw.randint(0, len(names)))})
    for name in sorted(MODULES):
        for _ in range(25):
            config = {key: draw.choice(pool) for key in draw.sample(names, 20)}
            module_result(name, config, {"input": draw.choice(pool), "target": draw.choice(pool)})


def _is_in_torch(name: str) -> bool:
    """Whether torch has a function, or a method or attribute of tensors, of this canonical name."""
    return any(attribute(f"{prefix}{name}") is not None for prefix in ("", *PREFIXES))


def test_every_rule_is_about_something_of_torch() -> None:
    assert [name for name in RULES if not _is_in_torch(name)] == []
    assert [name for name in MODULES if not hasattr(torch.nn, name)] == []


IN_PLACE = ("add_", "Tensor.mul_", "nn.functional.relu_", "Tensor.zero_", "Tensor.__iadd__", "Tensor.normal_")


@pytest.mark.parametrize("name", IN_PLACE)
def test_in_place_operations_give_what_they_wrote_to(name: str) -> None:
    written, larger = Operand((2, 1), "float32"), Operand((2, 3), "float64")
    assert result(name, {"self": written, "other": larger}) == written


def test_in_place_views_change_their_shape() -> None:
    assert result("Tensor.unsqueeze_", {"self": Operand((2,), "int64"), "dim": 0}) == Operand((1, 2), "int64")
    assert torch.zeros(2).unsqueeze_(0).shape == (1, 2)


def test_out_has_its_own_type() -> None:
    args = {"input": Operand((2, 3), "float32"), "other": 1, "out": Operand((0,), "float64")}
    given = torch.add(torch.zeros(2, 3), 1, out=torch.empty(0, dtype=torch.float64))
    assert contradiction(result("add", args), given, {}) is None
    assert result("add", args) == Operand((2, 3), "float64")


def test_items_of_an_unknown_number_of_pieces() -> None:
    """The pieces differ in one dimension, so their sizes there are different symbols."""
    pieces = result("split", {"tensor": Operand((Sym(), 3), "float32"), "split_size_or_sections": 2})
    assert isinstance(pieces, Several)
    first, second = pieces.item(0), pieces.item(1)
    assert isinstance(first, Operand) and isinstance(second, Operand)
    assert first.shape is not None and second.shape is not None
    assert first.shape[0] != second.shape[0] and first.shape[1:] == second.shape[1:] == (3,)
