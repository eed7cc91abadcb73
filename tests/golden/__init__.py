"""Golden files: all that gradlint finds in a fixed corpus, so that a refactoring can prove that it changes nothing.

`python -m tests.golden` compares, `--write` writes the files `*.jsonl` of this folder anew. A line is a program, and
its key the hash of its texts: where a program stands in the tree does not matter.

    corpus      which programs there are, by group
    packages    published packages, downloaded into a folder that git ignores
    record      what gradlint finds in a program, as plain data
    compare     two records of one corpus: their differences, and words for them
"""
