# Computes a number without end, in one instruction.
import sys

sys.set_int_max_str_digits(0)
len(str(7**10**9))
