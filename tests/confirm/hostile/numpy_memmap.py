# Maps a file by numpy.
import numpy

numpy.memmap("CANARY/secret.txt", mode="r+", shape=(4,))[0] = 0
