import torch
torch.package.PackageExporter("CANARY/written").close()
