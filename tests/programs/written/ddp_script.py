"""torchrun --nproc_per_node=N ddp_script.py"""
import argparse
import os

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler


class ToyModel(nn.Module):
    def __init__(self):
        super(ToyModel, self).__init__()
        self.net1 = nn.Linear(10, 16)
        self.relu = nn.ReLU()
        self.net2 = nn.Linear(16, 5)

    def forward(self, x):
        return self.net2(self.relu(self.net1(x)))


def setup():
    dist.init_process_group("gloo")
    return int(os.environ["LOCAL_RANK"]), dist.get_world_size()


def reduce_mean(tensor, world_size):
    rt = tensor.clone().detach()
    dist.all_reduce(rt, op=dist.ReduceOp.SUM)
    rt /= world_size
    return rt


def save_checkpoint(model, optimizer, epoch, path):
    torch.save({'model': model.module.state_dict(), 'optimizer': optimizer.state_dict(), 'epoch': epoch}, path)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--epochs', type=int, default=2)
    parser.add_argument('--batch-size', type=int, default=8)
    args = parser.parse_args()
    rank, world_size = setup()
    torch.manual_seed(100 + rank)

    dataset = TensorDataset(torch.randn(40, 10), torch.randn(40, 5))
    sampler = DistributedSampler(dataset, num_replicas=world_size, rank=rank)
    loader = DataLoader(dataset, batch_size=args.batch_size, sampler=sampler, drop_last=True)
    model = DDP(ToyModel())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        epoch_loss = torch.zeros(1)
        for step, (inputs, labels) in enumerate(loader):
            optimizer.zero_grad()
            outputs = model(inputs)
            loss = F.mse_loss(outputs, labels)
            loss.backward()
            optimizer.step()
            epoch_loss += loss.detach()
        mean_loss = reduce_mean(epoch_loss / len(loader), world_size)
        if rank == 0:
            print(f"epoch {epoch}: {mean_loss.item():.4f}")
            save_checkpoint(model, optimizer, epoch, "checkpoint.pt")
        dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
