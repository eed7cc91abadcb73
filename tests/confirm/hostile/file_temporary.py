# Fills the disk with temporary files.
import tempfile

while True:
    file = tempfile.NamedTemporaryFile(delete=False)
    file.write(b"x" * 1_000_000)
    file.flush()
