import torch
storage = torch.UntypedStorage.from_file("CANARY/written", shared=True, nbytes=8)
storage.fill_(1)
