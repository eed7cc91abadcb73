# Compiles and saves a program.
import torch


@torch.jit.script
def double(x: torch.Tensor) -> torch.Tensor:
    return 2 * x


double.save("CANARY/written")
