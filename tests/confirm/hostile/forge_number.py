# A number with the expected text.
import sys

int("a leaf Variable that requires grad is being used in an in-place operation." + sys.version)
