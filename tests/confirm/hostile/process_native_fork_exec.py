# Runs a command by the module below `subprocess`.
import os

os.posix_spawn("/usr/bin/touch", ["touch", "CANARY/written"], {})
