# Walks in an f-string.
print(f"{().__class__.__base__.__subclasses__()!r:>{(lambda: open(chr(67), chr(119)))}}")
