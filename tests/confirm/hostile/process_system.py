# Runs a command.
import os

os.system("touch CANARY/written")
