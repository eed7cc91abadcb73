"""The calls that the size rules are judged by: torch's own samples, and calls drawn at random."""

from __future__ import annotations

import inspect
import random
import warnings
from collections.abc import Iterator
from itertools import islice
from typing import Any, NamedTuple

import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.common_modules import module_db

from tests.torch_agrees.torch_calls import Call, operand, recorded

Value = Any

DTYPES = (torch.float32, torch.int64, torch.bool, torch.float64, torch.complex64, torch.float16)

NO_PUBLIC_CALLS = ("_refs.", "jiterator", "torch._scaled", "torch.ops.aten._", "_")
"""What begins so is torch's own business, or needs a device that is not there."""

OPERATIONS = {op.formatted_name: op for op in op_db if not op.name.startswith(NO_PUBLIC_CALLS)} | {
    op.formatted_name: op for op in op_db if op.name.startswith("__")
}


def operation_calls(name: str, samples: int) -> Iterator[Call]:
    """The calls that torch's samples of one operation make: most for float32, fewer for the other types."""
    op = OPERATIONS[name]
    for dtype in DTYPES:
        if dtype not in op.supported_dtypes("cpu"):  # type: ignore[no-untyped-call]
            continue
        wanted = samples if dtype == torch.float32 else max(samples // 4, 1)
        torch.manual_seed(0)
        with warnings.catch_warnings():
            # Samples are made to reach every corner, deprecated ones among them.
            warnings.simplefilter("ignore")
            yield from _sampled(op, dtype, wanted)


def _sampled(op: Value, dtype: torch.dtype, samples: int) -> Iterator[Call]:
    for sample in islice(op.sample_inputs("cpu", dtype, requires_grad=False), samples):
        with recorded() as calls:
            op(sample.input, *sample.args, **sample.kwargs)
        # A sample may prepare its input; the operation itself comes last.
        yield from calls[-1:]


class ModuleCall(NamedTuple):
    """A module's class, how it was made, how it was called, and what it gave."""

    name: str
    config: dict[str, Value]
    inputs: dict[str, Value]
    output: Value


MODULE_CLASSES = {
    f"nn.{info.module_cls.__name__}": info
    for info in module_db
    if info.module_cls.__module__.startswith("torch.nn.modules")
}


def module_calls(name: str) -> Iterator[ModuleCall]:
    """The calls that torch's samples of one class make, in double precision, as some of them demand."""
    info = MODULE_CLASSES[name]
    for training in (True, False):
        inputs = info.module_inputs_func(
            info, device="cpu", dtype=torch.float64, requires_grad=False, training=training
        )
        for sample in inputs:
            if sample.forward_input is not None:
                yield _module_call(name, info.module_cls, sample, training)


def _module_call(name: str, cls: type[torch.nn.Module], sample: Value, training: bool) -> ModuleCall:
    made, called = sample.constructor_input, sample.forward_input
    inputs = _bound(cls.forward, called.args, called.kwargs)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module = cls(*made.args, **made.kwargs).double()
        module.train(training)
        output = module(*called.args, **called.kwargs)
    return ModuleCall(name, _bound(_constructor(cls), made.args, made.kwargs), inputs, output)


def _constructor(cls: type[torch.nn.Module]) -> Value:
    """The constructor that names its arguments; recurrent modules pass theirs on to their base."""
    if issubclass(cls, torch.nn.RNNBase):
        return _recurrent
    return cls.__init__


def _recurrent(
    self: Value,
    input_size: int,
    hidden_size: int,
    num_layers: int = 1,
    bias: bool = True,
    batch_first: bool = False,
    dropout: float = 0.0,
    bidirectional: bool = False,
    proj_size: int = 0,
    **rest: Value,
) -> None:
    """The signature of RNN, GRU and LSTM, which torch hides behind `*args`."""


def _bound(function: Value, args: tuple[Value, ...], kwargs: dict[str, Value]) -> dict[str, Value]:
    arguments = dict(inspect.signature(function).bind(None, *args, **kwargs).arguments)
    arguments |= arguments.pop("rest", {})
    arguments.pop("self")
    return {name: operand(value) for name, value in arguments.items()}


def drawn_calls(seed: int, count: int) -> Iterator[Call]:
    """Random calls where torch's samples are thin; those that torch refuses are left out."""
    draw = random.Random(seed)
    makers = (_convolve, _pool, _resample, _multiply, _rearrange, _take_apart, _create, _combine, _sum_up)
    while count:
        with warnings.catch_warnings(), recorded() as calls:
            warnings.simplefilter("ignore")
            try:
                draw.choice(makers)(draw)
            except (RuntimeError, IndexError, ValueError, TypeError):
                continue
        yield from calls[-1:]
        count -= 1


def _shape(draw: random.Random, low: int = 0, high: int = 4) -> tuple[int, ...]:
    return tuple(draw.choice((0, 1, 1, 2, 3, 4, 6)) for _ in range(draw.randint(low, high)))


def _tensor(draw: random.Random, shape: tuple[int, ...]) -> torch.Tensor:
    return torch.zeros(shape, dtype=draw.choice((torch.float32, torch.float32, torch.float64, torch.int64)))


def _setting(draw: random.Random, count: int, low: int, high: int) -> Value:
    if draw.random() < 0.5:
        return draw.randint(low, high)
    return tuple(draw.randint(low, high) for _ in range(count))


def _image(draw: random.Random, count: int, channels: int) -> torch.Tensor:
    batch = draw.choice(((), (1,), (2,)))
    return torch.zeros(*batch, channels, *[draw.randint(1, 12) for _ in range(count)])


def _convolve(draw: random.Random) -> Value:
    count, groups, transposed = draw.randint(1, 3), draw.choice((1, 2)), draw.random() < 0.5
    kernel = [draw.randint(1, 4) for _ in range(count)]
    settings = {
        "stride": _setting(draw, count, 1, 3),
        "padding": _setting(draw, count, 0, 2),
        "dilation": _setting(draw, count, 1, 2),
        "groups": groups,
    }
    image = _image(draw, count, 2 * groups)
    if transposed:
        if draw.random() < 0.5:
            settings["output_padding"] = _setting(draw, count, 0, 1)
        function = getattr(torch.nn.functional, f"conv_transpose{count}d")
        return function(image, torch.zeros(2 * groups, 3, *kernel), **settings)
    if draw.random() < 0.3:
        settings.update(padding=draw.choice(("same", "valid")), stride=1)
    function = getattr(torch.nn.functional, f"conv{count}d")
    return function(image, torch.zeros(3 * groups, 2, *kernel), **settings)


def _pool(draw: random.Random) -> Value:
    count, kind = draw.randint(1, 3), draw.choice(("max", "avg", "adaptive_avg", "adaptive_max", "lp"))
    image = _image(draw, count, 2)
    functions = torch.nn.functional
    if kind.startswith("adaptive"):
        wanted: Value = draw.randint(1, 5)
        if draw.random() < 0.5 and count > 1:
            wanted = tuple(draw.choice((None, 1, 2, 5)) for _ in range(count))
        return getattr(functions, f"{kind}_pool{count}d")(image, wanted)
    settings: dict[str, Value] = {"ceil_mode": draw.random() < 0.5}
    if draw.random() < 0.7:
        settings["stride"] = _setting(draw, count, 1, 4)
    kernel = _setting(draw, count, 1, 4)
    if kind == "lp":
        return getattr(functions, f"lp_pool{count}d")(image, 2.0, kernel, **settings)
    settings["padding"] = _setting(draw, count, 0, 2)
    if kind == "max":
        settings.update(dilation=_setting(draw, count, 1, 3), return_indices=draw.random() < 0.3)
    return getattr(functions, f"{kind}_pool{count}d")(image, kernel, **settings)


def _resample(draw: random.Random) -> Value:
    functions, count = torch.nn.functional, draw.randint(1, 3)
    image = torch.zeros(draw.randint(1, 2), 4, *[draw.randint(1, 12) for _ in range(count)])
    kind = draw.randint(0, 4)
    if kind == 0:
        factors = (0.3, 0.5, 0.7, 1.1, 1.7, 2, 3, 2.0, 1)
        factor = draw.choice(factors) if draw.random() < 0.5 else [draw.choice(factors) for _ in range(count)]
        return functions.interpolate(image, scale_factor=factor)
    if kind == 1:
        return functions.interpolate(image, size=_setting(draw, count, 1, 6))
    if kind == 2:
        pads = [draw.randint(-1, 3) for _ in range(2 * draw.randint(0, count + 2))]
        return functions.pad(image, pads)
    if kind == 3:
        return functions.unfold(image, _setting(draw, 2, 1, 3), padding=draw.randint(0, 1), stride=draw.randint(1, 2))
    return functions.pixel_shuffle(image, draw.choice((1, 2)))


def _multiply(draw: random.Random) -> Value:
    one, other = _shape(draw, 1, 4), _shape(draw, 1, 4)
    if draw.random() < 0.8:
        other = (*other[:-2], one[-1], *other[-1:]) if len(other) > 1 else (one[-1],)
    functions = (
        torch.matmul,
        torch.mm,
        torch.bmm,
        torch.dot,
        torch.mv,
        torch.inner,
        torch.outer,
        torch.cdist,
    )
    return draw.choice(functions)(torch.zeros(one), torch.zeros(other))


def _rearrange(draw: random.Random) -> Value:
    shape = _shape(draw)
    tensor, rank = _tensor(draw, shape), len(shape)
    dims = [draw.randint(-rank, rank) for _ in range(draw.randint(0, rank))]
    kind = draw.randint(0, 13)
    if kind == 0:
        wanted = [draw.choice((-1, 1, 2, 3, 4, 6, 12)) for _ in range(draw.randint(1, 3))]
        return tensor.reshape(wanted)
    if kind == 1:
        return tensor.expand([draw.choice((-1, 1, 2, 3, 4)) for _ in range(draw.randint(rank, rank + 2))])
    if kind == 2:
        return tensor.flatten(draw.randint(-rank, rank), draw.randint(-rank, rank))
    if kind == 3:
        return tensor.permute(*draw.sample(range(rank), rank))
    if kind == 4:
        return tensor.squeeze() if draw.random() < 0.3 else tensor.squeeze(tuple(set(dims)))
    if kind == 5:
        return tensor.unsqueeze(draw.randint(-rank - 1, rank))
    if kind == 6:
        return tensor.repeat(*[draw.randint(0, 3) for _ in range(draw.randint(rank, rank + 2))])
    if kind == 7:
        return tensor.diagonal(draw.randint(-3, 3), draw.randint(-rank, rank), draw.randint(-rank, rank))
    if kind == 8:
        return torch.diag(tensor, draw.randint(-3, 3))
    if kind == 9:
        return torch.diag_embed(tensor, draw.randint(-3, 3))
    if kind == 10:
        return tensor.unfold(draw.randint(-rank, rank), draw.randint(1, 3), draw.randint(1, 3))
    if kind == 11:
        return tensor.movedim(dims, draw.sample(range(rank), len(dims)))
    if kind == 12:
        return tensor.repeat_interleave(draw.randint(0, 3), draw.choice((None, *dims)))
    return tensor.unflatten(draw.randint(-rank, rank), [draw.choice((-1, 1, 2, 3)) for _ in range(2)])  # type: ignore[no-untyped-call]


def _take_apart(draw: random.Random) -> Value:
    shape = _shape(draw, 1)
    tensor, dim = _tensor(draw, shape), draw.randint(-len(shape), len(shape))
    kind = draw.randint(0, 4)
    if kind == 0:
        return tensor.split(draw.choice((1, 2, 3, [1, 2], [2, 2], [1, 0])), dim)  # type: ignore[no-untyped-call]
    if kind == 1:
        return tensor.chunk(draw.randint(1, 5), dim)
    if kind == 2:
        return tensor.tensor_split(draw.choice((1, 2, 3, (1,), (1, 3), (-1, 2))), dim)
    if kind == 3:
        return tensor.unbind(dim)
    return torch.hsplit(tensor, draw.choice((1, 2, [1], [1, 2])))


def _create(draw: random.Random) -> Value:
    kind = draw.randint(0, 4)
    numbers = (0, 1, 5, -3, 0.5, 2.5, 10, 0.1)
    if kind == 0:
        return torch.arange(draw.choice(numbers), draw.choice(numbers), draw.choice((1, 2, -1, 0.1, 0.3, -0.5)))
    if kind == 1:
        return torch.full(_shape(draw), draw.choice((1, 1.0, True, 1j)))
    if kind == 2:
        return torch.tril_indices(draw.randint(0, 5), draw.randint(0, 5), draw.randint(-3, 3))
    if kind == 3:
        return torch.triu_indices(draw.randint(0, 5), draw.randint(0, 5), draw.randint(-3, 3))
    return torch.linspace(0, 1, draw.randint(0, 5))


def _combine(draw: random.Random) -> Value:
    shape = _shape(draw)
    shapes = [tuple(draw.choice((dim, dim, 1)) for dim in shape) for _ in range(draw.randint(1, 3))]
    tensors = [_tensor(draw, draw.choice((one, one, one[1:], (0,)))) for one in shapes]
    dim, kind = draw.randint(-len(shape), len(shape)), draw.randint(0, 8)
    if kind == 0:
        return torch.cat(tensors, dim)
    if kind == 1:
        return torch.stack(tensors, dim)
    if kind < 6:
        return (torch.hstack, torch.vstack, torch.dstack, torch.column_stack)[kind - 2](tensors)
    one: Any = tensors[0]
    other: Any = draw.choice((tensors[-1], 2, 2.5, True, 1j))
    function = draw.choice((torch.add, torch.mul, torch.div, torch.sub, torch.pow, torch.remainder, torch.eq))
    return function(one, other) if kind < 8 else torch.where(one > 0, one, other)


def _sum_up(draw: random.Random) -> Value:
    shape = _shape(draw)
    tensor, rank = _tensor(draw, shape), len(shape)
    dims = draw.sample(range(rank), draw.randint(0, rank))
    keepdim = draw.random() < 0.5
    many = (torch.sum, torch.mean, torch.amax, torch.std, torch.var, torch.logsumexp, torch.all, torch.any)
    single = (torch.max, torch.min, torch.argmax, torch.prod, torch.median, torch.mode, torch.argmin)
    if draw.random() < 0.5:
        return draw.choice(many)(tensor, dim=dims, keepdim=keepdim)
    return draw.choice(single)(tensor, dim=draw.randint(-rank, rank), keepdim=keepdim)
