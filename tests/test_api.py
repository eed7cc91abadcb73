"""The Python API, as its users call it."""

from __future__ import annotations

from pathlib import Path

import pytest

import gradlint
from gradlint.domain.finding import Position

BROKEN = "import torch\ndef f(:\n"


def test_check_source() -> None:
    """Findings, with the name they were asked for under."""
    (finding,) = gradlint.check_source(BROKEN, "shown.py")
    assert (finding.code, finding.filename, finding.span.start) == ("GRD001", "shown.py", Position(2, 7))
    assert gradlint.check_source("import torch\n") == ()


def test_check_paths(tmp_path: Path) -> None:
    """An outcome with the findings and what else there is to know; paths may be strings or `Path`s."""
    (tmp_path / "a.py").write_text(BROKEN)
    outcome = gradlint.check_paths([tmp_path])
    assert [finding.code for finding in outcome.findings] == ["GRD001"]
    assert (len(outcome.files), outcome.crashes) == (1, ())


def test_check_paths_by_a_configuration(tmp_path: Path) -> None:
    """One for all files, instead of the nearest for each."""
    (tmp_path / "a.py").write_text(BROKEN)
    config = gradlint.Config(root=tmp_path, exclude=("a.py",))
    assert gradlint.check_paths([str(tmp_path)], config).files == ()


def test_there_is_nothing_else() -> None:
    """A name that does not exist fails as in any module."""
    with pytest.raises(AttributeError, match="module `gradlint` has no attribute `chekc`"):
        gradlint.chekc  # noqa: B018  (the access is what is tested)
    assert all(hasattr(gradlint, name) for name in gradlint.__all__)
