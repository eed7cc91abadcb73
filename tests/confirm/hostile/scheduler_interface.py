# A scheduler takes any names for its own; numpy reads memory where one of them says.
import numpy
import torch

optimizer = torch.optim.SGD([torch.ones(2, requires_grad=True)], lr=0.1)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1)
where = {"data": (id(optimizer), False), "shape": (8,), "typestr": "|u1", "version": 3}
scheduler.load_state_dict({"__array_interface__": where})
print(numpy.asarray(scheduler))
open("CANARY/written", "w")
