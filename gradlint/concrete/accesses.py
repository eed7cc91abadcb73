"""The reads and writes of properties of tensors that the machine looks at, as torch hands them to a mode."""

from __future__ import annotations

import inspect
from typing import Any

import torch

_GRAD: Any = inspect.getattr_static(torch.Tensor, "grad")
_DATA: Any = inspect.getattr_static(torch.Tensor, "data")

GRAD_READ, GRAD_SET = _GRAD.__get__, _GRAD.__set__
DATA_READ, DATA_SET = _DATA.__get__, _DATA.__set__
FLAG_SET: Any = inspect.getattr_static(torch.Tensor, "requires_grad").__set__

ACCESSES = {GRAD_READ, GRAD_SET, DATA_READ, DATA_SET, FLAG_SET}
