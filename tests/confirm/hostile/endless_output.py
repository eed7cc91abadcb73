# Writes without end.
import sys

while True:
    sys.stdout.write("x" * 100_000)
    print("x" * 100_000, file=sys.stderr)
