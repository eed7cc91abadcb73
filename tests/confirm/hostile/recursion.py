# Falls out of the stack of C.
import sys

sys.setrecursionlimit(10**9)


def fall() -> None:
    fall()


fall()
