"""The proof harness: programs with marked lines, what gradlint says of them, and what torch does with them.

- `marks`, `markdown`: what a program promises.
- `lint`: what gradlint says of it; `worker`, `torch_run`, `effects`: what torch does with it.
- `judge`: where they disagree; `rewrite`: puts the reveals of today into the pages.
"""
