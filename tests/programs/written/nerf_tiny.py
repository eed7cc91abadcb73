"""A radiance field on a toy scene: positional encoding, volume rendering, coarse sampling."""
import os

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

os.environ.setdefault("KMP_DUPLICATE_LIB_OK", "TRUE")
img2mse = lambda x, y: torch.mean((x - y) ** 2)
mse2psnr = lambda x: -10. * torch.log(x) / torch.log(torch.Tensor([10.]))


class Embedder:
    def __init__(self, multires, input_dims=3):
        freq_bands = 2. ** torch.linspace(0., multires - 1, steps=multires)
        self.embed_fns = [lambda x: x]
        self.out_dim = input_dims
        for freq in freq_bands:
            for p_fn in [torch.sin, torch.cos]:
                self.embed_fns.append(lambda x, p_fn=p_fn, freq=freq: p_fn(x * freq))
                self.out_dim += input_dims

    def embed(self, inputs):
        return torch.cat([fn(inputs) for fn in self.embed_fns], -1)


class NeRF(nn.Module):
    def __init__(self, D=3, W=24, input_ch=3, skips=(1,)):
        super(NeRF, self).__init__()
        self.skips = skips
        self.input_ch = input_ch
        self.pts_linears = nn.ModuleList(
            [nn.Linear(input_ch, W)] + [nn.Linear(W + input_ch if i in skips else W, W) for i in range(D - 1)])
        self.output_linear = nn.Linear(W, 4)

    def forward(self, x):
        h = x
        for i, l in enumerate(self.pts_linears):
            h = self.pts_linears[i](h)
            h = F.relu(h)
            if i in self.skips:
                h = torch.cat([x, h], -1)
        return self.output_linear(h)


def raw2outputs(raw, z_vals, white_bkgd=False):
    dists = z_vals[..., 1:] - z_vals[..., :-1]
    dists = torch.cat([dists, torch.full_like(dists[..., :1], 1e10)], -1)
    rgb = torch.sigmoid(raw[..., :3])
    alpha = 1. - torch.exp(-F.relu(raw[..., 3]) * dists)
    transmittance = torch.cumprod(torch.cat([torch.ones((alpha.shape[0], 1)), 1. - alpha + 1e-10], -1), -1)[:, :-1]
    weights = alpha * transmittance
    rgb_map = torch.sum(weights[..., None] * rgb, -2)
    depth_map = torch.sum(weights * z_vals, -1)
    acc_map = torch.sum(weights, -1)
    if white_bkgd:
        rgb_map = rgb_map + (1. - acc_map[..., None])
    return rgb_map, depth_map, acc_map


def render_rays(rays_o, rays_d, model, embedder, near=1., far=3., n_samples=8, perturb=True):
    z_vals = torch.linspace(near, far, n_samples).expand(rays_o.shape[0], n_samples)
    if perturb:
        z_vals = z_vals + torch.rand(z_vals.shape) * (far - near) / n_samples
    pts = rays_o[:, None, :] + rays_d[:, None, :] * z_vals[..., None]
    raw = model(embedder.embed(pts.reshape(-1, 3))).reshape(*pts.shape[:-1], 4)
    return raw2outputs(raw, z_vals)


np.random.seed(0)
torch.manual_seed(0)
rays_o = torch.zeros(64, 3)
rays_d = F.normalize(torch.from_numpy(np.random.randn(64, 3).astype(np.float32)), dim=-1)
target = (rays_d > 0).float() * 0.8
embedder = Embedder(3)
model = NeRF(input_ch=embedder.out_dim)
grad_vars = list(model.parameters())
optimizer = torch.optim.Adam(params=grad_vars, lr=5e-3, betas=(0.9, 0.999))
lrate_decay = 250
for i in range(8):
    select = torch.randperm(64)[:32]
    rgb, depth, acc = render_rays(rays_o[select], rays_d[select], model, embedder)
    optimizer.zero_grad()
    loss = img2mse(rgb, target[select])
    psnr = mse2psnr(loss)
    loss.backward()
    optimizer.step()
    new_lrate = 5e-3 * (0.1 ** (i / (lrate_decay * 10)))
    for param_group in optimizer.param_groups:
        param_group['lr'] = new_lrate
    if i % 4 == 0:
        with torch.no_grad():
            full, _, _ = render_rays(rays_o, rays_d, model, embedder, perturb=False)
        print(f"[TRAIN] Iter: {i} Loss: {loss.item()} PSNR: {psnr.item()} mean {full.numpy().mean():.3f}")
