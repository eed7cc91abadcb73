"""What the pages of `gradlint op` claim, of operations drawn at random, put before torch."""

from __future__ import annotations

import re

import pytest

from gradlint.facts import Entry, Table, load
from gradlint.facts.derivatives import formulas_of, of
from gradlint.facts.describe import differentiable, text

torch = pytest.importorskip("torch")
TABLE: Table = load()
if torch.__version__.split("+")[0] != TABLE.torch.split("+")[0]:
    pytest.skip(f"the table speaks of torch {TABLE.torch}", allow_module_level=True)

from .claims import drawn, holds  # noqa: E402 (it imports torch)

COUNT = 200
SEED = 7


@pytest.mark.filterwarnings("ignore")  # Torch's own samples use what torch itself has deprecated.
def test_random_claims() -> None:
    """Of 200 claims, of every kind and all operations, all hold."""
    claims = drawn(SEED, COUNT)
    assert len(claims) == COUNT
    assert len({claim.kind for claim in claims}) >= 20
    assert [(claim.name, claim.said) for claim in claims if not holds(claim)] == []


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
