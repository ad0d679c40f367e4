"""Executors: whoever maps a function over tasks gives the same answers in the same order.

A function that other processes are to call can be pickled, and so can its tasks and answers (see
``PortableFunction``). What goes wrong comes back as a ``Failure``, as not every error can be
pickled.
"""

from __future__ import annotations

import traceback
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from typing import Any, Protocol, TypeAlias, TypeVar

import attrs

from tallystick import errors
from tallystick.errors import EngineError, TallystickError

Task = TypeVar("Task")
Answer = TypeVar("Answer")
_Pending = TypeVar("_Pending")

Function: TypeAlias = Callable[[Task], Answer]
"""Gives the answer to a task, which follows from the task alone."""


class Executor(Protocol):
    """Maps functions over tasks."""

    @property
    def is_elsewhere(self) -> bool:
        """True where tasks leave this process: then chunks go by their places."""

    def map(
        self, function: Function[Task, Answer], tasks: Iterable[Task]
    ) -> Generator[Answer, None, None]:
        """Return the answers, in the order of the tasks.

        Few tasks are asked for ahead, so memory is bounded. Close the generator to end early:
        workers end with it.

        Raises:
            EngineError: the workers cannot be used.
            TallystickError: what the function raised.
        """


@attrs.frozen
class InProcess:
    """The executor that is this process alone."""

    is_elsewhere = False

    def map(
        self, function: Function[Task, Answer], tasks: Iterable[Task]
    ) -> Generator[Answer, None, None]:
        """Yield the answers, each made when it is asked for.

        Raises:
            TallystickError: what the function raised.
        """
        for task in tasks:
            yield function(task)


@attrs.frozen
class Failure:
    """An error of a worker, as text.

    Attributes:
        kind: the name of the error.
        text: what it says; of a defect of the engine or of a plugin, the traceback.
    """

    kind: str
    text: str

    def to_error(self, where: str = "") -> Exception:
        """Return the error again, with the worker's name if there is one."""
        text = f"{where}: {self.text}" if where else self.text
        if self.kind == MemoryError.__name__:
            return MemoryError(text)
        kind = getattr(errors, self.kind, None)
        if kind is None:
            return RuntimeError(f"a worker failed\n{text}")
        # those that carry more than a text have become one
        return kind(text) if kind.__init__ is Exception.__init__ else EngineError(text)


def attempted(function: Function[Task, Answer], task: Task) -> Answer | Failure:
    """Return the answer to one task, or what went wrong."""
    try:
        return function(task)
    except TallystickError as error:
        return Failure(type(error).__name__, str(error))
    except MemoryError as error:
        return Failure(MemoryError.__name__, str(error))
    except Exception as error:  # noqa: BLE001  # told where the run was started
        return Failure(type(error).__name__, traceback.format_exc())


def in_order(
    tasks: Iterable[Task],
    submit: Callable[[Task], _Pending],
    result: Callable[[_Pending], Any],
    ahead: int,
) -> Iterator[Any]:
    """Yield the results of tasks in their order, with a bounded number at work or waiting.

    Args:
        tasks: asked for one at a time.
        submit: begins one.
        result: waits for its result.
        ahead: how many are begun before the first result is waited for.
    """
    pending: deque[_Pending] = deque()
    for task in tasks:
        pending.append(submit(task))
        if len(pending) >= ahead:
            yield result(pending.popleft())
    while pending:
        yield result(pending.popleft())
