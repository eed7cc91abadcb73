"""What torch must do with the example of a rule."""

from __future__ import annotations

from tests.harness.marks import marks_of
from tests.rules.examples import Bad


def expected_raise(bad: Bad) -> tuple[int, str] | None:
    """Where and with which text an example must raise: at the line marked `# raises`, or else the first with a
    finding. One that names no error runs through."""
    if bad.error is None:
        return None
    marks = marks_of(bad.code)
    line = marks.first_finding if marks.raises is None else marks.raises[0]
    assert line is not None
    return line, bad.error
