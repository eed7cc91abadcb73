"""Sizes of losses: reduced to a single number, or one number for each element or each sample."""

from __future__ import annotations

from collections.abc import Callable

from gradlint.domain.dtype import DType, to_float, to_real
from gradlint.domain.shape import Shape, broadcast_all
from gradlint.shapes.rule import Args, Operand, Result, promoted, rule, tensor

Losses = Callable[[Args], Shape]


def is_reduced(args: Args, default: str = "mean") -> bool | None:
    """Return whether a loss comes as one number; the old `size_average` and `reduce` win over `reduction`."""
    size_average, reduce = args.get("size_average"), args.get("reduce")
    if reduce is not None:
        return reduce if isinstance(reduce, bool) else None
    reduction = args.get("reduction", default)
    named: bool | None = None
    if isinstance(reduction, str | int):
        named = reduction not in ("none", 0)
    if size_average is None or named:
        return named
    return True if isinstance(size_average, bool) else None


def loss_result(args: Args, unreduced: Shape, dtype: DType) -> Operand:
    """Return the result of a loss that is `unreduced` without reduction."""
    reduced = is_reduced(args)
    return Operand(() if reduced else unreduced if reduced is False else None, dtype)


def _meeting(args: Args) -> Result:
    """Input and target are broadcast against each other, which torch only warns about."""
    operands = [tensor(args), tensor(args, "target")]
    if args.get("var") is not None:
        operands.append(tensor(args, "var"))
    shape = broadcast_all([operand.shape for operand in operands[:2]])
    return loss_result(args, shape, promoted(operands[:2]))


@rule("l1_loss")
def _l1(args: Args) -> Result:
    """The absolute difference is real even of complex numbers."""
    operands = [tensor(args), tensor(args, "target")]
    shape = broadcast_all([operand.shape for operand in operands])
    return loss_result(args, shape, to_real(promoted(operands)))


rule("mse_loss", "smooth_l1_loss", "huber_loss", "soft_margin_loss", "gaussian_nll_loss", "kl_div")(_meeting)


@rule("poisson_nll_loss")
def _poisson(args: Args) -> Result:
    operands = [tensor(args), tensor(args, "target")]
    shape = broadcast_all([operand.shape for operand in operands])
    return loss_result(args, shape, to_float(promoted(operands)))


@rule("binary_cross_entropy", "binary_cross_entropy_with_logits")
def _binary(args: Args) -> Result:
    """Torch demands equal sizes of input and target; weights are broadcast into them."""
    self, target = tensor(args), tensor(args, "target")
    shape = self.shape if self.shape is not None else target.shape
    if args.get("weight") is not None or args.get("pos_weight") is not None:
        weights = [tensor(args, name).shape for name in ("weight", "pos_weight") if args.get(name) is not None]
        shape = broadcast_all([shape, *weights])
    return loss_result(args, shape, self.dtype)


def _classified(args: Args) -> Result:
    """Return one number for each sample and place: the input without its dimension of classes."""
    self, target = tensor(args), tensor(args, "target")
    shape = self.shape
    if shape is None:
        unreduced = target.shape if target.dtype == "int64" else None
    else:
        unreduced = (shape[0], *shape[2:]) if len(shape) > 1 else ()
    return loss_result(args, unreduced, self.dtype)


rule("cross_entropy", "nll_loss")(_classified)


def _without_last(args: Args) -> Result:
    """Return one number for each sample: the last dimension is used up."""
    self = tensor(args)
    return loss_result(args, self.shape[:-1] if self.shape else self.shape, self.dtype)


rule("multi_margin_loss", "multilabel_margin_loss", "multilabel_soft_margin_loss")(_without_last)


@rule("hinge_embedding_loss")
def _hinge_embedding(args: Args) -> Result:
    operands = [tensor(args), tensor(args, "target")]
    return loss_result(args, broadcast_all([operand.shape for operand in operands]), promoted(operands))


@rule("margin_ranking_loss")
def _margin_ranking(args: Args) -> Result:
    operands = [tensor(args, name) for name in ("input1", "input2", "target")]
    return loss_result(args, broadcast_all([operand.shape for operand in operands]), to_float(promoted(operands)))


@rule("cosine_embedding_loss")
def _cosine_embedding(args: Args) -> Result:
    self = tensor(args, "input1")
    return loss_result(args, tensor(args, "target").shape, to_float(self.dtype))


@rule("triplet_margin_loss", "triplet_margin_with_distance_loss")
def _triplet(args: Args) -> Result:
    operands = [tensor(args, name) for name in ("anchor", "positive", "negative")]
    shape = broadcast_all([operand.shape for operand in operands])
    known = args.get("distance_function") is None
    return loss_result(args, shape[:-1] if shape and known else None, to_real(to_float(promoted(operands))))


@rule("ctc_loss")
def _ctc(args: Args) -> Result:
    """Return one number for each sample of the batch, which is the second dimension of the scores."""
    scores = tensor(args, "log_probs")
    shape: Shape = None
    if scores.shape is not None and len(scores.shape) in (2, 3):
        shape = (scores.shape[1],) if len(scores.shape) == 3 else ()
    return loss_result(args, shape, scores.dtype)
