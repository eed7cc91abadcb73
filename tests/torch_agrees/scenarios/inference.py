"""Tensors made in inference mode and used outside."""

from __future__ import annotations

from ..deliver import write
from ..networks import batch, model
from ..pieces import data, derive, finish, leaf, no_grad
from ..program import Program, Var
from .registry import fault, legal


def _inference_result(p: Program, shape: tuple[int, ...] = (4, 3)) -> Var:
    """Write a tensor made in inference mode."""
    kind = p.rng.random()
    if kind < 0.5:
        w = leaf(p, shape) if p.chance(0.5) else data(p, shape)
        with p.block(
            p.pick(
                "with {t}.inference_mode():",
                "with {t}.inference_mode(True):",
                "with {t}.inference_mode(mode=True):",
            )
        ):
            return derive(p, w, "e", "emb", "features", "ref", "cached")
    name = p.fresh("embed", "encode", "predict", "features_of", "evaluate")
    p.define(
        "@{t}.inference_mode()\ndef {f}(x):\n    return {e}",
        f=name,
        e=p.pick("x * 2", "x.tanh()", "x @ x.t() @ x", "x.exp().clamp(max=2)", "x - x.mean()"),
    )
    x = data(p, shape)
    return p.tensor(shape, "{f}({x})", "e", "emb", "features", "ref", f=name, x=x)


@fault("inference", 3)
def inference_tensor_saved(p: Program) -> None:
    """A tensor from inference mode takes part in tracked arithmetic."""
    e = _inference_result(p)
    w = leaf(p, e.shape)
    finish(
        p,
        p.tensor(
            e.shape,
            p.pick(
                "{w} * {e}",
                "{e} * {w}",
                "{t}.mul({w}, {e})",
                "({w} - {e}) ** 2 * {e}",
                "{w}.mul({e})",
                "{w} / ({e} * {e} + 1)",
                "{t}.where({e} > 0, {w}, 2 * {w}) * {e}",
            ),
            w=w,
            e=e,
        ),
    )


@fault("inference", 2)
def inference_features(p: Program) -> None:
    """A frozen encoder runs in inference mode, a head is trained on its features."""
    encoder, head = model(p, 4, 3, "encoder", "backbone"), model(p, 3, 1, "head", "classifier")
    x = batch(p, 4)
    with p.block("with {t}.inference_mode():"):
        p.line("feats = {e}({x})", e=encoder, x=x)
    p.line(
        p.pick(
            "loss = {h}(feats).pow(2).mean()",
            "loss = {h}(feats).sum()",
            "out = {h}(feats)\nloss = out.mean()",
        ),
        h=head,
    )
    p.line("loss.backward()")


@fault("inference", 2)
def inference_tensor_written(p: Program) -> None:
    """A tensor from inference mode is written outside."""
    e = _inference_result(p)
    write(p, e)
    p.line("print({e}.sum().item())", e=e)


@fault("inference")
def inference_tensor_asked_for_gradients(p: Program) -> None:
    """A tensor from inference mode shall require gradients."""
    e = _inference_result(p)
    p.line(p.pick("{e}.requires_grad_()", "{e}.requires_grad = True", "{e}.requires_grad_(True)"), e=e)
    finish(p, e)


@fault("inference")
def inference_target(p: Program) -> None:
    """A target from inference mode meets a prediction in a product or a loss."""
    m = model(p, 3, 3)
    target = _inference_result(p)
    x = batch(p, 3, 4)
    p.line(
        "loss = {e}\nloss.backward()",
        e=p.text(
            p.pick(
                "{F}.mse_loss({m}({x}), {y})",
                "({m}({x}) * {y}).sum()",
                "({m}({x}) - {y}).pow(2).mean()",
                "{F}.smooth_l1_loss({m}({x}), {y})",
                "-({y} * {F}.log_softmax({m}({x}), -1)).sum()",
            ),
            m=m,
            x=x,
            y=target,
        ),
    )


@legal("inference", 2)
def inference_clone(p: Program) -> None:
    """A clone made outside is a normal tensor."""
    e = _inference_result(p)
    c = p.tensor(e.shape, "{e}.clone()", "c", "usable", "target", e=e)
    if p.chance(0.4):
        write(p, c)
    finish(p, p.tensor(e.shape, p.pick("{w} * {c}", "({w} - {c}) ** 2", "{c} * {w}"), w=leaf(p, e.shape), c=c))


@legal("inference", 2)
def inference_not_saved(p: Program) -> None:
    """The tensor from inference mode is only added, or only printed."""
    e = _inference_result(p)
    w = leaf(p, e.shape)
    finish(
        p,
        p.tensor(
            e.shape,
            p.pick("{w} + {e}", "{w} - {e}", "{e} + 2 * {w}", "{t}.cat([{w}, {e}])[:4]", "{w}.add({e})"),
            w=w,
            e=e,
        ),
    )


@legal("inference")
def no_grad_features(p: Program) -> None:
    """A frozen encoder runs under no_grad, a head is trained on its features."""
    encoder, head = model(p, 4, 3, "encoder", "backbone"), model(p, 3, 1, "head", "classifier")
    x = batch(p, 4)
    with no_grad(p):
        p.line("feats = {e}({x})", e=encoder, x=x)
    p.line(
        p.pick(
            "loss = {h}(feats).pow(2).mean()",
            "feats += 1\nloss = {h}(feats).sum()",
            "feats.requires_grad_()\nloss = {h}(feats).mean()",
        ),
        h=head,
    )
    p.line("loss.backward()")


@legal("inference")
def evaluation_in_inference_mode(p: Program) -> None:
    """Evaluation stays inside inference mode."""
    m = model(p)
    x = batch(p, 4)
    finish(p, p.tensor((3, 2), "{m}({x})", m=m, x=x))
    p.line(
        ("{m}.eval()\nwith {t}.inference_mode():\n    scores = {m}({x})\n    {w}\n    print(scores.mean().item())"),
        m=m,
        x=x,
        w=p.pick("scores += 1", "scores.mul_(2)", "scores[0] = 0", "best = scores.argmax(-1)"),
    )
