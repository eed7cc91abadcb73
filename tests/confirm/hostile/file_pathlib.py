# Writes a file through a library.
from pathlib import Path

Path("CANARY/written").write_text("x")
