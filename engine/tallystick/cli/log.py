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
_ROOT_LOGGER = logging.getLogger(ROOT)
_STANDARD = logging.makeLogRecord({}).__dict__.keys() | {"message", "asctime", "taskName"}


class _Handler(logging.Handler):
    """Writes to what is the error output when there is something to tell.

    Without a form to write in it keeps warnings, each once, for the end of a run that does its
    work. A process that goes on for months outlives the reader of its log.
    """

    def __init__(self) -> None:
        super().__init__()
        self.kept = dict[str, logging.LogRecord]()

    def emit(self, record: logging.LogRecord) -> None:
        """Write one record as one line, or none where nobody reads; or keep it."""
        if self.formatter is None:
            self.kept.setdefault(record.getMessage(), record)
            return
        line = self.format(record)
        # a process without an error output has none here
        if sys.stderr is not None:
            with suppress(OSError, ValueError):
                echo(line, err=True)

    def begin(
        self, logger: logging.Logger, level: int, formatter: logging.Formatter | None
    ) -> None:
        """Handle the records of a logger from a level on, in a form if there is one."""
        self.setLevel(level)
        self.setFormatter(formatter)
        logger.addHandler(self)

    def tell(self, logger: str) -> None:
        """Write what was kept of a logger and of those below it, and keep nothing more."""
        for record in self.kept.values():
            if f"{record.name}.".startswith(f"{logger}."):
                self.emit(record)
        self.kept.clear()


_HANDLER, _OF_LIBRARIES = _Handler(), _Handler()


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
    return isinstance(_HANDLER.formatter, _Json)


def is_on() -> bool:
    """Return whether this run is logged."""
    return _HANDLER.formatter is not None


def begin(formatter: logging.Formatter) -> None:
    """Log from now on, in place of any log before."""
    _begin(logging.INFO, formatter)
    # a settings file that is read for `verbose` may have had a warning
    _HANDLER.tell(ROOT)
    context = click.get_current_context()
    fields = {"command": context.command_path, "version": version(ROOT)}
    _ROOT_LOGGER.info("started", extra=fields)
    settings.tell_in_force()


def begin_json(level: int) -> None:
    """Log JSON lines from a level on, in place of any log before.

    Libraries beside the engine log their warnings likewise.
    """
    _begin(level, _Json())
    _OF_LIBRARIES.begin(logging.getLogger(), max(level, logging.WARNING), _Json())
    _ROOT_LOGGER.propagate = False


def only_warn() -> None:
    """Keep warnings from now on, in place of any log before."""
    _begin(logging.WARNING, None)


def _begin(level: int, formatter: logging.Formatter | None) -> None:
    _HANDLER.begin(_ROOT_LOGGER, level, formatter)
    _ROOT_LOGGER.setLevel(level)


def finish(status: object) -> None:
    """Log how the run ends, and the warnings of one that did its work; then end the log."""
    _ROOT_LOGGER.info("finished", extra={"status": status or 0})
    _HANDLER.setFormatter(_HANDLER.formatter or _Text())
    # that a file was ignored may be why a run could do nothing
    _HANDLER.tell(ROOT if status in (None, 0, 1, 3) else settings.__name__)
    _HANDLER.setFormatter(None)
    _ROOT_LOGGER.removeHandler(_HANDLER)
    logging.getLogger().removeHandler(_OF_LIBRARIES)
    _ROOT_LOGGER.setLevel(logging.NOTSET)
    _ROOT_LOGGER.propagate = True


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
        _ROOT_LOGGER.error(text)
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
    flag: dict[str, Any] = {"is_flag": True, "is_eager": True, "expose_value": False}
    text = "Log each step to standard error."
    json_lines = "Log JSON, one object per line, errors included."
    return [
        *settings.options(),
        memory.option(),
        Setting(["-v", "--verbose"], key="verbose", callback=_verbose, help=text, **flag),
        Setting(["--log-json"], key="log_json", callback=_log_json, help=json_lines, **flag),
    ]
