"""A small corpus, written in each of the shapes that a scan reads, and what a scan has left."""

from __future__ import annotations

import io
import json
import tarfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

LEAF = "import torch\n\nw = torch.ones(3, requires_grad=True)\nw += 1\n"
HELPER = "import torch\n\n\ndef write(w):\n    w += 1\n"
CALLER = "import torch\nfrom helper import write\n\nwrite(torch.ones(3, requires_grad=True))\n"
CORPUS = {
    "alice/one": {"helper.py": HELPER, "caller.py": CALLER, "plain.py": "print(1)\n"},
    "bob/two": {"src/leaf.py": LEAF, "src/silenced.py": LEAF.replace("w += 1", "w += 1  # noqa: GRD101")},
    "carol/three": {"broken.py": "import torch\n(", "README.md": "# no Python\n"},
    "dave/four": {"nothing.py": "x = 1\n"},
}
"""The finding in `helper.py` needs the import in `caller.py` to be resolved."""
FOUND = [
    ("alice/one", "helper.py", "GRD101", 5),
    ("bob/two", "src/leaf.py", "GRD101", 4),
    ("carol/three", "broken.py", "GRD001", 2),
]

Corpus = Mapping[str, Mapping[str, str]]


def rows_of(corpus: Corpus) -> list[dict[str, Any]]:
    """The rows of a dataset, those of one repository apart from each other."""
    rows = [
        {"repository": repository, "path": path, "content": text}
        for repository, files in corpus.items()
        for path, text in files.items()
    ]
    return [*rows[::2], *rows[1::2]]


def parquet(corpus: Corpus, folder: Path) -> Path:
    """Two files of Parquet, whose directory is the source."""
    rows, source = rows_of(corpus), folder / "dataset"
    source.mkdir(exist_ok=True)
    for number in range(2):
        pq.write_table(pa.Table.from_pylist(rows[number::2]), source / f"{number}.parquet")
    return source


def json_lines(corpus: Corpus, folder: Path) -> Path:
    """One file of JSON Lines."""
    source = folder / "corpus.jsonl"
    source.write_text("".join(f"{json.dumps(row)}\n" for row in rows_of(corpus)))
    return source


def tar(corpus: Corpus, folder: Path) -> Path:
    """An archive, in which a repository is one directory: its name has no slash."""
    source = folder / "corpus.tar.gz"
    with tarfile.open(source, "w:gz") as archive:
        for row in rows_of(corpus):
            member = tarfile.TarInfo(f"{flat(row['repository'])}/{row['path']}")
            member.size = len(row["content"].encode())
            archive.addfile(member, io.BytesIO(row["content"].encode()))
    return source


def directories(corpus: Corpus, folder: Path) -> Path:
    """A directory of repositories."""
    source = folder / "repositories"
    for row in rows_of(corpus):
        path = source / flat(row["repository"]) / row["path"]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(row["content"])
    return source


SHAPES: tuple[Callable[[Corpus, Path], Path], ...] = (parquet, json_lines, tar, directories)


def flat(repository: str) -> str:
    """The name of a repository as one directory."""
    return repository.replace("/", "_")


def table(output: Path, name: str) -> list[dict[str, Any]]:
    """The rows of a table of the results, in an order that does not depend on the run."""
    rows = [row for part in sorted((output / name).glob("*.parquet")) for row in pq.read_table(part).to_pylist()]
    return sorted(rows, key=lambda row: (row["repository"], row["path"], row.get("line", 0), row.get("code", "")))


def found(output: Path) -> list[tuple[str, str, str, int]]:
    """Repository, path, code and line of each finding."""
    return [(row["repository"], row["path"], row["code"], row["line"]) for row in table(output, "findings")]


def statuses(output: Path) -> dict[str, str]:
    """How each file ended."""
    return {f"{row['repository']}/{row['path']}": row["status"] for row in table(output, "files")}
