"""The log of a run on the error output: as text with ``-v``, as JSON lines with ``--log-json``.

Modules log by ``logging`` under their own names, with what they tell as ``extra`` fields. A run
that is not logged tells its warnings alone, at its end. Each entry is one line, and shows no
password.
"""

from __future__ import annotations

import json
import logging
import sys
from contextlib import suppress
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import PurePath
from typing import Any

import click

from tallystick.cli import memory, settings
from tallystick.cli.settings import Setting
from tallystick.cli.shown import echo, print_text
from tallystick.errors import LockError, RefusedError, RuleSetError, TallystickError
from tallystick.io.text import escaped, masked

ROOT = "tallystick"
_STANDARD = logging.makeLogRecord({}).__dict__.keys() | {"message", "asctime", "taskName"}


class _Handler(logging.Handler):
    """Writes to what is the error output when there is something to tell."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write one record as one line."""
        # a process without an error output has none here
        if sys.stderr is not None:
            echo(self.format(record), err=True)


class _Lasting(_Handler):
    """Writes as long as somebody reads; a process that goes on for months outlives its reader."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write one record, or none where nobody reads."""
        with suppress(OSError, ValueError):
            super().emit(record)


class _Warnings(_Handler):
    """Keeps warnings, each once, for the end of a run that does its work."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self._kept = dict[str, logging.LogRecord]()

    def emit(self, record: logging.LogRecord) -> None:
        """Keep one record."""
        self._kept.setdefault(record.getMessage(), record)

    def take(self) -> list[logging.LogRecord]:
        """Return what was kept, which is then no longer."""
        records = [*self._kept.values()]
        self._kept.clear()
        return records

    def tell(self, logger: str = ROOT) -> None:
        """Write what was kept of a logger and of those below it."""
        for record in self.take():
            if f"{record.name}.".startswith(f"{logger}."):
                super().emit(record)


class _Text(logging.Formatter):
    """A record as text: what happened, and its fields."""

    def format(self, record: logging.LogRecord) -> str:
        """Return one line."""
        fields = [f"{name}={value}" for name, value in _fields(record).items()]
        line = "  ".join([f"{record.levelname.lower()}: {record.getMessage()}", *fields])
        return escaped(masked(line))


class _Json(logging.Formatter):
    """A record as a JSON object: when, how serious, where, what happened, and its fields."""

    def format(self, record: logging.LogRecord) -> str:
        """Return one line."""
        when = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        head = {"time": when, "level": record.levelname.lower(), "logger": record.name}
        fields = {**head, "event": record.getMessage(), **_fields(record)}
        return json.dumps({name: _safe(value) for name, value in fields.items()}, default=str)


def _safe(value: object) -> object:
    return masked(str(value)) if isinstance(value, str | PurePath) else value


def _fields(record: logging.LogRecord) -> dict[str, Any]:
    return {name: value for name, value in record.__dict__.items() if name not in _STANDARD}


def is_json() -> bool:
    """Return whether the error output of this run is JSON lines alone."""
    return any(isinstance(handler.formatter, _Json) for handler in logging.getLogger(ROOT).handlers)


def is_on() -> bool:
    """Return whether this run is logged."""
    return any(type(handler) is _Handler for handler in logging.getLogger(ROOT).handlers)


def begin(formatter: logging.Formatter) -> None:
    """Log from now on, in place of any log before."""
    # a settings file that is read for `verbose` may have had a warning
    warnings = _handle(_Handler(logging.INFO), formatter)
    for record in warnings:
        logging.getLogger(ROOT).handle(record)
    context = click.get_current_context()
    fields = {"command": context.command_path, "version": version(ROOT)}
    logging.getLogger(ROOT).info("started", extra=fields)
    settings.tell_in_force()


def begin_json(level: int) -> None:
    """Log JSON lines from a level on, in place of any log before, whatever becomes of their reader.

    Libraries beside the engine log their warnings likewise.
    """
    for name, least in ((ROOT, level), (None, max(level, logging.WARNING))):
        handler, logger = _Lasting(least), logging.getLogger(name)
        handler.setFormatter(_Json())
        for other in [other for other in logger.handlers if isinstance(other, _Handler)]:
            logger.removeHandler(other)
        logger.addHandler(handler)
    logging.getLogger(ROOT).setLevel(level)
    logging.getLogger(ROOT).propagate = False


def only_warn() -> None:
    """Keep warnings from now on, in place of any log before."""
    _handle(_Warnings(), _Text())


def _handle(handler: _Handler, formatter: logging.Formatter) -> list[logging.LogRecord]:
    """Log by one handler from now on, and return the warnings that the one before it kept."""
    root = logging.getLogger(ROOT)
    warnings = list[logging.LogRecord]()
    for other in [other for other in root.handlers if isinstance(other, _Handler)]:
        root.removeHandler(other)
        warnings += other.take() if isinstance(other, _Warnings) else ()
    handler.setFormatter(formatter)
    root.addHandler(handler)
    root.setLevel(handler.level)
    return warnings


def finish(status: object) -> None:
    """Log how the run ends, and the warnings of one that did its work; then end the log."""
    root = logging.getLogger(ROOT)
    root.info("finished", extra={"status": status or 0})
    for handler in root.handlers:
        if isinstance(handler, _Warnings):
            # that a file was ignored may be why a run could do nothing
            handler.tell(ROOT if status in (None, 0, 1, 3) else settings.__name__)
    for logger in (root, logging.getLogger()):
        for handler in [other for other in logger.handlers if isinstance(other, _Handler)]:
            logger.removeHandler(handler)
    root.setLevel(logging.NOTSET)
    root.propagate = True


def complain(error: TallystickError | str) -> None:
    """Report an error that ends the run: a line for people, more where it has many; or the log."""
    many = isinstance(error, RefusedError | RuleSetError | LockError)
    _tell(str(error) if many else escaped(str(error)), "error: ")


def tell_refusal(message: str) -> None:
    """Report one refusal of several: lines for people, or an entry of the log."""
    _tell(message, "")


def _tell(message: str, head: str) -> None:
    text = masked(message)
    if is_json():
        logging.getLogger(ROOT).error(text)
    elif sys.stderr is not None:
        print_text(f"{head}{text}", err=True)


def _verbose(_context: click.Context, _option: click.Parameter, wanted: bool) -> None:
    if wanted and not is_json():
        begin(_Text())


def _log_json(_context: click.Context, _option: click.Parameter, wanted: bool) -> None:
    if wanted:
        begin(_Json())


def options() -> list[click.Option]:
    """Return the options of every command: settings, memory and what is logged."""
    return [
        settings.option(),
        memory.option(),
        Setting(
            ["-v", "--verbose"],
            key="verbose",
            is_flag=True,
            is_eager=True,
            expose_value=False,
            callback=_verbose,
            help="Log each step to standard error.",
        ),
        Setting(
            ["--log-json"],
            key="log_json",
            is_flag=True,
            is_eager=True,
            expose_value=False,
            callback=_log_json,
            help="Log JSON, one object per line, errors included.",
        ),
    ]
