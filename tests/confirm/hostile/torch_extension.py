# Compiles C++ and loads it.
from torch.utils.cpp_extension import load_inline

load_inline("evil", ['int f() { return system("touch CANARY/written"); }'], functions=["f"])
