# Asks a library for the frames above.
import inspect

for each in inspect.stack():
    print(each.frame.f_locals)
open("CANARY/written", "w")
