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
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS.keys())
def test_gradlint_finds_exactly_what_is_marked(program: str) -> None:
    """Each mark has its finding, and nothing else is found."""
    code = HEAD + program
    assert finding_complaints(marks_of(code), findings_of(code)) == []
