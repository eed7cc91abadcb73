# A handler that runs at the end.
import atexit

atexit.register(open, "CANARY/written", "w")
