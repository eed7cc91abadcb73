# An array of objects in the memory of numbers: each number is taken for the address of an object.
import numpy

forged = numpy.ndarray((1,), dtype=object, buffer=numpy.array([id(print)]))
forged[0].__self__.open("CANARY/written", "w")
