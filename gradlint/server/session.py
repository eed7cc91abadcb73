"""What is open, what was found there, and when it is checked again."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Protocol, TypeVar

from gradlint.checker import FILE_SECONDS
from gradlint.outcome import Checked, Crash
from gradlint.plugins.installed import PluginError
from gradlint.server.checks import Checks, Context, Report
from gradlint.server.documents import Document
from gradlint.server.settings import ON_TYPE, Settings
from gradlint.server.worker import PreemptedError, Worker
from gradlint.settings.config import ConfigError
from gradlint.settings.file import FILES
from gradlint.source.files import SUFFIX

_Result = TypeVar("_Result")

PAUSE = 0.05
"""Seconds without another change after which a text is checked; the first change after so long does not wait."""

IDLE = 1.0
"""Seconds without a change after which the files that import a document are checked."""


class Editor(Protocol):
    """The other side."""

    def show(self, report: Report) -> None:
        """Show what was found; an editor that asks for it is told to ask again."""

    def clear(self, document: Document) -> None:
        """Show nothing more in a document."""

    def complain(self, problem: str) -> None:
        """Say in one line what is wrong."""


class Session:
    """The documents of one editor. All here runs in the loop of events, what the worker does apart."""

    def __init__(self, editor: Editor, folder: Path) -> None:
        """Names of files in settings begin at the `folder`."""
        self._editor, self._folder = editor, folder
        self.settings = Settings()
        self.worker = Worker()
        self.checks = Checks(self.settings.configs(folder))
        self.documents: dict[str, Document] = {}
        self._reports: dict[str, Report] = {}
        self._checking: dict[str, asyncio.Task[None]] = {}
        self._around: dict[str, asyncio.Task[None]] = {}
        self._contexts: dict[str, Context] = {}
        self._changed = -PAUSE
        """When something was changed."""
        self._due: set[str] = set()
        """The documents whose importers may show something new."""
        self._said: set[str] = set()
        self._asides: set[asyncio.Task[None]] = set()

    def document_of(self, uri: str) -> Document | None:
        """Return the document with a piece of this address."""
        own = self.documents.get(uri)
        return own or next((one for one in self.documents.values() if any(uri == cell.uri for cell in one.cells)), None)

    def document_at(self, filename: str) -> Document | None:
        """Return the open document of a file."""
        return next((one for one in self.documents.values() if one.name == filename), None)

    def open(self, document: Document) -> None:
        """Check what was opened."""
        self._due.add(document.uri)
        self._take(document, 0.0)

    def change(self, document: Document) -> None:
        """Check what was changed: at once, and after changes that follow one another, once that ends for a moment."""
        before, self._changed = self._changed, time.monotonic()
        pause = 0.0 if self._changed - before > PAUSE else PAUSE
        self._take(document, pause, now=self.settings.run == ON_TYPE)

    def save(self, document: Document) -> None:
        """Look at other files again as well: they may be affected."""
        self._due.add(document.uri)
        self._take(document, 0.0)

    def close(self, uri: str) -> None:
        """Forget a document; its file counts again."""
        document = self.documents.pop(uri, None)
        if document is not None:
            for tasks in (self._checking, self._around):
                if uri in tasks:
                    tasks.pop(uri).cancel()
            for known in (self._reports, self._contexts):
                known.pop(uri, None)
            self._due.discard(uri)
            self._editor.clear(document)
            self._later(lambda: self.checks.close(document))
            self._follow(document.path, uri)

    def configure(self, settings: Settings) -> None:
        """Take other settings.

        Raises:
            ConfigError: they name what cannot be used; the former ones stay.
        """
        self._restart(settings)

    def files_changed(self, paths: Iterable[Path], *, same_files: bool) -> None:
        """Look again at what was changed on disk; unless there are the same files as before, at everything."""
        changed = list(paths)
        if not same_files or any(path.name in FILES for path in changed):
            self._restart(self.settings)
            return
        opened = {document.path for document in self.documents.values()}
        for path in changed:
            if path not in opened and path.suffix == SUFFIX:
                self._later(lambda path=path: self.checks.checker.hold(str(path), None))  # type: ignore[misc]
                self._follow(path, "")

    async def report(self, uri: str) -> Report | None:
        """Return what is found in the newest version of a document; None if it is closed."""
        while True:
            task = self._checking.get(uri)
            if task is None or task.done():
                return self._reports.get(uri)
            await asyncio.wait([task])

    async def ask(self, job: Callable[[Checks], _Result]) -> _Result:
        """Do something that somebody waits for."""
        return await self.worker.run(lambda: job(self.checks))

    def end(self) -> None:
        """End all work."""
        for task in (*self._checking.values(), *self._around.values()):
            task.cancel()
        self.worker.end()

    def _restart(self, settings: Settings) -> None:
        self.checks = Checks(settings.configs(self._folder))
        self.settings = settings
        self._said.clear()
        for document in self.documents.values():
            self._due.add(document.uri)
            self._take(document, PAUSE)

    def _take(self, document: Document, pause: float, *, now: bool = True) -> None:
        uri = document.uri
        self.documents[uri] = document
        around = self._around.pop(uri, None)
        if around is not None:
            around.cancel()
        if now:
            self._check_soon(uri, pause)

    def _check_soon(self, uri: str, pause: float) -> None:
        former = self._checking.get(uri)
        if former is not None:
            former.cancel()
        self._checking[uri] = asyncio.create_task(self._check(uri, pause))

    async def _check(self, uri: str, pause: float) -> None:
        """Check a document, and then, in the background, what imports it."""
        await asyncio.sleep(pause)
        document, context, checks = self.documents[uri], self._contexts.get(uri, Context()), self.checks
        try:
            report = await self.worker.run(lambda: checks.check(document, context))
            self._editor.show(report)
        except (ConfigError, PluginError) as error:
            self._complain(str(error))
            return
        except Exception as error:
            self._complain(Crash.of(document.name, error).line)
            return
        for problem in _problems(report):
            self._complain(problem)
        former = self._reports.get(uri)
        self._reports[uri] = report
        if former is None or former.document.content != document.content:
            self._follow(document.path, uri)
        if uri in self._due and uri not in self._around:
            self._around[uri] = asyncio.create_task(self._look_around(uri, checks, document))

    def _follow(self, path: Path, but: str) -> None:
        """Check again what has read a file."""
        for uri, report in self._reports.items():
            if uri != but and report.has_read(path):
                self._check_soon(uri, PAUSE)

    async def _look_around(self, uri: str, checks: Checks, document: Document) -> None:
        """Check what imports a document, once nobody types, one file after the other."""
        shown: list[Checked] = []
        for task in await self._patiently(lambda: checks.importers(document)):
            shown += await self._patiently(lambda task=task: checks.perform([task]))  # type: ignore[misc]
        await self._patiently(lambda: _tidy(checks, self.worker))
        self._due.discard(uri)
        self._around.pop(uri, None)
        former = self._contexts.get(uri, Context())
        self._contexts[uri] = Context(document.content, tuple(shown))
        if (former.checked, shown) != ((), []):
            self._check_soon(uri, 0.0)

    async def _patiently(self, job: Callable[[], _Result]) -> _Result:
        """Do something in the background, again and again until nobody wants anything else meanwhile."""
        while True:
            await asyncio.sleep(IDLE)
            try:
                return await self.worker.run(job, background=True)
            except PreemptedError:
                continue

    def _later(self, job: Callable[[], None]) -> None:
        """Do something before whatever comes next."""
        task = asyncio.create_task(self.worker.run(job))
        self._asides.add(task)  # The loop itself keeps none.
        task.add_done_callback(self._asides.discard)

    def _complain(self, problem: str) -> None:
        """Say it once, and not at each key that is pressed."""
        if problem not in self._said:
            self._said.add(problem)
            self._editor.complain(problem)


def _problems(report: Report) -> Iterator[str]:
    """Yield what kept us from a part of what may be found."""
    checked = report.checked
    if checked is not None:
        yield from (crash.line for crash in (checked.crash, *checked.house) if crash is not None)
        if checked.late:
            yield f"{checked.filename}: given up after {FILE_SECONDS:g} seconds"


def _tidy(checks: Checks, worker: Worker) -> None:
    """Keep what was learnt of installed packages, and collect garbage."""
    checks.checker.end()
    worker.collect()
