"""The size and type of what an `nn` module gives, from the arguments of its constructor and of the call.

Most modules are a function of `nn.functional` over weights whose sizes the constructor says; they are
answered by the rule of that function. Arguments that torch's constructors default are defaulted alike here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from gradlint.domain.shape import Dim, Shape, Sym, product, unknowns
from gradlint.facts.aliases import canonical
from gradlint.shapes.arguments import flag, pair, size, tensor
from gradlint.shapes.operand import NOTHING, Args, Operand, Result, Several
from gradlint.shapes.product import attention_weights
from gradlint.shapes.rule import RULES, Rule, keeping, same

Config: TypeAlias = Mapping[str, object]
ModuleRule: TypeAlias = Callable[[Config, Args], Result]

MODULES: dict[str, ModuleRule] = {}
"""The rule of each module class that says more than the function it calls, by its name below `torch.nn`."""


def module_result(cls: str, config: Config, inputs: Args) -> Result:
    """Return the result of calling a module: its class, its constructor's arguments, and those of the call.

    Both are bound by torch's parameter names, `input` for what a module calls so.
    """
    name = cls.removeprefix("torch.").removeprefix("nn.")
    function = MODULES.get(name)
    if function is not None:
        return function(config, inputs)
    called = RULES.get(canonical(f"nn.{name.removeprefix('Lazy')}"))
    # What the call gives comes after what the constructor was given.
    return NOTHING if called is None else called({**config, **inputs})


def module(*names: str) -> Callable[[ModuleRule], ModuleRule]:
    """Register a function as the rule of the named module classes."""

    def register(function: ModuleRule) -> ModuleRule:
        for name in names:
            if name in MODULES:
                raise ValueError(f"two size rules for nn.{name}")
            MODULES[name] = function
        return function

    return register


_NOT_MEASURED = {"FractionalMaxPool3d": "fractional_max_pool3d", "MaxUnpool3d": "max_unpool3d", "NLLLoss2d": "nll_loss"}
"""Modules that the facts have no row of, and the functions that they call."""


def _calling(name: str) -> ModuleRule:
    """Return a module that calls a function with its own settings; those of the call come last."""
    return lambda config, inputs: RULES[name]({**config, **inputs})


def _of_inputs(function: Rule) -> ModuleRule:
    return lambda config, inputs: function(inputs)


def _register() -> None:
    module("Unflatten")(lambda config, inputs: RULES["unflatten"]({**config, "input": tensor(inputs)}))
    module("CrossMapLRN2d", "Identity", "SyncBatchNorm")(_of_inputs(keeping(same)))
    module("TransformerEncoderLayer", "TransformerEncoder")(_of_inputs(keeping(same, "src")))
    module("TransformerDecoderLayer", "TransformerDecoder", "Transformer")(_of_inputs(keeping(same, "tgt")))
    module("Linear", "LazyLinear")(_resizing("out_features"))
    module("Bilinear")(_resizing("out_features", "input1"))
    module("RNNCell", "GRUCell")(_resizing("hidden_size"))
    for cls, name in _NOT_MEASURED.items():
        module(cls)(_calling(name))
    for count in (1, 2, 3):
        module(f"Conv{count}d", f"LazyConv{count}d")(_convolution(count))
        module(f"ConvTranspose{count}d", f"LazyConvTranspose{count}d")(_deconvolution(count))
        kinds = ("Circular", "Constant", "Reflection", "Replication", "Zero")
        module(*[f"{kind}Pad{count}d" for kind in kinds])(_padding(count))


def _resizing(length: str, *names: str) -> ModuleRule:
    """Return a module of which a setting says the last size of what it gives."""

    def call(config: Config, inputs: Args) -> Operand:
        self = tensor(inputs, *names)
        return Operand((*self.shape[:-1], size(config.get(length))) if self.shape else None, self.dtype)

    return call


@module("Embedding")
def _embedding(config: Config, inputs: Args) -> Result:
    self = tensor(inputs)
    dtype = _weight_type(config)
    return Operand(None if self.shape is None else (*self.shape, size(config.get("embedding_dim"))), dtype)


@module("EmbeddingBag")
def _embedding_bag(config: Config, inputs: Args) -> Result:
    weight = Operand((size(config.get("num_embeddings")), size(config.get("embedding_dim"))), _weight_type(config))
    return RULES["embedding_bag"]({**config, **inputs, "weight": weight})


def _weight_type(config: Config) -> str | None:
    """Return the type of a module's weights: some floating one, for a module may be cast after it was made."""
    return "float" if config.get("dtype") is None else None


def _kernel(config: Config, count: int) -> tuple[Dim, ...]:
    entries = pair(config.get("kernel_size"), count)
    return unknowns(count) if entries is None else tuple([size(entry) for entry in entries])


def _convolution(count: int) -> ModuleRule:
    def convolve(config: Config, inputs: Args) -> Result:
        weight = Operand((size(config.get("out_channels")), Sym(), *_kernel(config, count)))
        return RULES[f"conv{count}d"]({**config, "input": tensor(inputs), "weight": weight})

    return convolve


def _deconvolution(count: int) -> ModuleRule:
    def deconvolve(config: Config, inputs: Args) -> Result:
        # The channels come out as asked for, so the weight is taken as that of a single group.
        weight = Operand((Sym(), size(config.get("out_channels")), *_kernel(config, count)))
        args = {**config, "input": tensor(inputs), "weight": weight, "groups": 1}
        if inputs.get("output_size") is not None:
            args["output_padding"] = None
        return RULES[f"conv_transpose{count}d"](args)

    return deconvolve


def _padding(count: int) -> ModuleRule:
    def pad(config: Config, inputs: Args) -> Result:
        return RULES["pad"]({"input": tensor(inputs), "pad": pair(config.get("padding"), 2 * count)})

    return pad


@module("PoissonNLLLoss")
def _poisson_loss(config: Config, inputs: Args) -> Result:
    """Take the call's `log_input` as the prediction; the constructor's says whether it is a logarithm."""
    return RULES["poisson_nll_loss"]({**config, "input": inputs.get("log_input"), **inputs})


@module("Flatten")
def _flatten(config: Config, inputs: Args) -> Result:
    return RULES["flatten"]({"start_dim": 1, **config, "input": tensor(inputs)})


@module("AdaptiveLogSoftmaxWithLoss")
def _adaptive_softmax(config: Config, inputs: Args) -> Result:
    self, target = tensor(inputs), tensor(inputs, "target")
    return Several((Operand(target.shape, self.dtype), Operand((), self.dtype)), fields=("output", "loss"))


def _states(config: Config, inputs: Args) -> tuple[Shape, Shape, Operand]:
    """Return the shapes of the output and of the last hidden state of a recurrent module, and its input."""
    self = tensor(inputs)
    both, batch_first = flag(config, "bidirectional", False), flag(config, "batch_first", False)
    directions: Dim = Sym() if both is None else 2 if both else 1
    # A projection to zero is none at all; one that may be zero leaves the width unknown.
    projection = size(config.get("proj_size", 0))
    known = isinstance(projection, int) or projection.many
    out = size(config.get("hidden_size")) if projection == 0 else projection if known else Sym()
    layers = product((size(config.get("num_layers", 1)), directions))
    if self.shape is None or len(self.shape) not in (2, 3):
        return None, None, self
    output = (*self.shape[:-1], product((out, directions)))
    if len(self.shape) == 2:
        return output, (layers, out), self
    batch: Dim = Sym() if batch_first is None else self.shape[0 if batch_first else 1]
    return output, (layers, batch, out), self


@module("RNN", "GRU")
def _recurrent(config: Config, inputs: Args) -> Result:
    output, hidden, self = _states(config, inputs)
    return Several((Operand(output, self.dtype), Operand(hidden, self.dtype)))


@module("LSTM")
def _lstm(config: Config, inputs: Args) -> Result:
    output, hidden, self = _states(config, inputs)
    cell = None if hidden is None else (*hidden[:-1], size(config.get("hidden_size")))
    states = Several((Operand(hidden, self.dtype), Operand(cell, self.dtype)))
    return Several((Operand(output, self.dtype), states))


@module("LSTMCell")
def _lstm_cell(config: Config, inputs: Args) -> Result:
    state = _resizing("hidden_size")(config, inputs)
    return Several((state, state))


@module("MultiheadAttention")
def _multihead_attention(config: Config, inputs: Args) -> Result:
    query, key = tensor(inputs, "query"), tensor(inputs, "key")
    averaged, first = flag(inputs, "average_attn_weights", True), flag(config, "batch_first", False)
    lengthened = any(flag(config, name, False) is not False for name in ("add_bias_kv", "add_zero_attn"))
    attention = NOTHING
    if flag(inputs, "need_weights", True) and not lengthened:
        attention = attention_weights(query, key, config.get("num_heads"), averaged, batch_first=first)
    return Several((Operand(query.shape, query.dtype), attention))


_register()
