"""What is known of the place at which somebody points."""

from __future__ import annotations

from collections.abc import Iterator

from gradlint.domain.finding import Position, Span
from gradlint.explain import Sighting, Sights, look
from gradlint.facts import describe, load, topics
from gradlint.facts.spelling import look_up
from gradlint.report.rule_page import page
from gradlint.rules.registry import all_rules
from gradlint.server.checks import Checks
from gradlint.server.documents import Document, Place
from gradlint.server.texts import Text
from gradlint.settings.selection import matches
from gradlint.source.documents.document import Document as Programs
from gradlint.source.documents.kinds import kind_of
from gradlint.source.read import Unusable
from gradlint.source.suppressions import comments

_ABOVE = 10
"""So many rows above a place an expression may begin that has it."""


def hover(checks: Checks, document: Document, place: Place) -> str | None:
    """Return what is known there, as Markdown: of a code in a comment, of a value, of an operation."""
    text = place.cell.text
    rule = _rule_at(text, place.at)
    if rule is not None:
        return rule
    inside = in_program(document, Span(place.at, place.at, place.number))
    if inside is None or not text.word(place.at):
        return None
    program, span = inside
    rows = range(span.start.row - _ABOVE, span.start.row + 1)
    seen = look(program, document.name, rows, checks.configs.of(document.path.parent), checks.checker.projects)
    if isinstance(seen, Unusable):
        return None
    word = text.word(place.at)
    parts = (*_values(seen, span.start, word), *_operation(seen, span.start, word))
    return "\n\n---\n\n".join(parts) or None


def in_program(document: Document, span: Span) -> tuple[str, Span] | None:
    """Return the program of a document and a stretch in it; None for a place outside of all programs."""
    kind = kind_of(document.name)
    if kind is None:
        return document.content, span
    read = kind.read(document.content)
    for program in read.programs if isinstance(read, Programs) else ():
        inside = program.inward(span)
        if inside is not None:
            return program.text, inside
    return None


def _rule_at(text: Text, at: Position) -> str | None:
    """Return the page of the rule that a comment names here."""
    for comment in comments(text.text):
        for word in comment.words if comment.row == at.row else ():
            if word.start < at.column <= word.end + 1:
                found = [rule for rule in all_rules() if matches(word.text, rule)]
                if len(found) == 1:
                    return page(found[0])
    return None


def _values(seen: Sights, at: Position, word: str) -> Iterator[str]:
    """Yield what is believed of the value that is named, or of what the smallest expression makes."""
    around = [one for one in seen.values if one.span.start <= at <= one.span.end]
    named = [one for one in around if one.value.name == word]
    given = [one for one in seen.values if one.value.name == f"{word} =" and one.span.start.row == at.row]
    made = [one for one in around if not one.value.name.isidentifier()]
    for found in (named, given, made):
        if found:
            one = min(found, key=lambda one: (_size(one.span), -_rank(one)))
            if one.value.kind != "imported":
                yield _value(one)
            return


def _size(span: Span) -> tuple[int, int]:
    return span.end.row - span.start.row, span.end.column - span.start.column


def _rank(one: Sighting) -> bool:
    return one.value.kind == "tensor"


def _value(one: Sighting) -> str:
    """Describe a value: the beliefs of all paths, what autograd looks at, and what explains it."""
    value = one.value
    lines = [f"```text\n{value.name.removesuffix(' =')}: {path}\n```" for path in value.paths]
    if value.kind == "tensor":
        facts = {"shape": shown_shape(value.facts), "dtype": value.facts["dtype"] or "not known"}
        facts |= {"requires_grad": _yes(value.facts["requires_grad"]), "leaf": _yes(value.facts["is_leaf"])}
        facts |= {"grad_fn": " or ".join(f"`{name}`" for name in one.grad_fn)} if one.grad_fn else {}
        lines.append("\n".join(f"- {name}: {fact}" for name, fact in facts.items()))
    notes = (f"{note.text} (line {note.row})" if note.row else note.text for note in value.notes)
    assumed = (f"assumed: {each.text}" for each in value.assumptions)
    return "\n\n".join((*lines, *notes, *assumed))


def shown_shape(facts: dict[str, object]) -> str:
    """Return a shape as torch writes it, with a question mark for a size that is not known."""
    shape = facts["shape"]
    return f"[{', '.join('?' if d is None else str(d) for d in shape)}]" if isinstance(shape, tuple) else "not known"


def _yes(fact: object) -> str:
    return "not known" if fact is None else "yes" if fact else "no"


def _operation(seen: Sights, at: Position, word: str) -> Iterator[str]:
    """Yield the page of the operation whose name this is."""
    around = [(span, name) for span, name in seen.operations if span.start <= at <= span.end]
    named = [(span, name) for span, name in around if name.rpartition(".")[2] == word]
    if named:
        _, name = min(named, key=lambda one: _size(one[0]))
        table, topic = load(), topics.topic_of(name.removeprefix("torch."))
        entry = look_up(table, name)
        if entry is not None:
            yield f"```text\n{describe.text(table, entry)}\n```"
        elif topic is not None:
            yield topics.text(topic, table.torch)
