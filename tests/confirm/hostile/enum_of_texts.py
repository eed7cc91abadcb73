import enum

def deed(self, protocol=None):
    return open, ("CANARY/written", "w")

import copy
copy.copy(enum.Enum("E", {"__reduce_ex__": deed, "A": 3}).A)
