"""Refusals of arguments, for their values, names and number."""

from __future__ import annotations

from typing import Literal

from gradlint.domain.event import Refusal


class ArgumentRefused(Refusal):
    """`function`, the path of a function or class of torch, is given an argument `name` that it does not take.

    "value": torch raises with the message `text`; without a `name`, whatever is given. "unexpected": it has no argument
    of the name. "missing": it has one that is not given. "many": it takes only as many by position as `text` says.
    "twice": the argument is given by position and by name.
    """

    function: str
    reason: Literal["value", "unexpected", "missing", "many", "twice"]
    name: str = ""
    text: str = ""
