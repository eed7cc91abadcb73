# Raises with the traceback of another error.
import torch

try:
    torch.ones(2).backward()
except RuntimeError as error:
    trace = error.__traceback__
raise RuntimeError("a leaf Variable that requires grad is being used in an in-place operation.").with_traceback(trace)
