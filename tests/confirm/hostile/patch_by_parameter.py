# `self` is a word like any other.
import torch

def patch(self):
    self.rsample = lambda shape=(): open("CANARY/written", "w")

patch(torch.distributions.Normal)
torch.distributions.Normal(0.0, 1.0).rsample()
