import torch

leaf = torch.ones(3)
parts = [leaf]
parts.append(parts)
torch.func.vmap(lambda x: x)(parts)
named = {"a": leaf}
named["b"] = named
torch.func.vmap(lambda x: x)(named)
