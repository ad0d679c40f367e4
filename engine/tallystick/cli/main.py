"""The entry point: commands by name, loaded when they are used, and errors as one line each.

Exit status: 0 done; 1 something was rejected or found; 2 wrong use, or nothing could be done; 3 the
engine fails on a record, all others are done; 128 and its number for a signal that ended the run.
"""

from __future__ import annotations

import errno
import gc
import os
import signal
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, TextIO

import click

from tallystick.cli import log, memory, settings
from tallystick.cli.command import examples, status_of
from tallystick.cli.open_group import OpenGroup
from tallystick.cli.shown import print_json, print_usage
from tallystick.errors import (
    INTERNAL_ERROR,
    AllocationError,
    PluginError,
    RefusedError,
    TallystickError,
    TrustError,
)
from tallystick.extras import EXTRAS, missing
from tallystick.plugins.entries import own_packages

if TYPE_CHECKING:
    from types import FrameType

_COLLECTION = (100_000, 20, 100)
"""Thresholds of the garbage collector: new objects before it looks at those of each age."""


class _AskedToEndError(KeyboardInterrupt):
    """A signal asks the run to end; its number is the argument.

    It goes through all that survives a failure, or an exit, of a plugin's code, as Ctrl-C does.
    """


@click.group(
    cls=OpenGroup,
    params=[*log.options()],
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=examples(
        "tallystick demo",
        "tallystick score records.jsonl --rules skills@1.2.0 -o results.parquet",
        "tallystick explain records.jsonl --rules skills@1.2.0 --line 3",
    ),
)
@click.version_option(package_name="tallystick", message="tallystick %(version)s")
def cli() -> None:
    """Exact, explainable scoring rules for decentralised subnets."""


def main() -> None:
    """Run the command line; a user's mistake is a message and an exit status, never a traceback."""
    # a command makes many objects that stay, and looking for cycles among them takes a tenth of it
    gc.set_threshold(*_COLLECTION)
    # no kernel uses BLAS, and to start its threads takes as long as to load NumPy
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    settings.forget()
    log.only_warn()
    _show_every_character()
    _unwind_when_asked_to_end()
    try:
        try:
            _run()
        except OSError as error:
            _give_up(error)
    except SystemExit as end:
        log.finish(end.code)
        raise
    finally:
        memory.lift()


def _run() -> None:
    try:
        sys.exit(cli.main(prog_name="tallystick", standalone_mode=False))
    except click.exceptions.Abort as stop:
        # click takes any EOFError for an end of input at a prompt, and no command prompts
        cause = stop.__cause__
        if isinstance(cause, EOFError):
            raise cause from None
        log.complain("stopped")
        number = cause.args[0] if isinstance(cause, _AskedToEndError) else signal.SIGINT
        sys.exit(128 + number)
    except click.ClickException as error:
        if log.is_json():
            log.complain(error.format_message())
        else:
            print_usage(error)
        sys.exit(error.exit_code)
    except TallystickError as error:
        _complain(error)
        sys.exit(_status_of(error))
    except MemoryError:
        size = memory.lift()
        allowed = "the machine has" if size is None else f"the {size} bytes that are allowed"
        log.complain(
            f"found that the run takes more memory than {allowed}, expected less: allow more by "
            "--memory, or give it less at a time"
        )
        sys.exit(2)
    except ImportError as error:
        package = (error.name or "").partition(".")[0]
        if package in EXTRAS:
            _complain(TallystickError(missing(package)))
        elif package in own_packages():
            message = f"{error.name} cannot be imported ({error}): install tallystick again"
            _complain(PluginError(message))
        else:
            raise
        sys.exit(2)


def _status_of(error: TallystickError) -> int:
    if isinstance(error, TrustError | AllocationError):
        return 1
    if not isinstance(error, RefusedError):
        return 2
    return status_of(1, sum(refusal.code == INTERNAL_ERROR for refusal in error.refusals))


def _complain(error: TallystickError) -> None:
    if "--json" in sys.argv:
        from tallystick.json_values import error_value

        print_json(error_value(error))
    log.complain(error)


def _show_every_character() -> None:
    """Let an output whose encoding lacks a character show its code instead."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def _unwind_when_asked_to_end() -> None:
    """Let a signal that ends the run clean up on its way, unless it is ignored, as by nohup."""
    if threading.current_thread() is not threading.main_thread():
        return
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _end)


def _end(number: int, _frame: FrameType | None) -> NoReturn:
    raise _AskedToEndError(number)


def _give_up(error: OSError) -> NoReturn:
    """End a run whose output cannot be written; a reader that is gone needs no message."""
    gone = error.errno == errno.EPIPE
    with suppress(OSError):
        if not gone:
            where = error.filename or "standard output"
            reason = (error.strerror or str(error)).lower()
            log.complain(f"{where}: cannot be used ({reason}): check where it leads")
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            _drop(stream)
    sys.exit(1 if gone else 2)


def _drop(stream: TextIO) -> None:
    """Throw away what a stream still holds, as Python would fail on it once more at its end."""
    with suppress(OSError, ValueError), Path(os.devnull).open("wb") as nowhere:
        os.dup2(nowhere.fileno(), stream.fileno())
