from __future__ import annotations

from gradlint.rules.base import Rule


class UnreadableFile(Rule):
    """The file or directory cannot be read, so it is not checked.

    What torch does
        Nothing: the operating system rejects the access. The permission is missing, a symbolic link is
        broken or circular, or the path is not a regular file. gradlint does not open FIFOs or devices,
        because reading them could block forever, and it does not read files of more than 10 MB or with
        more than 250,000 words, signs, and rows, because their syntax would fill the memory. A notebook
        whose JSON is broken cannot be read, either.

    Why it matters
        gradlint finds nothing in a file that it cannot read. Without this report, the file would look
        as if it had passed.

    When it may be wrong
        Never, but it may not matter: an editor may have left a broken link, for example.

    Instead
        Grant the permission, or add the path to `exclude`.

    References
        https://docs.python.org/3/library/exceptions.html#os-exceptions
    """

    code = "GRD002"
    name = "unreadable-file"
    effect = "invalid"
