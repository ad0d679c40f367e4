"""Commands that run until a signal, in this process: asked by a thread, which ends them."""

import io
import os
import signal
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from cli.command import Finished, run


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


def until_asked(
    ask: Callable[[Output, Output], object],
    *arguments: object,
    end: signal.Signals | None = signal.SIGTERM,
) -> Finished:
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

    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(asking)
        try:
            done = run(*map(str, arguments), stdout=out, stderr=err)
        finally:
            is_over.set()
            out.over()
            err.over()
        asked.result()
    return Finished(done.status, out.getvalue(), err.getvalue())
