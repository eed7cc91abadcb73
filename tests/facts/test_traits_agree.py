"""The aliases and traits against torch: what each trait says of an operation is asked of torch on a small tensor."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from gradlint.facts import load, traits
from gradlint.facts.aliases import canonical
from gradlint.facts.traits import Trait

torch = pytest.importorskip("torch")
if torch.__version__.split("+")[0] != load().torch.split("+")[0]:
    pytest.skip(f"the table speaks of torch {load().torch}", allow_module_level=True)

from torch.testing._internal.common_methods_invocations import op_db  # noqa: E402 (these import torch)

from tools.facts import recipes, samples  # noqa: E402
from tools.facts.call import Call  # noqa: E402
from tools.measure_aliases import NAMES, outcomes_of  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")  # Torch's own samples use what torch itself has deprecated.

X = torch.tensor([[0.3, -0.7, 1.2], [0.9, 0.1, -0.4]])
Y = torch.tensor([[1.3, 0.7, 0.2], [-0.9, 0.6, 0.4]])
HUGE = torch.tensor([[-1e4, -3.0, -1.0, -0.1, 0.0, 0.1, 1.0, 3.0, 1e4]])
INDEX = torch.tensor([1, 0])
SEVERAL = torch.tensor([[0, 1, 0]])

MORE: dict[str, tuple[object, ...]] = {
    "view": (6,),
    "reshape": ((6,),),
    "view_as": (torch.empty(6),),
    "reshape_as": (torch.empty(6),),
    "unflatten": (1, (3, 1)),
    "unsqueeze": (0,),
    "narrow": (0, 0, 1),
    "transpose": (0, 1),
    "movedim": (0, 1),
    "permute": ((1, 0),),
    "expand": (2, 2, 3),
    "expand_as": (torch.empty(2, 2, 3),),
    "broadcast_to": ((2, 2, 3),),
    "gather": (0, SEVERAL),
    "index_select": (0, INDEX),
    "masked_select": (X > 0,),
    "take_along_dim": (SEVERAL, 0),
    "repeat": (2, 1),
    "tile": ((2, 1),),
    "repeat_interleave": (2,),
    "flip": ((0,),),
    "roll": (1,),
    "select": (0, 0),
    "type_as": (X,),
    "to": (torch.float64,),
    "type": (torch.float64,),
    "chunk": (2,),
    "split": (1,),
    "threshold": (0.1, 2.0),
    "polygamma": (1,),
    "mvlgamma": (1,),
    "prelu": (torch.tensor([0.2]),),
    "masked_fill": (X > 0, 1.0),
    "index_fill": (0, INDEX, 1.0),
    "index_put": ((INDEX,), torch.ones(())),
    "fill": (1.0,),
    "fill_diagonal_": (1.0,),
    "cosine_similarity": (Y,),
    "cdist": (Y,),
    "dist": (Y,),
}
"""What an operation takes beside its first tensor."""

METHODS = {"T", "mT", "H", "mH", "type", "dropout", "alpha_dropout", "polygamma"}
"""What is called as a method, or as a function that is not told to train."""

NOT_HERE = {"index", "nn.Identity", "uninitialised", "cuda"}
"""What has no function below torch, or not on this machine."""


def call(name: str, *given: Any, **named: Any) -> Any:
    """Call an operation by its canonical name, with the further arguments that it needs."""
    more = () if len(given) > 1 else MORE.get(name, ())
    for owner in (torch, torch.nn.functional, torch.special, torch.linalg):
        if hasattr(owner, name.rpartition(".")[2]) and name not in METHODS:
            function = getattr(owner, name.rpartition(".")[2])
            if callable(function) and not isinstance(function, torch.dtype):
                return function(*given, *more, **named)
    if name in ("dropout", "alpha_dropout"):
        return getattr(torch.nn.functional, name)(*given, p=0.0)
    found = getattr(given[0], name)
    return found(*given[1:], *more, **named) if callable(found) else found


def in_place(name: str, tensor: Any) -> Any:
    """Call the in-place form of an operation."""
    name = name if name.endswith("_") else f"{name}_"
    owner = tensor if hasattr(tensor, name) else None
    more = MORE.get(name.removesuffix("_") if name not in MORE else name, ())
    return getattr(owner, name)(*more) if owner is not None else getattr(torch, name)(tensor, *more)


def all_of(trait: Iterable[str], without: Iterable[str] = ()) -> list[str]:
    """The operations of a trait that can be called here."""
    return sorted({*trait} - NOT_HERE - {*without})


def wrong(names: Iterable[str], holds: Callable[[str], object]) -> list[str]:
    """The names of which something does not hold, or that cannot be asked."""
    found = []
    for name in names:
        try:
            if not holds(name):
                found.append(name)
        except Exception as error:
            found.append(f"{name}: {error}")
    return found


# Names.

SAMPLE = [
    *("abs", "acos", "add", "cat", "clamp", "detach", "digamma", "div", "gt", "masked_fill", "movedim", "mul"),
    *("ne", "neg", "outer", "rsub", "sigmoid", "sub", "transpose", "trunc", "vstack"),
]


def calls_of(one: str) -> list[Call]:
    """The calls of an operation that torch's tests and the recipes make, by any of its names."""
    made = [samples.named_call(*given) for op in op_db if canonical(op.name) == one for given in samples.of_op(op)]
    ours = [line for lines in recipes.groups().values() for line in lines if canonical(line.name) == one]
    made = [*made[:24], *(samples.named_call(line.name, line.args, line.kwargs) for line in ours)]
    return [call for call in made if call is not None]


@pytest.mark.parametrize("one", SAMPLE)
def test_names_of_one_operation_give_the_same(one: str) -> None:
    names = [name for name in NAMES if canonical(name) == one]
    assert len(names) > 1
    outcomes = {name: [*outcomes_of(calls_of(one), name)] for name in names}
    assert [name for name, found in outcomes.items() if not found or not all(found)] == []


@pytest.mark.parametrize("name", ["linalg.norm", "nn.functional.unfold"])
def test_names_that_differ_by_a_prefix_may_be_two_operations(name: str) -> None:
    assert canonical(name) == name
    assert canonical(name.rpartition(".")[2]) == name.rpartition(".")[2]


def test_maximum_is_not_max() -> None:
    assert canonical("maximum") == "maximum"
    assert torch.equal(torch.max(X, Y), torch.maximum(X, Y))


def test_a_module_is_its_function() -> None:
    modules = [("nn.Softmax", {"dim": 1}), ("nn.ReLU", {}), ("nn.Sigmoid", {}), ("nn.LogSigmoid", {}), ("nn.GELU", {})]
    for name, config in modules:
        module = getattr(torch.nn, name.removeprefix("nn."))(**config)
        assert torch.equal(module(X), call(canonical(name), X, **config))


# Sums and multiples.


def test_sums() -> None:
    def holds(name: str) -> object:
        left, right = X.clone().requires_grad_(), Y.clone().requires_grad_()
        given = (left,) if name in ("neg", "positive") else (left, right)
        call(name, *given).sum().backward()
        return all(bool((one.grad.abs() == 1).all()) for one in given)

    assert wrong(all_of(traits.SUMS), holds) == []


def test_scales() -> None:
    assert (
        wrong(all_of(traits.SCALES), lambda name: torch.allclose(call(name, 2 * X, 3.0), 2 * call(name, X, 3.0))) == []
    )


def test_means() -> None:
    def holds(name: str) -> object:
        leaf = X.clone().requires_grad_()
        call(name, leaf).backward()
        return leaf.grad.unique().numel() == 1

    assert wrong(all_of(traits.MEANS), holds) == []


def test_arithmetic_works_element_by_element() -> None:
    def holds(name: str) -> object:
        return torch.equal(call(name, X, Y).flip(1), call(name, X.flip(1), Y.flip(1)))

    assert wrong(all_of(traits.ARITHMETIC | traits.COMPARISONS), holds) == []


# The same elements.


def test_reshapes_keep_the_order_and_the_layout() -> None:
    def holds(name: str) -> object:
        result = call(name, X)
        return result.is_contiguous() and torch.equal(result.flatten(), X.flatten())

    assert wrong(all_of(traits.RESHAPES), holds) == []


def test_views_of_what_is_contiguous() -> None:
    def shares(name: str) -> object:
        return call(name, X).data_ptr() == X.data_ptr()

    views = traits.RESHAPES | traits.VIEWS_IF_CONTIGUOUS | traits.ALWAYS_VIEWS | traits.PERMUTES | {"expand"}
    assert wrong(all_of(views), shares) == []
    assert wrong(all_of(traits.EXPANDS, ["broadcast_tensors"]), shares) == []


def test_transposes() -> None:
    assert wrong(all_of(traits.TRANSPOSES), lambda name: torch.equal(call(name, X), X.permute(1, 0))) == []


def test_picks_have_no_other_elements() -> None:
    def holds(name: str) -> object:
        result = call(name, X)
        results = result if isinstance(result, (tuple, list)) else [result]
        return all(
            set(one.float().flatten().tolist())
            <= {
                *X.flatten().tolist(),
                *X.long().flatten().tolist(),
                *X.half().float().flatten().tolist(),
                *X.bfloat16().float().flatten().tolist(),
                *X.byte().flatten().tolist(),
            }
            for one in results
        )

    complex_numbers = ["cdouble", "cfloat", "chalf"]
    assert wrong(all_of(traits.PICKS | traits.SPLITS, complex_numbers), holds) == []


def test_copies() -> None:
    assert wrong(all_of(traits.COPIES), lambda name: torch.equal(call(name, X), X)) == []


def test_joins_take_a_list() -> None:
    assert wrong(all_of(traits.JOINS), lambda name: call(name, [X, X]).numel() == 2 * X.numel()) == []


def test_casts() -> None:
    for name, dtype in traits.CASTS.items():
        assert getattr(X.abs(), name)().dtype is getattr(torch, dtype)


# Tensors made of sizes.


def made(name: str) -> Any:
    """A tensor of size 2, by any creation function."""
    if name.startswith("new_"):
        more: tuple[object, ...] = ((1,),) if "strided" in name else (3.0,) if "full" in name else ()
        return getattr(X, name)((2,), *more)
    more = (X,) if name.endswith("_like") else ((2,),)
    more += (3.0,) if "full" in name else ((1,),) if "strided" in name else ()
    return getattr(torch, name)(*more)


def test_filled_tensors() -> None:
    assert wrong(all_of(traits.ZEROS), lambda name: (made(name) == 0).all()) == []
    assert wrong(all_of(traits.ONES), lambda name: (made(name) == 1).all()) == []
    assert wrong(all_of(traits.FILLED), lambda name: (made(name) == 3).all()) == []
    assert wrong(all_of(traits.UNFILLED), lambda name: made(name).numel() in (2, 6)) == []


def test_factories_take_requires_grad() -> None:
    def holds(name: str) -> object:
        more = (2.0,) if name == "full" else ()
        return getattr(torch, name)(2 if name == "eye" else (2,), *more, requires_grad=True).is_leaf

    assert wrong(all_of(traits.FACTORIES), holds) == []


ARGUMENTS: dict[str, Callable[[Any], object]] = {
    "rand": lambda x: torch.rand(2),
    "randn": lambda x: torch.randn(2),
    "randint": lambda x: torch.randint(3, (2,)),
    "randperm": lambda x: torch.randperm(3),
    "randint_like": lambda x: torch.randint_like(x, 3),
    "bernoulli": lambda x: torch.bernoulli(x.sigmoid()),
    "multinomial": lambda x: x.sigmoid().multinomial(1),
    "normal": lambda x: torch.normal(x, x.sigmoid()),
    "poisson": lambda x: torch.poisson(x.sigmoid()),
    "gumbel_softmax": lambda x: torch.nn.functional.gumbel_softmax(x),
    "geometric_": lambda x: torch.zeros_like(x).geometric_(0.5),
}


def test_what_draws_numbers_may_not_do_so_below_vmap() -> None:
    def draws(name: str) -> Callable[[Any], object]:
        if name in ARGUMENTS:
            return ARGUMENTS[name]
        return lambda x: getattr(torch.zeros_like(x), name)() if name.endswith("_") else getattr(torch, name)(x)

    def holds(name: str) -> object:
        try:
            torch.func.vmap(draws(name))(torch.rand(4, 3))
        except RuntimeError as error:
            return "randomness" in str(error)
        return False

    assert wrong(all_of(traits.RANDOM), holds) == []


def test_what_draws_numbers_in_training() -> None:
    images = {"1": torch.randn(4, 8, 8), "2": torch.randn(4, 8, 8, 8), "3": torch.randn(4, 8, 8, 8, 8)}

    def applied(name: str, training: bool) -> Any:
        image = images.get(name[-2], images["1"])
        if name == "feature_dropout":  # Of this one, torch documents no function.
            return torch.feature_dropout(image, 0.5, training)
        return getattr(torch.nn.functional, name)(image, training=training)

    def holds(name: str) -> object:
        quiet = torch.equal(applied(name, False), applied(name, False))
        return quiet and not torch.equal(applied(name, True), applied(name, True))

    assert wrong(all_of(traits.RANDOM_IN_TRAINING), holds) == []


M, V, S = torch.rand(3, 3), torch.rand(3), torch.tensor(0.5)
PAIR = torch.tensor([1.0, -1.0, 1.0])

CALLS: dict[str, tuple[Any, ...]] = {
    "addmm": (M, M, M),
    "baddbmm": (M[None], M[None], M[None]),
    "arange": (),
    "full": ((2,),),
    "new_full": (V, (2,)),
}
"""What the operations are given, other than one tensor."""

OTHERS: dict[str, dict[str, object]] = {
    "arange": {"start": 0, "end": 2, "step": 1},
    "uniform_": {"from": 0, "to": 1},
}
"""Other arguments without which the operations do not run."""


def test_what_takes_a_number_takes_no_tensor_that_requires_grad() -> None:
    def run(name: str, parameter: str, value: object) -> None:
        places = (torch.nn.functional, torch.linalg, torch, torch.Tensor)
        function = next(getattr(one, bare) for one in places if hasattr(one, bare := name.removeprefix("linalg.")))
        function(*CALLS.get(name, (V.clone(),)), **{**OTHERS.get(name, {}), parameter: value})

    def holds(name: str) -> object:
        for parameter in traits.NUMBERS[name]:
            run(name, parameter, S)
            try:
                run(name, parameter, S.clone().requires_grad_())
            except TypeError:
                continue
            return False
        return True

    assert wrong(traits.NUMBERS, holds) == []


def test_what_cannot_be_mapped() -> None:
    def holds(name: str) -> object:
        made = getattr(torch.nn, name[3:])(3, 3) if name.startswith("nn.") else lambda x: torch.rrelu(x, training=True)
        try:
            torch.vmap(made)(torch.rand(4, 2, 3))
        except RuntimeError as error:
            return "Batching rule not implemented" in str(error) or "do not yet support" in str(error)
        return False

    assert wrong(all_of(traits.UNBATCHED), holds) == []


GRID, CLASSES = torch.zeros(1, 2, 2, 2), torch.tensor([0, 1, 2])

FORWARD: dict[str, Callable[[Any], object]] = {
    "bincount": lambda m: torch.bincount(CLASSES, m[0]),
    "cdist": lambda m: torch.cdist(m, m),
    "ctc_loss": lambda m: torch.nn.functional.ctc_loss(m, CLASSES[1:2], torch.tensor(3), torch.tensor(1)),
    "embedding_bag": lambda m: torch.nn.functional.embedding_bag(CLASSES[None], m),
    "floor_divide": lambda m: torch.floor_divide(m, 2.0),
    "geqrf": torch.geqrf,
    "grid_sample": lambda m: torch.nn.functional.grid_sample(m[None, None], GRID, align_corners=False),
    "heaviside": lambda m: torch.heaviside(m, M),
    "histogram": lambda m: torch.histogram(m, 3),
    "igamma": lambda m: torch.igamma(m, M),
    "igammac": lambda m: torch.igammac(m, M),
    "index_reduce": lambda m: m.index_reduce(0, CLASSES, M, "prod"),
    "ldl_factor": lambda m: torch.linalg.ldl_factor(m),
    "ldl_factor_ex": lambda m: torch.linalg.ldl_factor_ex(m),
    "multi_margin_loss": lambda m: torch.nn.functional.multi_margin_loss(m, CLASSES),
    "multilabel_margin_loss": lambda m: torch.nn.functional.multilabel_margin_loss(m[0], CLASSES),
    "nn.LSTM": torch.nn.LSTM(3, 3),
    "ormqr": lambda m: torch.ormqr(m, V, M),
    "pdist": torch.pdist,
    "to_sparse": lambda m: m.to_sparse(),
    "unique": torch.unique,
    "unique_consecutive": torch.unique_consecutive,
    "zeta": lambda m: torch.special.zeta(m, M),
}


def test_what_has_no_derivative_in_forward_mode() -> None:
    def holds(name: str) -> object:
        try:
            torch.func.jvp(FORWARD[name], (M,), (M,))
        except NotImplementedError as error:
            return "Trying to use forward AD" in str(error)
        return False

    assert wrong(all_of(traits.NO_FORWARD), holds) == []


# Element by element.

INTEGERS_ONLY = {"bitwise_not"}


def test_unary_operations_work_element_by_element() -> None:
    def holds(name: str) -> object:
        torch.manual_seed(0)
        given = X.long() if name in INTEGERS_ONLY else X.sigmoid()
        return torch.equal(
            call(name, given).flip(1).nan_to_num(), call(name, given.flip(1)).nan_to_num()
        ) and torch.allclose(call(name, given)[:1, :1].nan_to_num(), call(name, given[:1, :1]).nan_to_num())

    assert wrong(all_of(traits.UNARY, ["rrelu", "__pos__"]), holds) == []


def test_types_of_unary_operations() -> None:
    integers = torch.tensor([1, 2])
    refuse = ["celu", "elu", "gelu", "hardshrink", "hardsigmoid", "hardswish", "leaky_relu", "logsigmoid", "mish"]
    refuse += ["rrelu", "selu", "silu", "frac", "softplus", "softshrink", "dropout", "alpha_dropout", "__pos__", "conj"]
    same = all_of(traits.UNARY_SAME, refuse)
    assert wrong(same, lambda name: call(name, integers).dtype is torch.int64) == []
    floating = all_of(traits.UNARY_FLOATING, ["tanhshrink", "softsign"])
    assert wrong(floating, lambda name: call(name, integers).dtype is torch.float32) == []
    assert wrong(all_of(traits.TESTS), lambda name: call(name, X).dtype is torch.bool) == []
    assert wrong(all_of(traits.COMPARES), lambda name: call(name, X, Y).dtype is torch.bool) == []


def test_operations_that_broadcast() -> None:
    def holds(name: str) -> object:
        of_integers = name.startswith(("bitwise", "__r", "gcd", "lcm"))
        column, row = torch.tensor([[3], [5]]), torch.tensor([2, 4, 6])
        if not of_integers:
            column, row = column.float(), row.float()
        reflected = name.startswith("__r")
        return (getattr(column, name)(row) if reflected else call(name, column, row)).shape == (2, 3)

    assert wrong(all_of(traits.BROADCASTS | traits.BROADCASTS_FLOATING, ["__rrshift__", "__rlshift__"]), holds) == []


def test_steady_operations_draw_no_numbers() -> None:
    assert frozenset() == traits.STEADY & (traits.RANDOM | traits.RANDOM_IN_TRAINING)


# Values.


def of_one(trait: Trait, more: Iterable[str]) -> list[str]:
    """The operations of a trait that compute something of one tensor, without further arguments."""
    return all_of(trait & (traits.UNARY | {*more}))


def test_bounded_values() -> None:
    def holds(name: str) -> object:
        more = {"dim": 1} if "softmax" in name or name == "normalize" else {}
        return call(name, HUGE, **more).nan_to_num().max() <= 6

    names = of_one(traits.BOUNDED, ["softmax", "log_softmax", "gumbel_softmax", "normalize"])
    assert len(names) > 15
    assert wrong(names, holds) == []


def test_values_that_are_never_negative() -> None:
    def holds(name: str) -> object:
        more = {"dim": 1} if name == "softmax" else {}
        given = (HUGE, -HUGE) if name.endswith("_loss") else (HUGE,)
        return call(name, *given, **more).nan_to_num().min() >= 0

    names = all_of(traits.NEVER_NEGATIVE, ["rand", "rand_like", "cdist", "dist"])
    assert wrong(names, holds) == []


def test_zero_at_zero() -> None:
    def holds(name: str) -> object:
        given = (torch.zeros(2), torch.ones(2)) if name in ("mul", "div") else (torch.zeros(2),)
        return (call(name, *given) == 0).all()

    assert wrong(all_of(traits.ZERO_AT_ZERO), holds) == []


def slope(name: str, at: float) -> float:
    leaf = torch.tensor(at, requires_grad=True)
    call(name, leaf).backward()
    return float(leaf.grad)


def test_singular_operations() -> None:
    assert wrong(all_of(traits.POLES | traits.ROOTS), lambda name: math.isinf(slope(name, 0.0))) == []
    assert wrong(all_of(traits.POLES), lambda name: math.isfinite(slope(name, -1.0))) == []
    assert wrong(all_of(traits.ROOTS), lambda name: math.isnan(slope(name, -1.0))) == []
    assert wrong(all_of(traits.SINGULAR_AT_ONE), lambda name: math.isinf(slope(name, 1.0))) == []
    assert wrong(all_of(traits.SINGULAR_AT_ONE), lambda name: math.isinf(slope(name, -1.0))) == []


def test_comparisons() -> None:
    assert wrong(all_of(traits.MIRRORED), lambda n: torch.equal(call(n, X, Y), call(traits.MIRRORED[n], Y, X))) == []
    assert wrong(all_of(traits.NEGATED), lambda n: torch.equal(call(n, X, Y), ~call(traits.NEGATED[n], X, Y))) == []


def test_distances_of_equal_values_are_zero() -> None:
    assert wrong(all_of(traits.DISTANCES), lambda name: call(name, X, X).item() == 0) == []


def test_probabilities() -> None:
    def holds(name: str) -> object:
        more = {"dim": 1} if "soft" in name else {}
        result = call(name, HUGE, **more)
        return (result >= 0).all() and (result <= 1).all()

    assert wrong(all_of(traits.PROBABILITIES), holds) == []
    more = {"log_softmax": {"dim": 1}}
    assert wrong(all_of(traits.LOG_PROBABILITIES), lambda n: (call(n, HUGE, **more.get(n, {})) <= 0).all()) == []
    assert wrong(all_of(traits.ACTIVATIONS), lambda name: call(name, HUGE).max() > 1) == []


# Memory and types.


def test_what_an_expanded_tensor_takes_in_place() -> None:
    def takes(name: str) -> bool:
        expanded = torch.zeros(1, 3).expand(2, 3) if name not in ("fill_diagonal_",) else torch.zeros(1, 3).expand(3, 3)
        in_place(name, expanded)
        return True

    assert wrong(all_of(traits.NOT_ITERATED), takes) == []
    for name in ("add_", "mul_", "clamp_", "exp_"):
        with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
            getattr(torch.zeros(1, 3).expand(2, 3), name)(*(1.0,) if name in ("add_", "mul_", "clamp_") else ())


SQUARE = torch.eye(3)
OPERANDS: dict[str, tuple[Any, ...]] = {
    "addmm": (SQUARE, SQUARE, SQUARE),
    "baddbmm": (SQUARE[None], SQUARE[None], SQUARE[None]),
    "bmm": (SQUARE[None], SQUARE[None]),
    "dot": (SQUARE[0], SQUARE[0]),
    "mv": (SQUARE, SQUARE[0]),
    "lerp": (SQUARE, SQUARE, 0.5),
}


def test_operands_of_one_dtype() -> None:
    def holds(name: str) -> object:
        dimensions = int(name[-2]) if "conv" in name else 0
        image = torch.ones(1, 1, *[3] * dimensions)
        given = [image, image] if dimensions else [*OPERANDS.get(name, (SQUARE, SQUARE))]
        last = max(place for place, one in enumerate(given) if isinstance(one, torch.Tensor))
        call(name, *given)
        given[last] = given[last].double()
        try:
            call(name, *given)
        except RuntimeError:
            return True
        return False

    assert wrong(all_of(traits.ONE_DTYPE), holds) == []


def test_positions_are_integers() -> None:
    def holds(name: str) -> object:
        more = () if name in ("gather", "index_select", "take_along_dim") else (1.0 if name == "index_fill" else X,)
        positions = SEVERAL if name in ("gather", "take_along_dim", "scatter", "scatter_add") else INDEX
        try:
            _ = X.take_along_dim(positions.float(), 0) if name == "take_along_dim" else call_with(name, positions, more)
        except (RuntimeError, IndexError):
            return True
        return False

    def call_with(name: str, positions: Any, more: tuple[object, ...]) -> object:
        return getattr(X, name)(0, positions.float(), *more)

    assert wrong(all_of(traits.INDEXED), holds) == []


def test_of_all_that_have_an_input_only_these_take_a_tuple_for_it() -> None:
    """Others raise with any arguments that follow; what cannot be made without more is passed over."""
    taken = set()
    for name in load():
        entry = load().find(name)
        signature = None if entry is None else entry.row.forward if entry.row.is_module else entry.sig
        if entry is None or signature is None or name.startswith("Tensor.") or not signature.overloads:
            continue
        function = _made(name, is_module=entry.row.is_module)
        named = all(one and one[0].name == "input" for one in signature.overloads)
        if function is None or not named:
            continue
        if any(_runs(function, (X, Y), *more) for more in ((), (X,), (1,), (X, X), (0, 1))):
            taken.add(canonical(name))
    assert taken == traits.TAKES_ANYTHING


def _made(name: str, *, is_module: bool) -> Callable[..., Any] | None:
    """Return a function of torch by its name, or a module made with as few sizes as it takes."""
    found: Any = torch
    for part in name.split("."):
        found = getattr(found, part, None)
    if not is_module or found is None:
        return found  # type: ignore[no-any-return]
    return next((found(*sizes) for sizes in ((), (2,), (2, 2), (2, 2, 2)) if _runs(found, *sizes)), None)


def _runs(function: Callable[..., Any], *args: Any) -> bool:
    try:
        function(*args)
    except Exception:
        return False
    return True


def _sparse() -> Any:
    made = torch.sparse_coo_tensor(torch.tensor([[0, 1, 1], [2, 0, 2]]), torch.tensor([0.1, 0.2, 0.3]), (2, 3))
    return made.coalesce().requires_grad_()


@pytest.mark.parametrize("name", sorted(traits.SPARSE_KEEPS))
def test_what_is_sparse_again(name: str) -> None:
    """Alone, or with a number."""
    given = (2,) if name in ("mul", "div", "pow") else ()
    assert getattr(torch, name)(_sparse(), *given).is_sparse


@pytest.mark.parametrize("name", sorted(traits.REFUSES_OVERLAP))
def test_what_refuses_an_operand_that_shares_a_part_of_the_memory(name: str) -> None:
    values = torch.rand(6) + 1
    more = {"addcmul": (values[4:],), "addcdiv": (values[4:],), "lerp": (0.5,)}.get(name, ())
    with pytest.raises(RuntimeError, match="refer to a single memory location"):
        getattr(values[:2], f"{name}_")(values[1:3], *more)
    getattr(values[:2], f"{name}_")(values[2:4], *more)


OF_SPARSE: dict[str, Callable[[Any], Any]] = {
    "any": torch.any,
    "bmm": lambda s: torch.bmm(s, M),
    "cat": lambda s: torch.cat([s, s]),
    "index_select": lambda s: s.index_select(0, torch.tensor([0, 1])),
    "norm": torch.norm,
    "permute": lambda s: s.permute(1, 0),
    "pow": lambda s: s**2,
    "select": lambda s: s[0],
    "stack": lambda s: torch.stack([s, s]),
    "sum": lambda s: s.sum(0),
    "unsqueeze": lambda s: s.unsqueeze(0),
}


def test_what_refuses_a_sparse_gradient() -> None:
    """It takes a dense one."""

    def holds(name: str) -> object:
        made = OF_SPARSE[name](_sparse())
        made.sum().backward()
        with pytest.raises(RuntimeError):
            OF_SPARSE[name](_sparse()).to_dense().sum().backward()
        return made.is_sparse

    assert wrong(all_of(traits.WANTS_DENSE_GRADIENT), holds) == []


def test_what_the_compressed_layouts_refuse() -> None:
    def holds(name: str) -> object:
        for layout in ("to_sparse_csr", "to_sparse_csc"):
            with pytest.raises(RuntimeError):
                OF_SPARSE[name](getattr(_sparse().to_dense(), layout)())
        return True

    assert wrong(all_of(traits.COMPRESSED_REFUSES), holds) == []


@pytest.mark.parametrize("name", sorted(traits.SPARSE_WITHOUT_BACKWARD))
def test_what_has_no_backward_for_a_sparse_tensor(name: str) -> None:
    """Neither for a dense gradient nor for a sparse one."""
    for dense in (False, True):
        made = getattr(torch, name)(_sparse())
        if made.is_sparse:
            made = torch.rand(2, 3) + made if dense else made.to_dense()
        with pytest.raises(RuntimeError):
            made.sum().backward()
