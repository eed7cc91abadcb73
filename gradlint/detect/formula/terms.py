"""Formulas: a value read back as the operations that it was computed by.

`plain` gives an operation one name, however it is called: `torch.log`, `x.log()`, `nn.Softmax(dim=1)(x)` and
`F.softmax(x)` are `log` and `softmax`. A formula ends at what is not an operation with known operands.
"""

from __future__ import annotations

from functools import cache

from gradlint.domain.graph import Node, Term

_ALIASES = {
    "true_divide": "div",
    "divide": "div",
    "subtract": "sub",
    "multiply": "mul",
    "absolute": "abs",
    "negative": "neg",
    "clip": "clamp",
    "clamp_min": "clamp",
    "clamp_max": "clamp",
    "arccos": "acos",
    "arcsin": "asin",
    "arctanh": "atanh",
    "arccosh": "acosh",
    "expit": "sigmoid",
    "greater": "gt",
    "greater_equal": "ge",
    "less": "lt",
    "less_equal": "le",
    "not_equal": "ne",
    "concat": "cat",
    "norm": "norm",
    "vector_norm": "norm",
}
_MODULES = {
    "Softmax": "softmax",
    "Softmax2d": "softmax",
    "LogSoftmax": "log_softmax",
    "Sigmoid": "sigmoid",
    "LogSigmoid": "logsigmoid",
    "ReLU": "relu",
    "ReLU6": "relu6",
    "Tanh": "tanh",
    "Softplus": "softplus",
    "Flatten": "flatten",
    "Unflatten": "unflatten",
    "Identity": "identity",
    "Dropout": "dropout",
    "LeakyReLU": "leaky_relu",
    "ELU": "elu",
    "GELU": "gelu",
    "SiLU": "silu",
    "CrossEntropyLoss": "cross_entropy",
    "NLLLoss": "nll_loss",
    "BCELoss": "binary_cross_entropy",
    "BCEWithLogitsLoss": "binary_cross_entropy_with_logits",
    "KLDivLoss": "kl_div",
    "CTCLoss": "ctc_loss",
    "MSELoss": "mse_loss",
    "L1Loss": "l1_loss",
    "SmoothL1Loss": "smooth_l1_loss",
    "HuberLoss": "huber_loss",
    "Linear": "linear",
    "Bilinear": "bilinear",
    "Conv1d": "conv1d",
    "Conv2d": "conv2d",
    "Conv3d": "conv3d",
    "ConvTranspose1d": "conv_transpose1d",
    "ConvTranspose2d": "conv_transpose2d",
    "ConvTranspose3d": "conv_transpose3d",
    "Embedding": "embedding",
}
_PREFIXES = ("Tensor.", "nn.functional.", "special.", "linalg.")


@cache
def plain(op: str) -> str:
    """The one name of an operation. Modules without a function of their own keep theirs: `nn.LSTM`."""
    if op.startswith("nn.") and op.count(".") == 1:
        return _MODULES.get(op.removeprefix("nn."), op)
    for prefix in _PREFIXES:
        op = op.removeprefix(prefix)
    return _ALIASES.get(op, op)


def operand(node: Node, *names: str) -> object:
    """The first operand under one of the names; None where there is none, or None is given."""
    for name in names:
        if name in node.operands:
            return node.operands[name]
    return None


def term(node: Node, *names: str) -> Term | None:
    """The first operand under one of the names, where it is a tensor."""
    found = operand(node, *(names or ("input",)))
    return found if isinstance(found, Term) else None


def is_number(value: object, number: float) -> bool:
    """Whether an operand is certainly this number."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and value == number


def pair(node: Node) -> tuple[object, object]:
    """Both operands of arithmetic."""
    return operand(node, "input"), operand(node, "other", "exponent", "tensor2")


VIEWS = frozenset(
    {
        *("view", "reshape", "flatten", "unflatten", "squeeze", "unsqueeze", "expand", "expand_as", "permute"),
        *(
            "transpose",
            "swapaxes",
            "t",
            "T",
            "mT",
            "movedim",
            "contiguous",
            "view_as",
            "reshape_as",
            "select",
            "narrow",
        ),
        *("index", "index_select", "to", "cuda", "cpu", "clone", "float", "double", "half", "type_as", "identity"),
        *("unbind", "chunk", "split", "gather", "take_along_dim", "masked_select", "flip", "broadcast_to", "repeat"),
    }
)
"""Operations that give the elements of their input again, some of them, or some several times."""


def unwrapped(found: Term) -> Term:
    """The term whose elements a term repeats, behind views, picks, and moves."""
    for _ in range(LONGEST):
        node = found.node
        if plain(node.op) not in VIEWS:
            return found
        inner = term(node, "input", "tensor")
        if inner is None:
            if len(node.edges) != 1:
                return found
            inner = Term(node.edges[0].node)
        found = inner
    return found


LONGEST = 32
"""How far a formula is followed along one chain."""


def op_of(found: object) -> str:
    """The plain operation that a term is the result of; empty for what is no term."""
    return plain(found.node.op) if isinstance(found, Term) else ""
