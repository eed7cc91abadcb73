# Leaves a process behind.
import os
import time

if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        time.sleep(60)
        open("CANARY/written", "w").close()
