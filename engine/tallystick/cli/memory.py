"""The limit of the memory of a run, which the process keeps, and each of its workers.

It meets inputs whose few bytes stand for very many, whatever they say of themselves: an allocation
beyond it fails, and the run ends with what it was and what to do.
"""

from __future__ import annotations

import re
from typing import Any

import click

from tallystick.cli.settings import Setting

_resource: Any
try:
    import resource as _resource
except ImportError:  # a system without limits of a process
    _resource = None

_SIZE = re.compile(r"([0-9]{1,12})([KMG]?)", re.IGNORECASE)
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
"""Sizes in bytes, with the letters that stand for their units."""
_LEAST = 512 << 20
"""Minimum limit: to begin takes half of it, and a library that cannot begin ends the process."""


def option() -> click.Option:
    """Return the option of every command that limits its memory."""
    return Setting(
        ["--memory"],
        key="memory",
        metavar="SIZE",
        is_eager=True,
        expose_value=False,
        callback=_limit,
        help="End rather than take more memory than SIZE, such as 2G.",
    )


def _limit(context: click.Context, parameter: click.Parameter, text: str | None) -> None:
    if text is None or context.resilient_parsing:
        return
    match = _SIZE.fullmatch(text)
    size = 0 if match is None else int(match[1]) * _UNITS[match[2].upper()]
    if size < _LEAST:
        message = f"found {text!r}, expected a size of at least 512M, such as 2G"
        raise click.BadParameter(message, context, parameter)
    try:
        _, hard = _resource.getrlimit(_resource.RLIMIT_AS)
        largest = size if hard == _resource.RLIM_INFINITY else min(size, hard)
        _resource.setrlimit(_resource.RLIMIT_AS, (largest, hard))
    except (AttributeError, OSError, ValueError) as error:
        raise click.BadParameter(
            f"this system limits no memory of a process ({error})", context, parameter
        ) from error


def lift() -> int | None:
    """Lift the limit, and return it in bytes; None where there is none.

    What tells that it was reached takes memory too, and a process may run several commands.
    """
    if _resource is None:
        return None
    size, hard = _resource.getrlimit(_resource.RLIMIT_AS)
    _resource.setrlimit(_resource.RLIMIT_AS, (hard, hard))
    return None if size == _resource.RLIM_INFINITY else size
