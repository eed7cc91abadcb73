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
