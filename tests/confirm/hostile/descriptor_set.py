import torch

class Deed:
    def __set_name__(self, owner, name):
        open("CANARY/written", "w")

class Owner:
    deed = Deed()
