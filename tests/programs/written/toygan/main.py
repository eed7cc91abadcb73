import torch

from toygan.networks import Discriminator, Generator, init_weights
from toygan.trainer import Trainer


def batches(n, size=24):
    for _ in range(n):
        t = torch.rand(size) * 6.28
        yield torch.stack([t.cos(), t.sin() * 0.5], dim=1) + 0.05 * torch.randn(size, 2)


def main():
    torch.manual_seed(0)
    trainer = Trainer(init_weights(Generator(3, 2)), init_weights(Discriminator(2)))
    rows = [trainer.step(real) for real in batches(8)]
    samples = trainer.G_ema(torch.randn(5, 3))
    print(rows[-1], samples.tolist()[0])


if __name__ == "__main__":
    main()
