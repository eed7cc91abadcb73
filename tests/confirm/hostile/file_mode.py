# Changes who may read a file.
import os

os.chmod("CANARY/secret.txt", 0)
