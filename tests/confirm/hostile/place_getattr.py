# `__getattr__` of a module that is a class.
class Model:
    def __getattr__(self, name: str):
        return open("CANARY/written", "w")


Model().weight
