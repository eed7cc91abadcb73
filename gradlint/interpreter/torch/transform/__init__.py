"""`torch.func` and `torch.autograd.functional`: functions that take a function and give a derivative of it.

Measured with torch 2.13 (the blocks of `tests/interpreter/transforms.md` run): what the function may do with tensors
from outside, what it has to give back, and what its arguments have to be.
"""
