# Starts processes by torch.
import torch.multiprocessing


def work(rank: int) -> None:
    open("CANARY/written", "w").close()


torch.multiprocessing.spawn(work, nprocs=2)
