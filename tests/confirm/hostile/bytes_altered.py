# A tensor in the memory of a text that cannot be altered.
import torch

torch.frombuffer(b"a", dtype=torch.uint8)[0] = 98
open("CANARY/written", "w")
