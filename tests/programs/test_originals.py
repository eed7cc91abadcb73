"""gradlint says nothing of a program that is right: an error in one of them is a false one."""

from __future__ import annotations

import pytest

from tests.golden.corpus import single, whole
from tests.golden.record import entries_of

from .corpus import Program, load


@pytest.mark.parametrize("program", load(), ids=lambda program: program.name)
def test_nothing_is_found_in_an_original(program: Program) -> None:
    """Neither an error nor a warning."""
    files = program.files
    (entry,) = entries_of(whole(program.name, files) if len(files) > 1 else single(program.name, *files.values()))
    assert [one for one in entry["findings"] if one["severity"] != "info"] == []
