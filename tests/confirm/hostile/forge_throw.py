# Throws the expected text into a generator.
def one():
    yield 1


generator = one()
next(generator)
generator.throw(RuntimeError("a leaf Variable that requires grad is being used in an in-place operation."))
