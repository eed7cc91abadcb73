# Runs a command by a library.
import subprocess

subprocess.run(["touch", "CANARY/written"])
