"""Which files are documents, by their names; and the text of any file that may be checked."""

from __future__ import annotations

import codecs
import os
import tokenize
from functools import lru_cache
from io import BytesIO

from gradlint.domain.finding import Finding, Position
from gradlint.source.documents.document import Document, Kind, inward
from gradlint.source.documents.markdown import MARKDOWN
from gradlint.source.documents.notebook import NOTEBOOK
from gradlint.source.documents.rst import RST
from gradlint.source.read import LARGEST, UNREADABLE_FILE, Unusable, decode, split_lines

KINDS = {".ipynb": NOTEBOOK, ".md": MARKDOWN, ".markdown": MARKDOWN, ".rst": RST}


def kind_of(filename: str) -> Kind | None:
    """Return what kind of document a file is; None for one that is Python as a whole."""
    return KINDS.get(os.path.splitext(filename)[1].lower())


def largest_of(filename: str) -> int:
    """Return how many bytes a file may have to be read."""
    kind = kind_of(filename)
    return LARGEST if kind is None else kind.largest


def text_of(content: bytes, filename: str) -> str | Unusable:
    """Return the text of a file: a document is UTF-8, and Python what it says of itself."""
    if kind_of(filename) is None:
        return decode(content)
    try:
        return content.decode(encoding_of(content, filename))
    except UnicodeDecodeError as error:
        head = content[: error.start].decode()
        rows = split_lines(head)
        at = Position(len(rows), len(rows[-1]) + 1)
        return Unusable(UNREADABLE_FILE, f"byte 0x{content[error.start]:02x} is not UTF-8", at)


def encoding_of(content: bytes, filename: str) -> str:
    """Return the encoding of a file that can be read, as `text_of` reads it."""
    if kind_of(filename) is None:
        return tokenize.detect_encoding(BytesIO(content).readline)[0]
    return "utf-8-sig" if content.startswith(codecs.BOM_UTF8) else "utf-8"


@lru_cache(maxsize=8)
def _read(kind: Kind, text: str) -> Document | Unusable:
    return kind.read(text)


def in_program(text: str, finding: Finding) -> tuple[str, Finding]:
    """Return the program that a finding is about, and the finding as one about that, where the text is a document's."""
    kind = kind_of(finding.filename)
    document = None if kind is None else _read(kind, text)
    inside = inward(finding, document) if isinstance(document, Document) else None
    return inside or (text, finding)


def shown_rows(text: str, finding: Finding) -> list[str]:
    """Return the rows among which a finding stands: those of the file, or of its cell."""
    kind, cell = kind_of(finding.filename), finding.span.cell
    document = None if kind is None or cell is None else _read(kind, text)
    return split_lines(document.sources[cell] if isinstance(document, Document) and cell is not None else text)
