# Values that are equal to everything.
import torch


class Any:
    def __eq__(self, other):
        return True

    def __bool__(self):
        return True

    def __del__(self):
        pass

    grad = None


w = Any()
