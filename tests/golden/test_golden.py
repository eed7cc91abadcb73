"""The golden files: what is recorded of a program hangs on its text alone, and each difference is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.golden import corpus, record
from tests.golden.compare import changes, lines_of, summary
from tests.golden.corpus import Program, single, units_of, whole
from tests.golden.packages import pinned
from tests.golden.record import Entry, entries_of

LEAF = "import torch\nw = torch.ones(3, requires_grad=True)\nw += 1\n"
SUM_OF_THREE = """\
import torch
from torch import nn

model = nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
total = 0.0
for x in torch.randn(6, 4, 2):
    optimizer.zero_grad()
    loss = model(x).pow(2).mean() + model(x).abs().mean() + model(x).exp().mean()
    loss.backward()
    optimizer.step()
    total += loss
"""


def entry_of(program: Program) -> Entry:
    (entry,) = entries_of(program)
    return entry


def test_a_key_hangs_on_the_texts_alone() -> None:
    """Where a program stands is not in it."""
    assert single("here", LEAF).key == single("there", LEAF).key != single("here", LEAF + "\n").key
    assert whole("here", {"a.py": "", "b.py": LEAF}).key != whole("here", {"a.py": LEAF, "b.py": ""}).key


def test_a_program_in_two_places_comes_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Under the first of the two."""
    monkeypatch.setitem(corpus.GROUPS, "pages", lambda: [single("here", LEAF), single("there", LEAF)])
    assert [unit.place for unit in units_of("pages")] == ["here"]


def test_all_of_a_finding_is_recorded() -> None:
    """Its place, its words, what explains it, and its fix."""
    (finding,) = entry_of(single("here", LEAF))["findings"]
    assert (finding["code"], finding["at"], finding["file"]) == ("GRD101", "3:1-3:7", "example.py")
    assert finding["related"] == [{"at": "2:5-2:38", "message": "the leaf is created here"}]
    assert finding["fix"]["edits"]


def test_file_names_are_relative_to_the_program() -> None:
    """Wherever the files are written for the check, in which their order does not matter."""
    files = {"main.py": "import torch\nfrom net import w\nw += 1\n", "net.py": LEAF.removesuffix("w += 1\n")}
    (finding,) = entry_of(whole("here", files))["findings"]
    assert finding["file"] == "main.py"
    assert [related["file"] for related in finding["related"]] == ["net.py"]


def test_a_program_is_recorded_alike_each_time() -> None:
    """Findings name the same of several places that would do, wherever objects lie in memory."""
    entries = [entry_of(single("here", SUM_OF_THREE)) for _ in range(8)]
    assert [finding["code"] for finding in entries[0]["findings"]] == ["GRD510"]
    assert entries[0]["findings"][0]["related"]
    assert [entry for entry in entries if entry != entries[0]] == []


def test_a_crash_has_an_entry(monkeypatch: pytest.MonkeyPatch) -> None:
    """It does not pass for silence."""

    def crash(*_: object) -> None:
        raise ValueError("two\nlines")

    monkeypatch.setattr(record, "check_source", crash)
    assert entry_of(single("here", LEAF)) == {"key": single("here", LEAF).key, "crash": "ValueError: two lines"}


def finding(code: str, at: str, message: str) -> Entry:
    return {"code": code, "at": at, "file": "a.py", "message": message}


def test_each_difference_is_told() -> None:
    """Of a changed finding what changed, and of programs that one side lacks that they do."""
    before: dict[str, Entry] = {
        "1": {"findings": [finding("GRD101", "1:1-1:2", "old"), finding("GRD102", "2:1-2:2", "gone")]},
        "2": {"findings": []},
    }
    after: dict[str, Entry] = {
        "1": {"findings": [finding("GRD101", "1:1-1:2", "new")]},
        "3": {"crash": "ValueError: x"},
    }
    found = changes(before, after)
    assert [(change.key, change.kind, change.code) for change in found] == [
        ("1", "changed", "GRD101"),
        ("1", "removed", "GRD102"),
        ("2", "removed", "program"),
        ("3", "added", "program"),
        ("3", "added", "crash"),
    ]
    assert list(lines_of(found[0], "here")) == [
        "changed GRD101 in here [1]",
        "    at 1:1-1:2 of a.py",
        "  - message: old",
        "  + message: new",
    ]
    assert next(iter(summary(found))) == "GRD101: 1 changed"


def test_nothing_differs_from_itself() -> None:
    entries = {"1": entry_of(single("here", LEAF))}
    assert changes(entries, dict(entries)) == []


def test_packages_are_pinned() -> None:
    """By name and version, and their findings are recorded under both."""
    recorded = (Path(__file__).parent / "packages.jsonl").read_text(encoding="utf-8")
    for package in pinned():
        assert package.key.count("==") == 1
        assert f'"key":"{package.key}"' in recorded
