# Has torch raise a text of its own.
import torch

torch._check(False, lambda: "a leaf Variable that requires grad is being used in an in-place operation.")
