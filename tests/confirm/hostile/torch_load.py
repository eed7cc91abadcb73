# Loads a pickle, which may run anything.
import torch

torch.load("CANARY/evil.pickle", weights_only=False)
