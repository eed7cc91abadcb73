"""Recipes of single functions, losses, queries and methods that torch's own samples lack."""

from __future__ import annotations

import warnings

import torch

from tools.facts.recipe_inputs import Recipe, call, cube, i, image, ints, mask, one, square, v, x, y, zero_d


def others() -> list[Recipe]:
    found = [call("nn.utils.parameters_to_vector", [x, v]), call("nn.utils.parameters_to_vector", [x, y])]
    found += [call("broadcast_tensors", x, v), call("broadcast_tensors", x, y, v), call("meshgrid", v, v)]
    found += [
        call("nn.functional.one_hot", i),
        call("nn.functional.one_hot", i, 4),
        call("nn.functional.one_hot", i, num_classes=3),
    ]
    found += [call("nn.functional.softmax", t, dim=-1) for t in (x, cube, v)]
    found += [call("nn.functional.sigmoid", t) for t in (x, cube)] + [call("nn.functional.tanh", t) for t in (x, cube)]
    found += [call("nn.functional.dropout1d", t) for t in (x, cube)]
    found += [call("nn.functional.dropout1d", t, training=False) for t in (x, cube)]
    found += [call(n, t, y, rounding_mode="floor") for n in ("div", "Tensor.div", "Tensor.div_") for t in (x, x * 3)]
    found += [call("is_tensor", t) for t in (x, 1)] + [call("numel", t) for t in (x, v)]
    found += [call("nn.functional.relu_", t) for t in (x, cube)] + [call("Tensor.apply_", t, abs) for t in (x, cube)]
    found += [call("Tensor.index_put_", x, (torch.tensor([0, 1]), torch.tensor([1, 2])), torch.tensor([0.1, 0.2]))] * 2
    found += [call("Tensor.masked_fill_", t, m, 0.5) for t, m in ((x, mask), (v, v > 0))]
    found += [call("detach", t) for t in (x, cube)] + [call("detach_", t) for t in (x, cube)]
    found += [
        call("nn.utils.rnn.pad_sequence", [v, v[:2]]),
        call("nn.utils.rnn.pad_sequence", [v, v[:1]], batch_first=True),
    ]
    found += [call("is_grad_enabled")]
    found += [call("Tensor.view", t, -1) for t in (x, cube)] + [
        call("Tensor.view", x, 3, 2),
        call("Tensor.view", cube, 6, 4),
    ]
    found += [call("Tensor.view", t, torch.int32) for t in (x, cube)]
    found += [call("Tensor.reshape", t, -1) for t in (x, cube, cube.transpose(0, 2))] + [
        call("Tensor.reshape", x, 3, 2)
    ]
    found += [
        call("Tensor.permute", cube, 2, 0, 1),
        call("Tensor.permute", x, 1, 0),
        call("Tensor.repeat", x, 2, 1),
    ]
    found += [
        call("Tensor.expand", v, 2, 3),
        call("Tensor.expand", v[:, None], 3, 4),
        call("Tensor.repeat", v, 2),
    ]
    found += [
        call("Tensor.expand", v[:, None], -1, 4),
        call("Tensor.tile", x, 2, 1),
        call("Tensor.tile", v, 2),
    ]
    return found


def quantized() -> list[Recipe]:
    """What rounds to numbers of a few bits, and back."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Torch means to remove them.
        few = [torch.quantize_per_tensor(t, 0.1, 0, torch.qint8) for t in (x, v, cube)]
    found = [call("quantize_per_tensor", t, 0.1, 0, torch.qint8) for t in (x, v, cube)]
    found += [call("quantize_per_tensor_dynamic", t, torch.qint8, False) for t in (x, v, cube)]
    for t in (x, v, cube):
        scales, zeros = torch.ones(len(t)), torch.zeros(len(t))
        found += [call("quantize_per_channel", t, scales, zeros, 0, torch.qint8)]
    return found + [
        call(f"{of}{name}", t) for name in ("dequantize", "int_repr") for of in ("", "Tensor.") for t in few
    ]


def norms_and_pools() -> list[Recipe]:
    """Orders of norms, each alone and over one dimension; indices of pooling that draws its windows."""
    orders = (0, 1, 2, 3.0, float("inf"))
    found = [call("linalg.vector_norm", t, order) for t in (x, cube) for order in orders]
    found += [call("linalg.vector_norm", t, order, 1) for t in (x, cube) for order in orders]
    found += [call("linalg.vector_norm", t, order, dim=1, keepdim=True) for t in (x, cube) for order in orders[:3]]
    for given in (image, image * 2):
        for asked in ({}, {"return_indices": False}, {"return_indices": True}):
            found.append(call("nn.functional.fractional_max_pool2d", given, 2, output_size=2, **asked))
            deep = given.reshape(2, 3, 4, 2, 2).repeat(1, 1, 1, 2, 2)
            found.append(call("nn.functional.fractional_max_pool3d", deep, 2, output_size=2, **asked))
    return found


def losses() -> list[Recipe]:
    """The losses and layers below `torch` itself, which their `nn.functional` forms call."""
    found: list[Recipe] = []
    mean, total, none = 1, 2, 0
    for reduction in (none, mean, total):
        found += [call("binary_cross_entropy_with_logits", t, t.sigmoid(), None, None, reduction) for t in (x, v)]
        found += [call("cosine_embedding_loss", x, y, torch.tensor([1.0, -1.0]), 0.0, reduction)] * 2
        found += [call("hinge_embedding_loss", t, t.sign(), 1.0, reduction) for t in (x, v)]
        found += [call("margin_ranking_loss", t, t.flip(0), t.sign(), 0.0, reduction) for t in (x, v)]
        found += [call("poisson_nll_loss", t, t.abs(), True, False, 1e-8, reduction) for t in (x, v)]
        found += [call("kl_div", t, t.abs(), reduction) for t in (x, v)]
        found += [call("triplet_margin_loss", x, y, y.flip(0), 1.0, 2.0, 1e-6, False, reduction)] * 2
    for train in (True, False):
        for name in ("dropout", "dropout_", "alpha_dropout", "alpha_dropout_"):
            found += [call(name, t, 0.5, train) for t in (x, cube)]
        for name in (
            "feature_dropout",
            "feature_dropout_",
            "feature_alpha_dropout",
            "feature_alpha_dropout_",
        ):
            found += [call(name, t, 0.5, train) for t in (image, cube)]
        found += [call("rrelu", t, training=train) for t in (x, cube)] + [
            call("rrelu_", t, training=train) for t in (x, cube)
        ]
    for name in ("relu", "relu_", "selu", "selu_", "celu", "celu_"):
        found += [call(name, t) for t in (x, cube)]
    found += [call(name, t, 0.1, 0.2) for name in ("threshold", "threshold_") for t in (x, cube)]
    found += [call("embedding", x.T.contiguous(), t) for t in (i, i[:2])]
    found += [
        call("max_pool1d", cube, 2),
        call("max_pool2d", image, 2),
        call("max_pool2d", image, 2, 1),
        call("max_pool1d", cube, 2, 1),
    ]
    found += [call("adaptive_max_pool1d", cube, n) for n in (1, 2)]
    found += [call("prelu", t, torch.tensor([0.2])) for t in (x, cube)] + [
        call("Tensor.prelu", t, torch.tensor([0.2])) for t in (x, cube)
    ]
    found += [call("nn.functional.gumbel_softmax", t, hard=hard) for t in (x, v) for hard in (True, False)]
    found += [call("nn.functional.affine_grid", torch.ones(2, 2, 3), [2, 1, 3, 3])] * 2
    found += [
        call(f"nn.functional.{n}", t, scale_factor=2)
        for n in ("upsample", "upsample_nearest")
        for t in (image, image[:1])
    ]
    found += [call("nn.functional.upsample_bilinear", t, scale_factor=2) for t in (image, image[:1])]
    return found


def queries() -> list[Recipe]:
    found: list[Recipe] = []
    for name in (
        "is_complex",
        "is_floating_point",
        "is_nonzero",
        "is_signed",
        "is_conj",
        "is_neg",
        "is_inference",
        "is_storage",
        "is_tensor",
        "numel",
    ):
        found += [call(name, t) for t in ((one, zero_d) if name == "is_nonzero" else (x, cube))]
    found += [
        call("result_type", x, y),
        call("result_type", x, ints),
        call("can_cast", torch.int64, torch.float32),
    ]
    found += [
        call("promote_types", torch.int64, torch.float32),
        call("get_default_dtype"),
        call("Tensor.is_same_size", x, y),
    ]
    found += [
        call("Tensor.is_set_to", x, y),
        call("equal", x, y),
        call("Tensor.equal", x, y),
        call("allclose", x, y),
    ]
    for name in ("hann_window", "hamming_window", "bartlett_window", "blackman_window", "kaiser_window"):
        found += [call(name, n) for n in (4, 6)] + [call(name, n, requires_grad=True) for n in (4, 6)]
    found += [call(f"fft.{n}", 4) for n in ("fftfreq", "rfftfreq")] + [
        call("range", 0, 3),
        call("range", 0, 4),
    ]
    found += [call(f"special.{n}", x.abs(), y.abs()) for n in ("gammainc", "gammaincc")]
    found += [call("special.gammainc", v.abs(), v.abs()), call("special.gammaincc", v.abs(), v.abs())]
    return found


def methods() -> list[Recipe]:
    found: list[Recipe] = []
    for name in ("view_as", "reshape_as", "expand_as", "resize_as_", "type_as", "is_same_size"):
        found += [call(f"Tensor.{name}", x, y), call(f"Tensor.{name}", cube, cube * 2)]
    found += [
        call("Tensor.expand_as", v, x),
        call("Tensor.type_as", x, ints),
        call("Tensor.type_as", x, y.double()),
    ]
    found += [
        call(name, t, n)
        for name in ("Tensor.unsqueeze_", "Tensor.cumsum_", "Tensor.cumprod_")
        for t in (x, cube)
        for n in (0, 1)
    ]
    found += [call("Tensor.swapaxes_", t, 0, 1) for t in (x, cube)] + [
        call("Tensor.where", x, m, o) for m in (mask, ~mask) for o in (y, 0.5)
    ]
    found += [call("Tensor.polygamma", t.abs(), 1) for t in (x, v)] + [
        call("Tensor.polygamma_", t.abs(), 1) for t in (x, v)
    ]
    found += [call("Tensor.hardshrink", t) for t in (x, v)] + [
        call("slogdet", square),
        call("Tensor.slogdet", square),
    ] * 2
    found += [
        call("chain_matmul", square, square),
        call("chain_matmul", square, square, x),
        call("adjoint", x),
        call("adjoint", square),
    ]
    found += [
        call("unsafe_split", x, 1),
        call("unsafe_split", cube, 1),
        call("unsafe_chunk", x, 2),
        call("unsafe_chunk", cube, 2),
    ]
    found += [call("unsafe_split_with_sizes", x, [1, 1]), call("unsafe_split_with_sizes", v, [1, 2])]
    found += [
        call("detach_copy", x),
        call("detach_copy", v),
        call("Tensor.map_", x, y, max),
        call("Tensor.map_", v, v.clone(), max),
    ]
    found += [
        call("Tensor.resize_", x, (3, 2)),
        call("Tensor.resize_", cube, (2, 2)),
        call("Tensor.register_hook", x, print),
    ]
    found += [
        call("Tensor.__contains__", x, 0.5),
        call("Tensor.__contains__", v, 0.5),
        call("Tensor.__deepcopy__", x, {}),
    ]
    found += [
        call("Tensor.__format__", zero_d, ""),
        call("Tensor.__format__", x, ""),
        call("Tensor.__rmatmul__", square, square),
    ]
    found += [call(f"Tensor.__r{stem}__", t, t) for stem in ("and", "or", "xor") for t in (mask, ints)]
    found += [call("frobenius_norm", x, [0, 1]), call("nuclear_norm", x), call("nuclear_norm", square)]
    found += [call("nn.init.calculate_gain", n) for n in ("relu", "tanh")]
    return found
