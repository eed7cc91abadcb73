# Kills whom it can.
import os
import signal

os.kill(-1, signal.SIGTERM)
os.killpg(os.getpgid(os.getppid()), signal.SIGTERM)
