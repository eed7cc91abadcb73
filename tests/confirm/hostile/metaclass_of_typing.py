# A form of typing as a base stands for the class that it is a form of.
from typing import Type

class Meta(Type[int]):
    def __call__(cls, *given):
        return given

Meta("Deed", (), {"__del__": print})
open("CANARY/written", "w")
