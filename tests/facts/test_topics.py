"""What `gradlint op` says of names that are no operations: each statement is shown by a program, which runs here."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from typing import Any

import pytest

from gradlint.facts import load
from gradlint.facts.topics import Statement, Topic, topics

torch = pytest.importorskip("torch")
if torch.__version__.split("+")[0] != load().torch.split("+")[0]:
    pytest.skip(f"the pages speak of torch {load().torch}", allow_module_level=True)

SHOWN = [(topic, statement) for topic in topics() for statement in topic.statements if statement.shown_by]


def raises(function: Callable[[], object], text: str) -> None:
    """Hold that a call raises with a text."""
    with pytest.raises((RuntimeError, ValueError, NotImplementedError, TypeError)) as error:
        function()
    assert re.search(text, str(error.value)), error.value


@pytest.mark.parametrize(("topic", "statement"), SHOWN, ids=[f"{t.name}-{s.text[:30]}" for t, s in SHOWN])
def test_torch_shows_it(topic: Topic, statement: Statement) -> None:
    torch.manual_seed(0)
    names: dict[str, Any] = {
        "torch": torch,
        "nn": torch.nn,
        "F": torch.nn.functional,
        "raises": raises,
        "x": torch.tensor([1.0, 2.0, 3.0], requires_grad=True),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Some statements are about what torch has deprecated.
        exec(statement.shown_by, names)


def test_nearly_every_statement_is_shown() -> None:
    silent = [statement.text for topic in topics() for statement in topic.statements if not statement.shown_by]
    assert silent == ["`gradlint op NAME` gives the node of each operation, and its derivative."]


def test_no_name_leads_to_two_pages() -> None:
    names = [name for topic in topics() for name in {*topic.also, topic.name}]
    assert sorted(names) == sorted(set(names))
