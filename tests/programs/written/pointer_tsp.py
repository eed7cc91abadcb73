"""A pointer network for the travelling salesman, trained with REINFORCE and a moving baseline."""
import argparse
import math

import torch
import torch.nn as nn
import torch.optim as optim
from torch.autograd import Variable
from torch.optim import lr_scheduler


class Attention(nn.Module):
    def __init__(self, dim, use_tanh=True, C=10):
        super(Attention, self).__init__()
        self.project_query = nn.Linear(dim, dim)
        self.project_ref = nn.Conv1d(dim, dim, 1, 1)
        self.C = C
        self.use_tanh = use_tanh
        self.v = nn.Parameter(torch.FloatTensor(dim))
        self.v.data.uniform_(-(1. / math.sqrt(dim)), 1. / math.sqrt(dim))

    def forward(self, query, ref):
        q = self.project_query(query).unsqueeze(2)
        e = self.project_ref(ref.permute(0, 2, 1))
        u = torch.einsum('d,bdl->bl', self.v, torch.tanh(q.expand_as(e) + e))
        return e, self.C * torch.tanh(u) if self.use_tanh else u


class PointerNet(nn.Module):
    def __init__(self, dim=16, seq_len=6):
        super(PointerNet, self).__init__()
        self.seq_len = seq_len
        self.embedding = nn.Linear(2, dim)
        self.encoder = nn.LSTM(dim, dim, batch_first=True)
        self.decoder = nn.LSTMCell(dim, dim)
        self.pointer = Attention(dim)
        self.decoder_in_0 = nn.Parameter(torch.FloatTensor(dim))
        self.decoder_in_0.data.uniform_(-0.1, 0.1)

    def apply_mask_to_logits(self, logits, mask, prev_idxs):
        clone_mask = mask.clone()
        if prev_idxs is not None:
            clone_mask[torch.arange(logits.size(0)), prev_idxs.data] = 1
            logits[clone_mask] = -float('inf')
        return logits, clone_mask

    def forward(self, inputs, greedy=False):
        batch_size = inputs.size(0)
        embedded = self.embedding(inputs)
        encoder_outputs, (hidden, context) = self.encoder(embedded)
        hidden, context = hidden.squeeze(0), context.squeeze(0)
        decoder_input = self.decoder_in_0.unsqueeze(0).repeat(batch_size, 1)
        mask = torch.zeros(batch_size, self.seq_len).bool()
        idxs, log_probs, tours = None, [], []
        for i in range(self.seq_len):
            hidden, context = self.decoder(decoder_input, (hidden, context))
            _, logits = self.pointer(hidden, encoder_outputs)
            logits, mask = self.apply_mask_to_logits(logits, mask, idxs)
            probs = torch.softmax(logits, dim=1)
            idxs = probs.argmax(1) if greedy else probs.multinomial(1).squeeze(1)
            log_probs.append(torch.log(probs[torch.arange(batch_size), idxs.data]))
            decoder_input = embedded[torch.arange(batch_size), idxs.data, :]
            tours.append(idxs)
        return log_probs, torch.stack(tours, 1)


def reward(inputs, tours):
    ordered = inputs.gather(1, tours.unsqueeze(2).expand(-1, -1, 2))
    return (ordered - ordered.roll(-1, 1)).norm(dim=2).sum(1)


def train(args):
    torch.manual_seed(args.seed)
    model = PointerNet(seq_len=args.size)
    actor_optim = optim.Adam(model.parameters(), lr=args.lr)
    actor_scheduler = lr_scheduler.MultiStepLR(actor_optim, range(2, 10, 2), gamma=0.96)
    critic_exp_mvg_avg = torch.zeros(1)
    beta = 0.9
    for batch_id in range(args.batches):
        inputs = Variable(torch.rand(16, args.size, 2))
        log_probs, tours = model(inputs)
        R = reward(inputs, tours)
        if batch_id == 0:
            critic_exp_mvg_avg = R.mean()
        else:
            critic_exp_mvg_avg = (critic_exp_mvg_avg * beta) + ((1. - beta) * R.mean())
        advantage = R - critic_exp_mvg_avg
        logprobs = 0
        nll = 0
        for logp in log_probs:
            nll += -logp.detach()
            logprobs += logp
        # guard against nan, and clamp reasonable numbers
        logprobs = torch.where(nll > 1000, torch.zeros_like(logprobs), logprobs)
        actor_loss = (advantage * logprobs).mean()
        actor_optim.zero_grad()
        actor_loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), args.max_grad_norm, norm_type=2)
        actor_optim.step()
        actor_scheduler.step()
        critic_exp_mvg_avg = critic_exp_mvg_avg.detach()
        if batch_id % 4 == 0:
            print('batch %d reward %.3f nll %.3f' % (batch_id, R.mean().item(), nll.mean().item()))
    model.eval()
    with torch.no_grad():
        val = torch.rand(8, args.size, 2)
        print('greedy', reward(val, model(val, greedy=True)[1]).mean().item())


if __name__ == '__main__':
    parser = argparse.ArgumentParser(description="Neural Combinatorial Optimization with RL")
    parser.add_argument('--size', default=6, type=int)
    parser.add_argument('--batches', default=8, type=int)
    parser.add_argument('--lr', default=1e-3, type=float)
    parser.add_argument('--max_grad_norm', default=2.0, type=float)
    parser.add_argument('--seed', default=24601, type=int)
    train(parser.parse_args())
