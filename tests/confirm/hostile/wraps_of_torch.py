# A method of torch's own is replaced by one of the same name.
import functools
import torch

class Source:
    def rsample(self):
        open("CANARY/written", "w")

functools.wraps(Source, ("rsample",), ())(torch.distributions.Normal)
torch.distributions.Normal(0.0, 1.0).rsample()
