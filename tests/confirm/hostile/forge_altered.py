# Alters the text of an error of torch.
import torch

try:
    torch.ones(2).backward()
except RuntimeError as error:
    error.args = ("a leaf Variable that requires grad is being used in an in-place operation.",)
    raise
