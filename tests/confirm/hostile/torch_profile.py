# Has the profiler of torch write a file.
import torch

with torch.profiler.profile() as profile:
    torch.ones(2).sum()
profile.export_chrome_trace("CANARY/written")
