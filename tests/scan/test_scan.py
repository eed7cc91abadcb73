"""`gradlint scan` on one machine: what it finds, continues with, survives and refuses."""

from __future__ import annotations

import importlib.util
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

import gradlint
import gradlint.domain.clock
import gradlint.examine
from gradlint.entrypoints.cli import cli
from gradlint.examine import INTERPRET
from gradlint.scan.shard import directory_of
from tests.scan.corpus import CORPUS, FOUND, LEAF, SHAPES, Corpus, flat, found, json_lines, parquet, statuses, table

ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(gradlint.__file__).parents[1])}


def scan(source: Path | str, output: Path, *options: str) -> Result:
    """Run the command."""
    arguments = ["scan", str(source), "--output", str(output), "--jobs", "2", "--shards", "3", *options]
    return CliRunner().invoke(cli, arguments, catch_exceptions=False)


@pytest.mark.parametrize("write", SHAPES)
def test_each_shape_has_the_same_findings(write: Callable[[Corpus, Path], Path], tmp_path: Path) -> None:
    """Also those that need an import inside a repository; what is silenced in a file stays so."""
    result = scan(write(CORPUS, tmp_path), tmp_path / "out")
    assert (result.exit_code, result.stderr) == (0, "")
    assert [(flat(one), *rest) for one, *rest in found(tmp_path / "out")] == [
        (flat(one), *rest) for one, *rest in FOUND
    ]
    assert set(statuses(tmp_path / "out").values()) == {"checked"}
    assert len(statuses(tmp_path / "out")) == 7, "the README is no Python file"
    assert "7 files: 7 checked." in result.stdout


def test_the_tables_say_all_of_a_finding(tmp_path: Path) -> None:
    """As they are documented."""
    scan(parquet(CORPUS, tmp_path), tmp_path / "out")
    (row,) = (row for row in table(tmp_path / "out", "findings") if row["repository"] == "bob/two")
    file = next(row for row in table(tmp_path / "out", "files") if row["path"] == "src/leaf.py")
    assert {name: row[name] for name in ("name", "severity", "line", "column", "end_line", "end_column", "cell")} == {
        "name": "leaf-inplace",
        "severity": "error",
        "cell": None,
        "line": 4,
        "column": 1,
        "end_line": 4,
        "end_column": 7,
    }
    assert row["hash"] == file["hash"] and row["version"] == file["version"] and row["assumptions"] == []
    assert (file["findings"], file["reason"]) == (1, None) and file["cpu_seconds"] > 0
    assert pq.read_table(tmp_path / "out" / "counts.parquet").to_pylist() == [
        {"repository": repository, "code": code, "findings": 1} for repository, _, code, _ in FOUND
    ]


def test_what_is_there_is_not_checked_again(tmp_path: Path) -> None:
    """A repository of which a file has changed is, whole; one that is gone leaves the results."""
    source, output = json_lines(CORPUS, tmp_path), tmp_path / "out"
    scan(source, output)
    before = table(output, "files")
    assert "0 files were checked in this run" in scan(source, output).stdout
    assert table(output, "files") == before
    changed = {**CORPUS, "bob/two": {"src/leaf.py": "import torch\n"}}
    del changed["carol/three"], changed["dave/four"]
    result = scan(json_lines(changed, tmp_path), output)
    assert "1 files were checked in this run" in result.stdout
    assert found(output) == FOUND[:1]
    assert len(table(output, "files")) == 4


def test_another_version_checks_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All of it, and doubles nothing."""
    source, output = json_lines(CORPUS, tmp_path), tmp_path / "out"
    scan(source, output)
    monkeypatch.setattr("gradlint.entrypoints.scanning.__version__", "99")
    assert "7 files were checked in this run" in scan(source, output).stdout
    assert found(output) == FOUND
    assert {row["version"] for row in table(output, "files")} == {"99"}


def test_a_killed_run_is_continued(tmp_path: Path) -> None:
    """Nothing is lost or doubled, and what was finished is not checked again."""
    corpus = {f"repository{number}": {"leaf.py": LEAF, "other.py": f"x = {number}\n"} for number in range(60)}
    source, output = json_lines(corpus, tmp_path), tmp_path / "out"
    command = [sys.executable, "-m", "gradlint", "scan", str(source), "--output", str(output), "--shards", "20"]
    with subprocess.Popen(command, env=ENVIRONMENT, stdout=subprocess.DEVNULL, start_new_session=True) as process:
        while len(list(output.glob("files/*.parquet"))) < 3:
            assert process.poll() is None
            time.sleep(0.005)
        os.killpg(process.pid, signal.SIGKILL)
    finished = len(table(output, "files"))
    assert 0 < finished < 120
    (output / "files" / ".tmp-left").write_bytes(b"half")
    done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert f"{120 - finished} files were checked in this run" in done.stdout
    assert found(output) == sorted((name, "leaf.py", "GRD101", 4) for name in corpus)
    assert len(table(output, "files")) == len(statuses(output)) == 120
    assert not list(output.glob("**/.tmp*")) and not (output / ".staging").exists()


def test_an_interrupt_keeps_what_is_finished(tmp_path: Path) -> None:
    """And ends with 130."""
    corpus = {f"repository{number}": {"leaf.py": LEAF} for number in range(60)}
    source, output = json_lines(corpus, tmp_path), tmp_path / "out"
    command = [sys.executable, "-m", "gradlint", "scan", str(source), "--output", str(output)]
    with subprocess.Popen(
        command,
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # Jobs in the background ignore it.
    ) as process:
        while not list(output.glob("files/*.parquet")):
            assert process.poll() is None
            time.sleep(0.005)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate()
    assert (process.returncode, out, err.strip()) == (130, "", "gradlint: interrupted")
    assert table(output, "files") and not (output / ".staging").exists()


def hang() -> None:
    """Never look at the clock, like a parser that has lost its way."""
    while True:
        pass


def fail(how: Callable[[], object]) -> Callable[..., Any]:
    """An interpreter that fails in `poison.py`."""

    def interpret(*arguments: Any, **named: Any) -> Any:
        if os.path.basename(arguments[2]) == "poison.py":
            how()
        return INTERPRET(*arguments, **named)

    return interpret


def loop() -> None:
    """Look at the clock for ever, as the interpreter does."""
    while True:
        gradlint.domain.clock.look_at_clock()


LATE = "more than 0.2 s of processor time"


@pytest.mark.parametrize(
    "status, how, reason",
    [
        ("killed", lambda: os.kill(os.getpid(), signal.SIGKILL), "the process that checked it was killed by signal 9"),
        ("late", loop, LATE),
        ("late", hang, LATE),
        ("crashed", lambda: 1 // 0, "ZeroDivisionError: integer division or modulo by zero"),
    ],
    ids=["killed", "loop", "hang", "crashed"],
)
def test_poison_costs_one_file(
    status: str, how: Callable[[], object], reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All others are checked, and the scan is one that has done its work."""
    monkeypatch.setattr(gradlint.examine, "INTERPRET", fail(how))
    source, output = json_lines({**CORPUS, "poison": {"poison.py": LEAF, "leaf.py": LEAF}}, tmp_path), tmp_path / "out"
    result = scan(source, output, "--file-seconds", "0.2" if status == "late" else "30")
    assert result.exit_code == 0, result.stderr
    assert {name: one for name, one in statuses(output).items() if one != "checked"} == {"poison/poison.py": status}
    (said,) = (row["reason"] for row in table(output, "files") if row["path"] == "poison.py")
    assert said.startswith(reason)
    assert found(output) == [*FOUND, ("poison", "leaf.py", "GRD101", 4)]
    monkeypatch.undo()
    assert "0 files were checked in this run" in scan(source, output).stdout
    assert "2 files were checked in this run" in scan(source, output, "--retry").stdout
    assert set(statuses(output).values()) == {"checked"}


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits the memory of a process")
def test_memory_is_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that needs more ends its process, and no other file."""
    monkeypatch.setattr(gradlint.examine, "INTERPRET", fail(lambda: bytearray(3 << 30)))
    source, output = json_lines({**CORPUS, "poison": {"poison.py": LEAF}}, tmp_path), tmp_path / "out"
    assert scan(source, output, "--file-memory", "2048").exit_code == 0
    (row,) = (row for row in table(output, "files") if row["status"] != "checked")
    assert (row["path"], row["status"], row["reason"]) == ("poison.py", "killed", "more than 2,048 MB of memory")
    assert found(output) == FOUND


def test_paths_stay_in_their_repository(tmp_path: Path) -> None:
    """What leads out, or cannot be written, is refused; two names of one file count once."""
    outside = tmp_path / "outside.py"
    files = {
        str(outside): LEAF,
        "../../up.py": LEAF,
        "a/../../b.py": LEAF,
        "nul\0.py": LEAF,
        f"{'x' * 300}.py": LEAF,
        "twice.py": LEAF,
        "./twice.py": LEAF,
        "file.py": LEAF,
        "file.py/below.py": LEAF,
        "ok.py": LEAF,
    }
    out = "the path leads out of the repository"
    result = scan(json_lines({"../evil": files}, tmp_path), tmp_path / "out")
    assert result.exit_code == 2
    reasons = {row["path"]: row["reason"] for row in table(tmp_path / "out", "files") if row["reason"]}
    assert reasons == {
        **dict.fromkeys((str(outside), "../../up.py", "a/../../b.py", "nul\0.py"), out),
        f"{'x' * 300}.py": "no file can be written under this name: File name too long",
        "twice.py": "another file of the repository has this path",
        "file.py/below.py": "no file can be written under this name: File exists",
    }
    assert result.stderr.count("gradlint: error: ../evil/") == len(reasons)
    assert [path for _, path, _, _ in found(tmp_path / "out")] == ["./twice.py", "file.py", "ok.py"]
    assert not outside.exists()


def test_the_same_row_counts_once(tmp_path: Path) -> None:
    """Datasets repeat themselves."""
    source = json_lines(CORPUS, tmp_path)
    source.write_text(source.read_text() * 2)
    assert scan(source, tmp_path / "out").exit_code == 0
    assert len(table(tmp_path / "out", "files")) == 7
    assert found(tmp_path / "out") == FOUND


@pytest.mark.parametrize("module, extra", [("pyarrow", "scan"), ("ray", "ray")])
def test_a_missing_extra_is_one_line(module: str, extra: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the command that installs it."""
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == module else find(name))
    result = scan(tmp_path, tmp_path / "out", "--engine", "ray")
    line = f"gradlint: error: `{module}` is not installed: pip install 'torch-gradlint[{extra}]'\n"
    assert (result.exit_code, result.stderr, result.stdout) == (2, line, "")


def test_an_output_belongs_to_one_scan(tmp_path: Path) -> None:
    """Of one source, in as many shards, at a time."""
    source, output = json_lines(CORPUS, tmp_path), tmp_path / "out"
    scan(source, output)
    assert f"{output} holds a scan of {source} in 3 shards" in scan(source, output, "--shards", "4").stderr
    assert "holds a scan of" in scan(tmp_path, output).stderr
    assert "holds something else" in scan(source, tmp_path).stderr


@pytest.mark.parametrize(
    "source, said", [("none", "none: no such file or directory"), ("a.csv", "a.csv is neither a directory nor one of")]
)
def test_what_is_no_corpus_is_refused(source: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In one line, before anything is written."""
    monkeypatch.chdir(tmp_path)
    Path("a.csv").write_text("a,b\n")
    result = scan(source, tmp_path / "out")
    assert (result.exit_code, result.stderr.startswith(f"gradlint: error: {said}")) == (2, True)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(("output", "said"), [("", "Invalid value for '--output': "), ("file/out", "cannot write to ")])
def test_an_output_that_cannot_be_is_one_line(output: str, said: str, tmp_path: Path) -> None:
    """Nothing is written, in the current directory either."""
    (tmp_path / "file").touch()
    command = [sys.executable, "-m", "gradlint", "scan", str(parquet(CORPUS, tmp_path)), "--output", output]
    before = sorted(tmp_path.rglob("*"))
    done = subprocess.run(command, cwd=tmp_path, env=ENVIRONMENT, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert done.stderr.startswith(f"gradlint: error: {said}")
    assert sorted(tmp_path.rglob("*")) == before


def test_checking_needs_no_pyarrow(tmp_path: Path) -> None:
    """Nor does it import it."""
    (tmp_path / "a.py").write_text(LEAF)
    program = (
        "import sys; from gradlint.entrypoints.cli import main; main(sys.argv[1:]); sys.exit('pyarrow' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program, "check", "--no-cache", "a.py"], cwd=tmp_path, env=ENVIRONMENT)
    assert done.returncode == 0


def test_names_of_repositories_become_directories() -> None:
    """Their last part, as imports may say it."""
    names = {"org/timm": "timm", "..": "_", "a b*": "a_b_", "": "_", "x/": "_", "é" * 99: "é" * 60}
    assert {name: directory_of(name) for name in names} == names
