import functools
import torch
wrapped = functools.partial(torch.nn.functional.relu)
wrapped.func.__globals__["torch"].save([], "CANARY/written")
