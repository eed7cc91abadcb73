import torch
from torch import nn
for x in[x for x in(()/y)if{}]:(()if[]else-1).d
x.requires_grad_(m=())
x+=s
match(()-e):
 case{1:x}:
  for y in([()for i in()if("")]if(not x.grad[[]])else(y:=torch())):r
