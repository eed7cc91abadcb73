"""What is read of each shape of source, and what is refused of it, in one line each."""

from __future__ import annotations

import io
import os
import subprocess
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gradlint.scan.rows import Columns, Row, shard_of
from gradlint.scan.sources import files_of, rows_of
from tests.scan.corpus import CORPUS, LEAF, directories, json_lines, parquet, tar

COLUMNS = Columns()


def problems(source: Path, columns: Columns = COLUMNS) -> list[tuple[str, str, str | None]]:
    """Repository, name of the file and reason of all that is refused."""
    refused = (row for row in rows_of(str(source), columns) if row.content is None)
    return [(row.repository, os.path.basename(row.path), row.problem) for row in refused]


def test_rows_of_json_lines_that_are_bad(tmp_path: Path) -> None:
    """Each is named by its line; all others are read."""
    good = '{"repository": "a", "path": "a.py", "content": "x"}'
    lines = [
        *(good, "{", "[]", '{"repository": "a"}', good.replace('"x"', "null"), good.replace('"x"', "1"), ""),
        *(good.replace('"x"', '"\\ud800"'), good.replace("a.py", "a.txt"), good.replace("a.py", "b.py")),
    ]
    source = tmp_path / "bad.jsonl"
    source.write_bytes("\n".join(lines).encode() + b'\n{"repository": "\xff", "path": "a.py", "content": "x"}\n')
    rows = list(rows_of(str(source), COLUMNS))
    assert [row for row in rows if row.content is not None] == [Row("a", "a.py", b"x"), Row("a", "b.py", b"x")]
    said = [(name, reason) for _, name, reason in problems(source)]
    assert [name for name, _ in said] == ["bad.jsonl"] * 7
    assert [str(reason).partition(":")[0] for _, reason in said] == [f"row {n}" for n in (2, 3, 4, 5, 6, 8, 11)]
    assert [reason for _, reason in said][1:5] == [
        "row 3: it is no JSON object",
        "row 4: there is no `path`, `content`",
        "row 5: content is null",
        "row 6: content is neither text nor bytes",
    ]


def test_rows_of_parquet_that_are_bad(tmp_path: Path) -> None:
    """A text must be UTF-8; bytes are those of a file, whose coding line says what they are."""
    source = tmp_path / "bad.parquet"
    latin = pa.array([b"a", b"\xe9", None, b"d"], pa.binary())
    table = {"repository": ["a", "a", "a", None], "path": ["1.py", "2.py", "3.py", "4.py"], "content": latin}
    pq.write_table(pa.table(table), source)
    assert [row for row in rows_of(str(source), COLUMNS) if row.content is not None] == [
        Row("a", "1.py", b"a"),
        Row("a", "2.py", b"\xe9"),
    ]
    expected = [("", source.name, "row 3: content is null"), ("", source.name, "row 4: repository is null")]
    assert problems(source) == expected
    pq.write_table(pa.table({**table, "content": latin.view(pa.string())}), source)
    assert problems(source) == [("", source.name, "row 2: content is not UTF-8"), *expected]


def test_columns_have_names(tmp_path: Path) -> None:
    """Which can be given; a dataset without them is refused."""
    source = tmp_path / "other.parquet"
    names = pa.array(["a.py"]).dictionary_encode()
    pq.write_table(pa.table({"repo": [7], "file": names, "text": ["x"]}), source)
    assert list(rows_of(str(source), Columns("repo", "file", "text"))) == [Row("7", "a.py", b"x")]
    reason = "there is no column `repository`, `path`, `content`; it has repo, file, text"
    assert problems(source) == [("", source.name, reason)]


@pytest.mark.parametrize("write", [parquet, tar, json_lines])
def test_a_broken_file_is_one_line(write: Any, tmp_path: Path) -> None:
    """What can be read of the others is."""
    source = write(CORPUS, tmp_path)
    file = files_of(str(source))[0]
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2 - 3])
    assert len(problems(source)) == 1


def test_an_archive_with_links_and_odd_names(tmp_path: Path) -> None:
    """Links are refused; what lies beside the directories has a repository of its own."""
    source = tmp_path / "odd.tar"
    with tarfile.open(source, "w") as archive:
        for name in ("./a/b.py", "top.py", "a/notes.txt"):
            member = tarfile.TarInfo(name)
            member.size = 1
            archive.addfile(member, io.BytesIO(b"x"))
        link = tarfile.TarInfo("a/link.py")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
    assert list(rows_of(str(source), COLUMNS)) == [
        Row("a", "b.py", b"x"),
        Row(".", "top.py", b"x"),
        Row("a", "link.py", None, "a link, or no regular file"),
    ]


def test_directories_are_read_as_check_reads_them(tmp_path: Path) -> None:
    """What is excluded by default or ignored by git is left out, and links do not lead out."""
    source = directories({"a": {"a.py": "x", ".venv/b.py": "y", "out/c.py": "z", ".gitignore": "out\n"}}, tmp_path)
    (source / "a" / "link.py").symlink_to("/etc/hosts")
    (source / "linked").symlink_to("/etc")
    (source / ".git").mkdir()
    (source / "top.py").write_text("t")
    (source / "notes.txt").write_text("t")
    rows = {(row.repository, row.path): row.content for row in rows_of(str(source), COLUMNS)}
    assert rows == {("a", "a.py"): b"x", ("a", "link.py"): None, (".", "top.py"): b"t", (".", "linked"): None}


def test_packages_are_wheels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """pip downloads them, and runs nothing of them; a name that is none never reaches it."""
    commands = []

    def download(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        commands.append(command)
        if command[-1] == "missing":
            return subprocess.CompletedProcess(command, 1, "", "WARNING: a\nERROR: No matching distribution\n")
        with zipfile.ZipFile(Path(command[-2]) / "one-1.0-py3-none-any.whl", "w") as wheel:
            wheel.writestr("one/__init__.py", LEAF)
            wheel.writestr("one-1.0.dist-info/METADATA", "Name: one\n")
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr("gradlint.scan.sources.subprocess.run", download)
    names = tmp_path / "names.txt"
    names.write_text("one==1.0  # pinned\n\nmissing\n--index-url=x\n../path\n")
    assert list(rows_of(f"packages:{names}", COLUMNS)) == [
        Row("one==1.0", "one/__init__.py", LEAF.encode()),
        Row("missing", "", None, "no wheel was downloaded: No matching distribution"),
        Row("--index-url=x", "", None, "it is neither the name of a package nor NAME==VERSION"),
        Row("../path", "", None, "it is neither the name of a package nor NAME==VERSION"),
    ]
    assert all({"--no-deps", "--only-binary=:all:"} <= set(command) for command in commands)


def test_a_repository_is_always_in_the_same_shard() -> None:
    """On every machine."""
    assert [shard_of(name, 64) for name in ("alice/one", "bob/two", "")] == [55, 5, 52]
