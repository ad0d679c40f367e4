"""Commands that run until a signal, in this process: asked by a thread, which ends them."""

import io
import logging
import os
import signal
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, redirect_stderr, redirect_stdout
from unittest import mock

import attrs
import pytest

from tallystick.cli.main import main


class Output(io.StringIO):
    """Output that another thread waits for."""

    def __init__(self) -> None:
        super().__init__()
        self._written, self._is_over = threading.Condition(), False

    def write(self, text: str) -> int:
        with self._written:
            count = super().write(text)
            self._written.notify_all()
        return count

    def over(self) -> None:
        """Take note that nothing more comes."""
        with self._written:
            self._is_over = True
            self._written.notify_all()

    def until(self, is_there: Callable[[str], bool]) -> str:
        """Return what was written, once it is as a function wants it."""
        with self._written:
            self._written.wait_for(lambda: is_there(self.getvalue()) or self._is_over)
            assert is_there(self.getvalue()), self.getvalue()
            return self.getvalue()

    def value(self) -> str:
        """Return the first line, or the one JSON value, once it is whole."""
        return self.until(lambda text: text.endswith("\n}\n" if text[:1] == "{" else "\n"))


@attrs.frozen
class Ended:
    """How a command ended: its exit status and what it wrote."""

    status: int
    out: str
    err: str


def until_asked(
    ask: Callable[[Output, Output], object],
    *arguments: object,
    end: signal.Signals | None = signal.SIGTERM,
) -> Ended:
    """Run a command, and end it once a function has asked what it wants.

    Args:
        ask: is called in another thread with the output and standard error.
        arguments: of the command.
        end: the signal that ends it; None where it ends by itself.
    """
    out, err = Output(), Output()
    is_over = threading.Event()

    def asking() -> None:
        try:
            ask(out, err)
        except BaseException:
            if not is_over.is_set():
                os.kill(os.getpid(), signal.SIGTERM)
            raise
        if end is not None:
            os.kill(os.getpid(), end)

    with ExitStack() as stack:
        for logger in (logging.getLogger("tallystick"), logging.getLogger()):
            for name in ("handlers", "level", "propagate"):
                value = getattr(logger, name)
                copied = [*value] if isinstance(value, list) else value
                stack.enter_context(mock.patch.object(logger, name, copied))
        argv = ["tallystick", *map(str, arguments)]
        stack.enter_context(mock.patch.object(sys, "argv", argv))
        pool = stack.enter_context(ThreadPoolExecutor(1))
        stack.enter_context(redirect_stdout(out))
        stack.enter_context(redirect_stderr(err))
        asked = pool.submit(asking)
        try:
            with pytest.raises(SystemExit) as caught:
                main()
        finally:
            is_over.set()
            out.over()
            err.over()
        asked.result()
    return Ended(int(caught.value.code or 0), out.getvalue(), err.getvalue())
