""".data assigned something of an incompatible type."""

from __future__ import annotations

from ..networks import model
from ..pieces import derive, finish, leaf, shape_text
from ..program import Program
from .registry import fault, legal

BAD_DATA = (
    "{t}.zeros({s}, dtype={t}.long)",
    "{t}.ones({s}, dtype={t}.int32)",
    "{t}.zeros({s}).bool()",
    "{t}.zeros({s}).to_sparse()",
    "{np}.zeros(({s},))",
    "0.0",
    "1",
    "[1.0, 2.0]",
    "{w}.to_sparse()",
    "{t}.zeros({s}, device='meta')",
    "{w}.data.long()",
    "{t}.randint(0, 3, ({s},))",
    "{w}.data > 0",
    "{np}.ones(({s},), dtype='float32')",
    "{w}.detach().int()",
    "{w}.data.numpy()",
    "{w}.data.tolist()",
    "{t}.arange(6)",
    "{t}.empty({s}, dtype={t}.uint8)",
)


@fault("data-type", 4)
def wrong_data(p: Program) -> None:
    """.data is assigned something of an incompatible type."""
    w = leaf(p)
    value = p.text(p.pick(*BAD_DATA), w=w, s=shape_text(w.shape))
    if p.chance(0.4):
        value = p.let("{e}", "new", "values", "loaded", "update", e=value)
    p.line("{w}.data = {e}", w=w, e=value)
    finish(p, derive(p, w))


@fault("data-type", 2)
def wrong_data_of_module(p: Program) -> None:
    """A module's parameter gets data of an incompatible type."""
    m = p.let("{nn}.Linear(4, 3)", "fc", "layer", "m")
    p.line(
        p.pick(
            "{m}.weight.data = {m}.weight.data.long()",
            "{m}.weight.data = {t}.ones(3, 4).to_sparse()",
            "{m}.bias.data = {np}.zeros(3)",
            "{m}.weight.data = {t}.randint(0, 2, (3, 4))",
            "{m}.bias.data = 0.0",
            "for p in {m}.parameters():\n    p.data = p.data.int()",
            "{m}.weight.data = {t}.eye(3, 4, dtype={t}.int64)",
            "for p in {m}.parameters():\n    p.data = p.data.numpy()",
            "{m}.weight.data = {m}.weight.data.gt(0)",
            "for name, p in {m}.named_parameters():\n    p.data = {np}.random.randn(*p.shape)",
            "{m}.bias.data = {t}.tensor([1, 2, 3])",
            "{m}.weight.data = {m}.weight.data.to({t}.int8)",
        ),
        m=m,
    )
    p.line("print({m}({t}.randn(2, 4)).shape)", m=m)


@fault("data-type")
def quantised(p: Program) -> None:
    """A helper rounds the weights into integers."""
    name = p.fresh("quantize", "binarize", "prune", "compress")
    p.define(
        "def {f}(model, levels=8):\n    for p in model.parameters():\n        {w}",
        f=name,
        w=p.text(
            p.pick(
                "p.data = (p.data * levels).round().to({t}.int32)",
                "p.data = p.data > 0",
                "p.data = p.data.sign().long()",
                "p.data = (p.data.abs() > 0.1)",
                "q = (p.data * levels).int()\n        p.data = q",
                "p.data = p.data.to_sparse()",
            )
        ),
    )
    m = model(p)
    p.line("{f}({m})", f=name, m=m)


@legal("data-type", 3)
def right_data(p: Program) -> None:
    """.data is assigned a tensor that fits, of another float type or size too."""
    w = leaf(p)
    p.line(
        p.pick(
            "{w}.data = {t}.zeros({s})",
            "{w}.data = {w}.data * 0.5",
            "{w}.data = {w}.data.clamp(-1, 1)",
            "{w}.data = {t}.randn({s})",
            "{w}.data = {w}.data.clone()",
            "{w}.data = {t}.from_numpy({np}.ones(({s},), dtype='float32'))",
            "{w}.data = {w}.data.round()",
            "{w}.data = ({w}.data > 0).float()",
            "{w}.data = {w}.detach().clone()",
            "{w}.data = {t}.randint(0, 3, ({s},)).float()",
            "{w}.data.copy_({t}.arange({n}).view({s}))",
            "x_ = {t}.zeros(3)\nx_.data = {t}.ones(3, dtype={t}.long)",
        ),
        w=w,
        s=shape_text(w.shape),
        n=w.numel,
    )
    finish(p, derive(p, w))


@legal("data-type")
def right_data_of_module(p: Program) -> None:
    """A module's weights are loaded through .data."""
    m = p.let("{nn}.Linear(4, 3)", "fc", "layer", "m")
    p.line(
        p.pick(
            "{m}.weight.data = {t}.ones(3, 4)",
            "{m}.weight.data = {t}.from_numpy({np}.zeros((3, 4), dtype='float32'))",
            "for p in {m}.parameters():\n    p.data = p.data.clone()",
            "{m}.bias.data = {t}.zeros(3)",
            "for p in {m}.parameters():\n    p.data = (p.data * 8).round() / 8",
        ),
        m=m,
    )
    p.line("{m}({t}.randn(2, 4)).sum().backward()", m=m)
