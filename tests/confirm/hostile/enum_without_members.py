# Whoever calls a class of constants that has none makes another one.
import copy
import enum

class Kind(enum.Enum):
    pass

def deed(self, protocol=None):
    return open, ("CANARY/written", "w")

copy.copy(Kind("E", {"__reduce_" + "ex__": deed, "A": 3}).A)
