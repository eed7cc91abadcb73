# Compiles, which starts processes and writes caches.
import torch

torch.compile(lambda x: 2 * x)(torch.ones(2))
