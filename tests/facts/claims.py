"""What the pages of `gradlint op` claim of calls, each put before torch: `python -m tests.facts.claims 200 --seed 7`.

The operations are drawn among all of the table, and the claims evenly among their kinds.
"""

from __future__ import annotations

import random
import sys
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from functools import partial
from operator import eq, le
from typing import NamedTuple

import click
import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.common_modules import module_db

from gradlint.facts import Entry, Table, load, resolve
from gradlint.facts.aliases import canonical
from gradlint.facts.derivatives import broadcasting_lines, node_lines, of
from gradlint.facts.describe import in_place
from gradlint.facts.element_types import refused_types
from tools.derivatives.graphs import graph_of, ready
from tools.facts import module_recipes, recipes, samples
from tools.facts.call import Call, Run, differentiable_labels, run, tensors_in
from tools.facts.probe import REFUSALS, flags_of
from tools.facts.probes import out, shape
from tools.facts.units import defaults_of

from . import experiments

TABLE: Table = load()

KNOWN_GAPS = {"Tensor.addcdiv_": "0 / 0 is NaN, and the few calls that were measured at zero had other numerators"}
"""Names of which a page is wrong in some calls."""

MOST_CALLS = 2
"""How many calls of an operation are asked."""


class Claim(NamedTuple):
    """One statement of a page about a call, and what torch says of it."""

    kind: str
    said: str
    holds: Callable[[], bool]
    name: str = ""


def drawn(seed: int, count: int) -> list[Claim]:
    """Draw claims: of operations at random, and as many of each kind as there are, up to an even share."""
    rng = random.Random(seed)
    found: dict[str, list[Claim]] = defaultdict(list)
    names = [name for name in TABLE if name not in KNOWN_GAPS]
    for name in rng.sample(names, min(len(names), count)):
        entry = TABLE.find(name)
        calls = list(calls_of(name))
        for call in rng.sample(calls, min(MOST_CALLS, len(calls))):
            for claim in claims_of(entry, call) if entry is not None else ():
                found[claim.kind].append(claim._replace(name=name))
    for claims in found.values():
        rng.shuffle(claims)
    chosen: list[Claim] = []
    while len(chosen) < count and any(found.values()):
        chosen += [claims.pop() for claims in found.values() if claims]
    return chosen[:count]


def calls_of(name: str) -> Iterator[Call]:
    """Yield the calls of a name that torch's own tests make, by any name of the operation, and those of recipes."""
    modules = [info for info in module_db if f"nn.{info.module_cls.__name__}" == name]
    made = [call for info in modules for call in samples.of_module(info)]
    made += [samples.module_call(*line) for line in module_recipes.modules().get(name, ())]
    if not made:
        one = canonical(name)
        given = [call for op in op_db if canonical(op.name) == one for call in samples.of_op(op)]
        given += [line for lines in recipes.groups().values() for line in lines if canonical(line.name) == one]
        calls = (samples.named_call(name, args, kwargs) for _, args, kwargs in given)
        made = [call for call in calls if call is not None]
    yield from filter(experiments.runs, made)


def claims_of(entry: Entry, call: Call) -> Iterator[Claim]:
    """Yield the statements of the page that speak of this call."""
    flags = flags_of(call, defaults_of(call.name))
    yield from _of_results(entry, call, flags)
    yield from _of_aliases(entry, call, flags)
    yield from _of_element_types(entry, call)
    yield from _of_refusals(entry, call, flags)
    prepared = ready(call)
    able = frozenset(differentiable_labels(call))
    if prepared is None or not able:
        return
    state, requiring = prepared
    yield from _of_nodes(entry, call, state)
    if not entry.row.samples or not entry.row.saved:
        return
    yield from _of_out(entry, call, requiring)
    grad = resolve(entry.row.requires_grad, flags)
    for label, output in state.outputs.items():
        if label in grad.must and requiring == able:
            yield Claim("result", f"{label} requires grad", partial(eq, output.requires_grad, True))
        elif label not in grad.may and ">*" not in grad.may:
            yield Claim("result", f"{label} requires no grad", partial(eq, output.requires_grad, False))
    for label in sorted(requiring):
        yield from _of_input(entry, call, label, flags)


def _of_results(entry: Entry, call: Call, flags: dict[str, str]) -> Iterator[Claim]:
    """Yield what a call returns: of which Python shape, size and type; and what a module holds."""
    row, state = entry.row, run(call)
    seen = shape.observe(call, state) | {"dtype": shape.dtype_rules(call, state)}
    structure = resolve(row.result, flags)
    if structure.must and "(*)" not in "".join(structure.may):
        yield Claim("structure", f"{set(structure.must)}", partial(eq, structure.must, seen["result"]))
    for field, value in (("size", row.size), ("dtype", row.dtype)):
        rules = resolve(value, flags).must
        if rules and field in seen:
            yield Claim(field, f"{set(rules)}", partial(le, rules, seen[field]))
    if call.module is None:
        return
    for kind, value, held in (
        ("parameters", row.parameters, call.module.instance.named_parameters()),
        ("buffers", row.buffers, call.module.instance.named_buffers()),
    ):
        said, names = resolve(value, flags), frozenset(name for name, _ in held)
        if "*" not in said.may:
            text = f"{set(said.must)} of {set(said.may)}"
            yield Claim(kind, text, partial(eq, names, (names & said.may) | said.must))


def _of_aliases(entry: Entry, call: Call, flags: dict[str, str]) -> Iterator[Claim]:
    """Yield what a result shares with an input, what is written, and what the variants in place do."""
    row = entry.row
    views, writes, hidden = (resolve(value, flags) for value in (row.views, row.writes, row.hidden_writes))
    for label in sorted(views.must):
        if "*" not in label.partition(":")[0]:
            yield Claim("view", label, partial(experiments.is_alias, call, label))
    if not views.may:
        yield Claim("no view", "results are new tensors", partial(experiments.are_new, call))
    for name in run(call).inputs:
        if name in writes.must:
            yield Claim("write", f"writes to {name}", partial(experiments.is_written, call, name))
        elif name not in writes.may | hidden.may and name[:2] not in ("p.", "b."):
            yield Claim("no write", f"does not write to {name}", partial(experiments.is_kept, call, name))
    for line in in_place(TABLE, entry):
        for name in line.split(", "):
            again = None if name == "inplace=True" else samples.named_call(name, call.args, call.kwargs)
            if again is not None and _fits(call):
                yield Claim("in place", name, partial(experiments.writes_the_same, call, again))


def _fits(call: Call) -> bool:
    """Return whether the first tensor can hold the result."""
    result, first = run(call).result, next(tensors_in(list(call.args)), None)
    if not isinstance(result, torch.Tensor) or first is None:
        return False
    return result.shape == first.shape and result.dtype == first.dtype


def _of_element_types(entry: Entry, call: Call) -> Iterator[Claim]:
    refused_by = {} if call.module is not None else refused_types(canonical(entry.name))
    first = next(iter(call.named), None)
    for argument, types in refused_by.items():
        label = first if argument == "input" else argument
        if label is not None and isinstance(call.named.get(label), torch.Tensor):
            for wanted in sorted(types):
                text = f"{label} of {wanted} is refused"
                yield Claim("element type", text, partial(experiments.type_refused, call, label, wanted))


def _of_refusals(entry: Entry, call: Call, flags: dict[str, str]) -> Iterator[Claim]:
    at_once = resolve(entry.row.raises_if_requires_grad, flags)
    later = resolve(entry.row.no_derivative, flags)
    for label in differentiable_labels(call) if entry.row.samples else ():
        if label in at_once.must:
            yield Claim("refusal", f"raises if {label} requires grad", partial(experiments.raises, call, label))
        elif label not in at_once.may:
            yield Claim("no refusal", f"takes {label} that requires grad", partial(experiments.takes, call, label))
        if label in later.must - at_once.may:
            yield Claim("no derivative", f"none for {label}", partial(experiments.refused, call, label))


def _of_out(entry: Entry, call: Call, requiring: frozenset[str]) -> Iterator[Claim]:
    word = entry.row.out_with_grad
    if entry.sig.param("out") is None or word not in ("raises", "late", "cuts", "works"):
        return
    try:
        found = out.observe(call, requiring)
    except REFUSALS:  # Some overloads of the name take no `out=`.
        return
    yield Claim("out", f"out= {word}", partial(eq, found["out"], {word}))


def _of_nodes(entry: Entry, call: Call, state: Run) -> Iterator[Claim]:
    graph, found = graph_of(state), of(entry.name)
    if graph is None or not node_lines(entry):
        return
    yield Claim("node", f"among {found.ends}", partial(le, set(graph.ends), set(found.ends)))
    if found.several != "sometimes":
        several = found.several == "always"
        yield Claim("number of nodes", found.several, partial(eq, bool(graph.inner), several))


def _of_input(entry: Entry, call: Call, label: str, flags: dict[str, str]) -> Iterator[Claim]:
    row = entry.row
    if label not in row.saved or label in resolve(row.no_derivative, flags).may or experiments.refused(call, label):
        return
    zero = resolve(row.zero[label], flags).must if label in row.zero and label not in of(entry.name).flows else None
    nothing = resolve(row.no_gradient[label], flags).may if label in row.no_gradient else frozenset()
    if zero:
        yield Claim("zero", f"the gradient of {label}", partial(experiments.is_zero, call, label))
    if broadcasting_lines(entry) and not nothing:
        yield Claim(
            "broadcasting",
            f"the gradient of {label} has its size",
            partial(experiments.sizes_agree, call, label),
        )
    kept = resolve(row.saved[label], flags)
    inputs = [name for name in call.named if name in run(call, frozenset({label})).inputs]
    for name in inputs:
        if name in kept.must:
            yield Claim("saved", f"for {label}: {name}", partial(experiments.write_raises, call, label, name))
        elif name not in kept.may:
            yield Claim("not saved", f"for {label}: {name}", partial(experiments.write_passes, call, label, name))
    freed = resolve(row.freed[label], flags) if label in row.freed else None
    if freed is not None and "yes" in freed.must:
        yield Claim("second backward", f"raises, for {label}", partial(experiments.second_raises, call, label))
    elif freed is None or "yes" not in freed.may:
        yield Claim("second backward", f"is allowed, for {label}", partial(experiments.second_passes, call, label))
    for number, kinds in row.nonfinite.get(label, {}).items():
        if "?" not in kinds and label in call.named:
            text = f"the gradient for {label} = {number}: {kinds}"
            yield Claim("not finite", text, partial(experiments.is_not_finite, call, label, number, kinds))


@click.command()
@click.argument("count", type=int, default=200)
@click.option("--seed", default=0)
def main(count: int, seed: int) -> None:
    """Print how many claims of each kind hold, and those that do not."""
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    claims = drawn(seed, count)
    wrong = [claim for claim in claims if not holds(claim)]
    for kind, number in Counter(claim.kind for claim in claims).most_common():
        click.echo(f"{number - sum(one.kind == kind for one in wrong):5d} of {number:5d}  {kind}")
    for claim in wrong:
        click.echo(f"wrong: {claim.name}: {claim.said} [{claim.kind}]")
    click.echo(f"{len(claims) - len(wrong)} of {len(claims)} claims hold, of {len({one.name for one in claims})} names")
    sys.exit(1 if wrong else 0)


def holds(claim: Claim) -> bool:
    """Whether torch agrees with a claim."""
    torch.manual_seed(0)
    return bool(claim.holds())


if __name__ == "__main__":
    main()
