"""All programs of `test_graphs.SEEDS`, their tapes held against torch's: `python -m tests.torch_agrees.all_graphs`."""

from __future__ import annotations

from .generate import generate
from .test_graphs import SEEDS, judge, score_of

if __name__ == "__main__":
    total = score_of([generate(seed).source for seed in SEEDS])
    print("\n".join(total.wrong))
    print("not certain:", dict(total.open))
    judge(total)
