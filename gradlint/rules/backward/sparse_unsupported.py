from __future__ import annotations

from gradlint.domain.refusal import tensors as refusal
from gradlint.rules.base import EventRule, Report


class SparseUnsupported(EventRule[refusal.SparseUnsupported]):
    """A sparse tensor is asked for what it does not give.

    What torch does
        It raises: "Cannot get values on an uncoalesced tensor, please call .coalesce() first", or a
        NotImplementedError, "Could not run 'aten::clamp' with arguments from the 'SparseCPU' backend", or "add(sparse,
        dense) is not supported. Use add(dense, sparse) instead".

    Why it matters
        The gradient of an embedding with `sparse=True` is sparse, so that code which clamps or compares gradients
        raises for it.

    When it may be wrong
        If the line is never executed.

    Instead
        Call `coalesce()` before `values()` and `indices()`, work on the values of a coalesced tensor, or convert by
        `to_dense()`.

    References
        https://docs.pytorch.org/docs/stable/sparse.html
    """

    code = "GRD241"
    name = "sparse-unsupported"
    effect = "raises"
    raises = "Cannot get values on an uncoalesced tensor"
    torch_says = (
        *("on an uncoalesced tensor", "Could not run 'aten::", "for sparse tensors", "add(sparse, dense)"),
        *("Sparse division requires", "dense-sparse", "unsupported tensor layout: Sparse", "tensors do not have"),
        *("reduction operations on CSR tensors", "expected sparse coordinate tensor layout"),
    )
    bad = """\
import torch

values = torch.tensor([3.0, 4.0, 5.0], requires_grad=True)
x = torch.sparse_coo_tensor(torch.tensor([[0, 1, 1], [2, 0, 0]]), values, (2, 3))
loss = (x.values() ** 2).sum()  # GRD241
"""
    good = """\
import torch

values = torch.tensor([3.0, 4.0, 5.0], requires_grad=True)
x = torch.sparse_coo_tensor(torch.tensor([[0, 1, 1], [2, 0, 0]]), values, (2, 3))
loss = (x.coalesce().values() ** 2).sum()
loss.backward()
"""
    good_shows = "values.grad.tolist() == [6, 18, 18]"

    def check(self, event: refusal.SparseUnsupported) -> Report | None:
        if event.reason == "uncoalesced":
            message, hint = "is called on a sparse tensor that is not coalesced", "call `coalesce()` first"
        elif event.reason == "dense":
            message = "of a sparse tensor does not take the other operand"
            hint = "add the sparse tensor to the dense one, divide by a number, or use `to_dense()`"
        else:
            message, hint = (
                "is not implemented for sparse tensors",
                "work on `coalesce().values()`, or use `to_dense()`",
            )
        return Report(event.node, f"`{event.op.removeprefix('Tensor.')}` {message}: torch raises here", hint=hint)
