"""Silent effects: how each is measured on a program with instruments, and by which rules it is claimed."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import NamedTuple

from gradlint.confirm import preludes
from gradlint.confirm.places import Place, Role
from gradlint.domain.finding import Finding, Span

_SAVED = "with torch.autograd.graph.saved_tensors_hooks(lambda kept: kept.detach().clone(), lambda kept: kept):\n"
_SCALED = re.compile(r"of a scaled loss")
_COMPARED = "with torch.autograd.graph.saved_tensors_hooks(lambda saved: (saved, saved.detach().clone()), unpack):\n"
_DEFINED = re.compile(r"^(?:def (\w+)|([\w, ]+) = )", re.MULTILINE)


class Variant(NamedTuple):
    """A program around the one with instruments: what stands before it, and whether it stands in a `with`."""

    before: str
    block: str = ""

    def around(self, text: str) -> str:
        """The whole program."""
        inner = "".join(f"    {line}\n" for line in text.splitlines()) if self.block else text
        return self.before + self.block + inner


class Watch(NamedTuple):
    """What is watched: the place of the finding, or the places that explain it with words that fit `related`.

    With `alone` it is watched only where none of those before it has a place.
    """

    role: Role
    related: str | None = None
    alone: bool = False


class Measure(NamedTuple):
    """A silent effect.

    `probes` must be true after the program ran in the first variant; the first of them says whether there was
    anything to measure, and the last may be false, which refutes the effect. If there are more variants, `compared`
    must differ between the first and one of the others; with `same`, it must not differ. `proof` is the statement
    that fails by itself, behind the program with the instruments of the first of `shown` with which it does. What is
    shown `early` counts although the program raises behind it. With `refutes` a whole program that does not show the
    effect refutes it. `turns` asks for what is kept from turn to turn, `own_losses` for those alone that are walked
    at the place.
    """

    said: str
    variants: tuple[Variant, ...]
    probes: tuple[str, ...]
    compared: str | None = None
    same: bool = False
    shown: tuple[Variant, ...] = ()
    proof: str = ""
    watches: tuple[Watch, ...] = ()
    turns: bool = False
    own_losses: bool = False
    early: bool = False
    refutes: bool = True

    def places(self, finding: Finding) -> list[Place]:
        """Where to look, in the file of the finding."""
        places: list[Place] = []
        for role, related, alone in self.watches:
            if related is None:
                places.extend([] if alone and places else [Place(_stretch(finding.span), role)])
                continue
            here = (other for other in finding.related if other.filename in (None, finding.filename))
            places.extend(Place(_stretch(other.span), role) for other in here if re.search(related, other.message))
        return places

    def beside(self, taken: Collection[str]) -> Measure:
        """The same measure with other names for what it keeps, where a program has variables of these names."""
        texts = [variant.before for variant in self.variants]
        defined = {
            name.strip()
            for text in (*texts, *(variant.before for variant in self.shown))
            for found in _DEFINED.finditer(text)
            for name in (found[1] or found[2]).split(",")
        }
        clashing = defined & set(taken)
        if not clashing:
            return self
        names = re.compile(rf"(?<!\.)\b({'|'.join(sorted(clashing))})\b")

        def renamed(text: str) -> str:
            return names.sub(r"\1_of_the_run", text)

        return self._replace(
            variants=tuple(variant._replace(before=renamed(variant.before)) for variant in self.variants),
            probes=tuple(map(renamed, self.probes)),
            compared=None if self.compared is None else renamed(self.compared),
            shown=tuple(variant._replace(before=renamed(variant.before)) for variant in self.shown),
            proof=renamed(self.proof),
        )


def _stretch(span: Span) -> tuple[int, int, int, int]:
    return span.start.row, span.start.column, span.end.row, span.end.column


_OWN = (Watch("value"),)
_LOST = (Watch("value", r"is lost|not trained|this (?:leaf|parameter)"),)


def _nudged(amount: float) -> Variant:
    """The same leaves with other values: what depends on them changes."""
    here = preludes.NUDGE_HERE
    return Variant(
        preludes.NO_GRADIENT.replace(here, f"{here}        leaf.data.add_({amount} * torch.rand_like(leaf))\n")
    )


NO_GRADIENT = Measure(
    "no gradient arrives at the leaf, and the loss changes with it",
    (Variant(preludes.NO_GRADIENT), *(_nudged(amount) for amount in (0.1, -1.0, 10.0))),
    ("len(leaves) > 0 and len(losses) > 0", "not any(arrived)"),
    compared="losses[0]",
    shown=(Variant(preludes.ARRIVED),),
    proof="assert any(arrived), 'no gradient arrives'",
    watches=_LOST,
    # Another part of the loss may reach the same leaf, past the cut.
    refutes=False,
)

WRONG_GRADIENT = Measure(
    "the gradient is not the one of the values that the forward pass saved",
    (Variant(preludes.GRADIENTS), Variant(preludes.GRADIENTS, _SAVED)),
    ("len(gradients) > 0",),
    compared="[round(float((part * torch.arange(1, 1 + part.numel()).reshape(part.shape)).sum()), 4)"
    " for part in gradients]",
    shown=(Variant(preludes.SHOWN_SAVED, _COMPARED),),
)

NAN_GRADIENT = Measure(
    "the loss is finite, and its gradient is not",
    (Variant(preludes.GRADIENTS),),
    (
        "len(gradients) > 0 and all(loss == loss and abs(loss) != float('inf') for loss in losses[:1])",
        "any(bool(gradient.isnan().any()) for gradient in gradients)",
    ),
    shown=(Variant("torch.autograd.set_detect_anomaly(True)\n"),),
    refutes=False,
)

NONE = Measure(
    "the tensor is no leaf, and its `.grad` is None",
    (Variant(preludes.EMPTY),),
    ("len(filled) > 0", "not all(filled)"),
    shown=(Variant(preludes.EMPTY),),
    proof="assert all(filled), 'this is no leaf, and its gradient is None'",
    watches=(Watch("receiver"),),
    early=True,
)

GROWS = Measure(
    "the graph that is kept grows with each turn",
    (Variant(preludes.SIZES),),
    ("len(sizes) > 2", "grew()"),
    refutes=False,
    shown=(Variant(preludes.SHOWN_SIZES), Variant(preludes.SIZES)),
    proof="assert sizes[-1] <= sizes[0], 'the graph grows'",
    turns=True,
    early=True,
)

STALE = Measure(
    "a backward adds to gradients that a step has used",
    (Variant(preludes.STALE),),
    ("len(used) > 0", "len(stale) > 0"),
    shown=(Variant(preludes.SHOWN_STALE), Variant(preludes.STALE)),
    proof="assert not stale, 'these gradients have been used by a step already'",
    own_losses=True,
    early=True,
)

CLIPPED = Measure(
    "what is clipped has no gradients, or gradients that a step has used",
    (Variant(preludes.CLIPPED),),
    ("len(clipped) > 0", "all(clipped)"),
    shown=(Variant(preludes.SHOWN_CLIPPED), Variant(preludes.CLIPPED)),
    proof="assert not all(clipped), 'there is nothing to clip'",
    watches=(Watch("input"),),
)

IDLE = Measure(
    "gradients arrive, and no step of the optimizer finds any",
    (Variant(preludes.IDLE),),
    (
        "any(any(met for _, met in turns) for turns in steps.values())",
        "any(any(met for _, met in turns) and not any(finds for finds, _ in turns) for turns in steps.values())",
    ),
    shown=(Variant(preludes.SHOWN_IDLE),),
    proof="assert any(found), 'no step finds a gradient'",
)

UNTRAINED = Measure(
    "gradients arrive at the parameters, and the steps leave them as they were",
    (Variant(preludes.UNTRAINED),),
    ("len(steps) > 0 and len(arrivals) > 0 or any(not group for group in owned)", "untrained()"),
    shown=(Variant(preludes.SHOWN_UNTRAINED), Variant(preludes.UNTRAINED)),
    proof="assert not untrained(), 'what gets gradients is not trained'",
    watches=(Watch("value", r"made here|came after"), Watch("value", alone=True)),
)

UNREACHED = Measure(
    "an optimizer steps over the parameters, and no gradient arrives at them",
    (Variant(preludes.UNTRAINED),),
    ("len(made) > 0 and len(steps) > 0", "unreached()"),
    shown=(Variant(preludes.SHOWN_UNREACHED), Variant(preludes.UNTRAINED)),
    proof="assert not unreached(), 'no gradient arrives'",
    watches=_OWN,
)

UNREGISTERED = Measure(
    "the module does not count it among its parameters, and no optimizer has it",
    (Variant(preludes.UNREGISTERED),),
    ("any(len(leaves_of(value)) > 0 for value, _ in owned)", "any(is_outside(*both) for both in owned)"),
    shown=(Variant(preludes.SHOWN_UNREGISTERED), Variant(preludes.UNREGISTERED)),
    proof="assert not is_outside(*owned[0]), 'these are no parameters of the module'",
    watches=(Watch("inside"),),
    early=True,
)

TWINS = Measure(
    "both names are of one network",
    (Variant(preludes.TWINS),),
    ("len(seen) > 1", "twins()"),
    shown=(Variant(preludes.TWINS),),
    proof="assert not twins(), 'one network has both names'",
    watches=(Watch("networks", r"told apart"), Watch("value", alone=True)),
    early=True,
)

STILL_ARRIVES = Measure(
    "gradients still arrive at what is said to be frozen",
    (Variant(preludes.STILL_ARRIVES),),
    ("len(flagged) > 0", "any(arrived)"),
    shown=(Variant(preludes.SHOWN_STILL_ARRIVES),),
    proof="assert all(leaf.grad is None for leaf in flagged), 'gradients still arrive'",
    watches=(Watch("target"),),
    refutes=False,
    early=True,
)

FLAGS = Measure(
    "the flag stays as it was",
    (Variant(preludes.FLAGS),),
    ("len(flagged) > 0", "not any(flagged)"),
    shown=(Variant(preludes.SHOWN_FLAGS),),
    proof="assert all(flagged), 'the flag is another'",
    watches=(Watch("target"),),
    early=True,
)

UNINITIALISED = Measure(
    "the gradient argument is memory that nothing has filled",
    (Variant(preludes.ROOTS),),
    ("len(weights) > 0", "any(weights)"),
    shown=(Variant(preludes.ROOTS),),
    proof="assert not any(weights), 'nothing has filled this memory'",
    own_losses=True,
    early=True,
)

CONSTANT = Measure(
    "the values have no graph, and the loss changes with them",
    (
        Variant(preludes.CONSTANTS),
        Variant(preludes.CONSTANTS.replace("    return value\ndef watched", "    return value * 1.5 + 1\ndef watched")),
    ),
    ("len(constants) > 0 and len(losses) > 0", "all(constants)"),
    compared="losses[0]",
    shown=(Variant(preludes.CONSTANTS),),
    proof="assert not all(constants), 'there is no graph'",
    watches=(Watch("value"), Watch("value", r"is a constant")),
)

UNWEIGHTED = Measure(
    "a loss of four times the size has the same gradients",
    (
        Variant(preludes.SCALED),
        Variant(preludes.SCALED.replace("loss * 1.0", "loss * 4.0")),
    ),
    ("len(gradients) > 0",),
    compared="[gradient.tolist() for gradient in gradients.values()]",
    same=True,
    shown=(Variant(preludes.SHOWN_SCALED),),
    proof="assert not torch.equal(gradients[0][0], gradients[1][0]), 'the loss weighs nothing'",
)

MODE = Measure(
    "a step is made while the network is in evaluation mode",
    (Variant(preludes.MODES),),
    ("len(modes) > 0", "not all(modes)"),
    shown=(Variant(preludes.MODES),),
    proof="assert all(modes), 'a step in evaluation mode'",
    watches=(Watch("receiver"),),
    early=True,
)

DROPS = Measure(
    "values are dropped while the network is in evaluation mode",
    (Variant(preludes.DROPS),),
    ("len(dropped) > 0", "any(dropped)"),
    shown=(Variant(preludes.DROPS),),
    proof="assert not any(dropped), 'this drops in evaluation mode'",
    watches=(Watch("within"),),
    early=True,
)

UNNOTICED = Measure(
    "the tensor has other values, and its version is the same",
    (Variant(preludes.WRITES),),
    ("len(states) > 1", "unnoticed()"),
    shown=(Variant(preludes.WRITES),),
    proof="assert not unnoticed(), 'autograd has not noticed the write'",
    watches=(Watch("around"),),
    early=True,
)

_STRAINED = tuple(
    Variant(preludes.EXTREMES.replace("outside, grown = 0.0", f"outside, grown = {factor}"))
    for factor in (0.0, 1.0, 1000.0, -1000.0)
)

OVERFLOWS = Measure(
    "with large inputs the result or its gradient is not finite",
    _STRAINED,
    ("len(outside) > 0", "not any(outside)"),
    compared="any(outside)",
    shown=(Variant(preludes.SHOWN_EXTREMES), *_STRAINED[1:]),
    proof="assert not any(outside), 'with large inputs this is not finite'",
    watches=(Watch("exponents"), Watch("value")),
    refutes=False,
    early=True,
)

KEPT_CHANGES = Measure(
    "what is loaded are the values that the module has",
    (Variant(preludes.KEPT),),
    ("any(state is not None for _, state in loads)", "any(is_itself(*both) for both in loads)"),
    shown=(Variant(preludes.KEPT),),
    proof="assert not any(is_itself(*both) for both in loads), 'these are the values that it has'",
    watches=(Watch("value"), Watch("receiver", r"loads what"), Watch("input", r"loads what")),
    early=True,
)

_IN_RANGE = "all(bool(((value >= 0) & (value <= 1)).all()) for value in values)"
_SUMS = "all(abs(float(value.detach().exp().sum({}).mean()) - 1) < 1e-3 for value in values)"
_LOGARITHMS = " or ".join(_SUMS.format(dim) for dim in (-1, "1 if value.dim() > 1 else 0"))
_GETS = {"probabilities": _IN_RANGE, "log-probabilities": _LOGARITHMS, "scores": f"not ({_LOGARITHMS})"}


def _activation(kind: str) -> Measure:
    return Measure(
        f"the loss is given {kind}",
        (Variant(f"import torch\n{preludes.VALUES}"),),
        ("len(values) > 0", _GETS[kind]),
        shown=(Variant(preludes.VALUES),),
        proof=f"assert not ({_GETS[kind]})",
        watches=(Watch("input"),),
        early=True,
    )


BROADCAST = Measure(
    "the result has more elements than either of the two",
    (Variant(f"import torch\n{preludes.VALUES}"),),
    (
        "len(values) > 1",
        "any(one.dim() != other.dim() and (one.detach() - other.detach()).numel() > max(one.numel(), other.numel())"
        " for one, other in zip(values[::2], values[1::2]))",
    ),
    shown=(Variant(preludes.VALUES),),
    proof="assert values[0].shape == values[1].shape, 'each element meets each'",
    watches=(Watch("pair"),),
    early=True,
)

MEASURES: dict[str, Measure] = {
    "data-write-to-saved": WRONG_GRADIENT,
    "nonleaf-grad": NONE,
    **dict.fromkeys(
        (
            *("data-in-graph", "rewrapped-tensor", "number-on-loss-path", "numpy-on-loss-path", "requires-grad-hack"),
            *("loss-under-no-grad", "detached-on-loss-path", "nondiff-on-loss-path", "zero-gradient-op"),
            *("integer-cast-on-loss-path", "sample-not-rsample"),
        ),
        NO_GRADIENT,
    ),
    **dict.fromkeys(("masked-nan", "root-at-zero"), NAN_GRADIENT),
    **dict.fromkeys(("graph-accumulates", "state-not-detached", "eval-keeps-graph"), GROWS),
    "zero-grad-missing": STALE,
    **dict.fromkeys(("zero-grad-misplaced", "step-before-backward"), IDLE),
    "clip-misplaced": CLIPPED,
    "optimizer-misses-parameter": UNTRAINED,
    "parameter-never-reached": UNREACHED,
    **dict.fromkeys(("module-in-container", "parameter-moved", "tensor-not-parameter"), UNREGISTERED),
    "module-built-in-forward": UNREGISTERED,
    "network-alias": TWINS,
    "module-flag": STILL_ARRIVES,
    "set-requires-grad-by-name": FLAGS,
    "gradient-uninitialised": UNINITIALISED,
    "grad-without-create-graph": CONSTANT,
    "gradient-ignored": UNWEIGHTED,
    "train-mode-missing": MODE,
    "functional-dropout-always-on": DROPS,
    "data-update": UNNOTICED,
    "unstable-spelling": OVERFLOWS,
    "state-dict-alias": KEPT_CHANGES,
    "loss-broadcast": BROADCAST,
    "activation-loss-mismatch": _activation("probabilities"),
}
"""By the name of the rule whose findings claim the effect."""


def measure_of(finding: Finding) -> Measure | None:
    """How to measure what a finding claims; None for an error, and where there is no measure."""
    if finding.effect == "raises":
        return None
    if finding.name == "activation-loss-mismatch":
        found = re.search(r"gets ([\w-]+) from", finding.message)
        return _activation(found[1]) if found is not None and found[1] in _GETS else None
    if any(_SCALED.search(other.message) for other in finding.related):
        return None
    return MEASURES.get(finding.name)
