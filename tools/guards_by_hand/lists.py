"""Functions that put tensors of a list together: what they refuse of a list that is empty."""

from __future__ import annotations

from tools.guards_by_hand.written import ByHand

_EMPTY = "isinstance(tensors, (list, tuple)) and len(tensors) == 0"
_LISTS = ("[]", "()", "[torch.ones(2, 2)]", "(torch.ones(2, 2), torch.ones(2, 2))")


def _of_nothing(path: str, text: str, *takes: str) -> ByHand:
    return ByHand(path, {"tensors": _LISTS}, ((_EMPTY, f"{text!r}"),), ("tensors", *takes))


LISTS: tuple[ByHand, ...] = (
    *(
        _of_nothing(f"torch.{name}", "expected a non-empty list of Tensors", "dim=0")
        for name in ("cat", "concat", "concatenate")
    ),
    _of_nothing("torch.stack", "expects a non-empty TensorList", "dim=0"),
    *(
        _of_nothing(f"torch.{name}", "expects a non-empty TensorList")
        for name in ("hstack", "vstack", "row_stack", "dstack", "column_stack")
    ),
    ByHand(
        "torch.nn.utils.parameters_to_vector",
        {"parameters": _LISTS},
        ((_EMPTY.replace("tensors", "parameters"), "'expected a non-empty list of Tensors'"),),
    ),
)
