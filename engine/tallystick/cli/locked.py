"""``--locked``: hold a command to a lock, before it scores or writes anything."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import click

from tallystick.cli import settings
from tallystick.cli.options import one_argument
from tallystick.cli.settings import Setting
from tallystick.errors import InputError
from tallystick.lock.check import Held, HeldLock, NoLock
from tallystick.lock.lock_file import FILE, LARGEST, parse, read

__all__ = [
    "LOCK_NAMES",
    "Held",
    "HeldLock",
    "NoLock",
    "held_lock",
    "locked_options",
    "scoring_locked_options",
]

_OPTIONS = {
    "locked": click.option(
        "--locked",
        cls=Setting,
        key="locked",
        is_flag=True,
        help=f"Refuse whatever differs from {FILE} in the working folder.",
    ),
    "lock_file": click.option(
        "--lock",
        "lock_file",
        cls=Setting,
        key="lock",
        metavar="FILE",
        help="Refuse whatever differs from this lock.",
    ),
}
LOCK_NAMES = tuple(_OPTIONS)
"""Names of the options among the values of a command."""


def held_lock(path: Path | None, *, of_states: bool = True) -> HeldLock:
    """Return the lock in a file, or the one in the working folder, which nobody else can write.

    Raises:
        InputError: there is none, or it cannot be read.
    """
    if path is not None:
        return HeldLock(path, read(path), of_states)
    file = settings.in_working_folder(FILE, LARGEST + 1)
    if file is None:
        raise InputError(
            f"found no {FILE} of your own in the working folder, expected one: write "
            "it by tallystick lock --rules, or name one by --lock"
        )
    return HeldLock(file.path, parse(file.data, str(file.path)), of_states)


def _held(wanted: bool, path: str | None, *, of_states: bool = True) -> Held:
    if not wanted and path is None:
        return NoLock()
    lock = held_lock(None if path is None else Path(path), of_states=of_states)
    lock.check()
    return lock


locked_options = one_argument("held", _held, _OPTIONS)
"""The options that hold a command to a lock.

What is installed is compared before the command begins; the rule sets that it goes by are what it
has to ask for, by ``held.require``.
"""
scoring_locked_options = one_argument("held", partial(_held, of_states=False), _OPTIONS)
"""The options that hold a command to a lock which needs no state: only what scores is compared.

Where a state is named, ``held.require_code_of_states`` has the rest compared.
"""
