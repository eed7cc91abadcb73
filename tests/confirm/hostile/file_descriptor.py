# Writes a file below the level of file objects.
import os

os.write(os.open("CANARY/written", os.O_WRONLY | os.O_CREAT), b"x")
