"""``--locked``: hold a command to a lock, before it scores or writes anything."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar

import attrs
import click

from tallystick.cli import settings
from tallystick.cli.settings import Setting
from tallystick.errors import InputError
from tallystick.lock.check import Held, HeldLock, NoLock
from tallystick.lock.lock_file import FILE, LARGEST, parse

__all__ = [
    "LOCK_NAMES",
    "Held",
    "HeldLock",
    "NoLock",
    "lock_here",
    "locked_options",
    "scoring_locked_options",
]

_Result = TypeVar("_Result")
_OPTIONS = (
    click.option(
        "--locked",
        cls=Setting,
        key="locked",
        is_flag=True,
        help=f"Refuse whatever differs from {FILE} in the working folder.",
    ),
    click.option(
        "--lock",
        "lock_file",
        cls=Setting,
        key="lock",
        metavar="FILE",
        help="Refuse whatever differs from this lock.",
    ),
)
LOCK_NAMES = ("locked", "lock_file")
"""Names of the options among the values of a command."""


def lock_here() -> HeldLock:
    """Return the lock in the working folder, which nobody else can write.

    Raises:
        InputError: there is none, or it cannot be read.
    """
    file = settings.in_working_folder(FILE, LARGEST + 1)
    if file is None:
        raise InputError(
            f"found no {FILE} of your own in the working folder, expected one: write "
            "it by tallystick lock --rules, or name one by --lock"
        )
    return HeldLock(file.path, parse(file.data, str(file.path)))


def locked_options(command: Callable[..., _Result]) -> Callable[..., _Result]:
    """Give a command the options that hold it to a lock, as the one argument ``held``.

    What is installed is compared before the command begins; the rule sets that it goes by are what
    it has to ask for, by ``held.require``.
    """
    return _with_lock(command, of_states=True)


def scoring_locked_options(command: Callable[..., _Result]) -> Callable[..., _Result]:
    """Give a command that needs no state the options that hold it to a lock.

    Only what scores is compared; where a state is named, ``held.require_code_of_states`` has the
    rest compared.
    """
    return _with_lock(command, of_states=False)


def _with_lock(command: Callable[..., _Result], *, of_states: bool) -> Callable[..., _Result]:
    @wraps(command)
    def with_lock(*arguments: Any, **options: Any) -> _Result:  # noqa: ANN401  # any options
        wanted, path = (options.pop(name) for name in LOCK_NAMES)
        held: Held = NoLock()
        if wanted or path is not None:
            lock = lock_here() if path is None else HeldLock.read(Path(path))
            held = attrs.evolve(lock, of_states=of_states)
            held.check()
        return command(*arguments, held=held, **options)

    for option in reversed(_OPTIONS):
        option(with_lock)
    return with_lock
