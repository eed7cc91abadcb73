# Fetches a model from the network.
import torch

torch.hub.load("CANARY", "evil", source="local")
