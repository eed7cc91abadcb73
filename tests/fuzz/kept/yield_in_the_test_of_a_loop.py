import torch as F
def backward():
 while((yield)):break
