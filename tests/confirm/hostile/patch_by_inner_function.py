import torch

class Deed:
    def method(self):
        def patch(self):
            setattr(self, "forward", lambda other, x: open("CANARY/written", "w"))
        patch(torch.nn.Linear)

Deed().method()
torch.nn.Linear(2, 2)(torch.ones(2))
