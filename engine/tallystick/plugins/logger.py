"""Loggers of plugins, below that of the engine, whose handlers ``-v`` and ``--log-json`` set."""

from __future__ import annotations

import logging

_ROOT = "tallystick"


def logger_of(module: str) -> logging.Logger:
    """Return the logger of a module of a plugin.

    A module of ours loses the name of the project, which stands above: ``tallystick_state.ledger``
    logs as ``tallystick.state.ledger``, and ``acme.rounds`` as ``tallystick.acme.rounds``.

    Args:
        module: its ``__name__``.
    """
    return logging.getLogger(f"{_ROOT}.{module.removeprefix(f'{_ROOT}_')}")
