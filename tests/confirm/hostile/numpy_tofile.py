# Writes a file by an array.
import numpy as np

np.ones(2).tofile("CANARY/written")
