# An assertion with the expected text.
assert False, "a leaf Variable that requires grad is being used in an in-place operation."
