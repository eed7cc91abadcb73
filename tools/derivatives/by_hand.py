"""Derivatives that `derivatives.yaml` leaves to functions in C++, written by hand; `formulas.py` executes each."""

from __future__ import annotations

from typing import Final

NODES: Final[dict[str, dict[str, str | tuple[str, str]]]] = {
    "AddmmBackward0": {"mat1": "grad @ mat2.T * alpha", "mat2": "mat1.T @ grad * alpha"},
    "MmBackward0": {"input": "grad @ mat2.T", "mat2": "input.T @ grad"},
    "MvBackward0": {"input": "grad.outer(vec)", "vec": "input.T @ grad"},
    "BmmBackward0": {"input": "grad @ mat2.mT", "mat2": "input.mT @ grad"},
    "BaddbmmBackward0": {"batch1": "grad @ batch2.mT * alpha", "batch2": "batch1.mT @ grad * alpha"},
    "AddbmmBackward0": {"batch1": "grad @ batch2.mT * alpha", "batch2": "batch1.mT @ grad * alpha"},
    "MulBackward0": {"input": "grad * other", "other": "grad * input"},
    "MulBackward1": {"input": "grad * other"},
    "DivBackward0": {"input": "grad / other", "other": "-grad * input / other**2"},
    "DivBackward1": {"input": "grad / other"},
    "DivBackward2": {
        "input": "grad / other if rounding_mode is None else 0 * grad",
        "other": "-grad * input / other**2 if rounding_mode is None else 0 * grad",
    },
    "SubBackward0": {"other": "-grad * alpha"},
    "RsubBackward1": {"input": "-grad * alpha"},
    "PowBackward0": {"input": "0 * grad if exponent == 0 else grad * exponent * input ** (exponent - 1)"},
    "PowBackward1": {
        "input": "where(exponent == 0, 0.0, grad * exponent * input ** (exponent - 1))",
        "exponent": "where((input == 0) & (exponent >= 0), 0.0, grad * result * input.log())",
    },
    "PowBackward2": {"exponent": "grad * result * log(input)"},
    "SqrtBackward0": {"input": "grad / (2 * result)"},
    "ReluBackward0": {"input": "grad * (result > 0)"},
    "ThresholdBackward0": {"input": "grad * (input > threshold)"},
    "LeakyReluBackward0": {"input": "where(input > 0, grad, grad * negative_slope)"},
    "EluBackward0": {
        "input": "where(input > 0, grad * scale, grad * scale * alpha * input_scale * (input_scale * input).exp())"
    },
    "CeluBackward0": {"input": "where(input > 0, grad, grad * (input / alpha).exp())"},
    "SigmoidBackward0": {"input": "grad * result * (1 - result)"},
    "TanhBackward0": {"input": "grad * (1 - result**2)"},
    "LogSigmoidBackward0": {"input": "grad * sigmoid(-input)"},
    "SiluBackward0": {"input": "grad * sigmoid(input) * (1 + input * (1 - sigmoid(input)))"},
    "MishBackward0": {
        "input": "grad * (tanh(softplus(input)) + input * sigmoid(input) * (1 - tanh(softplus(input)) ** 2))"
    },
    "GeluBackward0": {
        "input": (
            "grad * (Phi(input) + input * phi(input)), Phi and phi of the normal distribution (approximate='none')",
            "grad * (0.5 * (1 + erf(input / sqrt(2))) + input * exp(-(input**2) / 2) / sqrt(2 * pi))"
            " if approximate == 'none' else skip()",
        )
    },
    "SoftplusBackward0": {"input": "where(input * beta > threshold, grad, grad * sigmoid(input * beta))"},
    "HardtanhBackward0": {"input": "grad * ((input > min_val) & (input < max_val))"},
    "HardsigmoidBackward0": {"input": "grad / 6 * ((input > -3) & (input < 3))"},
    "HardswishBackward0": {
        "input": "where(input <= -3, 0.0, where(input < 3, grad * (input / 3 + 0.5), grad))",
    },
    "HardshrinkBackward0": {"input": "grad * (input.abs() > lambd)"},
    "SoftshrinkBackward0": {"input": "grad * (input.abs() > lambd)"},
    "GluBackward0": {
        "input": (
            "with a, b = input.chunk(2, dim): cat([grad * sigmoid(b), grad * a * sigmoid(b) * (1 - sigmoid(b))], dim)",
            "cat([grad * sigmoid(input.chunk(2, dim)[1]), grad * input.chunk(2, dim)[0]"
            " * sigmoid(input.chunk(2, dim)[1]) * (1 - sigmoid(input.chunk(2, dim)[1]))], dim)",
        )
    },
    "PreluKernelBackward0": {
        "input": "where(input > 0, grad, grad * weight)",
        "weight": "where(input > 0, 0.0, grad * input)",
    },
    "MaskedFillBackward1": {"value": "where(mask, grad, 0.0).sum()"},
    "ClampBackward0": {
        "min": (
            "grad where input < min (and min < max), else 0",
            "where((input < min) & (min < (inf if max is None else max)), grad, 0.0)",
        ),
        "max": (
            "grad where input > max (or max < min), else 0",
            "where((input > max) | (max < (-inf if min is None else min)), grad, 0.0)",
        ),
        "input": (
            "grad where min <= input <= max, else 0",
            "where((input < (-inf if min is None else min)) | (input > (inf if max is None else max)), 0.0, grad)",
        ),
    },
    "ClampBackward1": {
        "input": (
            "grad where min <= input <= max, else 0",
            "grad * ((input >= (-inf if min is None else min)) & (input <= (inf if max is None else max)))",
        )
    },
    "SoftmaxBackward0": {"input": "result * (grad - (grad * result).sum(dim, keepdim=True))"},
    "SafeSoftmaxBackward0": {"input": "result * (grad - (grad * result).sum(dim, keepdim=True))"},
    "LogSoftmaxBackward0": {"input": "grad - result.exp() * grad.sum(dim, keepdim=True)"},
    "LogsumexpBackward0": {
        "input": ("grad * (input - result).exp()", "spread(grad) * (input - spread(result)).exp()"),
    },
    "SumBackward0": {"input": "grad.expand_as(input)"},
    "SumBackward1": {"input": ("grad, expanded over the reduced dimensions", "spread(grad)")},
    "MeanBackward0": {"input": "grad.expand_as(input) / input.numel()"},
    "MeanBackward1": {
        "input": (
            "grad / n, expanded over the n reduced elements",
            "spread(grad) * result.numel() / input.numel()",
        )
    },
    "VarBackward0": {
        "input": (
            "2 * grad * (input - input.mean(dim)) / (n - correction), n the number of reduced elements",
            "2 * spread(grad) * (input - means()) / largest(input.numel() / result.numel()"
            " - (1 if correction is None else correction), 0)",
        )
    },
    "StdBackward0": {
        "input": (
            "grad * (input - input.mean(dim)) / (result * (n - correction)), n the number of reduced elements",
            "spread(grad) * (input - means()) / (spread(result) * largest(input.numel() / result.numel()"
            " - (1 if correction is None else correction), 0))",
        )
    },
    "MaxBackward0": {"input": ("the indexed element gets grad", "picked(grad, indices)")},
    "MinBackward0": {"input": ("the indexed element gets grad", "picked(grad, indices)")},
    "MedianBackward1": {"input": ("the indexed element gets grad", "picked(grad, indices)")},
    "ModeBackward0": {"input": ("the indexed element gets grad", "picked(grad, indices)")},
    "KthvalueBackward0": {"input": ("the indexed element gets grad", "picked(grad, indices)")},
    "SortBackward0": {
        "input": ("each indexed element gets its grad", "zeros_like(input).scatter_add(dim, indices, grad)")
    },
    "SortBackward1": {
        "input": ("each indexed element gets its grad", "zeros_like(input).scatter_add(dim, indices, grad)")
    },
    "TopkBackward0": {
        "input": ("each indexed element gets its grad", "zeros_like(input).scatter_add(dim, indices, grad)")
    },
    "MaxBackward1": {"input": "grad * (input == result) / (input == result).sum()"},
    "MinBackward1": {"input": "grad * (input == result) / (input == result).sum()"},
    "AmaxBackward0": {
        "input": (
            "grad * (input == result) / (input == result).sum(dim): ties share it",
            "spread(grad) * (input == spread(result)) / over(input == spread(result))",
        )
    },
    "AminBackward0": {
        "input": (
            "grad * (input == result) / (input == result).sum(dim): ties share it",
            "spread(grad) * (input == spread(result)) / over(input == spread(result))",
        )
    },
    "MaximumBackward0": {
        "input": "grad * ((input > other) + 0.5 * (input == other))",
        "other": "grad * ((other > input) + 0.5 * (input == other))",
    },
    "MinimumBackward0": {
        "input": "grad * ((input < other) + 0.5 * (input == other))",
        "other": "grad * ((other < input) + 0.5 * (input == other))",
    },
    "LinalgVectorNormBackward0": {
        "input": (
            "grad * input / result, and 0 at 0  (of the 2-norm)",
            "where(spread(result) == 0, 0.0, spread(grad) * input / spread(result)) if ord == 2 else skip()",
        )
    },
    "ToCopyBackward0": {"input": ("grad, converted back", "grad")},
    "TraceBackward0": {"input": ("grad along the diagonal, else 0", "grad * eye(*input.shape)")},
    "ConstantPadNdBackward0": {"input": ("grad without the padding", "constant_pad_nd(grad, [-n for n in pad])")},
    "ProdBackward0": {
        "input": ("grad * result / input, where no element is 0", "grad * result / input if input.all() else skip()")
    },
    "ProdBackward1": {
        "input": (
            "grad * result / input, where no element is 0",
            "spread(grad) * spread(result) / input if input.all() else skip()",
        )
    },
    "CumprodBackward0": {
        "input": (
            "(grad * result).flip(dim).cumsum(dim).flip(dim) / input, where no element is 0",
            "(grad * result).flip(dim).cumsum(dim).flip(dim) / input if input.all() else skip()",
        )
    },
    "NativeBatchNormBackward0": {
        "bias": ("grad, summed over all but the channels", "channels(grad)"),
        "weight": (
            "grad * (input - mean) / std, summed over all but the channels",
            "channels(grad * (input - across(result1)) * across(result2)) if training else skip()",
        ),
    },
    "CatBackward0": {
        "tensors": (
            "grad, cut along dim into the parts that were joined",
            "grad.split([one.shape[dim] for one in tensors], dim)",
        )
    },
    "StackBackward0": {"tensors": "grad.unbind(dim)"},
    "CumsumBackward0": {"input": "grad.flip(dim).cumsum(dim).flip(dim)"},
    "GatherBackward0": {"input": "zeros_like(input).scatter_add(dim, index, grad)"},
    "IndexSelectBackward0": {"input": "zeros_like(input).index_add(dim, index, grad)"},
    "IndexBackward0": {
        "input": (
            "zeros, to which grad is added at the indices",
            "zeros_like(input).index_put(full(indices), grad, True)",
        )
    },
    "SelectBackward0": {"input": ("zeros, with grad at index", "zeros_like(input).select_scatter(grad, dim, index)")},
    "SliceBackward0": {
        "input": ("zeros, with grad at the slice", "zeros_like(input).slice_scatter(grad, dim, start, end, step)")
    },
    "DiagonalBackward0": {
        "input": ("zeros, with grad at the diagonal", "zeros_like(input).diagonal_scatter(grad, offset, dim1, dim2)")
    },
    "MaskedSelectBackward0": {"input": "zeros_like(input).masked_scatter(mask, grad)"},
    "EmbeddingBackward0": {
        "weight": (
            "zeros, to whose rows grad is added at the indices (never at padding_idx)",
            "zeros_like(weight).index_add(0, indices.reshape(-1), grad.reshape(-1, weight.shape[1])"
            " * (indices != padding_idx).reshape(-1, 1)) if not scale_grad_by_freq else skip()",
        )
    },
    "PermuteBackward0": {
        "input": ("grad, permuted back", "grad.permute(sorted(range(grad.ndim), key=lambda i: dims[i] % grad.ndim))")
    },
    "SqueezeBackward0": {"input": "grad.reshape(input.shape)"},
    "SqueezeBackward1": {"input": "grad.reshape(input.shape)"},
    "SqueezeBackward2": {"input": "grad.reshape(input.shape)"},
    "ExpandBackward0": {"input": ("grad, summed over the expanded dimensions", "grad.sum_to_size(input.shape)")},
    "RepeatBackward0": {
        "input": (
            "the copies' grads, added up",
            "sum(grad.reshape([n for pair in zip(repeats, [1] * (len(repeats) - input.ndim) + list(input.shape))"
            " for n in pair]), list(range(0, 2 * len(repeats), 2))).reshape(input.shape)",
        )
    },
    "MseLossBackward0": {
        "input": (
            "2 * (input - target) * grad, by the mean divided by input.numel()",
            "2 * (input - target) * grad / count()",
        ),
        "target": (
            "2 * (target - input) * grad, by the mean divided by input.numel()",
            "2 * (target - input) * grad / count()",
        ),
    },
    "SmoothL1LossBackward0": {
        "input": (
            "grad * clamp((input - target) / beta, -1, 1), by the mean divided by input.numel()",
            "grad * (clamp((input - target) / beta, -1, 1) if beta else sign(input - target)) / count()",
        ),
    },
    "HuberLossBackward0": {
        "input": (
            "grad * clamp(input - target, -delta, delta), by the mean divided by input.numel()",
            "grad * clamp(input - target, -delta, delta) / count()",
        ),
    },
    "BinaryCrossEntropyBackward0": {
        "input": (
            "weight * grad * (input - target) / (input * (1 - input)), by the mean divided by input.numel()",
            "(1 if weight is None else weight) * grad * (input - target) / (input * (1 - input)) / count()",
        )
    },
    "BinaryCrossEntropyWithLogitsBackward0": {
        "input": (
            "grad * (sigmoid(input) - target), times weight, by the mean divided by input.numel()  (pos_weight=None)",
            "(1 if weight is None else weight) * grad * (sigmoid(input) - target) / count()"
            " if pos_weight is None else skip()",
        )
    },
    "NllLossBackward0": {
        "input": (
            "-grad * weight[target] at the target's column, by the mean divided by the sum of the weights",
            "zeros_like(input).scatter(-1, target.unsqueeze(-1), -(grad * ((input.new_ones(input.shape[-1])"
            " if weight is None else weight)[target.clamp(min=0)]) * (target != ignore_index)"
            " / (total_weight if reduction == 1 else 1)).unsqueeze(-1)) if (target >= 0).all() else skip()",
        )
    },
    "NativeLayerNormBackward0": {
        "bias": ("grad, summed over the batch", "grad.sum_to_size(bias.shape)"),
        "weight": (
            "grad * (input - mean) / std, summed over the batch",
            "(grad * (input - result1) * result2).sum_to_size(weight.shape)",
        ),
        "input": (
            "(g - g.mean() - x * (g * x).mean()) / std, with g = grad * weight and x = (input - mean) / std",
            "layer_norm_input()",
        ),
    },
    "AngleBackward0": {"input": "0 * grad"},
    "SgnBackward0": {"input": "0 * grad"},
    "Atan2Backward0": {
        "input": "grad * other / (input**2 + other**2)",
        "other": "-grad * input / (input**2 + other**2)",
    },
    "TrilBackward0": {"input": "grad.tril(diagonal)"},
    "TriuBackward0": {"input": "grad.triu(diagonal)"},
    "ScatterBackward0": {"input": "grad.scatter(dim, index, 0)", "src": "grad.gather(dim, index)"},
    "SplitBackward0": {"input": ("the parts' grads, joined along dim", "cat(list(grads), dim)")},
    "SplitWithSizesBackward0": {"input": ("the parts' grads, joined along dim", "cat(list(grads), dim)")},
    "UnbindBackward0": {"input": "stack(grads, dim)"},
    "ConvolutionBackward0": {
        "bias": (
            "grad, summed over the batch and the positions",
            "grad.sum([i for i in range(grad.ndim) if i != 1]) if input.ndim == grad.ndim else skip()",
        ),
        "input": (
            "the transposed convolution of grad with weight",
            "conv_input() if not transposed else skip()",
        ),
        "weight": (
            "the convolution of input with grad",
            "conv_weight() if not transposed else skip()",
        ),
    },
    "LinalgInvExBackward0": {"A": "-inverse.mT @ grad @ inverse.mT"},
    "LinalgDetBackward0": {"A": ("grad * result * inv(A).mT", "(grad * result)[..., None, None] * inv(A).mT")},
    "CopysignBackward0": {"input": "grad * (input.sign() * result.sign())"},
    "Deg2RadBackward0": {"input": "grad * (pi / 180)"},
    "Rad2DegBackward0": {"input": "grad * (180 / pi)"},
    "AvgPool2DBackward0": {"input": ("each window's grad, divided among its elements", "pooled()")},
    "MaxPool2DWithIndicesBackward0": {
        "input": (
            "each window's grad, added to its largest element",
            "zeros_like(input).flatten(-2).scatter_add(-1, result1.flatten(-2), grad.flatten(-2)).reshape(input.shape)",
        )
    },
}
"""By node and argument: a formula, or what is shown and the formula. `self` is `input`; `skip()` leaves a call out."""

COMPOSITES: Final[dict[str, dict[str, tuple[str, str, str, str]]]] = {
    "nn.functional.cross_entropy": {
        "input": (
            "grad * (softmax(input, 1) - one_hot(target)), by the mean divided by the number of targets",
            "(softmax(input, 1) - one_hot(target, input.shape[1])) * (grad.unsqueeze(-1) if grad.ndim else grad)"
            " / (target.numel() if reduction == 'mean' else 1)",
            "target holds classes; without weight and label_smoothing",
            "not target.is_floating_point() and target.ndim == 1 and weight is None and not label_smoothing"
            " and input.ndim == 2 and (target >= 0).all() and (target != ignore_index).all()",
        )
    },
    "nn.functional.linear": {
        "input": ("grad @ weight", "grad @ weight", "", "weight.ndim == 2"),
        "weight": (
            "grad.T @ input, summed over the batch",
            "grad.reshape(-1, grad.shape[-1]).T @ input.reshape(-1, input.shape[-1])",
            "",
            "weight.ndim == 2",
        ),
        "bias": ("grad, summed over the batch", "grad.sum_to_size(bias.shape)", "", "weight.ndim == 2"),
    },
    "matmul": {
        "input": (
            "grad @ other.mT, summed over what was broadcast",
            "(grad @ other.mT).sum_to_size(input.shape)",
            "of two dimensions or more",
            "input.ndim > 1 and other.ndim > 1",
        ),
        "other": (
            "input.mT @ grad, summed over what was broadcast",
            "(input.mT @ grad).sum_to_size(other.shape)",
            "of two dimensions or more",
            "input.ndim > 1 and other.ndim > 1",
        ),
    },
    "nn.functional.normalize": {
        "input": (
            "(grad - result * (grad * result).sum(dim)) / input.norm(2, dim)",
            "(grad - result * (grad * result).sum(dim, keepdim=True)) / input.norm(2, dim, keepdim=True)",
            "p=2, and the norm is not below eps",
            "p == 2 and input.ndim and (input.norm(2, dim) > eps).all()",
        )
    },
    "nn.functional.dropout": {
        "input": (
            "grad * mask / (1 - p) in training, the mask being drawn; else grad",
            "grad * result / input",
            "",
            "input.all()",
        )
    },
    "nn.functional.elu": {
        "input": (
            "where(input > 0, grad, grad * alpha * input.exp())",
            "where(input > 0, grad, grad * alpha * input.exp())",
            "",
            "not inplace",
        )
    },
    "nn.functional.selu": {
        "input": (
            "1.0507 * where(input > 0, grad, 1.67326 * grad * input.exp())",
            "1.0507009873554805 * where(input > 0, grad, 1.6732632423543772 * grad * input.exp())",
            "",
            "not inplace",
        )
    },
    "nn.functional.l1_loss": {
        "input": (
            "grad * sign(input - target), by the mean divided by input.numel()",
            "grad * sign(input - target) / (input.numel() if reduction == 'mean' else 1)",
            "without weight",
            "weight is None and input.shape == target.shape",
        )
    },
}
"""By operation of several nodes and argument: what is shown, the formula, when it holds, and that as an expression."""
