# Asks for the frame above.
import sys

frame = sys._getframe(1)
frame.f_globals["os"].remove("CANARY/secret.txt")
