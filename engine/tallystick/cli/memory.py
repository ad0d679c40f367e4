"""The limit of the memory of a run, which the process keeps, and each of its workers.

It meets inputs whose few bytes stand for very many, whatever they say of themselves: an allocation
beyond it fails, and the run ends with what it was and what to do.
"""

from __future__ import annotations

import re

import click

from tallystick.cli.settings import Setting

try:
    import resource
except ImportError:  # a system without limits of a process
    resource = None  # type: ignore[assignment]

_SIZE = re.compile(r"([0-9]{1,12})([KMG]?)", re.IGNORECASE)
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


class _Size(click.ParamType):
    """A size in bytes; ``K``, ``M`` and ``G`` stand for 2¹⁰, 2²⁰ and 2³⁰ of them."""

    name = "size"

    def convert(
        self, value: int | str, param: click.Parameter | None, ctx: click.Context | None
    ) -> int:
        """Return the size in bytes, at least one."""
        if isinstance(value, int):
            return value
        match = _SIZE.fullmatch(value.strip())
        size = 0 if match is None else int(match[1]) * _UNITS[match[2].upper()]
        if not size:
            self.fail(f"found {value!r}, expected a size such as 512M or 2G", param, ctx)
        return size


def option() -> click.Option:
    """Return the option of every command that limits its memory."""
    return Setting(
        ["--memory"],
        key="memory",
        type=_Size(),
        metavar="SIZE",
        is_eager=True,
        expose_value=False,
        callback=_limit,
        help="End rather than take more memory than SIZE, such as 2G.",
    )


def _limit(context: click.Context, parameter: click.Parameter, size: int | None) -> None:
    if size is None or context.resilient_parsing:
        return
    try:
        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        largest = size if hard == resource.RLIM_INFINITY else min(size, hard)
        resource.setrlimit(resource.RLIMIT_AS, (largest, hard))
    except (AttributeError, OSError, ValueError) as error:
        raise click.BadParameter(
            f"this system limits no memory of a process ({error})", context, parameter
        ) from error


def lift() -> int | None:
    """Lift the limit, and return it in bytes; None where there is none.

    What tells that it was reached takes memory too, and a process may run several commands.
    """
    if resource is None:
        return None
    size, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (hard, hard))
    return None if size == resource.RLIM_INFINITY else size
