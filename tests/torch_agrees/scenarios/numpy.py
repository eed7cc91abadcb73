"""numpy() of tensors that require gradients."""

from __future__ import annotations

from ..networks import batch, criterion, model, targets
from ..pieces import data, derive, finish, leaf, no_grad
from ..program import Program
from .registry import fault, legal

CONVERSIONS = (
    "{y}.numpy()",
    "{y}.cpu().numpy()",
    "{np}.array({y})",
    "{np}.asarray({y})",
    "{np}.mean({y}.numpy())",
    "{np}.exp({y})",
    "{np}.sum({y}.view(-1).numpy())",
    "{np}.asarray({y}, dtype={np}.float32)",
    "{y}.numpy().sum()",
    "{y}.float().numpy()",
    "{np}.concatenate([{y}.reshape(-1).numpy(), {np}.zeros(2)])",
    "{np}.stack([{y}.numpy()])",
    "{np}.maximum({y}.numpy(), 0)",
)


@fault("numpy", 3)
def tracked_to_numpy(p: Program) -> None:
    """A tracked tensor is turned into an array."""
    w = leaf(p)
    y = derive(p, w) if p.chance(0.5) else w
    if p.chance(0.4):
        finish(p, derive(p, w))
    p.let(p.pick(*CONVERSIONS), "arr", "values", "as_np", "snapshot", y=y)


@fault("numpy", 2)
def predictions_to_numpy(p: Program) -> None:
    """Predictions are collected as arrays."""
    m = model(p)
    x = batch(p, 4)
    p.line(
        p.pick(
            "preds = {m}({x}).numpy()",
            "preds = []\nfor row in [{x}, {x}]:\n    preds.append({m}(row).numpy())",
            "out = {m}({x})\nscores = out[:, 0].numpy()",
            "preds = [{m}({x}).squeeze().cpu().numpy() for _ in range(2)]",
            "probs = {F}.softmax({m}({x}), dim=-1).numpy()",
            "out = {m}({x})\nprint(out.numpy().shape)",
            "{m}.eval()\npreds = {m}({x}).numpy()",
            "weights = {m}.state_dict()\npreds = {np}.array({m}({x}))",
        ),
        m=m,
        x=x,
    )


@fault("numpy")
def losses_to_numpy(p: Program) -> None:
    """A list of losses is averaged by numpy, or a loss is plotted."""
    m = model(p)
    x, y = batch(p, 4), targets(p, 2)
    p.line(
        "losses = []\nfor _ in range(2):\n    loss = {e}\n    loss.backward()\n    {a}",
        e=criterion(p, f"{m}({x})", str(y)),
        a=p.text(
            p.pick(
                "losses.append(loss)\nprint({np}.mean(losses))",
                "losses.append(loss.numpy())",
                "losses.append({np}.asarray(loss))",
                "losses.append(loss.cpu().numpy())",
            )
        ),
    )


@fault("numpy")
def weights_to_numpy(p: Program) -> None:
    """A module's weights are turned into arrays."""
    m = p.let("{nn}.Linear(4, 3)", "fc", "layer", "m")
    p.line(
        p.pick(
            "w_np = {m}.weight.numpy()",
            "arrays = [p.numpy() for p in {m}.parameters()]",
            "for name, p in {m}.named_parameters():\n    print(name, p.numpy().mean())",
            "b = {np}.array({m}.bias)",
            "stats = {{n: p.numpy() for n, p in {m}.named_parameters()}}",
            "norm = {np}.linalg.norm({m}.weight.numpy())",
        ),
        m=m,
    )


@fault("numpy")
def helper_to_numpy(p: Program) -> None:
    """A helper converts whatever it is given."""
    name = p.fresh("to_numpy", "as_array", "to_np", "export")
    p.define(
        "def {f}(t):\n    {b}",
        f=name,
        b=p.text(
            p.pick(
                "return t.numpy()",
                "return t.cpu().numpy()",
                "if t.is_cuda:\n        t = t.cpu()\n    return t.numpy()",
                "t = t.reshape(-1)\n    return {np}.asarray(t)",
                "return t.squeeze().numpy().copy()",
            )
        ),
    )
    y = derive(p, leaf(p))
    p.line(p.pick("print({f}({y}))", "arr = {f}({y})"), f=name, y=y)
    finish(p, y)


@legal("numpy", 3)
def detached_to_numpy(p: Program) -> None:
    """The array is made of a detached tensor, of numbers or of data."""
    w = leaf(p)
    y = derive(p, w)
    p.line(
        p.pick(
            "arr = {y}.detach().numpy()",
            "arr = {y}.detach().cpu().numpy()",
            "arr = {np}.array({y}.tolist())",
            "arr = {y}.data.numpy()",
            "arr = {y}.clone().detach().numpy()",
            "arr = {np}.asarray({y}.detach())",
            "arr = {y}.sum().item()",
            "with {t}.no_grad():\n    arr = ({y} * 2).numpy()",
            "arr = {t}.ones(3).numpy()",
            "arr = {np}.mean([{y}.sum().item()])",
            "arr = ({y} > 0).numpy()",
            "arr = {y}.argmax().numpy()",
            "arr = {y}.numpy(force=True)",
        ),
        y=y,
    )
    finish(p, y)


@legal("numpy", 2)
def predictions_without_gradient(p: Program) -> None:
    """Predictions are made under no_grad before they become arrays."""
    m = model(p)
    x = batch(p, 4)
    finish(p, p.tensor((3, 2), "{m}({x})", m=m, x=x))
    with no_grad(p):
        p.line(
            p.pick(
                "preds = {m}({x}).numpy()",
                "preds = [{m}({x}).numpy() for _ in range(2)]",
                "out = {m}({x})\npreds = out.argmax(-1).numpy()",
            ),
            m=m,
            x=x,
        )


@legal("numpy")
def data_to_numpy(p: Program) -> None:
    """Data, gradients and frozen weights may become arrays."""
    w, x = leaf(p), data(p)
    finish(p, derive(p, w))
    p.line(
        p.pick(
            "print({x}.numpy().sum())",
            "print({w}.grad.numpy())",
            "print({np}.asarray({x}))",
            "print({w}.requires_grad_(False).numpy())",
        ),
        w=w,
        x=x,
    )
