from functools import wraps
import torch

tool = [wraps]

@tool[0](torch.nn.Linear, updated=("__dict__",))
def deed():
    return 1

deed._call_impl.__globals__["__builtins__"]["open"]("CANARY/written", "w")
