"""The shapes of a module's parameters, from its constructor's arguments (torch/nn/modules)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from gradlint.domain.shape import Dim, Shape, Sym

Config: TypeAlias = Mapping[str, object]


def parameter_shape(cls: str, name: str, config: Config) -> Shape:
    """Return the shape of parameter `name` of a module of class `cls` (`nn.Linear`); None where it is not known."""
    rule = _RULES.get(cls.removeprefix("nn."))
    return None if rule is None else rule(name, config)


def spelled_out(names: frozenset[str], config: Config) -> list[str]:
    """Return the names of a module's parameters in torch's order; a recurrent one's by layer and direction."""
    if "*" not in names:
        return sorted(names, key=_order)
    layers = config.get("num_layers", 1)
    if not isinstance(layers, int):
        return ["*"]
    kinds = ["weight_ih", "weight_hh", *(["bias_ih", "bias_hh"] if config.get("bias", True) is True else [])]
    suffixes = ["", *(["_reverse"] if config.get("bidirectional", False) is True else [])]
    return [f"{kind}_l{layer}{suffix}" for layer in range(layers) for suffix in suffixes for kind in kinds]


def _order(name: str) -> tuple[str, bool, bool, int, str]:
    """As torch registers them: weights before biases, `ih` before `hh`, q before k before v, children last."""
    owner, _, own = name.rpartition(".")
    return owner, "bias" in own, "hh" in own, "qkv".find(own[0]), own


def _size(value: object) -> Dim:
    return value if isinstance(value, (int, Sym)) and not isinstance(value, bool) else Sym()


def _linear(name: str, config: Config) -> Shape:
    out = _size(config.get("out_features"))
    return (out, _size(config.get("in_features"))) if name == "weight" else (out,)


def _embedding(name: str, config: Config) -> Shape:
    return (_size(config.get("num_embeddings")), _size(config.get("embedding_dim")))


def _norm(key: str) -> Callable[[str, Config], Shape]:
    def shape(name: str, config: Config) -> Shape:
        return (_size(config.get(key)),)

    return shape


def _layer_norm(name: str, config: Config) -> Shape:
    sizes = config.get("normalized_shape")
    if isinstance(sizes, tuple):
        return tuple(_size(size) for size in sizes)
    return (_size(sizes),)


def _convolution(rank: int, transposed: bool) -> Callable[[str, Config], Shape]:
    def shape(name: str, config: Config) -> Shape:
        into, out = _size(config.get("in_channels")), _size(config.get("out_channels"))
        if name == "bias":
            return (out,)
        groups = config.get("groups", 1)
        kernel = config.get("kernel_size")
        sizes = kernel if isinstance(kernel, tuple) else (kernel,) * rank
        first, second = (into, out) if transposed else (out, into)
        if groups != 1:
            # Zero groups are refused by torch itself.
            known = isinstance(second, int) and isinstance(groups, int) and groups > 0
            second = second // groups if known else Sym()  # type: ignore[operator]
        return (first, second, *(_size(size) for size in sizes))

    return shape


_RULES: dict[str, Callable[[str, Config], Shape]] = {
    "Linear": _linear,
    "Embedding": _embedding,
    "EmbeddingBag": _embedding,
    "LayerNorm": _layer_norm,
    "BatchNorm1d": _norm("num_features"),
    "BatchNorm2d": _norm("num_features"),
    "BatchNorm3d": _norm("num_features"),
    "GroupNorm": _norm("num_channels"),
    "Conv1d": _convolution(1, False),
    "Conv2d": _convolution(2, False),
    "Conv3d": _convolution(3, False),
    "ConvTranspose1d": _convolution(1, True),
    "ConvTranspose2d": _convolution(2, True),
    "ConvTranspose3d": _convolution(3, True),
}
