"""Make all fixes in the corpus, and ask torch what is left of each defect."""

from __future__ import annotations

import re
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from gradlint import check_source
from gradlint.fixes.mend import mend
from gradlint.outcome import Checked, Mended

from .corpus import Mutant, Program
from .execute import Worker

Fate = Literal["mended", "still there", "broken", "not fixed"]


@dataclass(frozen=True)
class Fixed:
    """What all fixes, the unsafe ones too, make of one mutated file; `said` is what torch says against it."""

    mutant: Mutant
    mended: Mended
    fate: Fate
    said: str

    @property
    def codes(self) -> list[str]:
        """The codes that were fixed."""
        return sorted({code for code, _ in self.mended.made})


def fixed(worker: Worker, mutants: list[Mutant]) -> Iterator[Fixed]:
    """The fate of each mutant."""
    usual: dict[str, Mended] = {}
    for mutant in mutants:
        file = mutant.mutation.file
        mended = mend_file(mutant.files, file)
        if file not in usual:
            usual[file] = mend_file(mutant.program.files, file)
        if not Counter(mended.made) - Counter(usual[file].made):
            yield Fixed(mutant, mended, "not fixed", "")  # What is fixed here is fixed in the right program as well.
        else:
            shows = [mutant.mutation.shows] if mutant.mutation.shows is not None else []
            reply = worker.run({**mutant.files, file: mended.after}, mutant.program.entry, shows)
            fate, said = _judged(mutant, reply)
            if fate == "still there" and not _is_meant(mutant):
                fate = "not fixed"  # Something else was, which a program with the defect shows as well.
            yield Fixed(mutant, mended, fate, said)


def disturbed(worker: Worker, programs: list[Program]) -> Iterator[str]:
    """Right programs that do not run through, or show an effect, once what is said of them is fixed."""
    for program in programs:
        after = {file: mend_file(program.files, file).after for file in program.files}
        if after == program.files:
            continue
        shows = [mutation.shows for mutation in program.mutations if mutation.shows is not None]
        reply = worker.run(after, program.entry, shows)
        if reply["outcome"] != "ran" or any(reply["shown"]):
            yield f"{program.name}: {reply.get('error', 'shows the effect of a mutation')}"


def summary(found: list[Fixed]) -> Iterator[str]:
    """The counts, and a line for each fix that does harm or does not help."""
    fates = Counter(one.fate for one in found)
    for one in found:
        if one.fate in ("still there", "broken"):
            yield f"{one.fate}: {one.mutant.name} [{one.mutant.mutation.defect}] {' '.join(one.codes)} {one.said}"
    tried = len(found) - fates["not fixed"]
    yield (
        f"fixes in {tried} of {len(found)} mutants: the defect is gone and the program runs in {fates['mended']}, "
        f"it is still there in {fates['still there']}, {fates['broken']} raise something else"
    )


def mend_file(files: dict[str, str], file: str) -> Mended:
    """One file of a program with all its fixes, linted where it would stand."""
    with tempfile.TemporaryDirectory(prefix="corpus-") as folder:
        _write(Path(folder), files)
        place = str(Path(folder, file))

        def check(text: str) -> Checked:
            return Checked(place, check_source(text, place))

        text = files[file]
        return mend(text, check(text), check, lambda finding, _: finding.fix is not None)[1]


def _is_meant(mutant: Mutant) -> bool:
    """Whether a fix is offered for a finding on a row of the defect."""
    file = mutant.mutation.file
    with tempfile.TemporaryDirectory(prefix="corpus-") as folder:
        _write(Path(folder), mutant.files)
        findings = check_source(mutant.files[file], str(Path(folder, file)))
    return any(one.fix is not None and one.span.start.row in mutant.accepted for one in findings)


def _write(folder: Path, files: dict[str, str]) -> None:
    """The files of a program, where they would stand."""
    for name, text in files.items():
        path = Path(folder, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def _judged(mutant: Mutant, reply: dict[str, Any]) -> tuple[Fate, str]:
    mutation = mutant.mutation
    if reply["outcome"] == "ran":
        shown = mutation.shows is not None and reply["shown"] != [False]
        return ("still there", mutation.shows or "") if shown else ("mended", "")
    said = f"{reply.get('file', '')}:{reply.get('line', '')} {reply.get('error', reply['outcome'])}"
    same = mutation.raises is not None and re.search(mutation.raises, reply.get("error", ""))
    return ("still there" if same else "broken"), said[:160]
