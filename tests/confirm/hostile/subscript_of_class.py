import torch

class Box:
    def __class_getitem__(cls, name):
        return open(name, "w")

Box["CANARY/written"]
