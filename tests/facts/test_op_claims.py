"""What the pages of `gradlint op` claim, of operations drawn at random, put before torch."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest

from gradlint.facts import Entry, Table, load, resolve
from gradlint.facts.derivatives import broadcasting_lines, formulas_of, node_lines, of
from gradlint.facts.describe import differentiable, text

torch = pytest.importorskip("torch")
TABLE: Table = load()
if torch.__version__.split("+")[0] != TABLE.torch.split("+")[0]:
    pytest.skip(f"the table speaks of torch {TABLE.torch}", allow_module_level=True)

from torch.testing._internal.common_methods_invocations import op_db  # noqa: E402 (these import torch)

from tools.derivatives.graphs import graph_of, ready  # noqa: E402
from tools.facts import samples  # noqa: E402
from tools.facts.call import Call, Run, differentiable_labels, run  # noqa: E402
from tools.facts.probe import flags_of  # noqa: E402
from tools.facts.units import defaults_of  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")  # Torch's own samples use what torch itself has deprecated.

COUNT = 200
DRAWN = 60
SEED = 7

KNOWN_GAPS = {
    "nn.functional.interpolate": "mode='area' saves its input",
    "nn.functional.linear_cross_entropy": "in some calls it is one node, which saves other tensors",
    "masked.norm": "the mask is not saved in each call",
    "masked.amax": "the mask is not saved in each call",
    "masked.logsumexp": "the mask is not saved in each call",
}
"""Rows of the facts table that are wrong in some calls."""


class Claim(NamedTuple):
    """One statement of a page about a call, and what torch says of it."""

    name: str
    said: str
    holds: Callable[[], bool]


def calls_drawn(rng: random.Random) -> Iterator[tuple[Entry, Call]]:
    for op in rng.sample([one for one in op_db if one.name not in KNOWN_GAPS], DRAWN):
        made = (samples.named_call(*one) for one in samples.of_op(op))
        calls = [call for call in made if call is not None and TABLE.find(call.name) is not None]
        for call in rng.sample(calls, min(2, len(calls))):
            entry = TABLE.find(call.name)
            assert entry is not None
            yield entry, call


def claims_of(entry: Entry, call: Call) -> Iterator[Claim]:
    """The statements of the page that speak of this call."""
    prepared = ready(call)
    flags = flags_of(call, defaults_of(call.name))
    if prepared is None or not differentiable_labels(call):
        return
    state, requiring = prepared
    yield from _of_nodes(entry, call, state)
    if not entry.row.samples or not entry.row.saved:
        return
    grad = resolve(entry.row.requires_grad, flags)
    for label, output in state.outputs.items():
        if label in grad.must and requiring == frozenset(differentiable_labels(call)):
            yield Claim(call.name, f"{label} requires grad", lambda o=output: o.requires_grad)  # type: ignore[misc]
        elif label not in grad.may and ">*" not in grad.may:
            yield Claim(call.name, f"{label} requires no grad", lambda o=output: not o.requires_grad)  # type: ignore[misc]
    for label in sorted(requiring):
        yield from _of_input(entry, call, label, flags)


def _of_nodes(entry: Entry, call: Call, state: Run) -> Iterator[Claim]:
    graph = graph_of(state)
    found = of(entry.name)
    if graph is None or not node_lines(entry):
        return
    yield Claim(call.name, f"the node is among {found.ends}", lambda: set(graph.ends) <= set(found.ends))
    if found.several != "sometimes":
        expected = found.several == "always"
        yield Claim(call.name, "one node" if not expected else "several nodes", lambda: bool(graph.inner) == expected)


def _of_input(entry: Entry, call: Call, label: str, flags: dict[str, str]) -> Iterator[Claim]:
    row = entry.row
    if label not in row.saved or label in resolve(row.no_derivative, flags).may or refused(call, label):
        return
    zero = resolve(row.zero[label], flags).must if label in row.zero and label not in of(entry.name).flows else None
    nothing = resolve(row.no_gradient[label], flags).may if label in row.no_gradient else frozenset()
    if zero:
        yield Claim(call.name, f"the gradient of {label} is zero", lambda: not any(map(_any, gradients(call, label))))
    if broadcasting_lines(entry) and not nothing:
        yield Claim(call.name, f"the gradient of {label} has its size", lambda: sizes_agree(call, label))
    kept = resolve(row.saved[label], flags)
    inputs = [name for name in call.named if name in run(call, frozenset({label})).inputs]
    for name in inputs:
        if name in kept.must:
            yield Claim(call.name, f"for {label}: {name} is saved", lambda n=name: write_raises(call, label, n))  # type: ignore[misc]
        elif name not in kept.may:
            yield Claim(call.name, f"for {label}: {name} is not saved", lambda n=name: not write_raises(call, label, n))  # type: ignore[misc]
    freed = resolve(row.freed[label], flags) if label in row.freed else None
    if freed is not None and "yes" in freed.must:
        yield Claim(call.name, f"for {label}: second backward raises", lambda: second_raises(call, label))
    elif freed is None or "yes" not in freed.may:
        yield Claim(call.name, f"for {label}: second backward is allowed", lambda: not second_raises(call, label))


def _any(gradient: Any) -> bool:
    return bool(gradient.any())


def loss_of(state: Run) -> Any | None:
    outputs = [one for one in state.outputs.values() if one.requires_grad]
    real = [torch.view_as_real(one.resolve_conj()) if one.is_complex() else one for one in outputs]
    return sum((one.sum() for one in real), torch.zeros(())) if outputs else None


def gradients(call: Call, label: str) -> list[Any]:
    state = run(call, frozenset({label}))
    loss = loss_of(state)
    assert loss is not None
    found = torch.autograd.grad(loss, state.leaves[label], allow_unused=True)
    return [one for one in found if one is not None]


def sizes_agree(call: Call, label: str) -> bool:
    leaves = run(call, frozenset({label})).leaves[label]
    return [one.shape for one in gradients(call, label)] == [one.shape for one in leaves]


def write_raises(call: Call, label: str, name: str) -> bool:
    """Whether backward raises after a write to an input."""
    state = run(call, frozenset({label}))
    loss = loss_of(state)
    with torch.no_grad():
        for tensor in state.inputs[name]:
            tensor.zero_()
    return backward_raises(loss, "modified by an inplace operation")


def second_raises(call: Call, label: str) -> bool:
    loss = loss_of(run(call, frozenset({label})))
    assert not backward_raises(loss, "")
    return backward_raises(loss, "second time")


def refused(call: Call, label: str) -> bool:
    """Whether backward refuses a combination of arguments by an error of its own."""
    loss = loss_of(run(call, frozenset({label})))
    try:
        if loss is not None:
            loss.backward()
    except RuntimeError:
        return True
    return False


def backward_raises(loss: Any | None, text: str) -> bool:
    if loss is None:
        return False
    try:
        loss.backward()
    except RuntimeError as error:
        assert text in str(error), error
        return True
    return False


@pytest.fixture(scope="module")
def claims() -> list[Claim]:
    rng = random.Random(SEED)
    return rng.sample([claim for entry, call in calls_drawn(rng) for claim in claims_of(entry, call)], COUNT)


def test_random_claims(claims: list[Claim]) -> None:
    """Of 200 claims about calls that torch's own tests make, all hold."""
    assert [(claim.name, claim.said) for claim in claims if not holds(claim)] == []


def holds(claim: Claim) -> bool:
    torch.manual_seed(0)
    return claim.holds()


@pytest.fixture(scope="module")
def entries() -> list[Entry]:
    return [entry for name in TABLE if (entry := TABLE.find(name)) is not None]


def test_no_page_contradicts_itself(entries: list[Entry]) -> None:
    """What takes no tensor that can require grad cannot raise for one that does."""
    lines = {entry.name: "\n".join(differentiable(entry.row)) for entry in entries}
    both = [name for name, said in lines.items() if "takes no tensor that can" in said and "raises" in said]
    assert both == []


def test_no_page_shows_a_flag_of_the_table(entries: list[Entry]) -> None:
    assert [entry.name for entry in entries if re.search(r"@[a-z]", text(TABLE, entry).replace(" @ ", " "))] == []


def test_what_raises_the_second_time_was_kept(entries: list[Entry]) -> None:
    """A page that says that nothing is saved, for an input, does not say that a second backward raises for it."""
    wrong = []
    for entry in entries:
        lines = [line for line in text(TABLE, entry).splitlines() if " if " not in line and "(if " not in line]
        raises = [line.replace("second backward", "") for line in lines if "raises without retain" in line]
        nothing = [line.partition(" for ")[2] for line in lines if " for " in line and line.endswith(": nothing")]
        wrong += [(entry.name, name) for name in names_in(raises) & names_in(nothing)]
    assert wrong == []


def names_in(lines: list[str]) -> set[str]:
    return {name for line in lines for name in line.partition(":")[0].strip().split(", ")}


def test_each_node_that_has_a_formula_is_one_of_a_page(entries: list[Entry]) -> None:
    shown = {node for entry in entries for node in (*of(entry.name).ends, *of(entry.name).inner) if formulas_of(node)}
    assert len(shown) > 250
