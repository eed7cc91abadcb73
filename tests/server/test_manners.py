"""Editors that leave, messages that are none, files that are no program: no crash, and one line in the log."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import click
import pytest

import gradlint
import gradlint.entrypoints.server as command
from gradlint.entrypoints.cli import main
from gradlint.server.settings import Settings, settings_of
from gradlint.settings.config import ConfigError
from tests.server.conftest import FAULT

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"processId": None, "rootUri": None, "capabilities": {}},
}
SHUTDOWN = {"jsonrpc": "2.0", "id": 99, "method": "shutdown"}
EXIT = {"jsonrpc": "2.0", "method": "exit"}


def message(data: object) -> bytes:
    """Return a message of the protocol."""
    body = data if isinstance(data, bytes) else json.dumps(data).encode()
    return b"Content-Length: %d\r\n\r\n%s" % (len(body), body)


def opening(folder: Path, text: str) -> dict[str, object]:
    """Return the message that a file was opened."""
    item = {"uri": (folder / "a.py").as_uri(), "languageId": "python", "version": 1, "text": text}
    return {"jsonrpc": "2.0", "method": "textDocument/didOpen", "params": {"textDocument": item}}


def spoken(*messages: object) -> tuple[int, list[dict[str, object]], list[str]]:
    """Send messages, and close; return the exit code, the answers, and the log."""
    done = subprocess.run(
        [sys.executable, "-m", "gradlint", "server"],
        input=b"".join(map(message, messages)),
        capture_output=True,
        timeout=60,
        check=False,
    )
    answers = [json.loads(part.partition(b"\r\n\r\n")[2]) for part in done.stdout.split(b"Content-Length: ")[1:]]
    return done.returncode, answers, done.stderr.decode().splitlines()


def test_an_editor_that_says_goodbye() -> None:
    """Ends the server, without a line."""
    code, answers, lines = spoken(INITIALIZE, SHUTDOWN, EXIT)
    assert (code, [one["id"] for one in answers], lines) == (0, [1, 99], [])


def test_an_editor_that_leaves_in_the_midst(tmp_path: Path) -> None:
    """Of a check."""
    code, answers, lines = spoken(INITIALIZE, opening(tmp_path, FAULT * 200))
    assert (code, [one["id"] for one in answers], lines) == (0, [1], [])


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        (b"{this is no JSON", "JSONDecodeError"),
        ({"jsonrpc": "2.0", "method": "textDocument/didOpen", "params": {"textDocument": 3}}, "JsonRpcInvalidParams"),
        ({"jsonrpc": "2.0", "method": "textDocument/didChange"}, "JsonRpcInvalidParams"),
    ],
)
def test_a_message_that_is_none(broken: object, said: str) -> None:
    """Is one line in the log, and what follows is answered."""
    code, answers, lines = spoken(INITIALIZE, broken, SHUTDOWN, EXIT)
    assert (code, [one["id"] for one in answers]) == (0, [1, 99])
    assert len(lines) == 1
    assert said in lines[0]


def test_a_request_that_cannot_be_read_is_answered() -> None:
    """Whoever asks does not wait for ever."""
    wrong = {"jsonrpc": "2.0", "id": 2, "method": "textDocument/diagnostic", "params": {"textDocument": 3}}
    _, answers, lines = spoken(INITIALIZE, wrong, SHUTDOWN, EXIT)
    assert [(one["id"], "error" in one) for one in answers] == [(1, False), (2, True), (99, False)]
    assert len(lines) == 1


def test_changes_of_what_is_not_open() -> None:
    """They are passed over."""
    change = {"textDocument": {"uri": "file:///a.py", "version": 2}, "contentChanges": [{"text": "x = 1\n"}]}
    _, answers, lines = spoken(
        *(INITIALIZE, {"jsonrpc": "2.0", "method": "textDocument/didChange", "params": change}, SHUTDOWN, EXIT)
    )
    assert ([one["id"] for one in answers], lines) == ([1, 99], [])


def test_without_pygls(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """One line says what to install."""
    for name in [name for name in sys.modules if name.startswith(("pygls", "lsprotocol", "gradlint.server"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "pygls", None)
    monkeypatch.setitem(sys.modules, "lsprotocol", None)
    assert isinstance(command.server, click.Command)
    assert main(["server"]) == 2
    assert capsys.readouterr().err.splitlines() == [
        "gradlint: error: the language server needs pygls: `pip install torch-gradlint[server]`"
    ]


def test_the_page_has_all_settings() -> None:
    """With their defaults."""
    page = (Path(gradlint.__file__).parents[1] / "docs" / "language-server.md").read_text(encoding="utf-8")
    told = dict(re.findall(r"^\| `(\w+)` \| `(.+?)` \|", page, re.MULTILINE))
    found = settings_of({name: json.loads(value) for name, value in told.items()})
    assert (found, len(told)) == (Settings(), len(fields(Settings)))


def test_the_extension_has_the_settings_of_the_server() -> None:
    """And one for itself."""
    file = Path(gradlint.__file__).parents[1] / "editors" / "vscode" / "package.json"
    declared = json.loads(file.read_text(encoding="utf-8"))["contributes"]["configuration"]["properties"]
    path = declared.pop("gradlint.path")
    assert path["default"] == "gradlint"
    given = {name.removeprefix("gradlint."): one["default"] for name, one in declared.items()}
    assert (settings_of(given), len(given)) == (Settings(), len(fields(Settings)))


@pytest.mark.parametrize("given", [{"inlayhints": True}, {"run": "never"}, {"options": 3}, 3])
def test_wrong_settings_are_refused(given: object) -> None:
    """In one line."""
    with pytest.raises(ConfigError, match="settings of the editor"):
        settings_of(given)
