import torch
import torch.nn as nn
import torch.nn.functional as F


class InfoNCE(nn.Module):
    """Predict the next k latents against those of the other sequences."""

    def __init__(self, context=16, latent=16, k=3):
        super().__init__()
        self.predictors = nn.ModuleList([nn.Linear(context, latent, bias=False) for _ in range(k)])

    def forward(self, c, z):
        losses, hits = [], []
        for step, predictor in enumerate(self.predictors, start=1):
            guess, future = predictor(c[:, :-step]), z[:, step:]
            scores = torch.einsum("btd,ntd->tbn", guess, future)
            wanted = torch.arange(scores.size(1)).expand(scores.size(0), -1)
            losses.append(F.cross_entropy(scores.reshape(-1, scores.size(2)), wanted.reshape(-1)))
            hits.append((scores.argmax(2) == wanted).float().mean())
        return torch.stack(losses).mean(), torch.stack(hits).mean().item()
