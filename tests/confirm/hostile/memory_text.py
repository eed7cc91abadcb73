# An error with a very long text.
import sys

raise RuntimeError("x" * 300_000_000 + sys.version)
