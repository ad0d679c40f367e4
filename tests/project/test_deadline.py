"""A test that waits for what does not come ends, also where its blocks wait for it again."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from types import ModuleType

import pytest


@pytest.fixture
def conftest(request: pytest.FixtureRequest) -> ModuleType:
    """The `conftest` of all tests."""
    path = str(Path(__file__).parents[1] / "conftest.py")
    plugins = request.config.pluginmanager.get_plugins()
    found = next(each for each in plugins if getattr(each, "__file__", None) == path)
    assert isinstance(found, ModuleType)
    return found


@contextmanager
def deadline(conftest: ModuleType) -> Iterator[None]:
    yield from conftest._ending_in_time(0.05, 1)


def for_what_does_not_come(_folder: Path) -> None:
    Event().wait()


def for_it_again_at_the_end_of_a_block(_folder: Path) -> None:
    try:
        Event().wait()
    finally:
        Event().wait()


def for_the_other_end_of_a_pipe(folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    os.open(folder / "pipe", os.O_RDONLY)


@pytest.mark.parametrize(
    "waits",
    [
        for_what_does_not_come,
        for_it_again_at_the_end_of_a_block,
        for_the_other_end_of_a_pipe,
    ],
)
def test_a_wait_is_ended(
    conftest: ModuleType, tmp_path: Path, waits: Callable[[Path], None]
) -> None:
    begun = time.monotonic()
    with pytest.raises(conftest.DeadlineError, match="not over in time"), deadline(conftest):
        waits(tmp_path)
    assert time.monotonic() - begun < 60
