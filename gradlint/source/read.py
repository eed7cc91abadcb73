"""Read a file as Python reads it: byte order mark, coding line, UTF-8; say what cannot be read, and where."""

from __future__ import annotations

import codecs
import io
import os
import re
import sys
import tokenize
from pathlib import Path

from gradlint.domain.finding import Position
from gradlint.domain.frozen import Frozen
from gradlint.plugins.installed import libraries
from gradlint.source.regular import NotRegularError, TooLargeError, content_of

INVALID_SYNTAX = "GRD001"
UNREADABLE_FILE = "GRD002"


class Unusable(Frozen):
    """The code under which it is reported, what is wrong, and where."""

    code: str
    message: str
    position: Position


def invalid(message: str, row: int = 1, column: int = 1) -> Unusable:
    """Return a file that was read and is no Python program."""
    return Unusable(INVALID_SYNTAX, message, Position(max(row, 1), max(column, 1)))


def unreadable(message: str) -> Unusable:
    """Return a file or directory that the system does not let us read."""
    return Unusable(UNREADABLE_FILE, message, Position(1, 1))


LARGEST = 10_000_000
"""A longer file, in bytes, is not read, unless it is a document of a kind that has a limit of its own."""


def read_bytes(path: Path, largest: int = LARGEST) -> bytes | Unusable:
    """Return the content of a regular file that is not too large."""
    try:
        return content_of(path, largest)
    except NotRegularError as error:
        return unreadable(f"{error.strerror}; standard input is read with `-`")
    except TooLargeError as error:
        return unreadable(str(error.strerror))
    except OSError as error:
        return unreadable(f"cannot be read: {error.strerror or error}")


def is_below(path: str, folder: str) -> bool:
    """Return whether a path is that of a folder, or of something in it."""
    return os.path.join(path, "").startswith(os.path.join(folder, ""))


def leads_out(path: Path, root: Path) -> bool:
    """Return whether a path that stands below a directory leads, by links, to what does not."""
    return path.is_relative_to(root) and not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(root))


OUTSIDE = "this link leads out of the tree, and is not followed without `--follow-links`"


def mentions_torch(content: bytes) -> bool:
    """Return whether the file can be about torch at all; no source encoding of Python hides an ASCII word."""
    words = (b"torch", b".zero_grad", *(library.encode() for library in libraries()))
    return any(word in content for word in words)


def is_about_torch(text: str) -> bool:
    """Return whether a text speaks of torch, or is a piece of a training loop.

    Such a piece was cut out below its imports, or belongs to a project that makes networks and optimizers elsewhere.
    """
    if _NAMES_TORCH.search(text) or any(library in text for library in libraries()):
        return True
    imported = _IMPORT.findall(text)
    if ".zero_grad" in text:
        return not any(map(_is_other_framework, imported))
    return ".backward(" in text and all(map(_is_companion, imported))


_NAMES_TORCH = re.compile(r"(?<![A-Za-z])(?:py|Py)?torch")
"""Other frameworks are called after it, such as `minitorch`."""
_IMPORT = re.compile(r"^\s*(?:import|from)\s+(.*)", re.MULTILINE)
_COMPANIONS = frozenset(
    {"numpy", "matplotlib", "pandas", "scipy", "sklearn", "tqdm", "gym", "gymnasium", "PIL", "cv2", "seaborn"}
)
"""Libraries that go with any other: a piece that imports nothing else may have lost the import of torch."""


_OTHER_FRAMEWORKS = ("jittor", "tinygrad", "oneflow", "megengine", "mindspore", "paddle", "micrograd")
"""Libraries other than torch whose networks or optimizers may have a method `zero_grad`."""


def _is_other_framework(imported: str) -> bool:
    return imported.startswith(_OTHER_FRAMEWORKS) or re.match(r"\w+torch\b", imported) is not None


def _is_companion(imported: str) -> bool:
    """Return whether what stands after an `import` or `from` begins with a module of Python's own, or a companion."""
    name = re.match(r"\w+", imported)
    return name is not None and (name[0] in sys.stdlib_module_names or name[0] in _COMPANIONS)


def decode(content: bytes) -> str | Unusable:
    """Return the text of a Python file, by the rules of the language (PEP 263), its line ends as they stand."""
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(content).readline)
    except SyntaxError as error:
        return _undetected(content, error)
    if codecs.lookup(encoding).name in _NO_ENCODINGS:
        return invalid(f"the coding line names {encoding}, in which no source is written")
    try:
        return content.decode(encoding)
    except UnicodeDecodeError as error:
        return _undecodable(content, error, encoding)
    except LookupError as error:
        return invalid(f"the coding line names no text encoding: {error}")
    except UnicodeError as error:
        return invalid(f"the file is not {encoding}, which the coding line names: {error}")


_NO_ENCODINGS = frozenset({"idna", "punycode", "undefined", "unicode-escape", "raw-unicode-escape"})
"""Codecs that Python counts as text encodings, but that decode names or literals, some in the square of the length."""


def _undecodable(content: bytes, error: UnicodeDecodeError, encoding: str) -> Unusable:
    bad, start = content[error.start], content.rfind(b"\n", 0, error.start) + 1
    row = content.count(b"\n", 0, error.start) + 1
    column = len(content[start : error.start].decode(encoding, errors="replace")) + 1
    if codecs.lookup(encoding).name in {"utf-8", "utf-8-sig"}:
        reason = "is not UTF-8, and no coding line names another encoding"
        return invalid(f"byte 0x{bad:02x} {reason}", row, column)
    return invalid(f"byte 0x{bad:02x} is not {encoding}, which the coding line names", row, column)


def _undetected(content: bytes, error: SyntaxError) -> Unusable:
    """tokenize gives no place where one of the first two lines is not UTF-8 or names no encoding."""
    head = b"".join(content.splitlines(keepends=True)[:2])
    try:
        head.decode("utf-8")
    except UnicodeDecodeError as wrong:
        return _undecodable(head, wrong, "utf-8")
    row = 2 if b"coding" in head.partition(b"\n")[2] else 1
    return invalid(error.msg, row)


LINE_END = re.compile(r"\r\n|\r|\n")
"""What ends a row, as Python counts them: form feeds and Unicode separators do not."""


def split_lines(text: str) -> list[str]:
    """Return the rows without their line ends; row `n` of a position is element `n - 1`."""
    return LINE_END.split(text)


def rows_and_ends(text: str) -> tuple[list[str], list[str]]:
    """Return the rows without their line ends, and the end of each; that of the last one is empty."""
    return split_lines(text), [*LINE_END.findall(text), ""]
