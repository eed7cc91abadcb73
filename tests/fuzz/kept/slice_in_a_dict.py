import torch as F
requires_grad:((...)())=(slice([],...)in dict(input=str))
