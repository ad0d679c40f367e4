"""Loggers of plugins, below that of the engine, whose handlers ``-v`` and ``--log-json`` set."""

from __future__ import annotations

import logging

_ROOT = "tallystick"


def logger_of(module: str) -> logging.Logger:
    """Return the logger of a module of a plugin.

    ``acme.rounds`` logs as ``tallystick.acme.rounds``. A package whose name begins with that of the
    project, as ours do, loses this beginning.

    Args:
        module: its ``__name__``.
    """
    return logging.getLogger(f"{_ROOT}.{module.removeprefix(f'{_ROOT}_')}")
