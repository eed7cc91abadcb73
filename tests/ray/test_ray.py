"""A scan on a cluster of two nodes, which run on this machine: it has the results of a scan without a cluster."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import ray
from click.testing import CliRunner
from ray.cluster_utils import Cluster

import gradlint
from gradlint.entrypoints.cli import cli
from tests.scan.corpus import CORPUS, LEAF, SHAPES, Corpus, json_lines, parquet, table

pytestmark = pytest.mark.filterwarnings("default")
"""Ray warns of its own code."""

MEMORY = 100_000_000
"""Of the store of objects of each node."""


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[Cluster]:
    """A head and a worker, each with one processor."""
    monkeypatch.setenv("PYTHONPATH", str(Path(gradlint.__file__).parents[1]))
    one: dict[str, Any] = {"num_cpus": 1, "object_store_memory": MEMORY}
    made = Cluster(initialize_head=True, head_node_args={**one, "include_dashboard": False})
    made.add_node(**one)
    made.wait_for_nodes()
    yield made
    ray.shutdown()
    made.shutdown()


def command(source: Path, output: Path, *options: str) -> list[str]:
    """The arguments of a scan."""
    return ["scan", str(source), "--output", str(output), "--shards", "3", *options]


def rows(output: Path) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """All rows of files and findings but for the time that was taken."""
    files = [{name: value for name, value in row.items() if name != "cpu_seconds"} for row in table(output, "files")]
    return files, table(output, "findings")


@pytest.mark.parametrize("write", SHAPES)
def test_the_results_are_the_same(write: Callable[[Corpus, Path], Path], cluster: Cluster, tmp_path: Path) -> None:
    """Of each shape; a second run, on one machine, finds nothing left to do."""
    source, local, far = write(CORPUS, tmp_path), tmp_path / "local", tmp_path / "ray"
    on_ray = command(source, far, "--engine", "ray", "--ray-address", cluster.address)
    for arguments in (command(source, local), on_ray):
        assert CliRunner().invoke(cli, arguments, catch_exceptions=False).exit_code == 0
    assert rows(local) == rows(far)
    assert "0 files were checked in this run" in CliRunner().invoke(cli, command(source, far)).stdout


def test_what_is_bad_is_refused(cluster: Cluster, tmp_path: Path) -> None:
    """A line that is no JSON, and a dataset without the columns, cost themselves alone."""
    source = json_lines(CORPUS, tmp_path)
    source.write_text(source.read_text() + "{\n")
    on_ray = ["--engine", "ray", "--ray-address", cluster.address]
    result = CliRunner().invoke(cli, command(source, tmp_path / "lines", *on_ray), catch_exceptions=False)
    assert result.exit_code == 2 and "corpus.jsonl: `{`: " in result.stderr
    source = parquet(CORPUS, tmp_path)
    (source / "broken.parquet").write_bytes(b"PAR1")
    result = CliRunner().invoke(cli, command(source, tmp_path / "tables", *on_ray), catch_exceptions=False)
    assert result.exit_code == 2 and "broken.parquet: cannot be read: " in result.stderr
    assert table(tmp_path / "lines", "findings") == table(tmp_path / "tables", "findings")


def test_a_source_without_python_files(cluster: Cluster, tmp_path: Path) -> None:
    """Has no results."""
    source = json_lines({"a": {"README.md": "#"}}, tmp_path)
    on_ray = command(source, tmp_path / "out", "--engine", "ray", "--ray-address", cluster.address)
    assert CliRunner().invoke(cli, on_ray, catch_exceptions=False).exit_code == 0
    assert rows(tmp_path / "out") == ([], [])


def workers() -> list[int]:
    """The processes of Ray's in which a shard is checked now."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            title = (process / "cmdline").read_bytes()
        except OSError:  # It has just ended.
            continue
        if title.startswith(b"ray::") and b"_check" in title:
            found.append(int(process.name))
    return found


def test_workers_and_nodes_may_die(cluster: Cluster, tmp_path: Path) -> None:
    """Nothing is lost or doubled when a worker is killed, and then a node, while shards are checked."""
    slow = "import torch\n" + "w = torch.ones(3, requires_grad=True)\nw += 1\n" * 200
    corpus = {f"repository{number}": {"slow.py": slow, "leaf.py": LEAF} for number in range(48)}
    source, local, far = parquet(corpus, tmp_path), tmp_path / "local", tmp_path / "ray"
    assert CliRunner().invoke(cli, [*command(source, local)[:-1], "24"], catch_exceptions=False).exit_code == 0
    arguments = [*command(source, far)[:-1], "24", "--engine", "ray", "--ray-address", cluster.address]
    with subprocess.Popen([sys.executable, "-m", "gradlint", *arguments], stdout=subprocess.PIPE) as process:

        def wait_for(parts: int) -> None:
            while len(list(far.glob("files/*.parquet"))) < parts or not workers():
                assert process.poll() is None
                time.sleep(0.01)

        wait_for(2)
        os.kill(workers()[0], signal.SIGKILL)
        wait_for(6)
        cluster.remove_node(next(iter(cluster.worker_nodes)), allow_graceful=False)
        assert len(list(far.glob("files/*.parquet"))) < 20, "it is in the midst"
        out, _ = process.communicate()
    assert process.returncode == 0 and b"96 files: 96 checked." in out
    assert rows(local) == rows(far)
    assert len(rows(far)[0]) == 96
