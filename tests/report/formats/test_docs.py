"""`docs/formats.md` shows what each format writes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gradlint import __version__, check_source
from gradlint.settings.keys import FORMATS
from tests.harness.report import report_of, written

PAGE = (Path(__file__).parents[3] / "docs" / "formats.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", FORMATS)
def test_the_example_is_the_output(name: str) -> None:
    """Line by line; `...` stands for the page of a rule, and 0.1.0 for the version."""
    [program] = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    [example] = re.findall(rf"^## {name}\n.*?^```\w+\n(.*?)\n```", PAGE, re.MULTILINE | re.DOTALL)
    output = written(name, report_of(*check_source(program, "train.py"), texts={"train.py": program}))
    pattern = r"\n.*\n".join(re.escape(part) for part in example.split("\n...\n"))
    output = output.replace(f'"version": "{__version__}"', '"version": "0.1.0"')
    assert re.fullmatch(pattern, output.rstrip("\n"), re.DOTALL), output
