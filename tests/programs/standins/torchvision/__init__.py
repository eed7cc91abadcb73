"""A stand-in for torchvision: the names that the programs use, with small random networks."""
