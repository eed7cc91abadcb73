"""Activation checkpointing for a deep stack, with a frozen input embedding and a probe of the activations."""
import argparse

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint


class Layer(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up = nn.Linear(width, 2 * width)
        self.down = nn.Linear(2 * width, width)

    def forward(self, x):
        h = nn.functional.gelu(self.up(self.norm(x)))
        return x + self.down(h)


class Stack(nn.Module):
    def __init__(self, n_tokens, width, depth, use_checkpoint=True):
        super().__init__()
        self.embedding = nn.Embedding(n_tokens, width)
        self.layers = nn.ModuleList(Layer(width) for _ in range(depth))
        self.head = nn.Linear(width, n_tokens)
        self.use_checkpoint = use_checkpoint
        self.norms = []

    def forward(self, tokens):
        x = self.embedding(tokens)
        self.norms.clear()
        for layer in self.layers:
            if self.use_checkpoint and self.training:
                x = checkpoint(layer, x, use_reentrant=False)
            else:
                x = layer(x)
            self.norms.append(x.detach().norm().item())
        return self.head(x)


def successor_batch(batch, length, n_tokens):
    start = torch.randint(0, n_tokens, (batch, 1))
    tokens = (start + torch.arange(length + 1)) % n_tokens
    return tokens[:, :-1], tokens[:, 1:]


def main(argv=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--depth", type=int, default=3)
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--no-checkpoint", dest="checkpoint", action="store_false")
    args = parser.parse_args(argv)
    torch.manual_seed(0)
    model = Stack(11, 16, args.depth, args.checkpoint)
    model.embedding.weight.requires_grad_(False)
    optimizer = torch.optim.AdamW((p for p in model.parameters() if p.requires_grad), lr=3e-3)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=1e-2, total_steps=args.steps)
    criterion = nn.CrossEntropyLoss(label_smoothing=0.05)
    best = float("inf")
    model.train()
    for step in range(args.steps):
        inputs, targets = successor_batch(8, 6, 11)
        logits = model(inputs)
        loss = criterion(logits.transpose(1, 2), targets)
        optimizer.zero_grad()
        loss.backward()
        grad_norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        best = min(best, loss.item())
        print(f"{step:3d} loss {loss.item():.3f} best {best:.3f} |g| {grad_norm:.2f} norms {model.norms[-1]:.1f}")
    model.eval()
    with torch.inference_mode():
        inputs, targets = successor_batch(8, 6, 11)
        accuracy = (model(inputs).argmax(-1) == targets).float().mean().item()
    print(f"accuracy {accuracy:.2f}")


if __name__ == "__main__":
    main([])
