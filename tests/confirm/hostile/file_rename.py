# Moves a file.
import os

os.rename("CANARY/secret.txt", "CANARY/moved.txt")
