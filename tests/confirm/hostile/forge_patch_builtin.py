# Replaces a builtin for everybody.
import builtins

import torch

w = torch.ones(2, requires_grad=True)
builtins.bool = lambda x: True
