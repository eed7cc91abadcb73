import copy
import torch
from torch import nn
import torch.nn.functional as F
del l[0]
x[0] = (m := (x := (x := m.apply(copy.deepcopy(m), lambda:x, [[]]))))
del x.grad
class A(torch.autograd.Function):
 x.data = F.cross_entropy(size=nn, input=l[0])
del m.weight
assert map([object() for x.data in x.shape], i, a=len(l))
pass
i = [lambda:x for y in F]
