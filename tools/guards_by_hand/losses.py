"""What loss functions refuse."""

from __future__ import annotations

from tools.guards_by_hand.written import ByHand, ones, whole

_REDUCTIONS = ("'avg'", "'mean'", "'sum'", "'none'", "'batchmean'")
_ALIKE = (ones((3, 5)), ones((3, 5)))
_CLASSES = (ones((3, 5)), whole((3,)))
_REDUCED = {
    ("l1_loss", "L1Loss"): _ALIKE,
    ("mse_loss", "MSELoss"): _ALIKE,
    ("smooth_l1_loss", "SmoothL1Loss"): _ALIKE,
    ("binary_cross_entropy", "BCELoss"): _ALIKE,
    ("binary_cross_entropy_with_logits", "BCEWithLogitsLoss"): _ALIKE,
    ("soft_margin_loss", "SoftMarginLoss"): _ALIKE,
    ("hinge_embedding_loss", "HingeEmbeddingLoss"): _ALIKE,
    ("kl_div", "KLDivLoss"): _ALIKE,
    ("multilabel_margin_loss", "MultiLabelMarginLoss"): (ones((3, 5)), whole((3, 5))),
    ("cross_entropy", "CrossEntropyLoss"): _CLASSES,
    ("nll_loss", "NLLLoss"): _CLASSES,
    ("multi_margin_loss", "MultiMarginLoss"): _CLASSES,
}
"""The losses that take a reduction, as function and as module, with inputs and targets."""


def _of_reduction(path: str, inputs: tuple[str, ...], targets: tuple[str, ...], begin: str = "") -> ByHand:
    """Return what is refused as the reduction of a loss; `begin` stands before what its constructor was given."""
    taken = ("none", "mean", "sum", "elementwise_mean", *(("batchmean",) if "kl" in path.lower() else ()))
    legacy = f"{begin}size_average is None and {begin}reduce is None and "
    test = f"isinstance({begin}reduction, str) and {begin}reduction not in {taken}"
    return ByHand(
        path,
        {
            "input": inputs,
            "target": targets,
            f"{begin}reduction": ("'avg'", "'mean'", "'sum'", "'none'", "'batchmean'"),
        },
        ((legacy + test, f"f'{{{begin}reduction}} is not a valid value for reduction'"),),
    )


def _of_legacy_flags(path: str) -> ByHand:
    """Return that a loss is made with the tensors that it should be called with."""
    return ByHand(
        path,
        {"size_average": (*ones((3, 5), (2,), (1,)), "None"), "reduce": (*ones((3,)), "None")},
        (
            (
                "isinstance(size_average, Tensor) and size_average.numel() > 1",
                "'Boolean value of Tensor with more than one value is ambiguous'",
            ),
        ),
    )


_ANY = ("-1.0", "0.0", "0.5", "1.0", "1.5", "2")

LOSSES: tuple[ByHand, ...] = (
    *(_of_reduction(f"torch.nn.functional.{name}", *given) for (name, _), given in _REDUCED.items()),
    *(_of_reduction(f"torch.nn.{name}.forward", *given, "self_") for (_, name), given in _REDUCED.items()),
    *(_of_legacy_flags(f"torch.nn.{name}") for _, name in _REDUCED),
    ByHand(
        "torch.nn.functional.cross_entropy",
        {
            "input": ones((3, 5), (5,), (3, 4, 2)),
            "target": (*whole((3,), (3, 2)), "torch.tensor(1)"),
            "weight": ("None", *ones((5,), (4,))),
            "label_smoothing": _ANY,
        },
        (("label_smoothing > 1.0", "'label_smoothing must be between 0.0 and 1.0'"),),
    ),
    ByHand(
        "torch.nn.CrossEntropyLoss.forward",
        {
            "input": ones((3, 5)),
            "target": whole((3,)),
            "self_label_smoothing": _ANY,
            "self_weight": ("None", *ones((5,), (4,))),
        },
        (
            (
                "self_label_smoothing > 1.0",
                "'label_smoothing must be between 0.0 and 1.0'",
            ),
            (
                "isinstance(self_weight, Tensor) and input.dim() > 1 and self_weight.shape != (input.size(1),)",
                "f'weight tensor should be defined either for all {input.size(1)} classes or no classes'",
            ),
        ),
    ),
    *(
        ByHand(
            f"torch.nn.{name}",
            {"weight": ("None", "[1.0, 2.0]", "(1.0, 2.0)", "1.0", *ones((2,)))},
            (
                (
                    "isinstance(weight, (list, tuple, float, int, str))",
                    "'cannot assign'",
                ),
            ),
        )
        for name in ("CrossEntropyLoss", "NLLLoss", "BCELoss", "BCEWithLogitsLoss", "MultiMarginLoss")
    ),
    ByHand(
        "torch.nn.functional.smooth_l1_loss",
        {"input": ones((3, 5)), "target": ones((3, 5)), "beta": _ANY},
        (("beta < 0", "'smooth_l1_loss does not support negative values for beta'"),),
    ),
    ByHand(
        "torch.nn.functional.huber_loss",
        {"input": ones((3, 5)), "target": ones((3, 5)), "delta": _ANY},
        (("delta <= 0", "'huber_loss does not support non-positive values for delta'"),),
    ),
    ByHand(
        "torch.nn.SmoothL1Loss.forward",
        {"input": ones((3, 5)), "target": ones((3, 5)), "self_beta": _ANY},
        (("self_beta < 0", "'smooth_l1_loss does not support negative values for beta'"),),
    ),
    ByHand(
        "torch.nn.HuberLoss.forward",
        {"input": ones((3, 5)), "target": ones((3, 5)), "self_delta": _ANY},
        (("self_delta <= 0", "'huber_loss does not support non-positive values for delta'"),),
    ),
    ByHand(
        "torch.nn.functional.gaussian_nll_loss",
        {
            "input": ones((3, 5), (4, 5), (3,)),
            "target": ones((1,), (3, 5)),
            "var": ones((3, 5), (3, 3), (3,), (3, 1), (4,), (4, 5), (4, 1)),
        },
        (
            (
                "isinstance(var, Tensor) and var.shape != input.shape and var.shape != input.shape[:-1]"
                " and not (var.dim() == input.dim() and var.shape[:-1] == input.shape[:-1] and var.shape[-1] == 1)"
                " and not var.shape == input.shape[:-1]",
                "'var is of incorrect size'",
            ),
        ),
    ),
    ByHand(
        "torch.nn.functional.cosine_embedding_loss",
        {
            "input1": ones((3, 5), (5,)),
            "input2": ones((3, 5), (5,)),
            "target": ones((3,), (1,), (), (3, 1), (2, 2)),
        },
        (
            ("target.dim() > 1", "'0D or 1D target tensor expected'"),
            ("target.dim() == 1 and (input1.dim() != 2 or input2.dim() != 2)", "'1D target tensor expects 2D input'"),
            ("target.dim() == 0 and (input1.dim() != 1 or input2.dim() != 1)", "'0D target tensor expects 1D input'"),
        ),
    ),
    ByHand(
        "torch.nn.functional.multi_margin_loss",
        {"input": ones((3, 5), (5,)), "target": (*whole((3,), (1,), (2,)), "torch.tensor(1)")},
        (
            (
                "input.dim() == 2 and target.dim() == 1 and target.size(0) != input.size(0)"
                " or input.dim() == 1 and target.numel() != 1",
                "'target'",
            ),
        ),
    ),
    ByHand(
        "torch.nn.functional.ctc_loss",
        {
            "log_probs": ones((9, 3, 4)),
            "targets": whole((3, 5)),
            "input_lengths": ("[9, 9]", "[9, 9, 9]", "[9, 9, 10]"),
            "target_lengths": ("[5, 5, 6]", "[5, 5, 5]", "[3, 3]"),
        },
        (
            (
                "log_probs.dim() == 3 and isinstance(input_lengths, (list, tuple))"
                " and len(input_lengths) != log_probs.size(1)",
                "'input_lengths must be of size batch_size'",
            ),
            (
                "log_probs.dim() == 3 and isinstance(target_lengths, (list, tuple))"
                " and len(target_lengths) != log_probs.size(1)",
                "'lengths must be of size batch_size'",
            ),
            (
                "targets.dim() == 2 and isinstance(target_lengths, (list, tuple))"
                " and len(target_lengths) == log_probs.size(1) == len(input_lengths)"
                " and max(target_lengths) > targets.size(1)",
                "'Expected tensor to have size at least'",
            ),
            (
                "log_probs.dim() == 3 and isinstance(input_lengths, (list, tuple))"
                " and len(input_lengths) == log_probs.size(1) and max(input_lengths) > log_probs.size(0)",
                "'xpected'",
            ),
        ),
    ),
)
