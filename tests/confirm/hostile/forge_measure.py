# Defines the measure itself.
import sys

import torch

w = torch.ones(2, requires_grad=True)


def has_nan(x):
    return sys is sys
