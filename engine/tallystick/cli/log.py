"""The log of a run on the error output: as text with ``-v``, as JSON lines with ``--log-json``.

Modules log by ``logging`` under their own names, with what they tell as ``extra`` fields.
"""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

import click

from tallystick.cli.settings import Setting

ROOT = "tallystick"
_STANDARD = logging.makeLogRecord({}).__dict__.keys() | {"message", "asctime", "taskName"}


class _Handler(logging.Handler):
    """Writes to what is the error output when there is something to tell."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write one record as one line."""
        click.echo(self.format(record), err=True)


class _Text(logging.Formatter):
    """A record as text: what happened, and its fields."""

    def format(self, record: logging.LogRecord) -> str:
        """One line."""
        told = [f"{name}={value}" for name, value in _fields(record).items()]
        return "  ".join([f"{record.levelname.lower()}: {record.getMessage()}", *told])


class _Json(logging.Formatter):
    """A record as a JSON object: when, how serious, where, what happened, and its fields."""

    def format(self, record: logging.LogRecord) -> str:
        """One line."""
        when = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        head = {"time": when, "level": record.levelname.lower(), "logger": record.name}
        told = {**head, "event": record.getMessage(), **_fields(record)}
        return json.dumps(told, default=str)


def _fields(record: logging.LogRecord) -> dict[str, Any]:
    return {name: value for name, value in record.__dict__.items() if name not in _STANDARD}


def is_json() -> bool:
    """Whether the error output of this run is JSON lines alone."""
    return any(isinstance(each.formatter, _Json) for each in logging.getLogger(ROOT).handlers)


def is_on() -> bool:
    """Whether this run is logged."""
    return any(isinstance(each, _Handler) for each in logging.getLogger(ROOT).handlers)


def begin(formatter: logging.Formatter) -> None:
    """Log from now on, in place of any log before."""
    end()
    handler, root = _Handler(), logging.getLogger(ROOT)
    handler.setFormatter(formatter)
    root.addHandler(handler)
    root.setLevel(logging.INFO)
    context = click.get_current_context()
    root.info("started", extra={"command": context.command_path, "version": version(ROOT)})


def end() -> None:
    """Log no more."""
    root = logging.getLogger(ROOT)
    for each in [each for each in root.handlers if isinstance(each, _Handler)]:
        root.removeHandler(each)
    root.setLevel(logging.NOTSET)


def finish(status: object) -> None:
    """Tell how the run ends."""
    logging.getLogger(ROOT).info("finished", extra={"status": status or 0})


def complain(message: str) -> None:
    """Tell an error that ends the run: a line for people, or one of the log."""
    if is_json():
        logging.getLogger(ROOT).error(message)
    elif sys.stderr is not None:
        click.echo(f"error: {message}", err=True)


def _verbose(_context: click.Context, _option: click.Parameter, wanted: bool) -> None:
    if wanted and not is_json():
        begin(_Text())


def _log_json(_context: click.Context, _option: click.Parameter, wanted: bool) -> None:
    if wanted:
        begin(_Json())


def options() -> list[click.Option]:
    """The options of every command that say what is logged."""
    return [
        Setting(
            ["-v", "--verbose"],
            key="verbose",
            is_flag=True,
            is_eager=True,
            expose_value=False,
            callback=_verbose,
            help="Tell on the error output what is done.",
        ),
        Setting(
            ["--log-json"],
            key="log_json",
            is_flag=True,
            is_eager=True,
            expose_value=False,
            callback=_log_json,
            help="Tell it as JSON, one object a line, errors too.",
        ),
    ]
