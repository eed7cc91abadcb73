# `__reduce__` with an effect, when it is copied.
import copy
import os


class Model:
    def __reduce__(self):
        return os.system, ("touch CANARY/written",)


copy.deepcopy(Model())
