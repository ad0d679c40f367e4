"""Commands that run until a signal, in this process: asked by a thread, which ends them."""

import io
import os
import signal
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import redirect_stderr, redirect_stdout
from unittest import mock

import pytest

from tallystick.cli.main import main


class Output(io.StringIO):
    """Output that tells when its first line, or its one JSON value, is whole."""

    def __init__(self) -> None:
        super().__init__()
        self.is_whole = threading.Event()

    def write(self, text: str) -> int:
        count = super().write(text)
        whole = self.getvalue()
        if whole.endswith("\n}\n" if whole.startswith("{") else "\n"):
            self.is_whole.set()
        return count


def until_asked(
    ask: Callable[[str], None], *arguments: object, end: signal.Signals = signal.SIGTERM
) -> tuple[str, str]:
    """Run a command, and end it once a function has asked what it wants.

    Args:
        ask: is called with the output, in another thread.
        arguments: of the command.
        end: the signal that ends it.

    Returns:
        All that it wrote, and all that it wrote to standard error.
    """
    out, err = Output(), io.StringIO()

    def asking() -> None:
        out.is_whole.wait()
        if not out.getvalue():
            return
        try:
            ask(out.getvalue())
        finally:
            os.kill(os.getpid(), end)

    with (
        mock.patch.object(sys, "argv", ["tallystick", *map(str, arguments)]),
        ThreadPoolExecutor(1) as pool,
        redirect_stdout(out),
        redirect_stderr(err),
    ):
        asked = pool.submit(asking)
        try:
            with pytest.raises(SystemExit) as caught:
                main()
        finally:
            out.is_whole.set()
        assert out.getvalue(), err.getvalue()
        asked.result()
    assert not caught.value.code
    return out.getvalue(), err.getvalue()
