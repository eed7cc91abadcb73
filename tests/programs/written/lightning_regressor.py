"""A LightningModule with automatic optimization, and one that does everything by hand."""
import pytorch_lightning as pl
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class LitRegressor(pl.LightningModule):
    def __init__(self, hidden=16, lr=1e-2):
        super().__init__()
        self.save_hyperparameters()
        self.net = nn.Sequential(nn.Linear(4, hidden), nn.ReLU(), nn.Linear(hidden, 1))
        self.validation_step_outputs = []

    def forward(self, x):
        return self.net(x).squeeze(-1)

    def training_step(self, batch, batch_idx):
        x, y = batch
        loss = F.mse_loss(self(x), y)
        self.log("train_loss", loss)
        return loss

    def validation_step(self, batch, batch_idx):
        x, y = batch
        loss = F.l1_loss(self(x), y)
        self.validation_step_outputs.append(loss)
        return loss

    def on_validation_epoch_end(self):
        self.log("val_mae", torch.stack(self.validation_step_outputs).mean())
        self.validation_step_outputs.clear()

    def configure_optimizers(self):
        optimizer = torch.optim.Adam(self.parameters(), lr=1e-2)
        scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1, gamma=0.9)
        return [optimizer], [scheduler]


class LitGAN(pl.LightningModule):
    def __init__(self, latent=3):
        super().__init__()
        self.latent = latent
        self.automatic_optimization = False
        self.generator = nn.Sequential(nn.Linear(latent, 8), nn.ReLU(), nn.Linear(8, 4))
        self.discriminator = nn.Sequential(nn.Linear(4, 8), nn.LeakyReLU(0.2), nn.Linear(8, 1))

    def forward(self, z):
        return self.generator(z)

    def training_step(self, batch, batch_idx):
        real, _ = batch
        opt_g, opt_d = self.optimizers()
        z = torch.randn(real.size(0), self.latent)

        fake = self(z)
        score = self.discriminator(fake)
        g_loss = F.binary_cross_entropy_with_logits(score, torch.ones_like(score))
        opt_g.zero_grad()
        self.manual_backward(g_loss)
        opt_g.step()

        real_score = self.discriminator(real)
        fake_score = self.discriminator(fake.detach())
        d_loss = F.softplus(-real_score).mean() + F.softplus(fake_score).mean()
        opt_d.zero_grad()
        self.manual_backward(d_loss)
        opt_d.step()
        self.log_dict({"g_loss": g_loss, "d_loss": d_loss}, prog_bar=True)

    def configure_optimizers(self):
        opt_g = torch.optim.Adam(self.generator.parameters(), lr=2e-4)
        opt_d = torch.optim.Adam(self.discriminator.parameters(), lr=2e-4)
        return [opt_g, opt_d], []


if __name__ == "__main__":
    pl.seed_everything(7)
    x = torch.randn(48, 4)
    loader = DataLoader(TensorDataset(x, x.sum(1)), batch_size=12)
    regressor = LitRegressor()
    pl.Trainer(max_epochs=2, gradient_clip_val=1.0).fit(regressor, loader, loader)
    gan = LitGAN()
    pl.Trainer(max_epochs=1).fit(gan, loader)
