"""All programs of `test_graphs.SEEDS`, their tapes held against torch's: `python -m tests.torch_agrees.all_graphs`."""

from __future__ import annotations

from .generate import generate
from .test_graphs import SEEDS, judge, score_of
from .two_files import halves

if __name__ == "__main__":
    sources = [generate(seed).source for seed in SEEDS]
    total = score_of([source for source in sources if not halves(source)[0]])
    print("\n".join(total.wrong))
    print("not certain:", dict(total.open))
    judge(total)
