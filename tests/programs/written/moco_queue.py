"""Momentum contrast with a queue of keys."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class MoCo(nn.Module):
    """
    dim: feature dimension; K: number of negative keys; m: momentum of the key encoder; T: temperature
    """

    def __init__(self, base_encoder, dim=8, K=32, m=0.9, T=0.2):
        super(MoCo, self).__init__()
        self.K = K
        self.m = m
        self.T = T
        self.encoder_q = base_encoder(dim)
        self.encoder_k = base_encoder(dim)
        for param_q, param_k in zip(self.encoder_q.parameters(), self.encoder_k.parameters()):
            param_k.data.copy_(param_q.data)  # initialize
            param_k.requires_grad = False  # not update by gradient
        self.register_buffer("queue", torch.randn(dim, K))
        self.queue = nn.functional.normalize(self.queue, dim=0)
        self.register_buffer("queue_ptr", torch.zeros(1, dtype=torch.long))

    @torch.no_grad()
    def _momentum_update_key_encoder(self):
        for param_q, param_k in zip(self.encoder_q.parameters(), self.encoder_k.parameters()):
            param_k.data = param_k.data * self.m + param_q.data * (1. - self.m)

    @torch.no_grad()
    def _dequeue_and_enqueue(self, keys):
        batch_size = keys.shape[0]
        ptr = int(self.queue_ptr)
        assert self.K % batch_size == 0
        self.queue[:, ptr:ptr + batch_size] = keys.T
        ptr = (ptr + batch_size) % self.K
        self.queue_ptr[0] = ptr

    def forward(self, im_q, im_k):
        q = self.encoder_q(im_q)
        q = nn.functional.normalize(q, dim=1)
        with torch.no_grad():
            self._momentum_update_key_encoder()
            k = self.encoder_k(im_k)
            k = nn.functional.normalize(k, dim=1)
        l_pos = torch.einsum('nc,nc->n', [q, k]).unsqueeze(-1)
        l_neg = torch.einsum('nc,ck->nk', [q, self.queue.clone().detach()])
        logits = torch.cat([l_pos, l_neg], dim=1)
        logits /= self.T
        labels = torch.zeros(logits.shape[0], dtype=torch.long)
        self._dequeue_and_enqueue(k)
        return logits, labels


def base_encoder(dim):
    return nn.Sequential(nn.Linear(10, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, dim))


def accuracy(output, target, topk=(1,)):
    with torch.no_grad():
        maxk = max(topk)
        _, pred = output.topk(maxk, 1, True, True)
        correct = pred.t().eq(target.view(1, -1).expand_as(pred.t()))
        return [correct[:k].reshape(-1).float().sum(0, keepdim=True).mul_(100.0 / target.size(0)) for k in topk]


class AverageMeter(object):
    def __init__(self, name):
        self.name = name
        self.reset()

    def reset(self):
        self.sum, self.count = 0, 0

    def update(self, val, n=1):
        self.sum += val * n
        self.count += n

    def __str__(self):
        return '{} {:.3f}'.format(self.name, self.sum / self.count)


torch.manual_seed(0)
model = MoCo(base_encoder)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.encoder_q.parameters(), 0.03, momentum=0.9, weight_decay=1e-4)
losses, top1 = AverageMeter('Loss'), AverageMeter('Acc@1')
data = torch.randn(64, 10)
model.train()
for epoch in range(2):
    for x in data.split(16):
        output, target = model(im_q=x + 0.1 * torch.randn_like(x), im_k=x + 0.1 * torch.randn_like(x))
        loss = criterion(output, target)
        acc1, = accuracy(output, target)
        losses.update(loss.item(), x.size(0))
        top1.update(acc1[0], x.size(0))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(losses, top1)
