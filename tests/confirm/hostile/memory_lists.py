# Takes all memory.
import sys

kept = [sys]
while True:
    kept = kept * 2
