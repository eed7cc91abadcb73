"""Sizes of losses: reduced to a single number, or one number for each element or each sample."""

from __future__ import annotations

from gradlint.domain.dtype import DType, to_float, to_real
from gradlint.domain.shape import Shape, broadcast_all
from gradlint.shapes.arguments import tensor
from gradlint.shapes.operand import Args, Operand, Result, promoted
from gradlint.shapes.rule import Rule, TypeChange, rule, same


def is_reduced(args: Args) -> bool | None:
    """Return whether a loss comes as one number."""
    reduction = args.get("reduction", "mean")
    return reduction not in ("none", 0) if isinstance(reduction, str | int) else None


def loss_result(args: Args, unreduced: Shape, dtype: DType) -> Operand:
    """Return the result of a loss that is `unreduced` without reduction."""
    reduced = is_reduced(args)
    return Operand(() if reduced else unreduced if reduced is False else None, dtype)


def _elementwise(*names: str, dtype: TypeChange = same) -> Rule:
    """Return the rule of a loss of operands that are broadcast together, which torch only warns about."""

    def answer(args: Args) -> Result:
        operands = [tensor(args, name) for name in names] or [tensor(args), tensor(args, "target")]
        return loss_result(args, broadcast_all([operand.shape for operand in operands]), dtype(promoted(operands)))

    return answer


rule("mse_loss", "smooth_l1_loss", "huber_loss", "soft_margin_loss", "gaussian_nll_loss", "kl_div")(_elementwise())
rule("hinge_embedding_loss")(_elementwise())
# The absolute difference is real even of complex numbers.
rule("l1_loss")(_elementwise(dtype=to_real))
rule("poisson_nll_loss")(_elementwise(dtype=to_float))
rule("margin_ranking_loss")(_elementwise("input1", "input2", "target", dtype=to_float))


@rule("binary_cross_entropy", "binary_cross_entropy_with_logits")
def _binary(args: Args) -> Result:
    """Broadcast weights into the input, which torch demands to be as large as the target."""
    self, target = tensor(args), tensor(args, "target")
    weights = [tensor(args, name).shape for name in ("weight", "pos_weight") if args.get(name) is not None]
    shape = broadcast_all([target.shape if self.shape is None else self.shape, *weights])
    return loss_result(args, shape, self.dtype)


@rule("cross_entropy", "nll_loss")
def _classified(args: Args) -> Result:
    """Return one number for each sample and place: the input without its dimension of classes."""
    self, target = tensor(args), tensor(args, "target")
    shape = self.shape
    if shape is None:
        unreduced = target.shape if target.dtype == "int64" else None
    else:
        unreduced = (shape[0], *shape[2:]) if len(shape) > 1 else ()
    return loss_result(args, unreduced, self.dtype)


@rule("multi_margin_loss", "multilabel_margin_loss", "multilabel_soft_margin_loss")
def _without_last(args: Args) -> Result:
    """Return one number for each sample: the last dimension is used up."""
    self = tensor(args)
    return loss_result(args, self.shape[:-1] if self.shape else self.shape, self.dtype)


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
