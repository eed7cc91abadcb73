"""Programs that look like a user's, run by torch, read by gradlint. Where they disagree, gradlint is wrong.

    generate -> oracle (torch, in worker processes) -> judge (gradlint) -> minimise, report

`python -m tests.torch_agrees 5000` measures; `--dump DIR` writes every program with its outcome.
"""
