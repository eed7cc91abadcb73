"""The files that a check reads, and keeps for the next one."""

from pathlib import Path

from gradlint.domain.asked import Question
from gradlint.source.files import Files, Unit


def test_a_file_with_a_new_text_replaces_the_former_one(tmp_path: Path) -> None:
    path = str(tmp_path / "train.py")
    files = Files()
    first = files.own(path, "first = 1\n")
    second = files.own(path, "second = 1\n")
    kept = files.unit(path)
    assert isinstance(first, Unit)
    assert kept is second
    assert kept is not None and "second" in kept.words and "first" not in kept.words


def test_what_others_learnt_of_a_former_text_is_dropped(tmp_path: Path) -> None:
    path = str(tmp_path / "net.py")
    importer = tmp_path / "train.py"
    importer.write_text("import net\n")
    files = Files()
    files.own(path, "first = 1\n")
    unit = files.unit(str(importer))
    assert unit is not None
    unit.needs, unit.asked = frozenset({path}), {Question("text", path): None}
    files.own(path, "second = 1\n")
    assert unit.loaded is None and not unit.needs
