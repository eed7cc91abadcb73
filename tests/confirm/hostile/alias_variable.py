# A module in a variable.
import torch

x = torch
x.save(1, "CANARY/written")
