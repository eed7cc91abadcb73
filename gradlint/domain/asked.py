"""What the check of a file asks about other files: while the answers are the same, so is its result."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Literal, NamedTuple, TypeAlias, TypeVar

Kind = Literal["find", "below", "text", "module", "stamp", "owner", "unread"]
Answer: TypeAlias = "str | None"

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


class Question(NamedTuple):
    """What is asked: `find` and `below` where an import leads, `text` what a file holds.

    Of what is installed: where a `module` is, the size and time of a file (`stamp`), the `owner` of a package, and why
    one is `unread`.
    """

    kind: Kind
    place: str
    name: str = ""
    level: int = 0


class Asked:
    """The questions that are asked within blocks."""

    def __init__(self) -> None:
        self._open: list[dict[Question, Answer]] = []

    @contextmanager
    def recording(self) -> Iterator[Mapping[Question, Answer]]:
        """Give what is asked within the block, complete at its end."""
        record: dict[Question, Answer] = {}
        self._open.append(record)
        try:
            yield record
        finally:
            self._open.pop()
            self.repeat(record)

    def note(self, question: Question, answer: Answer) -> None:
        """Note a question that is asked now."""
        if self._open:
            self._open[-1][question] = answer

    def repeat(self, asked: Mapping[Question, Answer]) -> None:
        """Note what was asked earlier, for something that is used now."""
        if self._open:
            self._open[-1].update(asked)

    def once(
        self, known: dict[_Key, tuple[_Value, Mapping[Question, Answer]]], key: _Key, find: Callable[[], _Value]
    ) -> _Value:
        """Return what is known under a key, found when it is first asked for; what that asks is noted each time."""
        if key in known:
            value, asked = known[key]
            self.repeat(asked)
            return value
        with self.recording() as asked:
            value = find()
        known[key] = value, asked
        return value
