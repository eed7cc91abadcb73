"""What is refused for the numbers in a tensor: indices out of range, parameters of distributions."""

from __future__ import annotations

from tools.guards_by_hand.written import ByHand, ones

_INDICES = ("torch.tensor([0, 4])", "torch.tensor([[1, -1]])", "torch.tensor([3, 0])")
_TARGETS = ("torch.tensor([0, 1, 5])", "torch.tensor([0, 1, -1])", "torch.tensor([0, -100, 2])", "torch.ones(3).long()")
_VALIDATE = ("None", "True", "False")
_POSITIVE = {
    "Cauchy": "scale",
    "Exponential": "rate",
    "Gamma": "concentration",
    "Gumbel": "scale",
    "HalfNormal": "scale",
    "Laplace": "scale",
    "LogNormal": "scale",
    "Normal": "scale",
    "StudentT": "df",
}
"""A parameter of each of these distributions that is greater than zero."""
_FIRST = {"Cauchy": "loc", "Gumbel": "loc", "Laplace": "loc", "LogNormal": "loc", "Normal": "loc"}
_SECOND = {"Gamma": "rate"}


def _of_embedding(path: str, begin: str, count: str) -> ByHand:
    """Return that an embedding has no row of an index."""
    table = (
        {f"{begin}num_embeddings": ("4", "5"), f"{begin}embedding_dim": ("2",)}
        if begin
        else {"weight": ones((4, 2), (5, 2))}
    )
    test = f"input.max() >= {count} or input.min() < 0"
    return ByHand(path, {"input": _INDICES, **table}, ((test, "'index out of range in self'"),))


def _of_classes(path: str, begin: str = "") -> ByHand:
    """Return that a loss is given a class for which there is no score."""
    ignored = f"{begin}ignore_index"
    test = (
        f"input.dim() == 2 and target.dim() == 1 and target.dtype == 'int64' and isinstance({ignored}, int) and ("
        f"target.max() >= input.size(1) and target.max() != {ignored}"
        f" or target.min() < 0 and target.min() != {ignored})"
    )
    values = {"input": ones((3, 5), (3, 6)), "target": _TARGETS, ignored: ("-100", "5", "-1")}
    return ByHand(path, values, ((test, "'is out of bounds.'"),))


def _of_positive(name: str, parameter: str) -> ByHand:
    """Return that a parameter of a distribution is greater than zero."""
    test = (
        f"validate_args is not False and (isinstance({parameter}, (int, float)) and {parameter} <= 0"
        f" or {parameter}.min() <= 0)"
    )
    others = {one[name]: ("1.0", "torch.ones(2)") for one in (_FIRST, _SECOND) if name in one}
    values = ("0.0", "-1.0", "2.0", "torch.tensor([1.0, -1.0])", "torch.tensor([1.0, 2.0])")
    given = {**others, parameter: values, "validate_args": _VALIDATE}
    return ByHand(f"torch.distributions.{name}", given, ((test, "'to satisfy the constraint'"),))


def _of_probability(name: str, above: str, below: tuple[str, ...]) -> ByHand:
    """Return that the chances of a distribution lie between zero and one."""
    values = ("torch.tensor([0.5, -0.5])", "torch.tensor([0.5, 0.2])", "torch.tensor([0.5, 1.5])", *below)
    test = f"validate_args is not False and logits is None and ({above}probs.min() < 0)"
    given = {"probs": values, "validate_args": _VALIDATE}
    return ByHand(f"torch.distributions.{name}", given, ((test, "'to satisfy the constraint'"),))


ELEMENTS: tuple[ByHand, ...] = (
    _of_embedding("torch.nn.functional.embedding", "", "weight.size(0)"),
    _of_embedding("torch.nn.Embedding.forward", "self_", "self_num_embeddings"),
    _of_classes("torch.nn.functional.cross_entropy"),
    _of_classes("torch.nn.functional.nll_loss"),
    _of_classes("torch.nn.CrossEntropyLoss.forward", "self_"),
    _of_classes("torch.nn.NLLLoss.forward", "self_"),
    *(_of_positive(name, parameter) for name, parameter in _POSITIVE.items()),
    _of_probability(
        "Bernoulli", "isinstance(probs, (int, float)) and not 0 <= probs <= 1 or probs.max() > 1 or ", ("1.5", "0.5")
    ),
    _of_probability("Categorical", "", ()),
    ByHand(
        "torch.nested.nested_tensor",
        {"tensor_list": ("[torch.ones(2), torch.ones(2, 3)]", "[torch.ones(1, 3), torch.ones(2, 3)]")},
        (
            (
                "any(one.dim() != tensor_list[0].dim() for one in tensor_list)",
                "'must have the same dimension'",
            ),
        ),
        ("tensor_list", "*", "dtype=None", "layout=None", "device=None", "requires_grad=False", "pin_memory=False"),
    ),
)
