"""What the gate knows of torch is true of the torch that is installed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from gradlint.confirm.gate import allowlist

TABLE = json.loads(Path(allowlist.__file__).with_name("measured.json").read_text(encoding="utf-8"))
ROOT = Path(__file__).parents[2]


def test_no_name_that_may_be_a_value_is_a_module() -> None:
    """None of torch, of numpy, or of Python."""
    pytest.importorskip("torch", reason="torch is not installed, and nothing else can say what its names are")
    from tools.measure_gate import resolved

    assert [path for path in sorted(allowlist.paths()) if isinstance(resolved(path), ModuleType)] == []


def test_the_families_hold_classes_only() -> None:
    """One that this torch does not have is no harm."""
    pytest.importorskip("torch", reason="torch is not installed, and nothing else can say what its names are")
    from tools.measure_gate import resolved

    paths = [f"{module}.{name}" for module, names in TABLE["classes"].items() for name in names.split()]
    found = {path: resolved(path) for path in paths if not path.startswith("math.")}
    assert len(found) > 800
    assert [path for path, value in found.items() if value is not None and not isinstance(value, type)] == []


def test_the_table_is_fresh() -> None:
    """`python -m tools.measure_gate` writes it; another torch or Python has other attributes."""
    torch = pytest.importorskip("torch", reason="torch is not installed, and nothing else can say what its names are")
    if torch.__version__.split("+")[0] != TABLE["torch"] or sys.version_info[:2] != tuple(TABLE["python"]):
        pytest.skip("the table was measured with other versions")
    command = [sys.executable, "-c", "from tools.measure_gate import measured; print(measured(), end='')"]
    told = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert json.loads(told.stdout) == TABLE


def test_what_leads_into_the_interpreter_is_known() -> None:
    """The attributes of frames, code, generators, tracebacks, and what torch and typing keep private."""
    names = "f_globals gi_frame tb_frame co_code cell_contents mro obj _evaluate _typed_storage _call_impl _new_shared"
    assert set(names.split()) <= allowlist.INNER | allowlist.NEVER
