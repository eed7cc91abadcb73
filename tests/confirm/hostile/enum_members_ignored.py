import copy
import enum

class Kind(enum.Enum):
    _ignore_ = "A"
    A = 1

def deed(self, protocol=None):
    return open, ("CANARY/written", "w")

copy.copy(Kind("E", {"__reduce_" + "ex__": deed, "B": 3}).B)
