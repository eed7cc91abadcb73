"""Shorthands for the events of calls that torch refuses, or lets pass although they defeat autograd."""

from __future__ import annotations

from collections.abc import Iterable

import libcst as cst

from gradlint.domain.event import Noticed, Refused
from gradlint.interpreter.machine import Machine


def refused(
    machine: Machine,
    fault: str,
    node: cst.CSTNode,
    subject: str = "",
    related: Iterable[tuple[cst.CSTNode, str]] = (),
) -> None:
    """torch raises here."""
    machine.emit(Refused(node, fault, subject, tuple(related)))


def noticed(
    machine: Machine,
    fault: str,
    node: cst.CSTNode,
    subject: str = "",
    related: Iterable[tuple[cst.CSTNode, str]] = (),
) -> None:
    """torch says nothing here."""
    machine.emit(Noticed(node, fault, subject, tuple(related)))
