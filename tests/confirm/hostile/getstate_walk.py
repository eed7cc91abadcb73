import copy
import torch

class Deed:
    def __deepcopy__(self, memo):
        return open("CANARY/written", "w")

copy.deepcopy(Deed())
