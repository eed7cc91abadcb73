import enum

class Deed(enum.Enum):
    ONE = 1

    @classmethod
    def _missing_(cls, value):
        return cls.__class__.__call__.__globals__["sys"].modules["os"].mkdir("CANARY/written")

Deed(2)
