"""Somebody types for long: no crash, no line in the log, and no memory that only grows."""

from __future__ import annotations

import statistics
import sys
from importlib import metadata
from pathlib import Path

import pytest
from lsprotocol import types

from benchmarks.server import EDITS, resident, session
from gradlint import check_source
from gradlint.domain.finding import Position
from gradlint.server.documents import Cell, Document
from gradlint.server.texts import UTF16, Text
from tests.server.conftest import Editor, codes_of

REAL = Path(str(metadata.distribution("torch").locate_file("torch/distributions/lowrank_multivariate_normal.py")))


@pytest.mark.asyncio
@pytest.mark.skipif(sys.platform != "linux", reason="the memory of a process is read from /proc")
async def test_two_hundred_edits(asking: Editor) -> None:
    """After the last one, what is shown is what a check of the text finds."""
    text = REAL.read_text(encoding="utf-8")
    uri = asking.open("real.py", text)
    server = asking.client._server
    assert server is not None
    memory: list[float] = []
    for edit, after in session(text, EDITS):
        asking.change(uri, edit.new, edit.stretch)
        shown = codes_of(await asking.shown(uri))
        memory.append(resident(server.pid))
        text = after
    assert sorted(shown) == sorted(finding.code for finding in check_source(text, "real.py"))
    assert asking.client.messages == []
    early, late = (statistics.median(memory[at : at + 25]) for at in (50, EDITS - 25))
    assert late < early * 1.25


def test_changes_are_made_as_the_editor_makes_them() -> None:
    """Of each edit of a session."""
    text = "import torch\n\n\ndef f(x):\n    y = x.exp()\n    return y.sum()\n"
    document = Document("file:///a.py", (Cell("file:///a.py", Text(text)),))
    for edit, after in session(text):
        change = types.TextDocumentContentChangePartial(edit.stretch, edit.new)
        document = document.changed("file:///a.py", [change], None)
        assert document.content == after


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_places_there_and_back(encoding: str, end: str) -> None:
    """In texts with letters of one to four bytes, and separators that end no row."""
    text = Text(end.join(["ab", "ä€\U0001f600x\f\u2028y", "", "z"]), encoding)
    places = [(row, column) for row, line in enumerate(text.rows, 1) for column in range(1, len(line) + 2)]
    there = [text.position(Position(row, column)) for row, column in places]
    assert [(at.row, at.column) for at in map(text.at, there)] == places
    last = text.at(types.Position(99, 99))
    assert (last.row, last.column) == (4, 2)


@pytest.mark.parametrize("new", ["", "a\nb\nc\n", "a\nX\nc\n", "X\na\nb\nc\n", "a\nb\n", "a\nb\nc", "a\r\nb\r\nc\r\n"])
def test_a_text_is_rewritten_by_edits(new: str) -> None:
    """That touch no more than the rows that differ."""
    text = Text("a\nb\nc\n", UTF16)
    after = text
    for edit in text.rewritten(new):
        after = after.changed(types.TextDocumentContentChangePartial(edit.range, edit.new_text))
    assert after.text == new
