# Alters torch for everybody.
import torch

with open(torch.__file__, "a") as file:
    file.write("# altered")
