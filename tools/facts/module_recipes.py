"""Modules that torch's own samples lack, or show in too few settings; only the calls are written here."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import torch
from torch import nn

# class, constructor's arguments, its keywords, forward's arguments, its keywords, training
ModuleRecipe = tuple[
    type[nn.Module], tuple[object, ...], dict[str, object], tuple[object, ...], dict[str, object], bool
]

_rows = torch.tensor([[0.3, -0.7, 1.2], [0.9, 0.1, -0.4]])
_more = torch.linspace(-1, 1, 12).reshape(4, 3)
_logs = _rows.log_softmax(1)
_unit = _rows.sigmoid()
_signal = torch.linspace(-1, 1, 2 * 4 * 6).reshape(2, 4, 6)
_image = torch.linspace(-1, 1, 2 * 4 * 6 * 6).reshape(2, 4, 6, 6)
_volume = torch.linspace(-1, 1, 2 * 4 * 4 * 4 * 4).reshape(2, 4, 4, 4, 4)
_classes = torch.tensor([0, 2])
_signs = torch.tensor([[1.0, -1.0, 1.0], [-1.0, 1.0, 1.0]])
_sign = torch.tensor([1.0, -1.0])
_weights = torch.tensor([0.2, 0.5, 0.3])

_POINTWISE_LOSSES: tuple[tuple[str, torch.Tensor, torch.Tensor], ...] = (
    ("MSELoss", _rows, _more[:2]),
    ("L1Loss", _rows, _more[:2]),
    ("SmoothL1Loss", _rows, _more[:2]),
    ("HuberLoss", _rows, _more[:2]),
    ("BCELoss", _unit, _unit.flip(0)),
    ("BCEWithLogitsLoss", _rows, _unit),
    ("KLDivLoss", _logs, _unit),
    ("PoissonNLLLoss", _rows, _unit),
    ("SoftMarginLoss", _rows, _signs),
    ("HingeEmbeddingLoss", _rows, _signs),
    ("CrossEntropyLoss", _rows, _classes),
    ("CrossEntropyLoss", _rows, _unit),
    ("NLLLoss", _logs, _classes),
    ("MultiMarginLoss", _rows, _classes),
    ("MultiLabelSoftMarginLoss", _rows, _unit.round()),
    ("MultiLabelMarginLoss", _rows, torch.tensor([[0, -1, 1], [2, 1, -1]])),
)
_WEIGHTED: dict[str, dict[str, object]] = {
    "BCELoss": {"weight": _weights},
    "BCEWithLogitsLoss": {"pos_weight": _weights},
    "CrossEntropyLoss": {"weight": _weights},
    "NLLLoss": {"weight": _weights},
    "MultiMarginLoss": {"weight": _weights},
    "MultiLabelSoftMarginLoss": {"weight": _weights},
}
_INPLACE: tuple[tuple[str, tuple[object, ...]], ...] = (
    ("ReLU", ()), ("ReLU6", ()), ("LeakyReLU", (0.1,)), ("ELU", ()), ("SELU", ()), ("CELU", ()), ("SiLU", ()),
    ("Mish", ()), ("Hardtanh", ()), ("Hardswish", ()), ("Hardsigmoid", ()), ("RReLU", ()),
    ("Threshold", (0.1, 0.2)),
)  # fmt: skip
_DROPOUTS: tuple[tuple[str, torch.Tensor], ...] = (
    ("Dropout", _rows), ("Dropout1d", _signal), ("Dropout2d", _image), ("Dropout3d", _volume),
    ("AlphaDropout", _rows), ("FeatureAlphaDropout", _image),
)  # fmt: skip
_NORMS: tuple[tuple[str, torch.Tensor], ...] = (
    ("BatchNorm1d", _signal), ("BatchNorm2d", _image), ("BatchNorm3d", _volume), ("InstanceNorm1d", _signal),
    ("InstanceNorm2d", _image), ("InstanceNorm3d", _volume),
)  # fmt: skip
_PLAIN: tuple[tuple[str, tuple[object, ...], dict[str, object], tuple[torch.Tensor, ...]], ...] = (
    ("Identity", (), {}, (_rows,)),
    ("Identity", (), {}, (_image,)),
    ("Flatten", (), {}, (_image,)),
    ("Flatten", (), {}, (_signal,)),
    ("Flatten", (), {}, (_signal.transpose(1, 2),)),
    ("Unflatten", (1, (2, 2)), {}, (_signal,)),
    ("Unflatten", (1, (2, 2)), {}, (_image,)),
    ("Upsample", (), {"scale_factor": 2}, (_image,)),
    ("Upsample", (), {"scale_factor": 2, "mode": "bilinear"}, (_image,)),
    ("Upsample", (), {"size": 5}, (_signal,)),
    ("UpsamplingNearest2d", (), {"scale_factor": 2}, (_image,)),
    ("UpsamplingNearest2d", (8,), {}, (_image,)),
    ("UpsamplingBilinear2d", (), {"scale_factor": 2}, (_image,)),
    ("UpsamplingBilinear2d", (8,), {}, (_image,)),
    ("PixelShuffle", (2,), {}, (_image,)),
    ("PixelUnshuffle", (2,), {}, (_image,)),
    ("ChannelShuffle", (2,), {}, (_image,)),
    ("Softmax2d", (), {}, (_image,)),
    ("Fold", ((4, 4), 2), {}, (torch.linspace(0, 1, 2 * 8 * 9).reshape(2, 8, 9),)),
    ("Unfold", (2,), {}, (_image,)),
    ("ZeroPad1d", (1,), {}, (_signal,)),
    ("ZeroPad2d", (1,), {}, (_image,)),
    ("ConstantPad2d", (1, 0.5), {}, (_image,)),
    ("CosineSimilarity", (), {}, (_rows, _more[:2])),
    ("PairwiseDistance", (), {}, (_rows, _more[:2])),
    ("Softmax", (1,), {}, (_rows,)),
    ("LogSoftmax", (1,), {}, (_rows,)),
    ("LPPool2d", (2, 2), {}, (_image,)),
    ("MaxUnpool1d", (2,), {}, tuple(nn.functional.max_pool1d(_signal, 2, return_indices=True))),
    ("MaxUnpool2d", (2,), {}, tuple(nn.functional.max_pool2d(_image, 2, return_indices=True))),
    ("Linear", (3, 2), {}, (_rows,)),
    ("Linear", (3, 2), {"bias": False}, (_rows,)),
    ("Linear", (6, 2), {}, (_signal,)),
    ("Linear", (4, 2), {}, (_signal.transpose(1, 2),)),
    ("Bilinear", (3, 3, 2), {}, (_rows, _more[:2])),
    ("Embedding", (4, 3), {}, (_classes,)),
    ("Embedding", (4, 3), {"max_norm": 0.1}, (_classes,)),
    ("Embedding", (4, 3), {"max_norm": 0.2}, (_classes.repeat(2),)),
    ("Embedding", (4, 3), {"padding_idx": 0}, (_classes,)),
    ("EmbeddingBag", (4, 3), {}, (_classes[None],)),
    ("EmbeddingBag", (4, 3), {"mode": "sum"}, (_classes[None],)),
    ("LayerNorm", (3,), {}, (_rows,)),
    ("LayerNorm", (3,), {"elementwise_affine": False}, (_rows,)),
    ("LayerNorm", (6,), {"bias": False}, (_signal,)),
    ("RMSNorm", (3,), {}, (_rows,)),
    ("RMSNorm", (6,), {}, (_signal,)),
    ("RMSNorm", (6,), {"elementwise_affine": False}, (_signal,)),
    ("GroupNorm", (2, 4), {}, (_signal,)),
    ("GroupNorm", (2, 4), {"affine": False}, (_image,)),
    ("AdaptiveLogSoftmaxWithLoss", (3, 6, [2, 4]), {}, (_rows, _classes)),
    ("AdaptiveLogSoftmaxWithLoss", (3, 6, [2, 4]), {}, (_more, torch.tensor([0, 2, 4, 5]))),
    ("PReLU", (), {}, (_rows,)),
    ("PReLU", (4,), {}, (_image,)),
)
_POOLS: tuple[tuple[str, torch.Tensor], ...] = (
    ("MaxPool1d", _signal), ("MaxPool2d", _image), ("MaxPool3d", _volume), ("AdaptiveMaxPool1d", _signal),
    ("AdaptiveMaxPool2d", _image), ("AdaptiveMaxPool3d", _volume), ("FractionalMaxPool2d", _image),
)  # fmt: skip
_CONVOLUTIONS: tuple[tuple[str, torch.Tensor], ...] = (
    ("Conv1d", _signal), ("Conv2d", _image), ("Conv3d", _volume), ("ConvTranspose1d", _signal),
    ("ConvTranspose2d", _image), ("ConvTranspose3d", _volume),
)  # fmt: skip


def _module(name: str) -> type[nn.Module]:
    found = getattr(nn, name)
    assert isinstance(found, type) and issubclass(found, nn.Module)
    return found


def _losses() -> Iterator[ModuleRecipe]:
    for name, value, target in _POINTWISE_LOSSES:
        for reduction in ("mean", "sum", "none"):
            for extra in ({}, _WEIGHTED.get(name)):
                if extra is not None:
                    for rows in (slice(None), slice(0, 1)):
                        keywords: dict[str, Any] = {"reduction": reduction, **extra}
                        yield _module(name), (), keywords, (value[rows], target[rows]), {}, True
    for reduction in ("mean", "sum", "none"):
        keywords = {"reduction": reduction}
        three = (_rows, _more[:2], _more[2:])
        for rows in (slice(None), slice(0, 1)):
            yield nn.TripletMarginLoss, (), keywords, tuple(t[rows] for t in three), {}, True
            yield nn.TripletMarginWithDistanceLoss, (), keywords, tuple(t[rows] for t in three), {}, True
            yield nn.MarginRankingLoss, (), keywords, (_rows[rows], _more[:2][rows], _signs[rows]), {}, True
            yield nn.CosineEmbeddingLoss, (), keywords, (_rows[rows], _more[:2][rows], _sign[rows]), {}, True
            yield nn.GaussianNLLLoss, (), keywords, (_rows[rows], _more[:2][rows], _unit[rows]), {}, True


def _settings() -> Iterator[ModuleRecipe]:
    for name, arguments in _INPLACE:
        for tensor in (_rows, _image, _signal.transpose(1, 2)):
            for training in (True, False):
                for inplace in (True, False):
                    yield _module(name), arguments, {"inplace": inplace}, (tensor,), {}, training
    for name, tensor in _DROPOUTS:
        for training in (True, False):
            for inplace in (True, False):
                for p in (0.5, 0.2):
                    yield _module(name), (p,), {"inplace": inplace}, (tensor,), {}, training
    for name, tensor in _NORMS:
        for training in (True, False):
            for affine in (True, False):
                for tracking in (True, False):
                    keywords: dict[str, object] = {"affine": affine, "track_running_stats": tracking}
                    yield _module(name), (4,), keywords, (tensor,), {}, training
    for name, tensor in _POOLS:
        for with_indices in (True, False):
            keywords = {"return_indices": with_indices}
            keywords |= {"output_size": 2} if name.startswith("Fractional") else {}
            for part in (tensor, tensor[:1]):
                yield _module(name), (2,), keywords, (part,), {}, True
    for name, tensor in _CONVOLUTIONS:
        for bias in (True, False):
            for part in (tensor, tensor[:1]):
                yield _module(name), (4, 3, 2), {"bias": bias}, (part,), {}, True


def _recurrent() -> Iterator[ModuleRecipe]:
    for cls in (nn.RNN, nn.GRU, nn.LSTM):
        for batch_first in (True, False):
            for training in (True, False):
                yield cls, (6, 5), {"batch_first": batch_first}, (_signal,), {}, training
                yield (
                    cls,
                    (6, 5, 2),
                    {"batch_first": batch_first, "bidirectional": True},
                    (_signal,),
                    {},
                    training,
                )
    for cell in (nn.RNNCell, nn.GRUCell, nn.LSTMCell):
        yield cell, (3, 5), {}, (_rows,), {}, True
        yield cell, (3, 5), {}, (_more,), {}, True
    for need in (True, False):
        for batch_first in (True, False):
            for training in (True, False):
                yield (
                    nn.MultiheadAttention,
                    (6, 2),
                    {"batch_first": batch_first},
                    (_signal, _signal, _signal),
                    {"need_weights": need},
                    training,
                )


def _plain() -> Iterator[ModuleRecipe]:
    for name, arguments, keywords, inputs in _PLAIN:
        for training in (True, False):
            yield _module(name), arguments, keywords, inputs, {}, training


@functools.cache
def modules() -> dict[str, list[ModuleRecipe]]:
    """Return the recipes by module name."""
    found: dict[str, list[ModuleRecipe]] = {}
    for part in (_losses(), _settings(), _recurrent(), _plain()):
        for recipe in part:
            found.setdefault(f"nn.{recipe[0].__name__}", []).append(recipe)
    return found
