"""How long the language server takes to answer while somebody types: `python -m benchmarks.server [FILE]`.

A file is opened and edited by a session that is the same each time (`session`): rows are typed piece by piece, and some
of them deleted again, so that the text is a program after each third edit or so. After each edit the diagnostics are
asked for. What is printed is of this machine; no test asserts a number of seconds.
"""

from __future__ import annotations

import argparse
import ast
import asyncio
import os
import statistics
import sys
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import NamedTuple

from lsprotocol import types
from pygls.lsp.client import LanguageClient

EDITS = 200
_ROWS = (
    "loss = (x * 2).sum()",
    "w = torch.ones(3, requires_grad=True)",
    "w += 1  # noqa: GRD101",
    "loss.backward()",
    "with torch.no_grad(): y = w.exp()",
    "# What is said of it.",
)


class Edit(NamedTuple):
    """A stretch of the text before, in the protocol's rows and columns, and what comes in its place."""

    stretch: types.Range
    new: str


def session(text: str, count: int = EDITS, seed: int = 0) -> Iterator[tuple[Edit, str]]:
    """Yield edits of a text of one encoding unit a letter, each with the text after it: the same for the same seed."""
    chance, left = Random(seed), count
    while left > 0:
        rows = text.split("\n")
        row, new = chance.randrange(len(rows)), chance.choice(_ROWS)
        indent = rows[row][: len(rows[row]) - len(rows[row].lstrip())]
        line = f"{indent}{new}\n"
        if not rows[row].strip() or not _is_program("\n".join([*rows[:row], line[:-1], *rows[row:]])):
            continue
        cuts = sorted({0, *(chance.randrange(1, len(line)) for _ in range(3)), len(line)})
        typed = [(Edit(_stretch(row, start, start), line[start:end]), line[:end]) for start, end in pairwise(cuts)]
        if chance.random() < 0.5:
            typed.append((Edit(types.Range(types.Position(row, 0), types.Position(row + 1, 0)), ""), ""))
        for edit, there in typed[:left]:
            text = "\n".join([*rows[:row], there + "\n".join(rows[row:])])
            yield edit, text
        left -= len(typed)


def _stretch(row: int, start: int, end: int) -> types.Range:
    return types.Range(types.Position(row, start), types.Position(row, end))


def _is_program(text: str) -> bool:
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True


def resident(pid: int) -> float:
    """Return the megabytes of memory that a process holds."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    return int(status.partition("VmRSS:")[2].split()[0]) / 1024


def processor(pid: int) -> float:
    """Return the seconds of the processor that a process has taken."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def answers(file: Path, text: str, count: int) -> tuple[list[float], list[float], list[float]]:
    """Edit a file; return the seconds to each answer, those of the processor for it, and the server's megabytes."""
    client = LanguageClient("benchmark", "1")
    await client.start_io(sys.executable, "-m", "gradlint", "server")
    diagnostic = types.TextDocumentClientCapabilities(diagnostic=types.DiagnosticClientCapabilities())
    await client.initialize_async(types.InitializeParams(types.ClientCapabilities(text_document=diagnostic)))
    client.initialized(types.InitializedParams())
    uri, seconds, work, memory = file.absolute().as_uri(), [], [], []
    named = types.TextDocumentIdentifier(uri)
    client.text_document_did_open(types.DidOpenTextDocumentParams(types.TextDocumentItem(uri, "python", 1, text)))
    await client.text_document_diagnostic_async(types.DocumentDiagnosticParams(named))
    assert client._server is not None, "it has just been started"
    for version, (edit, _) in enumerate(session(text, count), start=2):
        change = types.TextDocumentContentChangePartial(edit.stretch, edit.new)
        begun, before = time.perf_counter(), processor(client._server.pid)
        client.text_document_did_change(
            types.DidChangeTextDocumentParams(types.VersionedTextDocumentIdentifier(version, uri), [change])
        )
        await client.text_document_diagnostic_async(types.DocumentDiagnosticParams(named))
        seconds.append(time.perf_counter() - begun)
        work.append(processor(client._server.pid) - before)
        memory.append(resident(client._server.pid))
    await client.shutdown_async(None)
    client.exit(None)
    await client.stop()  # type: ignore[no-untyped-call]
    return seconds, work, memory


def main() -> None:
    """Print the latencies."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("--edits", type=int, default=EDITS)
    options = parser.parse_args()
    text = options.file.read_text(encoding="utf-8")
    seconds, work, memory = asyncio.run(answers(options.file, text, options.edits))
    tenth = statistics.quantiles(seconds, n=10)
    programs = sum(_is_program(after) for _, after in session(text, options.edits))
    print(f"{options.file.name}, {text.count(chr(10))} rows, {len(seconds)} edits, programs after {programs} of them;")
    print("from the edit to the answer, with the pause before the check:")
    print(f"  median {statistics.median(seconds) * 1000:.0f} ms, 90 % {tenth[-1] * 1000:.0f} ms, ", end="")
    print(f"longest {max(seconds) * 1000:.0f} ms; of the processor, median {statistics.median(work) * 1000:.0f} ms")
    print(f"  memory after 1/4, 1/2, all: {', '.join(f'{memory[len(memory) * q // 4 - 1]:.0f} MB' for q in (1, 2, 4))}")


if __name__ == "__main__":
    main()
