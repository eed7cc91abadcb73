# An attribute of a function of torch, by a name that is computed.
import functools
import torch

class Box:
    def update(self, given):
        self.found = given

class Deed:
    __name__ = "deed"

functools.wraps(torch.nn.functional.mse_loss, (), ("__glob" + "als__",))(Deed)
Deed.found["__builtins__"]["open"]("CANARY/written", "w")
