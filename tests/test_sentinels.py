"""What the machine knows of a frame or an object has a typed field, and no name in brackets among those of a program.

A key such as `"<params>"` among attributes or variables is passed over by types, joins and walks alike.
"""

from __future__ import annotations

import re
from pathlib import Path

import gradlint

PACKAGE = Path(gradlint.__file__).parent

SENTINEL = re.compile(r"""["']<\w+>["']""")


def test_no_name_in_brackets_is_a_key() -> None:
    files = [file for part in ("domain", "interpreter", "detect") for file in (PACKAGE / part).rglob("*.py")]
    found = [
        f"{file.relative_to(PACKAGE)}:{number}: {line.strip()}"
        for file in files
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1)
        if SENTINEL.search(line)
    ]
    assert found == []
