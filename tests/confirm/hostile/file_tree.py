# Deletes a tree of files.
import shutil

shutil.rmtree("CANARY", ignore_errors=True)
