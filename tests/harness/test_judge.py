"""The judge complains of every kind of disagreement, and of nothing else."""

from __future__ import annotations

from tests.harness.judge import (
    containment_complaints,
    finding_complaints,
    raise_complaints,
    reveal_complaints,
)
from tests.harness.marks import marks_of
from tests.harness.program import Fact, Outcome, Raised, Revealed

LEAF = Revealed(1, {"requires_grad": True, "version": 0, "shape": (2, 3), "dtype": "float32"})


def test_findings_must_match_in_line_code_and_number() -> None:
    """A missing, a surplus and a doubled finding are three complaints."""
    marks = marks_of("x  # GRD101\ny\n")
    assert finding_complaints(marks, [(1, "GRD101")]) == []
    assert finding_complaints(marks, []) == ["line 1: GRD101 is marked and not found"]
    assert finding_complaints(marks, [(1, "GRD101")] * 2) == ["line 1: GRD101 is found and not marked"]
    assert len(finding_complaints(marks, [(2, "GRD101")])) == 2


def test_raises_must_match_in_line_and_text() -> None:
    """Every way in which torch can differ from a mark is a complaint."""
    raised = Outcome(raised=Raised("RuntimeError", "a leaf Variable", 3))
    assert raise_complaints((3, "leaf Var"), raised) == []
    assert raise_complaints((3, None), raised) == []
    assert raise_complaints(None, Outcome()) == []
    for expected, outcome in [
        ((3, "a view"), raised),
        ((2, "leaf Var"), raised),
        (None, raised),
        ((3, None), Outcome()),
        (None, Outcome(broken="no end within 1 s")),
    ]:
        assert len(raise_complaints(expected, outcome)) == 1


def test_each_reveal_is_marked_and_each_mark_is_revealed() -> None:
    """A reveal without a mark, a mark without a reveal, and another text are complaints."""
    marks = marks_of("reveal(x)  # revealed: Tensor\n")
    assert reveal_complaints(marks, [1], {1: "Tensor"}) == []
    assert len(reveal_complaints(marks, [1], {1: "Unknown"})) == 1
    assert len(reveal_complaints(marks, [1], {})) == 1
    assert len(reveal_complaints(marks_of("reveal(x)\n"), [1], {1: "Tensor"})) == 1


def test_torch_must_lie_inside_one_abstract_value() -> None:
    """Unknown facts allow everything, known ones exactly their value, and all must hold of one value."""
    allowed: list[list[dict[str, Fact]]] = [
        [{}],
        [{"requires_grad": None, "shape": (None, 3)}],
        [{"dtype": "float32"}],
        [{"dtype": "float"}],
        [{"requires_grad": False}, {"requires_grad": True, "version": 0}],
    ]
    for facts in allowed:
        assert containment_complaints({1: facts}, [LEAF]) == []
    refused: list[list[dict[str, Fact]]] = [
        [{"requires_grad": False}],
        [{"shape": (None, 4)}],
        [{"shape": (None,)}],
        [{"dtype": "int"}],
        [{"requires_grad": True, "version": 1}, {"requires_grad": False, "version": 0}],
        [],
    ]
    for facts in refused:
        assert len(containment_complaints({1: facts}, [LEAF])) == 1


def test_a_value_that_is_no_tensor_must_not_be_taken_for_one() -> None:
    """Facts of a tensor are wrong of anything else."""
    assert containment_complaints({1: [{"version": None}]}, [Revealed(1, {})]) == []
    assert len(containment_complaints({1: [{"version": 0}]}, [Revealed(1, {})])) == 1


def test_a_fact_that_torch_has_no_answer_to_is_not_compared() -> None:
    """An inference tensor has no version."""
    assert containment_complaints({2: [{"version": 0}]}, [Revealed(2, {"requires_grad": False})]) == []
