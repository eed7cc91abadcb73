import torch
from torch.utils.data import DataLoader
options = {"num_workers": 2, "persistent_workers": True}
for batch in DataLoader(torch.arange(4.0), **options):
    print(batch.__class__.__mro__[-1].__subclasses__())
