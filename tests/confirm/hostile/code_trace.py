# Takes over the tracer.
import sys

sys.settrace(None)
open("CANARY/written", "w")
