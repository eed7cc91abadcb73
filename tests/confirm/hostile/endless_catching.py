# Catches all that would end it.
import sys

while sys:
    try:
        open("CANARY/written", "w")
    except BaseException:
        pass
