# Hides a method behind one of its own of that name.
import torch


class Log:
    def tofile(self, name: str) -> None:
        pass


for each in (Log(), torch.ones(2).numpy()):
    each.tofile("CANARY/written")
