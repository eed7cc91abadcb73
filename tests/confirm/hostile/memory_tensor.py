# Takes all memory by torch.
import sys

import torch

kept = [sys]
while True:
    kept.append(torch.ones(10_000_000))
