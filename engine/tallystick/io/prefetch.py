"""Prefetching: the next item of an iterable is made by a thread while the last one is worked on.

It pays where making an item lets go of Python's lock, as reading, hashing and the native front do.

Invariants:

- items come in their order, and what the iterable raises comes in its place;
- one item at most is made, or waits, beside the one that was handed out;
- the thread ends with the generator, and closes the iterable.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from queue import SimpleQueue
from threading import Thread
from typing import TypeVar

import attrs

T = TypeVar("T")


@attrs.frozen
class _Raised:
    """The error that the iterable raised in place of an item; None at its end."""

    error: BaseException | None = None


def prefetched(items: Iterable[T]) -> Generator[T, None, None]:
    """Yield the items of an iterable, each made by a thread of its own.

    An item that waits for others, such as for the next bytes of a pipe, keeps the generator from
    being closed: prefetch what comes by itself, and close the generator, as its thread waits for
    that.

    Raises:
        BaseException: what the iterable raised.
    """
    iterator = iter(items)
    # in C, so that an interrupt leaves no lock of theirs taken
    asked, answers = SimpleQueue[bool](), SimpleQueue[T | _Raised]()

    def work() -> None:
        raised = _Raised()
        try:
            try:
                while asked.get():
                    answers.put(next(iterator))
            finally:
                # a generator is closed by the thread that runs it
                if isinstance(iterator, Generator):
                    iterator.close()
        except StopIteration:
            pass
        except BaseException as error:  # noqa: BLE001  # raised where the item was asked for
            raised = _Raised(error)
        answers.put(raised)

    thread = Thread(target=work, name="prefetch")
    try:
        asked.put(True)
        thread.start()
        while not isinstance(answer := answers.get(), _Raised):
            asked.put(True)
            yield answer
        if answer.error is not None:
            raise answer.error
    finally:
        asked.put(False)
        # one that an interrupt met while it started ends by itself
        if thread.is_alive():
            thread.join()
