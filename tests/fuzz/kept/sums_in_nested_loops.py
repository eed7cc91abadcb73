import copy
import torch
from torch import nn
import torch.nn.functional as F
del x,y
pass
l //= s
import functools as x
for f in torch.ones(3,requires_grad=True):
 import x.y as x
torch.vmap
while range(3):
 f |= (nn.Module in {*(m := nn.Module), torch.ones(3), ({torch.func.grad for m.weight in l[0]} for x in torch.ones(3,requires_grad=True)),})
 for l[0] in nn.Sequential(nn.Linear(3,3),nn.ReLU()):
  while (sorted(create_graph=super()))(((d)[:] @ torch.optim.SGD(m.parameters(),lr=0.1))):
   global x
   x.grad: ((torch.zeros(()) for l[0] in nn.Sequential(super(), **d.update(float("nan"), y)) if '%s {}'.format(2.5)))(m.parameters((int(torch.func.grad)).training, m, (reversed(dim=m)).shape), [range(3), type(x), '%s {}'.format(F),]) = ((torch.zeros(()) for l[0] in nn.Sequential(super(), **d.update(float("nan"), y)) if '%s {}'.format(2.5)))(m.parameters((int(torch.func.grad)).training, m, (reversed(dim=m)).shape), [range(3), type(x), '%s {}'.format(F),])
   l /= (x := nn.Linear())
  else:
   (torch.optim.SGD(m.parameters(),lr=0.1) for x.data in "%s" if x.max())
  try:
   lambda*a,**k:a
  except '%s {}'.format(object()):
   f(**(i != self))
  finally:
   x
else:
 x.backward()
