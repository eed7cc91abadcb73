# Cuts a file.
import os

os.truncate("CANARY/secret.txt", 0)
