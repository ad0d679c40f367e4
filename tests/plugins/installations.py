"""Entry points as installed distributions have them, over modules made in memory."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable
from importlib.metadata import Distribution, EntryPoint
from pathlib import Path

import pytest

from tallystick.plugins.author import hookimpl
from tallystick.plugins.entries import GROUP


class Installed(Distribution):
    """A distribution without files."""

    def __init__(self, name: str, version: str = "1.0") -> None:
        self._metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"

    def read_text(self, filename: str) -> str | None:
        return self._metadata if filename == "METADATA" else None

    def locate_file(self, path: object) -> Path:
        return Path(str(path))


def module(name: str, patch: pytest.MonkeyPatch, **hooks: object) -> str:
    """Make a plugin module that answers hooks, and say its name.

    A value that is no function is what the hook of this name answers; ``api`` is the version that
    the module declares, which it does not if that is None.
    """
    made = types.ModuleType(name)
    api = hooks.pop("api", 1)
    if api is not None:
        made.tallystick_api = api  # type: ignore[attr-defined]
    for hook, answer in hooks.items():
        setattr(made, f"tallystick_{hook}", hookimpl(_answering(answer)))
    patch.setitem(sys.modules, name, made)
    return name


def _answering(answer: object) -> Callable[[], object]:
    if callable(answer):
        return answer
    return lambda: answer


def entry(name: str, target: str, distribution: str | None = None) -> EntryPoint:
    """An entry point of plugins, as the metadata of a distribution has it."""
    found = EntryPoint(name, target, GROUP)
    if distribution is not None:
        vars(found).update(dist=Installed(distribution))
    return found
