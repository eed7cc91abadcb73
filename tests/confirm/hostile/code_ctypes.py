# Calls the C library.
import ctypes

ctypes.CDLL(None).system(b"touch CANARY/written")
