# Writes a file by numpy.
import numpy

numpy.save("CANARY/written", numpy.ones(2))
