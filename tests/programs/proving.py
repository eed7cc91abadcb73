"""Put what is found in mutants before torch: the share of defects that confirmation shows, by effect."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from gradlint.confirm.prove import Prover
from gradlint.domain.confirmation import Confirmation, Verdict
from gradlint.domain.finding import Finding
from gradlint.entrypoints.proving import prover

from .corpus import Mutant
from .score import Catch


@dataclass(frozen=True)
class Proof:
    """What torch says of the findings that point at the defect of one mutant."""

    mutant: Mutant
    asked: tuple[tuple[Finding, Confirmation], ...]

    @property
    def verdict(self) -> Verdict:
        """A defect is confirmed where one of its findings is, and refuted where all that is said of it is."""
        verdicts = {verdict.verdict for _, verdict in self.asked}
        return "confirmed" if "confirmed" in verdicts else "unconfirmed" if "unconfirmed" in verdicts else "refuted"


def proofs(catches: Sequence[Catch]) -> Iterator[Proof]:
    """The proofs of the mutants that were found."""
    with prover(shrink=False) as torch:
        for one in catches:
            if one.findings:
                yield Proof(one.mutant, tuple(_asked(torch, one)))


def _asked(torch: Prover, one: Catch) -> Iterator[tuple[Finding, Confirmation]]:
    """Until one is confirmed: the others say the same of the same defect. The files stand where they would."""
    with tempfile.TemporaryDirectory(prefix="corpus-") as folder:
        for name, text in one.mutant.files.items():
            path = Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        files = [str(Path(folder, name)) for name in one.mutant.files]
        changed = one.mutant.mutation.file
        for finding in one.findings:
            placed = _moved(finding, Path(folder, changed))
            verdict = torch.confirm(placed, one.mutant.files[changed], files)
            yield finding, verdict
            if verdict.verdict == "confirmed":
                return


def _moved(finding: Finding, path: Path) -> Finding:
    """The finding in a file of another folder, with what explains it in the same file."""
    here = finding.relocated(finding.span, lambda place: place if place.filename in (None, finding.filename) else None)
    return replace(here, filename=str(path))


def summary(found: Iterable[Proof]) -> Iterator[str]:
    """A line for each effect, one for all, and one for each mutant that is not confirmed."""
    tables: dict[str, Counter[Verdict]] = {}
    for proof in found:
        for key in (proof.mutant.mutation.effect, "all"):
            tables.setdefault(key, Counter())[proof.verdict] += 1
        if proof.verdict != "confirmed":
            for finding, verdict in proof.asked:
                place = f"{proof.mutant.name} {finding.code}@{finding.span.start.row}"
                yield f"{verdict.verdict} {place}: {verdict.reason[:140]}"
    for effect, table in sorted(tables.items(), key=lambda item: item[0] == "all"):
        yield f"{effect:8} {share(table)}"


def share(table: Counter[Verdict]) -> str:
    """The verdicts in words."""
    total = sum(table.values())
    rest = ", ".join(f"{table[verdict]} {verdict}" for verdict in ("refuted", "unconfirmed"))
    return f"confirmed {table['confirmed']} of {total} ({table['confirmed'] / max(total, 1):.1%}), {rest}"
