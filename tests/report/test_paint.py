"""Colour and links: who is asked, and in what order."""

from __future__ import annotations

import io
from collections.abc import Mapping

import pytest

from gradlint.report.paint import Choice, Paint
from tests.harness.report import finding, report_of, written
from tests.harness.terminal import Terminal

KITTY = {"KITTY_WINDOW_ID": "1"}


@pytest.mark.parametrize(
    ("environment", "terminal", "pipe", "file"),
    [
        ({}, True, False, False),
        ({"NO_COLOR": ""}, True, False, False),
        ({"NO_COLOR": "1"}, False, False, False),
        ({"TERM": "dumb"}, False, False, False),
        ({"FORCE_COLOR": "1"}, True, True, False),
        ({"FORCE_COLOR": "0"}, True, False, False),
        ({"FORCE_COLOR": ""}, True, False, False),
        ({"CLICOLOR_FORCE": "1", "TERM": "dumb"}, True, True, False),
        ({"CLICOLOR_FORCE": "0"}, True, False, False),
        ({"NO_COLOR": "1", "FORCE_COLOR": "1"}, False, False, False),
    ],
)
def test_colour_by_the_environment(environment: Mapping[str, str], terminal: bool, pipe: bool, file: bool) -> None:
    """`NO_COLOR` before what forces colour, this before what the stream is; empty variables say nothing."""
    streams = Terminal(), io.StringIO(), None
    assert [Paint.for_stream(stream, environment).enabled for stream in streams] == [terminal, pipe, file]


@pytest.mark.parametrize("choice", ["always", "never"])
def test_the_option_goes_before_everything(choice: Choice) -> None:
    """For a file as well."""
    for environment in ({"NO_COLOR": "1"}, {"FORCE_COLOR": "1"}, {"TERM": "dumb"}):
        paints = [Paint.for_stream(stream, environment, choice) for stream in (Terminal(), io.StringIO(), None)]
        assert {paint.enabled for paint in paints} == {choice == "always"}


@pytest.mark.parametrize(
    ("environment", "linked"),
    [
        ({}, False),
        (KITTY, True),
        ({"TERM_PROGRAM": "vscode"}, True),
        ({"TERM_PROGRAM": "Apple_Terminal"}, False),
        ({"VTE_VERSION": "7600"}, True),
        ({"VTE_VERSION": "4999"}, False),
        ({"VTE_VERSION": "new"}, False),
        ({**KITTY, "TERM": "dumb"}, False),
        ({**KITTY, "NO_COLOR": "1"}, False),
    ],
)
def test_links_are_for_terminals_that_have_them(environment: Mapping[str, str], linked: bool) -> None:
    """Never for a pipe or a file, even if it is coloured."""
    assert Paint.for_stream(Terminal(), environment).links is linked
    assert not Paint.for_stream(io.StringIO(), environment, "always").links
    assert not Paint.for_stream(None, environment, "always").links


@pytest.mark.parametrize("name", ["concise", "full", "grouped"])
def test_formats_for_people_link_the_code_to_its_page(name: str) -> None:
    """The text is the same without what makes the link."""
    report = report_of(finding())
    begin, end = f"\x1b]8;;{report.url('GRD101')}\x1b\\", "\x1b]8;;\x1b\\"
    linked = written(name, report_of(finding(), paint=Paint(True, links=True)))
    coloured = written(name, report_of(finding(), paint=Paint(True)))
    assert linked.replace(begin, "").replace(end, "") == coloured != linked
    assert f"{begin}\x1b[" in linked
