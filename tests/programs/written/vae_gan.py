"""VAE-GAN: encoder, decoder and discriminator with an optimizer each; graphs are rebuilt where needed."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class Encoder(nn.Module):
    def __init__(self, n_in=16, latent=3):
        super(Encoder, self).__init__()
        self.fc = nn.Linear(n_in, 24)
        self.bn = nn.BatchNorm1d(24)
        self.fc_mean = nn.Linear(24, latent)
        self.fc_logvar = nn.Linear(24, latent)

    def forward(self, x):
        out = F.leaky_relu(self.bn(self.fc(x)), 0.2, inplace=True)
        mean, logvar = self.fc_mean(out), self.fc_logvar(out)
        std = logvar.mul(0.5).exp_()
        z = mean + std * torch.randn_like(std)
        return mean, logvar, z


class Decoder(nn.Module):
    def __init__(self, n_out=16, latent=3):
        super(Decoder, self).__init__()
        self.net = nn.Sequential(nn.Linear(latent, 24), nn.BatchNorm1d(24), nn.ReLU(True), nn.Linear(24, n_out), nn.Tanh())

    def forward(self, z):
        return self.net(z)


class Discriminator(nn.Module):
    def __init__(self, n_in=16):
        super(Discriminator, self).__init__()
        self.features = nn.Sequential(nn.Linear(n_in, 24), nn.LeakyReLU(0.2, True))
        self.head = nn.Linear(24, 1)

    def forward(self, x):
        f = self.features(x)
        return self.head(f).squeeze(1), f


def kl_loss(mean, logvar):
    return -0.5 * (1 + logvar - mean.pow(2) - logvar.exp()).sum(1).mean()


def zero_all(*optimizers):
    for optimizer in optimizers:
        optimizer.zero_grad()


def train_step(x, enc, dec, dis, opts, gamma=1.0):
    opt_enc, opt_dec, opt_dis = opts
    criterion = nn.BCEWithLogitsLoss()
    ones, zeros = torch.ones(len(x)), torch.zeros(len(x))

    # discriminator: no gradient for the others
    with torch.no_grad():
        _, _, z = enc(x)
        reconstructed, generated = dec(z), dec(torch.randn_like(z))
    real_score, _ = dis(x)
    dis_loss = criterion(real_score, ones)
    for fake in (reconstructed, generated):
        dis_loss = dis_loss + 0.5 * criterion(dis(fake)[0], zeros)
    zero_all(*opts)
    dis_loss.backward()
    opt_dis.step()

    # encoder and decoder share one forward; both gradients are made before either of them steps
    mean, logvar, z = enc(x)
    reconstructed = dec(z)
    rec_score, rec_features = dis(reconstructed)
    with torch.no_grad():
        _, target_features = dis(x)
    feature_loss = F.mse_loss(rec_features, target_features)
    adversarial = criterion(rec_score, ones) + criterion(dis(dec(torch.randn_like(z)))[0], ones)
    enc_loss = kl_loss(mean, logvar) + feature_loss
    dec_loss = gamma * feature_loss + adversarial
    enc_params, dec_params = list(enc.parameters()), list(dec.parameters())
    enc_grads = torch.autograd.grad(enc_loss, enc_params, retain_graph=True)
    dec_grads = torch.autograd.grad(dec_loss, dec_params)
    for p, g in zip(enc_params + dec_params, enc_grads + dec_grads):
        p.grad = g
    opt_enc.step()
    opt_dec.step()
    return dis_loss.item(), enc_loss.item(), dec_loss.item()


def main():
    torch.manual_seed(0)
    basis = torch.randn(3, 16)
    data = torch.tanh(torch.randn(96, 3) @ basis)
    enc, dec, dis = Encoder(), Decoder(), Discriminator()
    opts = tuple(torch.optim.RMSprop(net.parameters(), lr=1e-3) for net in (enc, dec, dis))
    for epoch in range(2):
        sums = [0.0, 0.0, 0.0]
        for x in data.split(24):
            losses = train_step(x, enc, dec, dis, opts)
            sums = [a + b for a, b in zip(sums, losses)]
        print(epoch, ['%.3f' % (s / 4) for s in sums])
    enc.eval()
    dec.eval()
    with torch.no_grad():
        mean, _, _ = enc(data)
        print('reconstruction', F.mse_loss(dec(mean), data).item())


main()
