"""Whole programs as people write them: training loops, evaluation, accumulation, attacks, meta-learning."""

from __future__ import annotations

from ..networks import batch, criterion, model, optimizer, targets
from ..pieces import data, leaf, rate
from ..program import Program
from .registry import legal


@legal("training", 3)
def training_loop(p: Program) -> None:
    """Epochs over a list of batches, with logging."""
    m = model(p, 4, 2)
    o = optimizer(p, f"{m}.parameters()")
    p.line(
        p.pick(
            "batches = [({t}.randn(3, 4), {t}.randn(3, 2)) for _ in range(2)]",
            "batches = list(zip({t}.randn(2, 3, 4), {t}.randn(2, 3, 2)))",
            (
                "batches = {t}.utils.data.DataLoader({t}.utils.data.TensorDataset({t}.randn(6, "
                "4), {t}.randn(6, 2)), batch_size=3)"
            ),
        )
    )
    p.line(
        (
            "history = []\n"
            "for epoch in range(2):\n"
            "    running = 0.0\n"
            "    for xb, yb in batches:\n"
            "        {o}.zero_grad()\n"
            "        loss = {e}\n"
            "        loss.backward()\n"
            "        {c}{o}.step()\n"
            "        running += loss.item()\n"
            "    history.append(running)\n"
            "    print(epoch, running)"
        ),
        o=o,
        e=criterion(p, f"{m}(xb)", "yb"),
        c=p.text(p.pick("", "", "{t}.nn.utils.clip_grad_norm_({m}.parameters(), 1.0)\n        "), m=m),
    )
    if p.chance(0.5):
        p.line(
            "{m}.eval()\nwith {t}.no_grad():\n    val = {e}.item()",
            m=m,
            e=criterion(p, f"{m}(batches[0][0])", "batches[0][1]"),
        ) if "DataLoader" not in "".join(p.body) else p.line("{m}.eval()", m=m)


@legal("training", 2)
def classification(p: Program) -> None:
    """A classifier with cross entropy and accuracy."""
    m = model(p, 4, 3, "net", "classifier", "model")
    o = optimizer(p, f"{m}.parameters()")
    c = p.let(
        p.pick("{nn}.CrossEntropyLoss()", "{F}.cross_entropy", "{nn}.CrossEntropyLoss(label_smoothing=0.1)"),
        "criterion",
        "loss_fn",
    )
    p.line(
        (
            "x_train = {t}.randn(6, 4)\n"
            "y_train = {t}.randint(0, 3, (6,))\n"
            "for epoch in range(3):\n"
            "    logits = {m}(x_train)\n"
            "    loss = {c}(logits, y_train)\n"
            "    {o}.zero_grad()\n"
            "    loss.backward()\n"
            "    {o}.step()\n"
            "    correct = (logits.argmax(dim=1) == y_train).sum().item()\n"
            "    print(epoch, loss.item(), correct / 6)"
        ),
        m=m,
        o=o,
        c=c,
    )


@legal("training")
def accumulation(p: Program) -> None:
    """Gradients are accumulated over several batches on purpose."""
    m = model(p)
    o = optimizer(p, f"{m}.parameters()")
    p.line(
        (
            "accumulate = 2\n"
            "{o}.zero_grad()\n"
            "for i in range(4):\n"
            "    loss = {e} / accumulate\n"
            "    loss.backward()\n"
            "    if (i + 1) % accumulate == 0:\n"
            "        {o}.step()\n"
            "        {o}.zero_grad()"
        ),
        o=o,
        e=criterion(p, f"{m}({p.text('{t}.randn(3, 4)')})", p.text("{t}.zeros(3, 2)")),
    )


@legal("training")
def attack(p: Program) -> None:
    """A projected gradient attack on the input."""
    m = model(p, 4, 3)
    p.line(
        (
            "x = {t}.rand(2, 4)\n"
            "labels = {t}.tensor([0, 2])\n"
            "adv = x.clone()\n"
            "for _ in range(2):\n"
            "    {a}\n"
            "    loss = {F}.cross_entropy({m}(adv), labels)\n"
            "    grad = {autograd}.grad(loss, adv)[0]\n"
            "    adv = (adv + 0.1 * grad.sign()).detach()\n"
            "    adv = {c}"
        ),
        m=m,
        a=p.pick("adv.requires_grad_(True)", "adv = adv.detach().requires_grad_()", "adv.requires_grad = True"),
        c=p.text(p.pick("{t}.clamp(adv, 0, 1)", "adv.clamp_(0, 1)", "{t}.max({t}.min(adv, x + 0.3), x - 0.3)")),
    )


@legal("training")
def inner_loop(p: Program) -> None:
    """A meta-learning step with fast weights."""
    w = leaf(p, (4, 2))
    x, y = batch(p, 4), targets(p, 2)
    p.line(
        (
            "fast = {w}\n"
            "for _ in range(2):\n"
            "    inner = (({x} @ fast - {y}) ** 2).mean()\n"
            "    (g,) = {autograd}.grad(inner, fast, create_graph=True)\n"
            "    fast = fast - {lr} * g\n"
            "outer = (({x} @ fast - {y}) ** 2).mean()\n"
            "outer.backward()"
        ),
        w=w,
        x=x,
        y=y,
        lr=rate(p),
    )


@legal("training")
def manual_network(p: Program) -> None:
    """A two-layer network by hand, gradients and all."""
    p.line(
        (
            "x = {t}.randn(5, 4)\n"
            "y = {t}.randn(5, 2)\n"
            "w1 = {t}.randn(4, 3)\n"
            "w2 = {t}.randn(3, 2)\n"
            "for step in range(3):\n"
            "    h = x.mm(w1)\n"
            "    h_relu = h.clamp(min=0)\n"
            "    y_pred = h_relu.mm(w2)\n"
            "    loss = (y_pred - y).pow(2).sum().item()\n"
            "    grad_y = 2.0 * (y_pred - y)\n"
            "    grad_w2 = h_relu.t().mm(grad_y)\n"
            "    grad_h = grad_y.mm(w2.t()).clone()\n"
            "    grad_h[h < 0] = 0\n"
            "    grad_w1 = x.t().mm(grad_h)\n"
            "    w1 -= {lr} * grad_w1\n"
            "    w2 -= {lr} * grad_w2"
        ),
        lr=rate(p),
    )


@legal("training")
def policy_gradient(p: Program) -> None:
    """REINFORCE over a short episode."""
    m = model(p, 4, 2, "policy", "actor")
    o = optimizer(p, f"{m}.parameters()")
    p.line(
        (
            "for episode in range(2):\n"
            "    log_probs, rewards = [], []\n"
            "    state = {t}.randn(4)\n"
            "    for _ in range(3):\n"
            "        probs = {F}.softmax({m}(state[None]), dim=-1)[0]\n"
            "        action = {t}.multinomial(probs.detach(), 1).item()\n"
            "        log_probs.append({t}.log(probs[action]))\n"
            "        rewards.append(float(action))\n"
            "        state = {t}.randn(4)\n"
            "    returns = {t}.tensor(rewards).flip(0).cumsum(0).flip(0)\n"
            "    loss = -({t}.stack(log_probs) * returns).sum()\n"
            "    {o}.zero_grad()\n"
            "    loss.backward()\n"
            "    {o}.step()"
        ),
        m=m,
        o=o,
    )


@legal("training")
def gan(p: Program) -> None:
    """A GAN with detached fakes and a new forward pass for the generator."""
    g, d = model(p, 3, 4, "gen", "netG"), model(p, 4, 1, "disc", "netD")
    og, od = optimizer(p, f"{g}.parameters()", "opt_g"), optimizer(p, f"{d}.parameters()", "opt_d")
    p.line(
        (
            "bce = {nn}.BCEWithLogitsLoss()\n"
            "for step in range(2):\n"
            "    real = {t}.randn(3, 4)\n"
            "    fake = {g}({t}.randn(3, 3))\n"
            "    loss_d = bce({d}(real), {t}.ones(3, 1)) + bce({d}(fake.detach()), "
            "{t}.zeros(3, 1))\n"
            "    {a}.zero_grad()\n"
            "    loss_d.backward()\n"
            "    {a}.step()\n"
            "    loss_g = bce({d}(fake), {t}.ones(3, 1))\n"
            "    {b}.zero_grad()\n"
            "    loss_g.backward()\n"
            "    {b}.step()"
        ),
        g=g,
        d=d,
        a=od,
        b=og,
    )


@legal("training")
def convolution(p: Program) -> None:
    """A small convolutional network with in-place activations."""
    p.define(
        (
            "class {c}({nn}.Module):\n"
            "    def __init__(self):\n"
            "        super().__init__()\n"
            "        self.conv1 = {nn}.Conv2d(1, 2, 3, padding=1)\n"
            "        self.bn = {nn}.BatchNorm2d(2)\n"
            "        self.relu = {nn}.ReLU(inplace=True)\n"
            "        self.pool = {nn}.MaxPool2d(2)\n"
            "        self.fc = {nn}.Linear(8, 3)\n\n"
            "    def forward(self, x):\n"
            "        x = self.pool(self.relu(self.bn(self.conv1(x))))\n"
            "        x = {f}\n"
            "        return self.fc(x)"
        ),
        c="ConvNet",
        f=p.text(p.pick("x.view(x.size(0), -1)", "{t}.flatten(x, 1)", "x.flatten(1)", "x.reshape(x.shape[0], -1)")),
    )
    m = p.let("ConvNet()", "model", "net")
    o = optimizer(p, f"{m}.parameters()")
    p.line(
        (
            "for _ in range(2):\n"
            "    {m}.train()\n"
            "    out = {m}({t}.randn(2, 1, 4, 4))\n"
            "    loss = {F}.cross_entropy(out, {t}.tensor([0, 1]))\n"
            "    {o}.zero_grad()\n"
            "    loss.backward()\n"
            "    {o}.step()"
        ),
        m=m,
        o=o,
    )


@legal("training")
def scheduler(p: Program) -> None:
    """A training class with a scheduler and an evaluation method."""
    p.define(
        (
            "class Trainer:\n"
            "    def __init__(self, model, lr={lr}):\n"
            "        self.model = model\n"
            "        self.opt = {optim}.SGD(model.parameters(), lr=lr)\n"
            "        self.sched = {optim}.lr_scheduler.StepLR(self.opt, 1)\n"
            "        self.losses = []\n\n"
            "    def step(self, x, y):\n"
            "        self.opt.zero_grad()\n"
            "        loss = {e}\n"
            "        loss.backward()\n"
            "        self.opt.step()\n"
            "        self.losses.append(loss.item())\n"
            "        return loss.detach()\n\n"
            "    @{t}.no_grad()\n"
            "    def evaluate(self, x):\n"
            "        self.model.eval()\n"
            "        out = self.model(x)\n"
            "        self.model.train()\n"
            "        return out.numpy()\n\n"
            "    def fit(self, x, y, epochs=2):\n"
            "        total = 0\n"
            "        for _ in range(epochs):\n"
            "            total += self.step(x, y)\n"
            "            self.sched.step()\n"
            "        return total"
        ),
        lr=p.pick("0.1", "1e-2"),
        e=criterion(p, "self.model(x)", "y"),
    )
    m = model(p)
    p.line(
        (
            "trainer = Trainer({m})\n"
            "print(trainer.fit({t}.randn(3, 4), {t}.randn(3, 2)))\n"
            "print(trainer.evaluate({t}.randn(2, 4)).shape)"
        ),
        m=m,
    )


@legal("training")
def vae(p: Program) -> None:
    """A variational autoencoder whose halves come from chunk."""
    enc, dec = p.let("{nn}.Linear(4, 6)", "enc", "encoder"), p.let("{nn}.Linear(3, 4)", "dec", "decoder")
    o = optimizer(p, f"list({enc}.parameters()) + list({dec}.parameters())")
    p.line(
        (
            "for _ in range(2):\n"
            "    x = {t}.rand(5, 4)\n"
            "    mu, logvar = {c}\n"
            "    z = mu + {t}.randn_like(mu) * (0.5 * logvar).exp()\n"
            "    kl = -0.5 * (1 + logvar - mu.pow(2) - logvar.exp()).sum()\n"
            "    loss = {F}.mse_loss({d}(z), x, reduction='sum') + kl\n"
            "    {o}.zero_grad()\n"
            "    loss.backward()\n"
            "    {o}.step()"
        ),
        c=p.text(p.pick("{e}(x).chunk(2, dim=-1)", "{t}.split({e}(x), 3, dim=1)"), e=enc),
        d=dec,
        o=o,
    )


@legal("training")
def tensors_without_gradients(p: Program) -> None:
    """Statistics on plain tensors, written in place all over."""
    x = data(p, (4, 3))
    p.line(
        (
            "mean = {x}.mean(0)\n"
            "{x} -= mean\n"
            "{x} /= {x}.std(0) + 1e-6\n"
            "{x}[{x} > 1] = 1\n"
            "cov = {x}.t() @ {x}\n"
            "cov.fill_diagonal_(0)\n"
            "top = cov.abs().max().item()\n"
            "{x}[0].zero_()\n"
            "rows = {x}.unbind()\n"
            "rows[0].add_(1)\n"
            "arr = {x}.numpy()\n"
            "arr *= 2"
        ),
        x=x,
    )
