# Has torch raise a text of its own.
import torch

torch._assert(False, "a leaf Variable that requires grad is being used in an in-place operation.")
