# Hands `getattr` on.
import torch

list(map(getattr, [torch], ["save"]))[0](1, "CANARY/written")
