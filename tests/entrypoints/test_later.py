"""A package that is loaded later is the same package, whichever of its names or modules is used first."""

from __future__ import annotations

import subprocess
import sys

import pytest

LATER = "import sys; from gradlint.entrypoints.later import load_later; load_later('libcst');"
IS_LOADED = "'libcst._nodes.base' in sys.modules"


@pytest.mark.parametrize(
    "use",
    [
        "import libcst as cst; cst.Name",
        "from libcst import Name",
        "from libcst.helpers import get_full_name_for_node",
        "import libcst.matchers as m; m.Name",
        "import libcst; assert not hasattr(libcst, 'no_such_name'); libcst.Name",
    ],
)
def test_first_use_loads_it(use: str) -> None:
    """And no import alone: a name that it has not is missing as usual."""
    run(f"{LATER} import libcst as cst; assert not {IS_LOADED}; {use}; assert {IS_LOADED}; cst.parse_module('x = 1')")


def test_what_is_loaded_stays() -> None:
    """A package that is there before is left as it is."""
    run(f"import libcst; before = libcst.Name; {LATER} import libcst; assert libcst.Name is before")


def run(program: str) -> None:
    """Run a program in a fresh Python."""
    subprocess.run([sys.executable, "-c", program], check=True)
