# Deletes a file.
import os

os.remove("CANARY/secret.txt")
