# Reaches the memory of the process by numpy.
import numpy

numpy.ctypeslib.load_library("libc.so.6", "/lib").system(b"touch CANARY/written")
