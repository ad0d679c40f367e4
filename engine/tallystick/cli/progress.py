"""Progress: how far long work is, on a terminal; elsewhere nothing is shown."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tallystick.cli.log import is_on

if TYPE_CHECKING:
    from rich.console import Console

Progress = Callable[[int, int], None]
"""Told how much of how much is done."""


def _terminal() -> Console | None:
    """Return the error output, if somebody looks at it and no log is written there."""
    # a process without an error output has none here
    if is_on() or sys.stderr is None or not sys.stderr.isatty():
        return None
    from rich.console import Console  # 17 ms that only a terminal needs

    return Console(stderr=True)


@contextmanager
def progress_bar(doing: str) -> Iterator[Progress | None]:
    """Open a bar that says how much of the work is done; None where nobody looks."""
    console = _terminal()
    if console is None:
        yield None
        return
    from rich.progress import Progress as Bar

    with Bar(console=console, transient=True) as bar:
        task = bar.add_task(doing, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


@contextmanager
def working(doing: str) -> Iterator[None]:
    """Open a sign of life for work whose length nobody knows."""
    with line_count(doing):
        yield


@contextmanager
def line_count(doing: str) -> Iterator[Callable[[int], None] | None]:
    """Give a counter of lines for work of unknown length; None where there is no terminal."""
    console = _terminal()
    if console is None:
        yield None
        return
    with console.status(doing) as status:
        yield lambda lines: status.update(f"{doing}: {lines} lines")
