"""Networks and frameworks of other libraries, which are not installed here: what gradlint says of their programs.

Torch is not asked, since it would have to import them; whole programs under `tests/programs` have stand-ins.
"""

from __future__ import annotations

import pytest

from tests.harness.judge import finding_complaints
from tests.harness.lint import findings_of
from tests.harness.marks import marks_of

HEAD = "import torch\nfrom torch import nn\n"

PROGRAMS = {
    "annotations of jaxtyping": """
from jaxtyping import Bool, Float, Float64, Int
from torch import Tensor


def weigh(x: Float[Tensor, "4 3"], w: Float[Tensor, "batch dim"]):
    return (torch.ones(4, 3, requires_grad=True) * x).backward()  # GRD201


def flag(indices: Int[Tensor, "batch"], mask: Bool[Tensor, "batch"], x: Float[Tensor, "batch"]):
    x.requires_grad_()
    indices.requires_grad_()  # GRD209
    mask.requires_grad = True  # GRD209


def compare(x: Float[Tensor, "batch 3"], target: Float[Tensor, "batch"]):
    return torch.nn.functional.mse_loss(nn.Linear(3, 1)(x), target)  # GRD702


def project(x: Float64[Tensor, "batch 3"]):
    return nn.Linear(3, 1)(x)  # GRD703
""",
    "a class of the program that is a fabric": """
from lightning.fabric import Fabric


class Trained(Fabric):
    def step(self, batch, model, optimizer, loss_fn):
        x, y = batch
        optimizer.zero_grad()
        loss = loss_fn(model(x), y)
        self.backward(loss)
        optimizer.step()
        return loss.item()


class Cut(Fabric):
    def step(self, batch, model, optimizer, loss_fn):
        x, y = batch
        optimizer.zero_grad()
        loss = loss_fn(model(x), y).data  # GRD302
        self.backward(loss)
        optimizer.step()


def main(loader):
    for fabric in (Trained(), Cut()):
        model = nn.Linear(3, 1)
        optimizer = torch.optim.Adam(model.parameters())
        model, optimizer = fabric.setup(model, optimizer)
        for batch in loader:
            fabric.step(batch, model, optimizer, nn.MSELoss())
""",
    "an optimizer of transformers": """
from transformers import AdamW


def make():
    model = nn.Linear(3, 1)
    weight, bias = model.parameters()
    made = AdamW([{"params": [weight]}, {"params": [bias], "weight_decay": 0.0}], lr=1e-3)
    return model, made


def train(model, used):
    for x in torch.ones(10, 4, 3):
        used.zero_grad()
        model(x).pow(2).mean().backward()
        used.step()


def train_without(model, used):
    for x in torch.ones(10, 4, 3):
        model(x).pow(2).mean().backward()  # GRD501
        used.step()


train(*make())
train_without(*make())
""",
    "lightning evaluates with gradients off": """
from pytorch_lightning import LightningModule


class Net(LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 2)

    def training_step(self, batch, batch_idx):
        return self.layer(batch).sum()

    def predict_step(self, x):
        preds = []
        for path in self.paths:
            preds.append(self.layer(x))
        return torch.stack(preds).cpu().numpy()

    def test_step(self, batch, batch_idx):
        return self.to_wave(self.layer(batch))

    def to_wave(self, spec):
        return spec.cpu().numpy()

    def plot(self, x):
        return self.layer(x).numpy()  # GRD210

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)


class Plain(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 2)

    def test_step(self, batch, batch_idx):
        return self.layer(batch).numpy()  # GRD210
""",
    "annotations of jaxtyping, met": """
import jaxtyping as jt
from jaxtyping import Float
from torch import Tensor


def total(x: Float[Tensor, ""], y: Float[Tensor, "*batch 1"], z: Float[Tensor, "..."]):
    w = torch.ones((), requires_grad=True)
    (w * x).backward()
    (w * y).backward()
    (w * z).backward()


def compare(x: Float[Tensor, "batch n+1"], target: jt.Float32[Tensor, "batch 1"]):
    return torch.nn.functional.mse_loss(nn.Linear(3, 1)(x), target)


def product(a: Float[Tensor, "rows=2 n"], b: Float[Tensor, "n cols"], c: Float[Tensor, "#n _"]):
    return a @ b, b * c
""",
    "a part that is not frozen": """
from torchvision import models

net = models.resnet18(weights="DEFAULT")
for param in net.parameters():
    param.requires_grad = False
net.fc = nn.Linear(512, 2)
net.layer4.requires_grad = True  # GRD610
optimizer = torch.optim.SGD(net.fc.parameters(), lr=0.1)
""",
    "a flag by a wrong name": """
import torchvision

net = torchvision.models.vgg16()
for param in net.features.parameters():
    param.require_grad = False  # GRD610
""",
    "a parameter written under no mode": """
import timm

net = timm.create_model("resnet18", pretrained=True)
for param in net.parameters():
    param.mul_(0.9)  # GRD101
""",
    "frozen in part": """
from torchvision import models

net = models.resnet18()
for name, param in net.named_parameters():
    if "fc" not in name:
        param.requires_grad = False
x = torch.randn(2, 3, 8, 8)
loss = net(x).pow(2).mean()
loss.backward()
features = models.vgg16().features[:5].eval().requires_grad_(False)
picture = torch.randn(1, 3, 8, 8, requires_grad=True)
features(picture).pow(2).mean().backward()
""",
    "outputs with a loss": """
from transformers import AutoModelForSequenceClassification

model = AutoModelForSequenceClassification.from_pretrained("name")
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)


def train(loader):
    total = 0
    for batch in loader:
        outputs = model(**batch)
        outputs.loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        total += outputs.loss.item()
    return total
""",
    "a teacher hidden in a list": """
from torchvision import models


class Perceptual(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(1))
        self.hidden = [models.vgg16(weights="DEFAULT").features.eval()]

    def forward(self, x, y):
        return (self.hidden[0](x) - self.hidden[0](y)).abs().mean() * self.scale
""",
    "a backward of its own": """
import pytorch_lightning as pl


class Moments(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.mean = nn.Parameter(torch.zeros(3), requires_grad=False)

    def backward(self, loss):
        pass

    def training_step(self, batch, index):
        self.mean.data = batch.mean(0)
        return {"loss": torch.tensor(0.0)}
""",
    "a step by hand that is missing": """
import pytorch_lightning as pl


class Net(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.automatic_optimization = False
        self.layer = nn.Linear(3, 1)

    def training_step(self, batch, index):
        optimizer = self.optimizers()
        optimizer.zero_grad()
        self.manual_backward(self.layer(batch).pow(2).mean())  # GRD519

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)
""",
    "two losses of one fake": """
import pytorch_lightning as pl


class Gan(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.automatic_optimization = False
        self.generator, self.critic = nn.Linear(3, 4), nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 1))

    def training_step(self, batch, index):
        fake = self.generator(torch.randn(8, 3)).tanh()
        self.manual_backward(-self.critic(fake).mean())
        self.manual_backward(self.critic(fake).mean())  # GRD204
""",
    "accelerate: as it should be": """
from accelerate import Accelerator

accelerator = Accelerator(gradient_accumulation_steps=2)
model = nn.Sequential(nn.Linear(3, 4), nn.Sigmoid(), nn.Linear(4, 1))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 10)
data = torch.utils.data.TensorDataset(torch.randn(8, 3), torch.randn(8, 1))
loader = torch.utils.data.DataLoader(data, batch_size=4)
model, optimizer, loader, scheduler = accelerator.prepare(model, optimizer, loader, scheduler)
total = 0.0
for x, y in loader:
    with accelerator.accumulate(model):
        with accelerator.autocast():
            loss = (model(x) - y).pow(2).mean()
        accelerator.backward(loss)
        if accelerator.sync_gradients:
            accelerator.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        optimizer.zero_grad()
    total += accelerator.gather(loss.detach()).mean().item()
accelerator.print(total)
model.eval()
with torch.no_grad():
    accelerator.unwrap_model(model)(torch.ones(1, 3)).numpy()
""",
    "accelerate: a number": """
from accelerate import Accelerator
import torch


def main(model, loader):
    accelerator = Accelerator()
    opt = torch.optim.AdamW(model.parameters())
    model, opt, loader = accelerator.prepare(model, opt, loader)
    for x, y in loader:
        loss = (model(x) - y).pow(2).mean().item()  # GRD304
        opt.zero_grad()
        accelerator.backward(loss)
        opt.step()
""",
    "wandb: images of what is trained": """
import torch
import wandb


def train(net, loader, epochs):
    opt = torch.optim.Adam(net.parameters())
    wandb.watch(net)
    for epoch in range(epochs):
        for i, (x, y) in enumerate(loader):
            out = net(x)
            if i == 0:
                wandb.log({"images": [wandb.Image(one) for one in out]})
            loss = torch.nn.functional.mse_loss(out, y)
            opt.zero_grad()
            opt.step()  # GRD520
""",
    "accelerate: a backward past the accelerator": """
from accelerate import Accelerator

accelerator = Accelerator(gradient_accumulation_steps=2)
model, other = nn.Linear(3, 1), nn.Linear(3, 1)
optimizer = torch.optim.AdamW([*model.parameters(), *other.parameters()], lr=1e-5)
model, optimizer = accelerator.prepare(model, optimizer)
for x in torch.randn(4, 2, 3):
    optimizer.zero_grad()
    other(x).pow(2).mean().backward()
    model(x).pow(2).mean().backward()  # GRD505
    accelerator.backward(model(x).pow(2).mean())
    optimizer.step()
""",
    "fabric: a backward past the fabric": """
import lightning as L

fabric = L.Fabric(precision="16-mixed")
model = fabric.setup_module(nn.Linear(3, 1))
optimizer = fabric.setup_optimizers(torch.optim.SGD(model.parameters(), lr=0.1))
for x in torch.randn(4, 2, 3):
    optimizer.zero_grad()
    loss = model(x).pow(2).mean()
    torch.autograd.backward(loss)  # GRD505
    optimizer.step()
""",
    "accelerate: gradients that nobody clears": """
from accelerate import Accelerator

accelerator = Accelerator()
model = nn.Sequential(nn.Linear(3, 4), nn.Sigmoid(), nn.Linear(4, 1))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)
model, optimizer = accelerator.prepare(model, optimizer)
total = 0.0
for x in torch.randn(4, 2, 3):
    loss = model(x).pow(2).mean()
    accelerator.backward(loss)  # GRD501
    optimizer.step()
    total += loss  # GRD510
""",
    "accelerate: a trainer that walks a graph twice, and clips too early": """
from accelerate import Accelerator


class Trainer:
    def __init__(self, accelerator: Accelerator):
        self.accelerator = accelerator
        self.model = accelerator.prepare(nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1)))
        self.optimizer = accelerator.prepare(torch.optim.SGD(self.model.parameters(), lr=0.1))

    def twice(self):
        loss = self.model(torch.randn(4, 3)).pow(2).mean()
        self.accelerator.backward(loss)
        self.accelerator.backward(loss)  # GRD204
        self.optimizer.step()
        self.optimizer.zero_grad()

    def early(self):
        self.optimizer.zero_grad()
        loss = self.model(torch.randn(4, 3)).pow(2).mean()
        self.accelerator.clip_grad_norm_(self.model.parameters(), 1.0)  # GRD504
        self.accelerator.backward(loss)
        self.optimizer.step()


trainer = Trainer(Accelerator())
trainer.twice()
trainer.early()
""",
    "accelerate: a step between a shared forward and its second backward": """
from accelerate import Accelerator

accelerator = Accelerator()
actor, critic = nn.Linear(3, 1), nn.Sequential(nn.Linear(1, 4), nn.Tanh(), nn.Linear(4, 1))
actor, critic = accelerator.prepare(actor, critic)
pi, q = torch.optim.SGD(actor.parameters(), lr=0.1), torch.optim.SGD(critic.parameters(), lr=0.1)
pi, q = accelerator.prepare(pi, q)
score = critic(actor(torch.randn(8, 3)))
accelerator.backward(score.pow(2).mean(), retain_graph=True)
q.step()  # GRD104
accelerator.backward(-score.mean())
pi.step()
""",
    "fabric: as it should be": """
import lightning as L

fabric = L.Fabric(accelerator="cpu")
fabric.launch()
model = nn.Sequential(nn.Linear(3, 4), nn.Sigmoid(), nn.Linear(4, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
model, optimizer = fabric.setup(model, optimizer)
loader = fabric.setup_dataloaders(torch.utils.data.DataLoader(range(8)))
for x in loader:
    optimizer.zero_grad()
    loss = model(torch.randn(4, 3)).pow(2).mean()
    fabric.backward(loss)
    fabric.clip_gradients(model, optimizer, max_norm=1.0)
    optimizer.step()
    fabric.log("loss", loss)
""",
    "a part of a network that is looked at after the optimizer": """
from torchvision import models


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = models.resnet18()

    def forward(self, x):
        return self.backbone.fc(self.backbone.layer4(x))


net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for x in torch.randn(4, 8, 3):
    optimizer.zero_grad()
    net(x).mean().backward()
    optimizer.step()
""",
    "fabric: it launches a function": """
import lightning as L


def main(fabric):
    if fabric.global_rank == 0:
        print("begins")
    net = fabric.setup_module(nn.Linear(3, 1))
    net.requires_grad_(False)  # GRD514
    optimizer = fabric.setup_optimizers(torch.optim.SGD(net.parameters(), lr=0.1))
    for x in torch.randn(4, 8, 3):
        fabric.backward(net(x).mean())
        optimizer.step()
        optimizer.zero_grad()


if __name__ == "__main__":
    fabric = L.Fabric(devices=2)
    fabric.launch(main)
""",
    "a function of another library makes the layers": """
from elsewhere import mlp


class Scorer(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.trunk = mlp(2 * width, 1)

    def score(self, edges):
        return self.trunk(torch.cat([edges.source, edges.target], 1))

    def forward(self, graph, x):
        graph.nodes = x
        return graph.over_edges(self.score)


def train(graphs, y, rate):
    net = Scorer(3)
    optimizer = torch.optim.SGD(net.parameters(), lr=rate)
    for graph in graphs:
        loss = nn.functional.mse_loss(net(graph, graph.x), y)
        loss.backward()  # GRD501
        optimizer.step()
""",
    "fabric: nothing is cleared, and the loss is no scalar": """
from lightning.fabric import Fabric


def train(fabric: Fabric):
    model = nn.Sequential(nn.Linear(3, 4), nn.Sigmoid(), nn.Linear(4, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model, optimizer = fabric.setup(model, optimizer)
    for _ in range(3):
        fabric.backward(model(torch.randn(4, 3)).pow(2).mean())  # GRD501
        optimizer.step()
    fabric.backward(model(torch.randn(4, 3)).pow(2))  # GRD201
""",
    "a wrapper that shards": """
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP

model = FSDP(nn.Sequential(nn.Linear(3, 4), nn.Sigmoid(), nn.Linear(4, 1)))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x in torch.randn(4, 2, 3):
    with model.no_sync():
        model(x).pow(2).mean().backward()  # GRD501
    model(x).pow(2).mean().backward()
    model.clip_grad_norm_(1.0)
    optimizer.step()
for x in torch.randn(4, 2, 3):
    optimizer.zero_grad()
    model(x).pow(2).mean().backward()
    model.clip_grad_norm_(1.0)
    optimizer.step()
""",
    "a trainer whose loss is an accuracy": """
from transformers import Trainer


class Own(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, **kwargs):
        labels = inputs.pop("labels")
        outputs = model(**inputs)
        loss = (outputs.logits.argmax(-1) != labels).float().mean()  # GRD401
        return (loss, outputs) if return_outputs else loss
""",
    "a trainer whose loss is a number": """
from transformers import Seq2SeqTrainer


class Own(Seq2SeqTrainer):
    def compute_loss(self, model, inputs, return_outputs=False, **kwargs):
        loss = model(**inputs).loss
        return torch.tensor(loss.item(), requires_grad=True)  # GRD306
""",
    "trainers with losses of their own": """
from transformers import Trainer


class Weighted(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, **kwargs):
        labels = inputs.get("labels")
        outputs = model(**inputs)
        weight = torch.tensor([1.0, 2.0], device=model.device)
        loss = nn.CrossEntropyLoss(weight=weight)(outputs.get("logits").view(-1, 2), labels.view(-1))
        return (loss, outputs) if return_outputs else loss


class Distilled(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, **kwargs):
        outputs = model(**inputs)
        with torch.no_grad():
            soft = self.teacher(**inputs).logits
        near = nn.functional.kl_div(outputs.logits.log_softmax(-1), soft.softmax(-1))
        self.log({"near": near.item()})
        return outputs.loss + near
""",
    "a state from step to step": """
import lightning


class Net(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(3, 4)
        self.state = torch.zeros(1, 2, 4)

    def training_step(self, batch, index):
        out, self.state = self.rnn(batch, self.state)
        loss = out.pow(2).mean()  # GRD204
        return loss

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters())
""",
    "a state that is detached between steps": """
import lightning


class Net(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(3, 4)
        self.state = torch.zeros(1, 2, 4)

    def training_step(self, batch, index):
        out, state = self.rnn(batch, self.state)
        self.state = state.detach()
        return out.pow(2).mean()

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters())
""",
    "a step that returns each sample's loss": """
import lightning


class Net(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 1)

    def training_step(self, batch, index):
        x, y = batch
        loss = (self.fc(torch.ones(4, 3)) - 1).abs()  # GRD201
        self.log("loss", loss.mean())
        return loss

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters())
""",
    "apex: gradients that are cleared before the step": """
from apex import amp

model = nn.Sequential(nn.Linear(3, 4), nn.Sigmoid(), nn.Linear(4, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
model, optimizer = amp.initialize(model, optimizer, opt_level="O1")
for x in torch.randn(4, 2, 3):
    loss = model(x).pow(2).mean()
    with amp.scale_loss(loss, optimizer) as scaled_loss:
        scaled_loss.backward()
    optimizer.zero_grad()  # GRD502
    optimizer.step()
""",
    "apex: gradients that are never cleared": """
from apex import amp

model = nn.Sequential(nn.Linear(3, 4), nn.Sigmoid(), nn.Linear(4, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
model, optimizer = amp.initialize(model, optimizer, opt_level="O1")
for x in torch.randn(4, 2, 3):
    loss = model(x).pow(2).mean()
    with amp.scale_loss(loss, optimizer) as scaled_loss:
        scaled_loss.backward()  # GRD501
    optimizer.step()
""",
    "apex: a step before the backward": """
from apex import amp

model = nn.Sequential(nn.Linear(3, 4), nn.Sigmoid(), nn.Linear(4, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
model, optimizer = amp.initialize(model, optimizer, opt_level="O1")
for x in torch.randn(4, 2, 3):
    optimizer.zero_grad()
    loss = model(x).pow(2).mean()
    optimizer.step()  # GRD503
    with amp.scale_loss(loss, optimizer) as scaled_loss:
        scaled_loss.backward()
""",
    "apex: a loss without a graph": """
from apex import amp

model = nn.Sequential(nn.Linear(3, 4), nn.Sigmoid(), nn.Linear(4, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
model, optimizer = amp.initialize(model, optimizer, opt_level="O1")
for x in torch.randn(4, 2, 3):
    optimizer.zero_grad()
    loss = model(x).detach().pow(2).mean()  # GRD309
    with amp.scale_loss(loss, optimizer) as scaled_loss:
        scaled_loss.backward()
    optimizer.step()
""",
    "apex: two networks in lists": """
from apex import amp

net_g, net_d = nn.Linear(3, 4), nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 1))
opt_g, opt_d = torch.optim.SGD(net_g.parameters(), lr=0.1), torch.optim.SGD(net_d.parameters(), lr=0.1)
[net_g, net_d], [opt_g, opt_d] = amp.initialize([net_g, net_d], [opt_g, opt_d], num_losses=2)
for z in torch.randn(4, 2, 3):
    fake = net_g(z)
    opt_d.zero_grad()
    with amp.scale_loss(net_d(fake).mean(), opt_d, loss_id=0) as scaled_loss:
        scaled_loss.backward()
    opt_d.step()
    opt_g.zero_grad()
    with amp.scale_loss(-net_d(fake).mean(), opt_g, loss_id=1) as scaled_loss:
        scaled_loss.backward()  # GRD204
    opt_g.step()
""",
    "apex: as it should be": """
from apex import amp
from apex.parallel import DistributedDataParallel

model = nn.Sequential(nn.Linear(3, 4), nn.Sigmoid(), nn.Linear(4, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
model, optimizer = amp.initialize(model, optimizer, opt_level="O1")
model = DistributedDataParallel(model)
total = 0.0
for x in torch.randn(4, 2, 3):
    optimizer.zero_grad()
    loss = model(x).pow(2).mean()
    with amp.scale_loss(loss, optimizer) as scaled_loss:
        scaled_loss.backward()
    nn.utils.clip_grad_norm_(amp.master_params(optimizer), 1.0)
    optimizer.step()
    total += loss.item()
""",
    "apex: an option": """
try:
    from apex import amp
except ImportError:
    amp = None


def train(model, loader, optimizer, criterion, fp16=False):
    if fp16:
        model, optimizer = amp.initialize(model, optimizer, opt_level="O1")
    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        if fp16:
            with amp.scale_loss(loss, optimizer) as scaled_loss:
                scaled_loss.backward()
            nn.utils.clip_grad_norm_(amp.master_params(optimizer), 1.0)
        else:
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
""",
    "transformers: a schedule that steps before the optimizer": """
from transformers import get_linear_schedule_with_warmup

model = nn.Linear(3, 1)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
scheduler = get_linear_schedule_with_warmup(optimizer, num_warmup_steps=2, num_training_steps=4)
for x in torch.randn(4, 2, 3):
    optimizer.zero_grad()
    model(x).pow(2).mean().backward()
    scheduler.step()  # GRD506
    optimizer.step()
""",
    "transformers: a schedule that steps at the beginning of an iteration": """
import transformers

model = nn.Linear(3, 1)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
scheduler = transformers.get_cosine_schedule_with_warmup(optimizer, 2, 4)
for x in torch.randn(4, 2, 3):
    scheduler.step()  # GRD506
    optimizer.zero_grad()
    model(x).pow(2).mean().backward()
    optimizer.step()
""",
    "diffusers: a schedule that steps before the optimizer": """
from diffusers.optimization import get_scheduler

model = nn.Linear(3, 1)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
scheduler = get_scheduler("cosine", optimizer=optimizer, num_warmup_steps=2, num_training_steps=4)
for x in torch.randn(4, 2, 3):
    model(x).pow(2).mean().backward()
    scheduler.step()  # GRD506
    optimizer.step()
    optimizer.zero_grad()
""",
    "schedules of transformers and diffusers: as it should be": """
from diffusers.optimization import get_scheduler
from transformers import get_cosine_schedule_with_warmup, get_linear_schedule_with_warmup

model = nn.Linear(3, 1)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
schedules = [
    get_linear_schedule_with_warmup(optimizer, num_warmup_steps=2, num_training_steps=4),
    get_cosine_schedule_with_warmup(optimizer, 2, 4),
    get_scheduler("linear", optimizer, 2, 4),
]
for x in torch.randn(4, 2, 3):
    optimizer.zero_grad()
    model(x).pow(2).mean().backward()
    optimizer.step()
    for schedule in schedules:
        schedule.step()
""",
    "diffusers: a network that is frozen and trained": """
from diffusers import UNet2DConditionModel

unet = UNet2DConditionModel.from_pretrained("name", subfolder="unet")
unet.requires_grad_(False)  # GRD514
optimizer = torch.optim.AdamW(unet.parameters(), lr=1e-4)
noisy = noise = torch.randn(2, 4, 8, 8)
for step in range(3):
    optimizer.zero_grad()
    nn.functional.mse_loss(unet(noisy, step).sample, noise).backward()
    optimizer.step()
""",
    "diffusers: as it should be": """
from diffusers import AutoencoderKL, UNet2DConditionModel

vae = AutoencoderKL.from_pretrained("name", subfolder="vae")
unet = UNet2DConditionModel.from_pretrained("name", subfolder="unet")
vae.requires_grad_(False)
optimizer = torch.optim.AdamW(unet.parameters(), lr=1e-4)
noisy, noise = torch.randn(2, 3, 64, 64), torch.randn(2, 4, 8, 8)
for step in range(3):
    latents = vae.encode(noisy).latent_dist.sample()
    nn.functional.mse_loss(unet(latents, step).sample, noise).backward()
    optimizer.step()
    optimizer.zero_grad()
""",
    "a network of an unknown library whose loss is a number": """
from somewhere import predict


def train(loader, optimizer):
    for x, y in loader:
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(predict(x), y).item()  # GRD304
        loss.backward()
        optimizer.step()


def train_with(criterion, loader, optimizer):
    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(predict(x), y).item()  # GRD304
        loss.backward()
        optimizer.step()


def train_scaled(loader, optimizer):
    scaler = torch.amp.GradScaler()
    for x, y in loader:
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(predict(x), y)
        scaler.scale(loss.item()).backward()  # GRD304
        scaler.step(optimizer)
        scaler.update()
""",
    "a network of an unknown library whose loss is logged": """
from somewhere import predict


def train(loader, optimizer):
    scaler = torch.amp.GradScaler()
    history = []
    for x, y in loader:
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(predict(x), y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        history.append(loss.item())
    return history
""",
    "an object of an unknown library with a method item": """
from somewhere import jobs

job = jobs.item(3)
job.backward()
""",
    "a network that is frozen before its optimizer is created": """
import lightning
from transformers import AutoModelForSequenceClassification


class Net(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.model = AutoModelForSequenceClassification.from_pretrained("name")

    def training_step(self, batch, index):
        return self.model(**batch).loss

    def configure_optimizers(self):
        self.model.requires_grad_(False)  # GRD514
        return torch.optim.Adam(self.model.parameters())
""",
    "parameters that are frozen before their optimizer is created": """
import pytorch_lightning as pl


class Net(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 1)

    def training_step(self, batch, index):
        x, y = batch
        return (self.fc(x) - y).pow(2).mean()

    def configure_optimizers(self):
        for param in self.parameters():
            param.requires_grad = False  # GRD514
        optimizer = torch.optim.Adam(self.parameters(), lr=1e-3)
        return [optimizer], [torch.optim.lr_scheduler.StepLR(optimizer, 10)]
""",
    "a body that is frozen before the optimizer of the head is created": """
import lightning
from transformers import AutoModel


class Net(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.body, self.head = AutoModel.from_pretrained("name"), nn.Linear(4, 1)

    def training_step(self, batch, index):
        x, y = batch
        return (self.head(self.body(x).pooler_output) - y).pow(2).mean()

    def configure_optimizers(self):
        self.body.requires_grad_(False)
        return torch.optim.Adam(self.head.parameters())


class Filtered(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.body, self.head = nn.Linear(3, 4), nn.Linear(4, 1)

    def training_step(self, batch, index):
        x, y = batch
        return (self.head(self.body(x)) - y).pow(2).mean()

    def configure_optimizers(self):
        for param in self.body.parameters():
            param.requires_grad = False
        optimizer = torch.optim.Adam(filter(lambda p: p.requires_grad, self.parameters()), lr=1e-3)
        return {"optimizer": optimizer, "lr_scheduler": torch.optim.lr_scheduler.StepLR(optimizer, 10)}
""",
    "a network that is frozen for a while": """
import lightning


class Net(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 1)
        self.fc.requires_grad_(False)

    def training_step(self, batch, index):
        x, y = batch
        return (self.fc(x) - y).pow(2).mean()

    def configure_optimizers(self):
        self.fc.requires_grad_(True)
        return torch.optim.Adam(self.fc.parameters())
""",
    "a module of Lightning is one of torch": """
import lightning


def optimizer_of(parameters):
    if isinstance(parameters, nn.Module):
        parameters = parameters.parameters()
    return torch.optim.Adam(parameters)


class Net(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 1)

    def configure_optimizers(self):
        return optimizer_of(self)
""",
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS.keys())
def test_gradlint_finds_exactly_what_is_marked(program: str) -> None:
    """Each mark has its finding, and nothing else is found."""
    code = HEAD + program
    assert finding_complaints(marks_of(code), findings_of(code)) == []
