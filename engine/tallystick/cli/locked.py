"""``--locked``: hold a command to a lock, before it scores or writes anything."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import click

from tallystick.cli import settings
from tallystick.cli.options import one_argument
from tallystick.cli.settings import Setting
from tallystick.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tallystick.lock.check import HeldLock, Rules

FILE = "tallystick.lock"
"""The name of the lock where none is given."""
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


class NoLock:
    """No lock: every rule set will do."""

    def require(self, rules: Rules) -> None:
        """Accept any rule set."""

    def require_one_of(self, every: Iterable[Rules]) -> None:
        """Accept any rule sets."""

    def require_reference(self, reference: str) -> None:
        """Accept any reference."""


Held: TypeAlias = "HeldLock | NoLock"
"""Lock of a command, or none."""


def held_lock(path: Path | None) -> HeldLock:
    """Return the lock in a file, or the one in the working folder, which nobody else can write.

    Raises:
        InputError: there is none, or it cannot be read.
    """
    from tallystick.lock.check import HeldLock  # what is held to no lock needs none of it
    from tallystick.lock.lock_file import LARGEST, parse, read

    if path is not None:
        return HeldLock(path, read(path))
    file = settings.in_working_folder(FILE, LARGEST + 1)
    if file is None:
        raise InputError(
            f"found no {FILE} of your own in the working folder, expected one: write "
            "it by tallystick lock --rules, or name one by --lock"
        )
    return HeldLock(file.path, parse(file.data, str(file.path)))


def _held(wanted: bool, path: str | None) -> Held:
    if not wanted and path is None:
        return NoLock()
    lock = held_lock(None if path is None else Path(path))
    lock.check()
    return lock


locked_options = one_argument("held", _held, _OPTIONS)
"""The options that hold a command to a lock.

What is installed is compared before the command begins; the rule sets that it goes by are what it
has to ask for, by ``held.require``.
"""
