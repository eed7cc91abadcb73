from __future__ import annotations

from gradlint.domain.fault import training_loop as fault
from gradlint.rules.base import EventRule, Report


class SamplerSetEpoch(EventRule[fault.EpochNotSet]):
    """A DistributedSampler starts another epoch without `set_epoch`.

    What torch does
        It shuffles by a seed and the epoch number, which it does not count itself: without
        `set_epoch`, every epoch has the same order and the same batches as the first.

    Why it matters
        Training should see new batches in each epoch, but sees the same ones again. Nothing raises,
        and the result is slightly worse.

    When it may be wrong
        If the same order is intentional. A loop without a backward is not reported, because evaluation may see its data
        in any order. Neither is a loop whose steps are in code that gradlint does not see.

    Instead
        Call `sampler.set_epoch(epoch)` at the beginning of each epoch. If the order should not change,
        pass `shuffle=False`.

    References
        https://docs.pytorch.org/docs/stable/data.html#torch.utils.data.distributed.DistributedSampler
    """

    code = "GRD507"
    name = "sampler-set-epoch"
    effect = "fragile"
    bad = """\
import torch
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

data = TensorDataset(torch.arange(8.0))
sampler = DistributedSampler(data, num_replicas=2, rank=0)
loader = DataLoader(data, batch_size=4, sampler=sampler)
w = torch.ones(1, requires_grad=True)
seen = []
for epoch in range(3):
    for (batch,) in loader:  # GRD507
        (w * batch).sum().backward()
        seen.append(batch.tolist())
"""
    bad_shows = "seen[0] == seen[1] == seen[2]"
    good = """\
import torch
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

data = TensorDataset(torch.arange(8.0))
sampler = DistributedSampler(data, num_replicas=2, rank=0)
loader = DataLoader(data, batch_size=4, sampler=sampler)
seen = []
for epoch in range(3):
    sampler.set_epoch(epoch)
    for (batch,) in loader:
        seen.append(batch.tolist())
"""
    good_shows = "not seen[0] == seen[1] == seen[2]"

    def check(self, event: fault.EpochNotSet) -> Report | None:
        """Report at the second loop over the data."""
        return Report(
            event.node,
            "the sampler has not been told the epoch: these are the batches of the epoch before, in the same order",
            hint="call `sampler.set_epoch(epoch)` at the beginning of each epoch",
            related=((event.sampler, "the sampler is made here"),),
        )
